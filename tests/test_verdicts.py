"""The memory of verdicts: a check that remembers says what one says that does not, whatever has changed meanwhile."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Iterator
from importlib import metadata
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mlspec as package
from mlspec import cache, schemas, verdicts
from mlspec.check import kustomize, tools
from mlspec.check.tools import Tool
from mlspec.spec.load import begin
from mlspec.verdicts import Memory
from tests import changes
from tests.support import Result, mlspec, write_tree

_EDITS = {name: edit for name, edit in changes.EDITS.items() if name not in ("commit", "stage")}
_EDITINGS = st.lists(st.tuples(st.sampled_from(sorted(_EDITS)), st.integers(0, 9), st.integers(0, 29)), max_size=5)


@pytest.fixture(autouse=True)
def _no_builds() -> Iterator[None]:
    """Take every overlay for built as planned: what is built and why is what other tests are about."""
    with mock.patch.object(kustomize, "_faults", return_value=[]):
        yield


def _check(root: Path, memory: Path) -> Result:
    with mock.patch.dict(os.environ, {"MLSPEC_CACHE_DIR": str(memory)}):
        result = mlspec(root, "check", "--output-format", "json", "--engine", "embedded")
    assert result.code in (0, 1), result.stderr
    return result


@settings(max_examples=int(os.environ.get("MLSPEC_VERDICT_EXAMPLES", "15")))
@given(edits=_EDITINGS, shared=st.booleans())
def test_a_memory_changes_nothing_but_the_time(edits: list[tuple[str, int, int]], shared: bool) -> None:
    with TemporaryDirectory() as name:
        memory = Path(name) / "memory"
        root = changes.make(Path(name) / "root", shared=shared)
        mlspec(root, "generate")
        _check(root, memory)
        for number, (edit, first, second) in enumerate(edits):
            _EDITS[edit](root, first, second)
            assert _check(root, memory) == _check(root, Path(name) / f"empty-{number}")


@pytest.fixture
def memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a cache of the test's own."""
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path / "memory"))
    return tmp_path / "memory"


@pytest.fixture
def root(tmp_path: Path, memory: Path) -> Path:
    """Return a root with four projects, generated and checked."""
    made = changes.make(tmp_path / "root")
    assert mlspec(made, "generate").code == 0
    assert _check(made, memory).code == 0
    return made


def _compiled(root: Path) -> set[str]:
    """Return the folders of the projects that a check would compile."""
    workspace, _, files = begin(root)
    selection, known = Memory(root).select(workspace, files)
    assert len(selection.files) + len(known) == len(files)
    return {path.parent.name for path in selection.files}


def _append(root: Path, path: str) -> None:
    target = root / path
    target.write_text((target.read_text() if target.exists() else "") + "# more\n")


_ALL = {"rec", "ads", "tags", "search"}
_INPUTS: dict[str, tuple[str, set[str]]] = {
    "project": ("rec/mlproject.yaml", {"rec"}),
    "shipped": ("rec/train.py", {"rec"}),
    "environment": ("environments/prod.yaml", _ALL),
    "common": ("environments/common.yaml", _ALL),
    "new environment": ("environments/new.yaml", _ALL),
    "lock": ("generated/rec/mlspec.lock", {"rec"}),
    "journal": ("generated/rec/mlspec.lock.pending", {"rec"}),
    "base": ("generated/rec/base/foundation/resources.yaml", {"rec"}),
    "application": ("generated/argocd/prod/rec.yaml", {"rec"}),
    "stray": ("generated/rec/overlays/x.yaml", {"rec"}),
    "nothing of its own": ("rec/notes.md", set()),
    "of the root": ("generated/mlspec.lock", set()),
}


@pytest.mark.parametrize("case", _INPUTS)
def test_what_a_verdict_follows_from_is_judged_anew(case: str, root: Path) -> None:
    assert _compiled(root) == set()
    path, expected = _INPUTS[case]
    _append(root, path)
    assert _compiled(root) == expected


@pytest.mark.parametrize("folder", ["generated/rec", "generated/rec/overlays"])
def test_a_link_in_the_place_of_what_was_judged_is_judged_anew(folder: str, root: Path) -> None:
    assert _compiled(root) == set()
    (root / folder).rename(root / "hidden")
    (root / folder).symlink_to(root / "hidden")
    assert "rec" in _compiled(root)


