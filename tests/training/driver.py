"""Runs ddp.py with one thing about it changed: `driver.py CHANGES ARGUMENTS...`, the changes as JSON.

`sleep`: seconds that each step takes longer. `full_at`: the disk is full from the n-th file on that is written.
"""

from __future__ import annotations

import errno
import importlib.util
import json
import sys
import time
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any


def program() -> ModuleType:
    """Return ddp.py as a module."""
    path = Path(__file__).parents[2] / "mlspec" / "training" / "ddp.py"
    spec = importlib.util.spec_from_file_location("ddp", path)
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules["ddp"] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def full_disk(write: Callable[[Path, bytes], Any], file: int) -> Callable[[Path, bytes], Any]:
    """Return `write` on a disk that is full from the `file`-th file on, in the middle of it."""
    written = [0]

    def write_or_fail(path: Path, data: bytes) -> Any:
        written[0] += 1
        if written[0] >= file:
            path.with_name(f".{path.name}").write_bytes(data[: len(data) // 2])
            raise OSError(errno.ENOSPC, "No space left on device")
        return write(path, data)

    return write_or_fail


def slow(step: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    """Return `step` with a pause before it."""

    def slow_step(*arguments: Any) -> Any:
        time.sleep(seconds)
        return step(*arguments)

    return slow_step


if __name__ == "__main__":
    ddp = program()
    changes = json.loads(sys.argv[1])
    vars(ddp)["train_step"] = slow(ddp.train_step, changes.get("sleep", 0))
    vars(ddp)["write"] = full_disk(ddp.write, changes.get("full_at", 1 << 30))
    ddp.main(sys.argv[2:])
