"""Roots whose steps are a few lines of Python, and `mlspec run` as a process of its own, as a user starts it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from tests.support import ENVIRONMENT, REPOSITORY, Result, make_root, write_tree

LONGEST: Final = 60.0
"""Seconds after which a test gives up."""
PROJECT: Final = """\
volumes: {data: {size: 1Gi, access: ReadWriteMany}, models: {size: 1Gi, access: ReadWriteMany}}
steps:
  prepare:
    kind: job
    image: i:1
    script: prepare.py
    args: [--out=/data/raw, $(MLSPEC_RUN_DIR)]
    mounts: {data: /data}
  train:
    kind: job
    needs: [prepare]
    image: i:1
    script: train.py
    mounts: {data: {path: /data, readOnly: true}, models: /models}
  evaluate:
    kind: job
    needs: [train]
    image: i:1
    script: evaluate.py
    mounts: {models: /models}
    gate: {accuracy: {atLeast: 0.9}}
services:
  model: {kind: kserve, model: {format: onnx, from: train, path: export}}
"""
PROGRAMS: Final = {
    "prepare.py": """\
import os, pathlib, sys
run = pathlib.Path(os.environ["MLSPEC_RUN_DIR"])
(run / "words").write_text(chr(10).join(sys.argv[1:]))
(run / "variables").write_text(chr(10).join(sorted(os.environ)))
print("prepared")
""",
    "train.py": """\
import os, pathlib
assert pathlib.Path(os.environ["MLSPEC_INPUT_PREPARE"], "words").exists()
export = pathlib.Path(os.environ["MLSPEC_RUN_DIR"], "export")
export.mkdir()
(export / "model.onnx").write_text("weights")
print('{"event": "step", "step": 5, "steps": 5, "loss": 0.25, "samples_per_second": 1234.5}')
""",
    "evaluate.py": """\
import json, os, pathlib
metrics = {"accuracy": 0.95, "loss": 0.125, "model": "text"}
pathlib.Path(os.environ["MLSPEC_RUN_DIR"], "metrics.json").write_text(json.dumps(metrics))
""",
}


def root(folder: Path, project: str = PROJECT, **programs: str) -> Path:
    """Write a root; `programs` replace those of the project, by name without `.py`."""
    make_root(folder, project, {"dev": ENVIRONMENT})
    return write_tree(folder, {**PROGRAMS, **{f"{name}.py": text for name, text in programs.items()}})


def environment(**variables: str) -> dict[str, str]:
    """Return the environment of a command: this process's, with what is to be imported."""
    return {**os.environ, "PYTHONPATH": str(REPOSITORY), "NO_COLOR": "1", **variables}


def run(folder: Path, *arguments: str, **variables: str) -> Result:
    """Run `mlspec run` to its end."""
    result = subprocess.run(
        [sys.executable, "-m", "mlspec", "run", *arguments],
        cwd=folder,
        env=environment(**variables),
        capture_output=True,
        text=True,
        check=False,
        timeout=LONGEST,
    )
    return Result(result.returncode, result.stdout, result.stderr)


@contextmanager
def started(folder: Path, *arguments: str) -> Iterator[subprocess.Popen[bytes]]:
    """Start `mlspec run`; its stderr goes to a file `said` beside the root's, and it is killed at the end."""
    with (folder / "said").open("wb") as said:
        process = subprocess.Popen(
            [sys.executable, "-m", "mlspec", "run", *arguments],
            cwd=folder,
            env=environment(),
            stdout=subprocess.DEVNULL,
            stderr=said,
            start_new_session=True,
        )
        try:
            yield process
        finally:
            if process.poll() is None:
                process.send_signal(signal.SIGKILL)
            process.wait()


def until(found: Callable[[], object], what: str) -> None:
    """Wait until something holds; a test fails where it never does."""
    end = time.monotonic() + LONGEST
    while not found():
        assert time.monotonic() < end, f"{what} did not happen"
        time.sleep(0.02)


def alive(process: int) -> bool:
    """Say whether a process runs; one that has ended, but that nobody has waited for, does not."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    status = Path(f"/proc/{process}/stat")
    try:
        return not status.exists() or status.read_text().rpartition(")")[2].split()[0] not in {"Z", "X"}
    except (FileNotFoundError, ProcessLookupError):
        return False
