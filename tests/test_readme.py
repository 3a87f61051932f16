"""The README is true: its tour runs, its commands exist, what it shows is what is printed."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from mlspec.cli import cli
from tests.conftest import KUBECONFORM
from tests.support import REPOSITORY, mlspec

_README = (REPOSITORY / "README.md").read_text()
_BLOCKS = re.findall(r"```console\n(.*?)```", _README, re.DOTALL)


def test_the_tour_prints_what_the_readme_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(_BLOCKS) >= 3
    assert KUBECONFORM is not None, "run `make tools`"
    # The tour is read after `make demo` with kubeconform built, as `make test` does.
    monkeypatch.setenv("PATH", f"{KUBECONFORM.path.parent}:{Path('/usr/bin')}:{Path('/bin')}")
    for name in ("environments", "generated"):
        shutil.copytree(REPOSITORY / name, tmp_path / name)
    shutil.copy(REPOSITORY / "mlproject.yaml", tmp_path)
    for block in _BLOCKS:
        for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE):
            words = shlex.split(command)
            if words[0] == "sed":
                subprocess.run(words, cwd=tmp_path, check=True)
                continue
            result = mlspec(tmp_path, *words[1:])
            if words[1] == "explain" and not expected:
                assert result.code == 0
            else:
                assert result.output == expected, command


def test_every_command_of_the_readme_exists_and_every_command_is_in_it() -> None:
    shown = set(re.findall(r"^\| `mlspec ([a-z]+)", _README, re.MULTILINE))
    assert shown == set(cli.list_commands(None))  # type: ignore[arg-type]  # the list needs no context


def test_the_two_commands_are_targets_of_make() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"    make {target}" in _README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "exec make test" in (REPOSITORY / ".ci" / "run").read_text()


def test_links_inside_the_repository_lead_somewhere() -> None:
    for page in (REPOSITORY / "README.md", *(REPOSITORY / ".github").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("path", re.findall(r"generated/[a-z-]+(?:/[a-z-]+)+", _README))
def test_paths_of_the_example_exist(path: str) -> None:
    assert (REPOSITORY / path).exists()
