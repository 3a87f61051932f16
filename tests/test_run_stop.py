"""A `mlspec run` that is stopped: the program gets SIGTERM and its time; a second wish kills; no process is left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

from mlspec.local.folders import Folders
from tests import local_runs
from tests.local_runs import alive, until

_PROJECT: Final = (
    "volumes: {models: {size: 1Gi, access: ReadWriteMany}}\n"
    "steps:\n  train: {kind: job, image: 'i:1', script: train.py, mounts: {models: /models}}\n"
    "  evaluate: {kind: job, image: 'i:1', needs: [train], script: evaluate.py, mounts: {models: /models}}\n"
)
_TRAIN: Final = """\
import os, pathlib, signal, subprocess, sys, time
run = pathlib.Path(os.environ["MLSPEC_RUN_DIR"])
# A child in a session of its own, as torchrun's workers are.
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
if (run / "checkpoint").exists():
    print("continues", flush=True)
    child.kill()
    sys.exit()
(run / "new").write_text(f"{os.getpid()} {child.pid}")
(run / "new").rename(run / "processes")
while not stop:
    time.sleep(0.02)
STOPPED
(run / "checkpoint").write_text("whole")
sys.exit(143)
"""


def _root(folder: Path, stopped: str = "") -> Path:
    return local_runs.root(folder, _PROJECT, train=_TRAIN.replace("STOPPED", stopped))


def _file(root: Path, name: str) -> Path | None:
    return next(iter((root / ".mlspec" / "volumes" / "models" / "demo").glob(f"train-*/{name}")), None)


def _processes(root: Path) -> list[int]:
    """Wait until the program has begun; returns its process and that of its child."""
    until(lambda: _file(root, "processes"), "the start")
    found = _file(root, "processes")
    assert found is not None
    return [int(word) for word in found.read_text().split()]


def _said(root: Path) -> str:
    return (root / "said").read_text()


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        (signal.SIGINT, 130),
        pytest.param(signal.SIGTERM, 143, marks=pytest.mark.slow),
        pytest.param(signal.SIGHUP, 129, marks=pytest.mark.slow),
    ],
)
def test_one_wish_waits_for_the_checkpoint(tmp_path: Path, sent: signal.Signals, code: int) -> None:
    """Then nothing more is run, and the next run continues."""
    root = _root(tmp_path)
    with local_runs.started(root) as process:
        processes = _processes(root)
        process.send_signal(sent)
        assert process.wait(local_runs.LONGEST) == code
    assert not [number for number in processes if alive(number)]
    assert _file(root, "checkpoint") is not None
    assert "train: asked to stop; waiting for its checkpoint" in _said(root)
    assert "train: stopped; `mlspec run` continues where it was" in _said(root)
    assert "evaluate" not in _said(root)
    again = local_runs.run(root)
    assert again.code == 0, again.output
    assert "train: continues\n" in again.stderr


def test_a_second_wish_kills(tmp_path: Path) -> None:
    """A program that does not end, and its child, which has a session of its own."""
    root = _root(tmp_path, "print('I stay', flush=True)\ntime.sleep(600)")
    with local_runs.started(root) as process:
        processes = _processes(root)
        process.send_signal(signal.SIGINT)
        until(lambda: "I stay" in _said(root), "the first wish")
        assert process.poll() is None
        process.send_signal(signal.SIGINT)
        assert process.wait(local_runs.LONGEST) == 130
    assert not [number for number in processes if alive(number)]
    assert _file(root, "checkpoint") is None


def test_a_child_that_outlives_its_program_is_ended(tmp_path: Path) -> None:
    """Also where all went well."""
    root = _root(tmp_path)
    train = (root / "train.py").read_text().replace("while not stop:", "while False:").replace("143", "0")
    (root / "train.py").write_text(train)
    result = local_runs.run(root, "train")
    assert result.code == 0, result.output
    assert not [number for number in _processes(root) if alive(number)]


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells a process that its parent has died")
def test_killed_itself_it_still_stops_the_program(tmp_path: Path) -> None:
    """The program gets SIGTERM, writes its checkpoint to the end, and holds the root until then."""
    root = _root(tmp_path, "while not (run / 'go').exists(): time.sleep(0.02)\nchild.kill()")
    with local_runs.started(root) as process:
        processes = _processes(root)
        run = _file(root, "processes")
        assert run is not None
        try:
            process.send_signal(signal.SIGKILL)
            process.wait()
            second = local_runs.run(root)
            assert second.code == 2
            assert "another `mlspec run` is at work" in second.stderr
        finally:  # the program waits for it: where something above fails, it is not to wait for ever
            (run.parent / "go").touch()
        until(lambda: not alive(processes[0]), "the end of the program")
    assert _file(root, "checkpoint") is not None
    until(lambda: _is_free(root), "the release of the root")
    assert local_runs.run(root).code == 0


def _is_free(root: Path) -> bool:
    question = "import sys; from pathlib import Path; from mlspec.local.folders import Folders\n"
    question += "with Folders(Path(sys.argv[1])).held(): pass"
    found = subprocess.run(
        [sys.executable, "-c", question, str(root)], env=local_runs.environment(), capture_output=True, check=False
    )
    return found.returncode == 0


def test_the_lock_goes_with_its_holder(tmp_path: Path) -> None:
    """A file that a process left behind, whoever it was, holds nothing."""
    folders = Folders(_root(tmp_path))
    folders.prepare()
    left = tmp_path / ".mlspec" / "logs" / "run.lock"
    left.write_text("1\n")
    with folders.held():
        assert left.read_text() == f"{os.getpid()}\n"
