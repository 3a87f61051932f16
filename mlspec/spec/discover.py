"""Where a root begins, and which project files it holds."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

PROJECT_FILE: Final = "mlproject.yaml"
ENVIRONMENT_FOLDER: Final = "environments"
GENERATED: Final = "generated"
COMMON: Final = "common"
MAX_FOLDERS: Final = 200
"""Folders inside of one another that are searched; Python walks down by calling itself, and ends at a thousand."""


def find_root(start: Path) -> Path | None:
    """Return the nearest folder from `start` upwards that holds `environments/`."""
    folder = start if start.is_dir() else start.parent
    return next((parent for parent in (folder, *folder.parents) if (parent / ENVIRONMENT_FOLDER).is_dir()), None)


def find_projects(folder: Path, root: Path, unreadable: Callable[[OSError], object]) -> Iterator[Path]:
    """Yield every project file below `folder`: hidden folders, generated/ and other roots left out."""
    for path, folders, files in os.walk(folder, onerror=unreadable):
        here = Path(path)
        folders[:] = sorted(
            name
            for name in folders
            if not name.startswith(".")
            and here / name != root / GENERATED
            and not (here / name / ENVIRONMENT_FOLDER).is_dir()
        )
        if len(here.relative_to(folder).parts) >= MAX_FOLDERS and folders:
            reason = f"folders are nested deeper than {MAX_FOLDERS} levels"
            unreadable(OSError(errno.ENAMETOOLONG, reason, os.fspath(here)))
            folders.clear()
        if PROJECT_FILE in files or (here / PROJECT_FILE).is_dir():
            yield here / PROJECT_FILE


def files_in(path: Path, root: Path, unreadable: Callable[[OSError], object]) -> Iterable[Path]:
    """Yield the project files that a path stands for: itself, or those below it."""
    if path.is_dir() and path.name != PROJECT_FILE:
        return find_projects(path, root, unreadable)
    return [path]


def relative(path: Path, root: Path) -> str:
    """Return a path as findings show it: from the root, or its name alone outside of it."""
    shown = path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name
    return os.fsencode(shown).decode("utf-8", "backslashreplace")
