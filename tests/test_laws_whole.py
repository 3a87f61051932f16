"""Law 9, whole: killed or failing at any call, every file is old or new, and the next generate converges."""

from __future__ import annotations

import errno
import fcntl
import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NoReturn

import pytest

from tests import interrupt
from tests.interrupt import KilledError, at
from tests.support import ENVIRONMENT, REPOSITORY, make_root, mlspec, snapshot, write_tree

_HEAD = "apiVersion: mlspec.dev/v1alpha1\nkind: Project\nowner: team\n"
_BEFORE: dict[str, str | bytes] = {
    "environments/dev.yaml": ENVIRONMENT,
    "environments/prod.yaml": ENVIRONMENT,
    "a/mlproject.yaml": _HEAD + "name: a\nsteps: {s: {kind: job, image: 'i:1'}}\n",
    "b/mlproject.yaml": _HEAD + "name: b\nservices: {s: {kind: kserve, model: {format: onnx, uri: 's3://b/m'}}}\n",
}
# A step changes, a project comes, another goes, and so does an environment.
_AFTER: dict[str, str | bytes] = {
    "environments/dev.yaml": ENVIRONMENT,
    "a/mlproject.yaml": _HEAD + "name: a\nsteps: {s: {kind: job, image: 'i:2'}}\n",
    "c/mlproject.yaml": _HEAD + "name: c\nsteps: {t: {kind: job, image: 'i:1'}}\n",
}
_LATER = {name: content for name, content in _AFTER.items() if name != "c/mlproject.yaml"}
_LATER["a/mlproject.yaml"] = _HEAD + "name: a\nsteps: {s: {kind: job, image: 'i:3'}}\n"


def become(root: Path, files: dict[str, str | bytes]) -> Path:
    """Replace everything but generated/."""
    for path in root.iterdir():
        if path.name != "generated":
            shutil.rmtree(path)
    return write_tree(root, files)


def generated(root: Path) -> dict[str, bytes]:
    """Return the files of generated/."""
    return snapshot(root / "generated")


@pytest.fixture(autouse=True)
def _no_waiting_for_the_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "fsync", lambda _: None)


