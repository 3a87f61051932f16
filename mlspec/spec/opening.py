"""Files of a root read so that no link leads out of it, not even one that is put there meanwhile.

Every folder on the way is opened from the one above, and nothing is followed then: what was looked at is what is read
(CVE-2022-31036 is what becomes of it otherwise). Devices and pipes are not opened at all.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Final

_FOLDER: Final = os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC | getattr(os, "O_PATH", os.O_RDONLY)
# A pipe that took the file's place meanwhile must not be waited for.
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class RefusedError(Exception):
    """What stands at the path is not read: it is no regular file, or the way to it leads out of the root."""

    def __init__(self, message: str, help: str = "", *, is_folder: bool = False) -> None:
        super().__init__(message)
        self.message, self.help, self.is_folder = message, help, is_folder


def read_linked(root: Path, path: Path, most: int) -> bytes:
    """Return at most `most` bytes of a file that links may lead to, inside of the root; raises as `read_below` does."""
    real = os.path.realpath(path)
    return read_below(root, Path(real).parent, os.path.basename(real), most)  # noqa: PTH119  # a text


def read_below(root: Path, folder: Path, path: str, most: int) -> bytes:
    """Return at most `most` bytes of a file named from a folder; links count on the way to that folder alone.

    Raises RefusedError, and OSError: ELOOP for a link.
    """
    top = os.path.realpath(root)
    try:
        below = Path(os.path.realpath(folder)).relative_to(top)
    except ValueError:
        raise RefusedError("a symbolic link leads out of the root", "copy the file into the root") from None
    parts = [*below.parts, *path.split("/")]
    handle = os.open(top, _FOLDER & ~os.O_NOFOLLOW)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=handle)
            os.close(handle)
            handle = inner
        _check(os.stat(parts[-1], dir_fd=handle, follow_symlinks=False).st_mode, link=True)
        with open(os.open(parts[-1], _FILE, dir_fd=handle), "rb") as file:  # noqa: PTH123  # from a handle
            _check(os.fstat(file.fileno()).st_mode, link=False)
            return file.read(most)
    finally:
        os.close(handle)


def _check(mode: int, *, link: bool) -> None:
    """Raise RefusedError for anything but a regular file; a link is refused by the system, and with its own word."""
    if stat.S_ISDIR(mode):
        raise RefusedError("this is a folder, not a file", is_folder=True)
    if not (stat.S_ISREG(mode) or (link and stat.S_ISLNK(mode))):
        raise RefusedError("this is not a regular file")
