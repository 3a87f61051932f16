"""What lies at a path below generated/, seen without following symbolic links, so that no path leads out of it."""

from __future__ import annotations

import os
import stat
from pathlib import Path


def obstacle(generated: Path, path: str) -> tuple[str, str] | None:
    """Return what stands where a file, or a folder on the way to it, belongs, and where; None if nothing does."""
    here, walked, parts = os.fspath(generated), "", path.split("/")
    for index in range(len(parts) + 1):
        if index:
            walked = "/".join(parts[:index])
            here = f"{here}/{parts[index - 1]}"
        try:
            mode = os.lstat(here).st_mode
        except OSError:
            return None
        found = _file(mode) if index == len(parts) else _folder(mode)
        if found is not None:
            return found, walked
    return None


def _file(mode: int) -> str | None:
    if stat.S_ISREG(mode):
        return None
    return "a symbolic link" if stat.S_ISLNK(mode) else "a folder" if stat.S_ISDIR(mode) else "a device or pipe"


def _folder(mode: int) -> str | None:
    if stat.S_ISDIR(mode):
        return None
    return "a symbolic link" if stat.S_ISLNK(mode) else "a file"


def read(generated: Path, path: str, most: int = -1) -> bytes | None:
    """Return the first bytes of a file (default: all), or None where no regular file can be read."""
    return content(generated, path, most) if obstacle(generated, path) is None else None


def content(generated: Path, path: str, most: int = -1) -> bytes | None:
    """Return the first bytes of a file in whose way nothing stands, or None."""
    try:
        with open(f"{generated}/{path}", "rb") as file:  # noqa: PTH123  # thirty files a project
            return file.read(most)
    except OSError:
        return None