def test_a_shipped_file_behind_a_link_is_judged_anew(root: Path) -> None:
    write_tree(
        root, {"environments/notes.txt": "1\n", "mlproject.yaml": changes.project("top"), "train.py": "print(1)\n"}
    )
    changes.replace(root / "mlproject.yaml", "script:", "files: {environments/notes.txt: /f/a}, script:")
    assert mlspec(root, "generate").code == 0
    assert mlspec(root, "check", "--engine", "embedded").code == 0
    assert _compiled(root) == set()
    (root / "environments/notes.txt").write_text("2\n")
    assert root.name in _compiled(root)
    (root / "environments/notes.txt").write_text("1\n")
    (root / "environments").rename(root / "envs")
    (root / "environments").symlink_to("envs")
    assert root.name in _compiled(root)


@pytest.mark.parametrize("name", ["validation/rules.py", "health/__init__.py", "scripts/handover.sh", "new.py"])
def test_so_is_everything_with_another_mlspec(
    name: str, root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    copy = tmp_path / "mlspec"
    shutil.copytree(Path(package.__file__).parent, copy)
    monkeypatch.setattr(package, "__file__", str(copy / "__init__.py"))
    verdicts._itself.cache_clear()
    try:
        assert _compiled(root) == set(), "a copy judges alike"
        write_tree(copy, {name: (copy / name).read_text() + "# more\n" if (copy / name).exists() else "# new\n"})
        verdicts._itself.cache_clear()
        assert _compiled(root) == _ALL
    finally:
        verdicts._itself.cache_clear()


def test_so_is_everything_with_other_schemas_or_libraries(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    try:
        with monkeypatch.context() as patch:
            copy = tmp_path / "schemas"
            shutil.copytree(schemas.folder(), copy)
            _append(tmp_path, "schemas/SOURCES.toml")
            patch.setattr(schemas, "folder", lambda: copy)
            verdicts._itself.cache_clear()
            assert _compiled(root) == _ALL
        with monkeypatch.context() as patch:
            patch.setattr(metadata, "version", lambda name: "99" if name == "pydantic" else "1")
            verdicts._itself.cache_clear()
            assert _compiled(root) == _ALL
    finally:
        verdicts._itself.cache_clear()


def test_so_is_everything_with_another_kustomize(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    other = tmp_path / "kubectl"
    other.write_text("another program")
    monkeypatch.setattr(tools, "find_kustomize", lambda: Tool("kubectl", other, (str(other), "kustomize"), "v5.8.1"))
    assert _compiled(root) == _ALL
    monkeypatch.setattr(tools, "find_kustomize", lambda: None)
    assert _compiled(root) == _ALL


def test_a_program_is_known_by_its_content_wherever_it_lies(tmp_path: Path, memory: Path) -> None:
    for name in ("one", "two", "other"):
        write_tree(tmp_path, {f"{name}/kubectl": "x" if name != "other" else "y"})
    one, two, other = (
        Tool("kubectl", tmp_path / name / "kubectl", ("x",), "v1").identity for name in ("one", "two", "other")
    )
    assert one == two != other
    assert memory.is_dir()


def test_a_project_in_which_something_is_wrong_is_judged_each_time(root: Path, memory: Path) -> None:
    _append(root, "generated/rec/base/foundation/resources.yaml")
    write_tree(root, {"generated/ads/stray.yaml": "a: 1\n"})
    for _ in range(2):
        assert _check(root, memory).code == 1
        assert _compiled(root) == {"rec", "ads"}


def test_an_overlay_that_does_not_build_is_built_each_time(root: Path, memory: Path) -> None:
    _append(root, "rec/mlproject.yaml")
    assert mlspec(root, "generate").code == 0
    path = root / "rec/mlproject.yaml"
    path.write_text(path.read_text().replace("train:1", "train:2"))
    assert mlspec(root, "generate").code == 0
    with mock.patch.object(kustomize, "_faults", return_value=[("MLS304", "no")]):
        for _ in range(2):
            assert _check(root, memory).stdout.count("MLS304") == 3
    assert _compiled(root) == {"rec"}


_DAMAGE: dict[str, Callable[[str], str]] = {
    "empty": lambda _: "",
    "cut": lambda text: text[: len(text) // 2],
    "of another kind": lambda _: "[1]",
    "deep": lambda _: "[" * 100_000,
    "without findings": lambda text: json.dumps({**json.loads(text), "findings": None}),
    "with a strange finding": lambda text: json.dumps({**json.loads(text), "findings": [{"code": 1}]}),
    "with overlays without end": lambda text: json.dumps({**json.loads(text), "overlays": float("inf")}),
    "of another file": lambda text: json.dumps({**json.loads(text), "file": "other/mlproject.yaml"}),
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_a_damaged_memory_costs_time_only(damage: str, root: Path, memory: Path) -> None:
    expected = _check(root, memory)
    entries = list((memory / "verdicts").iterdir())
    assert len(entries) == 4
    with mock.patch.dict(os.environ, {"MLSPEC_CACHE_DIR": str(memory)}):
        for path in entries:
            cache.remember("verdicts", path.name, _DAMAGE[damage](cache.recall("verdicts", path.name) or ""))
    assert _compiled(root) == _ALL
    assert _check(root, memory) == expected
    assert _compiled(root) == set()


@pytest.mark.parametrize("content", ["", "cut", "0" * 40 + "\n", "\n\n"])
def test_what_is_not_whole_was_never_remembered(content: str, memory: Path) -> None:
    with mock.patch.dict(os.environ, {"MLSPEC_CACHE_DIR": str(memory)}):
        cache.remember("programs", "a", "text\nof lines")
        assert cache.recall("programs", "a") == "text\nof lines"
        assert cache.recall("versions", "a") is None
        (memory / "programs" / "a").write_text(content)
        assert cache.recall("programs", "a") is None


def test_a_file_that_changed_while_it_was_judged_is_not_remembered(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _append(root, "rec/mlproject.yaml")
    assert mlspec(root, "generate").code == 0
    remembered: list[str] = []
    monkeypatch.setattr(cache, "remember", lambda kind, name, value: remembered.append(kind))
    keep = Memory.keep

    def late(memory: Memory, *rest: object) -> None:
        _append(root, "rec/mlproject.yaml")
        keep(memory, *rest)  # type: ignore[arg-type]  # passed on as they came

    monkeypatch.setattr(Memory, "keep", late)
    assert mlspec(root, "check", "--engine", "embedded").code == 0
    assert "verdicts" not in remembered


@pytest.mark.parametrize(
    "words", [("-e", "dev"), ("rec",), ("--kustomize", "all"), ("--kustomize", "none"), ("--changed-since", "HEAD")]
)
def test_what_asks_for_less_or_for_more_remembers_nothing(root: Path, memory: Path, words: tuple[str, ...]) -> None:
    changes.commit(root)
    shutil.rmtree(memory / "verdicts")
    assert mlspec(root, "check", "--engine", "embedded", *words).code == 0
    assert not (memory / "verdicts").exists()


def _remembered(memory: Path, kind: str) -> set[str]:
    return {path.name for path in (memory / kind).iterdir()} if (memory / kind).is_dir() else set()


def test_a_check_forgets_what_is_old_and_what_is_too_much(
    root: Path, memory: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for kind in ("verdicts", "builds", "programs"):
        cache.remember(kind, "old", "text")
        os.utime(memory / kind / "old", (0, 0))
    (memory / "verdicts" / "killed.0123abcd").write_text("half")
    os.utime(memory / "verdicts" / "killed.0123abcd", (time.time() - 2 * 86400,) * 2)
    os.utime(memory / "tidied", (0, 0))
    _check(root, memory)
    fresh = _remembered(memory, "verdicts")
    assert len(fresh) >= 3
    assert not {"old", "killed.0123abcd"} & (fresh | _remembered(memory, "builds"))
    assert "old" in _remembered(memory, "programs"), "there is one for each program that was found, not more"
    # Not again on the same day; then what is beyond the bound goes, the oldest first.
    cache.remember("verdicts", "old", "text")
    os.utime(memory / "verdicts" / "old", (0, 0))
    _check(root, memory)
    assert "old" in _remembered(memory, "verdicts")
    os.utime(memory / "tidied", (0, 0))
    newest = max(fresh, key=lambda name: ((memory / "verdicts" / name).stat().st_mtime, name))
    monkeypatch.setattr(cache, "MOST_BYTES", (memory / "verdicts" / newest).stat().st_size)
    cache.tidy()
    assert len(_remembered(memory, "verdicts")) == 1


def test_a_memory_that_cannot_be_tidied_stops_nothing(root: Path, memory: Path) -> None:
    shutil.rmtree(memory)
    memory.write_text("a file")
    assert _check(root, memory).code == 0
