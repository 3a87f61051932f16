"""The memory of a root: everything that a generate reads is in its digest, so that no change is overlooked."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import mlspec as package
from mlspec.files.fingerprint import fingerprint
from tests.support import make_root, mlspec, write_tree

_STEP = """\
volumes: {data: {size: 1Gi, access: ReadWriteMany}}
steps:
  a: {kind: job, image: "i:1", script: code/a.py, files: {table.csv: /etc/table.csv}, mounts: {data: /data}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root, generated, whose step ships files."""
    made = write_tree(make_root(tmp_path / "root", _STEP), {"code/a.py": "print(1)\n", "table.csv": "1\n"})
    result = mlspec(made, "generate")
    assert result.code == 0, result.output
    return made


def _append(path: Path) -> None:
    path.write_text(path.read_text() + "# more\n")


_CHANGES: dict[str, Callable[[Path], object]] = {
    "project": lambda root: _append(root / "mlproject.yaml"),
    "environment": lambda root: _append(root / "environments/dev.yaml"),
    "script": lambda root: (root / "code/a.py").write_text("print(2)\n"),
    "file": lambda root: (root / "table.csv").write_text("2\n"),
    "script gone": lambda root: (root / "code/a.py").unlink(),
    "output": lambda root: (root / "generated/argocd/dev/demo.yaml").write_text(""),
    "lock": lambda root: (root / "generated/demo/mlspec.lock").unlink(),
    "pending": lambda root: shutil.copy(root / "generated/mlspec.lock", root / "generated/mlspec.lock.pending"),
    "foreign": lambda root: (root / "generated/x").write_text(""),
}


@pytest.mark.parametrize("change", _CHANGES)
def test_what_a_generate_reads_is_in_it(change: str, root: Path) -> None:
    before = fingerprint(root)
    assert before is not None
    assert fingerprint(root) == before
    _CHANGES[change](root)
    assert fingerprint(root) != before


@pytest.mark.parametrize("name", ["health/job.lua", "health/__init__.py", "scripts/handover.sh"])
def test_what_mlspec_is_made_of_is_in_it(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    folder = tmp_path / "package"
    shutil.copytree(Path(package.__file__).parent, folder)
    monkeypatch.setattr(package, "__file__", str(folder / "__init__.py"))
    before = fingerprint(root)
    assert fingerprint(root) == before
    _append(folder / name)
    assert fingerprint(root) != before


@pytest.mark.parametrize("place", ["code/a.py", "code"])
def test_a_link_in_place_of_a_shipped_file_is_for_a_full_run(place: str, root: Path, tmp_path: Path) -> None:
    moved = (root / place).rename(tmp_path / "moved")
    (root / place).symlink_to(moved)
    assert fingerprint(root) is None


@pytest.mark.parametrize(
    "lock",
    [
        *("", "[]", "3", "{}", '{"inputs": 3}', '{"inputs": [3]}', "[" * 200_000, "\x00"),
        *(json.dumps({"inputs": [name]}) for name in ("../\0", "../../../etc/passwd", "/etc/passwd", "../code", "..")),
    ],
)
def test_a_strange_lock_is_for_a_full_run(lock: str, root: Path) -> None:
    (root / "generated/demo/mlspec.lock").write_text(lock)
    assert fingerprint(root) is None


def test_a_script_that_changes_is_seen(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path / "cache"))
    for _ in range(2):
        assert mlspec(root, "generate").code == 0
    assert list((tmp_path / "cache/roots").iterdir()), "there is nothing to forget"
    assert mlspec(root, "generate", "--check").code == 0
    (root / "code/a.py").write_text("print(2)\n")
    checked = mlspec(root, "generate", "--check")
    assert checked.code == 1
    assert "MLS50" in checked.stdout
    assert "new run in dev: a-" in mlspec(root, "generate").stderr
