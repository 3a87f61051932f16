"""Locks: what they say, and that a strange one leads nobody astray."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from mlspec.files import disk, lock, marks
from tests.files import STEP, generated, refused, two_projects
from tests.support import make_root, mlspec, snapshot, write_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root, generated, with two projects and two environments."""
    return two_projects(tmp_path / "root")


_PATHS = [
    "../../victim",
    "/etc/passwd",
    "demo/../../victim",
    "other/mlspec.lock",
    "second/mlproject.yaml",
    "demo/./x",
    "demo//x",
]
_PATHS += [
    "demo/.git",
    "demo\\x",
    "demo/\0",
    "demo/\ud800",
    "argocd/dev/other.yaml",
    "demo/../other/base/foundation/resources.yaml",
    "",
]


def _lock(**changes: object) -> str:
    return json.dumps({"format": 1, "inputs": {}, "outputs": {}, "superseded": [], **changes})


_HOSTILE = [
    "",
    "{",
    "null",
    "[]",
    "3",
    '"x"',
    "{}",
    "\x00",
    "[" * 200_000,
    '{"format": ' * 100_000,
    _lock(format="1"),
    _lock(format=True),
    _lock(format=1.5),
    _lock(inputs=[]),
    _lock(inputs={"a": 1}),
    _lock(outputs=[["a", "b"]]),
    _lock(outputs={"demo/x": ["sha256:0"]}),
    _lock(superseded=3),
    _lock(superseded=[["x"]]),
    _lock(superseded={"demo/x": 1, "../y": 2}),
    _lock(earlier=3),
    _lock(earlier={"demo/x": 3}),
    _lock(earlier={"demo/x": [[]]}),
    _lock(earlier={"../x": ["y"]}),
    '{"format": NaN, "inputs": {}, "outputs": {}, "superseded": []}',
    "{" + " " * lock.MAX_BYTES + "}",
    *(_lock(outputs={path: "sha256:0"}) for path in _PATHS),
    *(_lock(superseded=[path]) for path in _PATHS),
]


@pytest.mark.parametrize("name", ["mlspec.lock", "mlspec.lock.pending"])
@pytest.mark.parametrize("content", _HOSTILE, ids=range(len(_HOSTILE)))
def test_a_strange_lock_is_refused(name: str, content: str, tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", STEP)
    (tmp_path / "victim").write_text("precious\n")
    assert mlspec(root, "generate").code == 0
    (root / "generated/demo" / name).write_text(content)
    state = lock.read_state(root / "generated", "demo")
    assert [finding.code for finding in state.diagnostics] == ["MLS507"]
    before = snapshot(tmp_path)
    for arguments in (("generate", "--check"), ("generate",)):
        result = mlspec(root, *arguments)
        assert result.code == 1, result.output
        assert "MLS507" in result.output
        assert f"generated/demo/{name}" in result.output
    assert snapshot(tmp_path) == before


def test_a_strange_lock_of_a_project_that_is_gone_deletes_nothing(root: Path) -> None:
    """It lists another project's file, with the right digest."""
    path = "demo/base/foundation/resources.yaml"
    content = generated(root)[path]
    (root / "second/mlproject.yaml").unlink()
    (root / "generated/other/mlspec.lock").write_text(_lock(outputs={path: marks.digest(content)}))
    refused(root, "MLS507", "other/mlspec.lock")


def test_a_lock_that_is_lost_is_written_again_over_equal_files(root: Path) -> None:
    before = generated(root)
    (root / "generated/demo/mlspec.lock").unlink()
    checked = mlspec(root, "generate", "--check")
    assert "generated/demo/mlspec.lock:1:1: error[MLS502]" in checked.stdout
    assert mlspec(root, "generate").code == 0
    assert generated(root) == before


def test_a_lock_says_what_was_read_and_written(root: Path) -> None:
    found = json.loads((root / "generated/other/mlspec.lock").read_text())
    assert sorted(found) == ["format", "inputs", "outputs", "superseded"]
    assert sorted(found["inputs"]) == [
        "../environments/dev.yaml",
        "../environments/prod.yaml",
        "../second/mlproject.yaml",
    ]
    own = {path: marks.digest(content) for path, content in generated(root).items() if "other" in path}
    own.pop("other/mlspec.lock")
    assert found["outputs"] == own


def test_changed_inputs_with_equal_outputs_are_drift(root: Path) -> None:
    with (root / "mlproject.yaml").open("a") as opened:
        opened.write("# a comment\n")
    checked = mlspec(root, "generate", "--check")
    assert "generated/demo/mlspec.lock:1:1: error[MLS501]" in checked.stdout
    assert checked.stdout.count("MLS5") == 1
    assert mlspec(root, "generate").code == 0
    assert mlspec(root, "generate", "--check").code == 0


@pytest.mark.parametrize(
    ("path", "found"), [("a/b", b"x"), ("a", None), ("a/link", None), ("l/b", None), ("z", None), ("a/b/c", None)]
)
def test_reading_follows_no_link(path: str, found: bytes | None, tmp_path: Path) -> None:
    write_tree(tmp_path, {"a/b": "x"})
    (tmp_path / "a/link").symlink_to("b")
    (tmp_path / "l").symlink_to("a")
    assert disk.read(tmp_path, path) == found
