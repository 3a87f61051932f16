"""The README is true: its tour runs, its commands exist, what it shows is what is printed."""

from __future__ import annotations

import re
import shlex
import subprocess
from pathlib import Path

import pytest

from mlspec.cli import cli
from tests.cluster.__main__ import TIERS
from tests.cluster.harness import build
from tests.cluster.harness.control_plane import DEFAULT_MINOR
from tests.cluster.harness.goldens import goldens
from tests.cluster.mutants import mutants_of, samples
from tests.conftest import KUBECONFORM
from tests.support import REPOSITORY, copy_example, mlspec

_README = (REPOSITORY / "README.md").read_text()
_BLOCKS = re.findall(r"```console\n(.*?)```", _README, re.DOTALL)


def test_the_tour_prints_what_the_readme_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update_golden: bool
) -> None:
    """Names of runs follow the example's scripts, so `--update-golden` writes what is printed into the README."""
    assert len(_BLOCKS) >= 3
    assert KUBECONFORM is not None, "run `make tools`"
    # The tour is read after `make demo` with kubeconform built, as `make test` does.
    monkeypatch.setenv("PATH", f"{KUBECONFORM.path.parent}:{Path('/usr/bin')}:{Path('/bin')}")
    copy_example(tmp_path)
    for role in ("AUTHOR", "COMMITTER"):
        monkeypatch.setenv(f"GIT_{role}_NAME", "reader")
        monkeypatch.setenv(f"GIT_{role}_EMAIL", "reader@example.com")
    for git in ("init --quiet", "add .", "commit --quiet --message=clone"):
        subprocess.run(["git", *git.split()], cwd=tmp_path, check=True)
    readme = _README
    for block in _BLOCKS:
        told = "".join(
            f"$ {command}\n{_told(tmp_path, command, expected)}"
            for command, expected in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", block, re.MULTILINE)
        )
        if update_golden:
            readme = readme.replace(block, told)
        else:
            assert _without_hashes(told) == _without_hashes(block)
    if update_golden:
        (REPOSITORY / "README.md").write_text(readme)


def _told(root: Path, command: str, expected: str) -> str:
    """Return what a command prints; what the README shows where only that stays equal."""
    words = shlex.split(command)
    if words[0] in ("sed", "git"):
        shown = subprocess.run(words, cwd=root, check=True, capture_output=True, text=True).stdout
    else:
        result = mlspec(root, *words[1:])
        if words[1] == "explain" and not expected:
            assert result.code == 0
            return ""
        shown = result.output
    return expected if _without_hashes(shown) == _without_hashes(expected) else shown


def _without_hashes(text: str) -> str:
    """Leave out names of commits and blobs, which hold the time."""
    return re.sub(r"(?<=since HEAD \()[0-9a-f]+|(?<=index )[0-9a-f]+\.\.[0-9a-f]+", "0123abc", text)


def test_every_command_of_the_readme_exists_and_every_command_is_in_it() -> None:
    shown = set(re.findall(r"^\| `mlspec ([a-z]+)", _README, re.MULTILINE))
    assert shown == set(cli.list_commands(None))  # type: ignore[arg-type]  # the list needs no context


def test_the_two_commands_are_targets_of_make() -> None:
    makefile = (REPOSITORY / "Makefile").read_text()
    for target in ("demo", "test"):
        assert f"    make {target}" in _README
        assert re.search(rf"^{target}:", makefile, re.MULTILINE)
    assert "exec make test" in (REPOSITORY / ".ci" / "run").read_text()


def test_the_numbers_about_the_cluster() -> None:
    """They count what is judged, so they follow from the goldens; the verdicts are `make cluster-test`'s."""
    found = goldens()
    objects = sum(len(golden.bodies) for golden in found)
    assert f"all {objects} objects of the {len(found)} golden environments" in _README
    faulty = sum(1 for kind in samples() for _ in mutants_of(kind))
    assert f"{faulty:,} objects with one fault each, of every kind" in _README
    pods = sum(stated.facts.pods for golden in found for stated in golden.plan.steps)
    assert f"exactly the {pods} pods that were promised" in _README
    versions = build.components()
    for name in (f"kubernetes-{DEFAULT_MINOR}", "training-operator", "kserve", "kueue", "argo-cd"):
        assert re.search(rf"\b{re.escape(versions[name].version.removeprefix('v'))}\b", _README), name
    seconds = sum(versions[name].seconds for tier in TIERS.values() for name in tier.components)
    assert f"about {round(seconds / 300) * 5} minutes on two cores" in _README


def test_links_inside_the_repository_lead_somewhere() -> None:
    for page in (REPOSITORY / "README.md", *(REPOSITORY / ".github").glob("*.md")):
        for link in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / link).exists(), f"{page.name}: {link}"


@pytest.mark.parametrize("path", re.findall(r"generated/[a-z-]+(?:/[a-z-]+)+(?:\.yaml)?", _README))
def test_paths_of_the_example_exist(path: str) -> None:
    assert (REPOSITORY / path).exists()