@pytest.fixture(scope="module")
def states(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Return undisturbed roots: before, after (generated over before), and later (over after)."""
    folder = tmp_path_factory.mktemp("states")
    before = write_tree(folder / "before", _BEFORE)
    assert mlspec(before, "generate").code == 0
    after = become(Path(shutil.copytree(before, folder / "after")), _AFTER)
    assert mlspec(after, "generate").code == 0
    later = become(Path(shutil.copytree(before, folder / "later")), _LATER)
    assert mlspec(later, "generate").code == 0
    return {"before": before, "after": after, "later": later}


def kill() -> NoReturn:
    """End the process, as far as mlspec can see."""
    raise KilledError


def fail() -> NoReturn:
    """Fail like a full disk."""
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def calls(folder: Path, files: dict[str, str | bytes]) -> list[str]:
    """Return the changing calls of an undisturbed generate."""
    become(folder, files)
    with at(10**6, kill) as begun:
        assert mlspec(folder, "generate").code == 0
    return begun


def is_temporary(path: str) -> bool:
    """Say whether a file is one that is never looked at."""
    return ".mlspec-tmp-" in path


def assert_whole(root: Path, *allowed: dict[str, bytes]) -> None:
    """Every file is as in one of the states, temporary ones left out; locks may list more runs, but are whole."""
    for path, content in generated(root).items():
        if path.split("/")[-1].startswith("mlspec.lock"):
            assert {"format", "inputs", "outputs", "superseded"} <= json.loads(content).keys()
        elif not is_temporary(path):
            assert content in [state[path] for state in allowed if path in state], path


def test_killed_anywhere_it_converges(states: dict[str, Path], tmp_path: Path) -> None:
    before, after = generated(states["before"]), generated(states["after"])
    total = calls(Path(shutil.copytree(states["before"], tmp_path / "count")), _AFTER)
    assert {"fsync", "mkdir", "replace", "rmdir", "unlink"} <= set(total)
    for number in range(len(total)):
        root = become(Path(shutil.copytree(states["before"], tmp_path / str(number))), _AFTER)
        with at(number, kill), pytest.raises(KilledError):
            mlspec(root, "generate")
        assert_whole(root, before, after)
        checked = mlspec(root, "generate", "--check")
        if generated(root) not in (before, after):
            assert checked.code == 1, number
            assert "MLS505" in checked.stdout, f"{number}: {checked.stdout}"
        again = mlspec(root, "generate")
        assert again.code == 0, again.output
        assert "MLS50" not in again.output, "nothing was edited by hand"
        assert generated(root) == after, number
        shutil.rmtree(root)


def test_killed_twice_with_an_edit_between_it_converges(states: dict[str, Path], tmp_path: Path) -> None:
    """What only the first killed run wrote is still mlspec's own after the second."""
    before, after, later = (generated(states[name]) for name in ("before", "after", "later"))
    total = len(calls(Path(shutil.copytree(states["before"], tmp_path / "count")), _AFTER))
    for first in range(total // 3, total, 9):
        for second in range(0, total, 13):
            root = become(Path(shutil.copytree(states["before"], tmp_path / f"{first}-{second}")), _AFTER)
            with at(first, kill), pytest.raises(KilledError):
                mlspec(root, "generate")
            become(root, _LATER)
            try:
                with at(second, kill):
                    mlspec(root, "generate")
            except KilledError:
                assert_whole(root, before, after, later)
            again = mlspec(root, "generate")
            assert again.code == 0, again.output
            assert "edited" not in again.output
            found = generated(root)
            assert mlspec(root, "generate", "--check").code == 0, (first, second)
            runs = {path for path in found.keys() - later.keys() if "/pipeline/s-" in path}
            assert found.keys() - later.keys() == runs, "superseded runs of the first alone may be left"
            shutil.rmtree(root)


@pytest.mark.parametrize("number", [0, 9, 30, 45])
def test_a_process_that_is_killed(number: int, states: dict[str, Path], tmp_path: Path) -> None:
    before, after = generated(states["before"]), generated(states["after"])
    root = become(Path(shutil.copytree(states["before"], tmp_path / "root")), _AFTER)
    command = [sys.executable, "-m", interrupt.__name__, str(number), "generate", "--root", str(root)]
    result = subprocess.run(command, cwd=REPOSITORY, capture_output=True, check=False)
    assert result.returncode == 137, result.stderr
    assert_whole(root, before, after)
    assert mlspec(root, "generate").code == 0
    assert generated(root) == after


def test_a_write_that_fails_changes_no_file(states: dict[str, Path], tmp_path: Path) -> None:
    before, after = generated(states["before"]), generated(states["after"])
    root = become(Path(shutil.copytree(states["before"], tmp_path / "root")), _AFTER)
    failed: list[str] = []
    while "replace" not in failed:  # the first move is that of a journal: up to there everything can be taken back
        with at(len(failed), fail, names=("fsync", "mkdir", "replace")) as begun:
            result = mlspec(root, "generate")
        failed.append(begun[len(failed)])
        assert result.code == 2, result.output
        assert "MLS506" in result.stderr
        assert "no space left" in result.stderr
        assert "Traceback" not in result.output
        assert generated(root) == before, failed
    assert {"fsync", "mkdir"} <= set(failed)
    assert mlspec(root, "generate").code == 0
    assert generated(root) == after


def test_a_move_that_fails_is_finished_later(states: dict[str, Path], tmp_path: Path) -> None:
    before, after = generated(states["before"]), generated(states["after"])
    moves = calls(Path(shutil.copytree(states["before"], tmp_path / "count")), _AFTER).count("replace")
    for number in range(moves):
        root = become(Path(shutil.copytree(states["before"], tmp_path / str(number))), _AFTER)
        with at(number, fail, names=("replace",)):
            result = mlspec(root, "generate")
        assert result.code == 2, result.output
        assert re.search(r"generated/\S+: .*MLS506|MLS506.*", result.stderr)
        assert not any(is_temporary(path) for path in generated(root))
        assert_whole(root, before, after)
        assert mlspec(root, "generate", "--check").code == 1
        assert mlspec(root, "generate").code == 0
        assert generated(root) == after


def test_where_nothing_can_be_removed_it_says_so(states: dict[str, Path], tmp_path: Path) -> None:
    """A folder that became read-only: taking back what was staged fails too."""
    root = become(Path(shutil.copytree(states["before"], tmp_path / "root")), _AFTER)
    with at(0, fail):
        result = mlspec(root, "generate")
    assert result.code == 2
    assert "MLS506" in result.stderr
    assert "internal error" not in result.output


@pytest.fixture
def start() -> Iterator[Callable[[Path], subprocess.Popen[str]]]:
    """Return what starts a generate in a process of its own; none outlives the test."""
    started: list[subprocess.Popen[str]] = []

    def generate(root: Path) -> subprocess.Popen[str]:
        command = [sys.executable, "-m", "mlspec", "generate", "--root", str(root)]
        started.append(
            subprocess.Popen(command, cwd=REPOSITORY, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        )
        return started[-1]

    yield generate
    for process in started:
        process.kill()
        process.communicate()


def test_a_second_run_waits_for_the_first(start: Callable[[Path], subprocess.Popen[str]], tmp_path: Path) -> None:
    root = make_root(tmp_path, "steps: {a: {kind: job, image: 'i:1'}}\n")
    handle = os.open(root / "environments", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    process = start(root)
    assert process.stderr is not None
    assert process.stderr.readline() == "another mlspec is at work in this root; waiting\n"
    assert not (root / "generated").exists()
    # The file changes while it waits: what is written must be what is there when it is its turn.
    (root / "mlproject.yaml").write_text((root / "mlproject.yaml").read_text().replace("{a:", "{b:"))
    os.close(handle)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 0, errors
    assert all("/a-" not in path for path in generated(root))
    assert mlspec(root, "generate", "--check").code == 0


def test_a_check_waits_for_a_writer_but_not_for_another_check(tmp_path: Path) -> None:
    root = make_root(tmp_path, "steps: {a: {kind: job, image: 'i:1'}}\n")
    assert mlspec(root, "generate").code == 0
    handle = os.open(root / "environments", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    checked = mlspec(root, "generate", "--check")
    os.close(handle)
    assert checked.code == 0
    assert "waiting" not in checked.stderr


def test_runs_at_once_never_mix(
    start: Callable[[Path], subprocess.Popen[str]], states: dict[str, Path], tmp_path: Path
) -> None:
    root = become(Path(shutil.copytree(states["before"], tmp_path / "root")), _AFTER)
    for process in [start(root), start(root), start(root)]:
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 0, errors
    assert generated(root) == generated(states["after"])
