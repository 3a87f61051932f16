"""One run of mlspec at a time in a root: writers exclude everybody, readers exclude writers."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from mlspec.spec.discover import ENVIRONMENT_FOLDER


@contextmanager
def locked(root: Path, *, exclusive: bool, waiting: Callable[[], None]) -> Iterator[None]:
    """Hold the root against other runs of mlspec; `waiting` is called once if another holds it.

    The lock is taken on the folder environments/, which every root has, so that it leaves no file behind.
    """
    handle = os.open(root / ENVIRONMENT_FOLDER, os.O_RDONLY)
    mode = fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH
    try:
        try:
            fcntl.flock(handle, mode | fcntl.LOCK_NB)
        except BlockingIOError:
            waiting()
            fcntl.flock(handle, mode)
        yield
    finally:
        os.close(handle)
