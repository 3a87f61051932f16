"""One file of a user's replaced as a whole: old or new at any time, with the rights that it had."""

from __future__ import annotations

import os
import stat
from contextlib import suppress
from pathlib import Path

from mlspec.files.compare import TEMPORARY


class ChangedMeanwhileError(Exception):
    """The file is not any more what it was when it was read."""


def replace(path: Path, before: bytes, content: bytes) -> None:
    """Give a file other content; raises ChangedMeanwhileError where it is not `before`, and OSError.

    Whatever stops it, the file is as it was, and nothing is left beside it.
    """
    temporary = path.with_name(TEMPORARY + path.name)
    with suppress(FileNotFoundError):
        temporary.unlink()
    try:
        with temporary.open("xb") as file:
            os.fchmod(file.fileno(), stat.S_IMODE(path.stat().st_mode))
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        # An editor knows nothing of our lock; what it saved since would be lost.
        if path.read_bytes() != before:
            raise ChangedMeanwhileError
        temporary.replace(path)
    except BaseException:  # Ctrl-C, too: nothing may be left beside the file, and whatever it was goes on
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise
    _settle(path.parent)


def _settle(folder: Path) -> None:
    """Make the rename last; a folder that cannot be opened is synced by the system in its own time."""
    with suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
