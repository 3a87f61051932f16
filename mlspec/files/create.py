"""New files in, all of them on disk or none: for `mlspec init`, which overwrites nothing."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Mapping
from contextlib import ExitStack, suppress
from pathlib import Path

from mlspec.diagnostics import Diagnostic, whole_file
from mlspec.files.compare import TEMPORARY
from mlspec.spec.discover import COMMON, ENVIRONMENT_FOLDER


def obstacles(folder: Path, paths: Iterable[str]) -> list[Diagnostic]:
    """Return a finding for every file that stands where one would be written, or whose meaning would change."""
    wanted = list(paths)
    found = [
        Diagnostic("MLS510", "exists already", whole_file(str(folder / path)))
        for path in wanted
        if os.path.lexists(folder / path)
    ]
    others = sorted((folder / ENVIRONMENT_FOLDER).glob("*.yaml"))
    if f"{ENVIRONMENT_FOLDER}/{COMMON}.yaml" in wanted:
        message = f"exists already, and {COMMON}.yaml would be merged under it"
        found += [
            Diagnostic("MLS510", message, whole_file(str(path)))
            for path in others
            if path.relative_to(folder).as_posix() not in wanted
        ]
    return found


def create(folder: Path, files: Mapping[str, bytes]) -> list[Diagnostic]:
    """Write files that do not exist; whatever stops it, nothing of it is left."""
    current = folder
    try:
        with ExitStack() as undo:
            staged = []
            for path, content in files.items():
                current = folder / path
                staged.append((_stage(current, content, undo), current))
            for temporary, current in staged:
                if os.path.lexists(current):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))
                temporary.replace(current)
                undo.callback(_remove, current)
            undo.pop_all()  # everything is in its place: nothing is taken back
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        return [Diagnostic("MLS506", f"cannot be written: {reason}", whole_file(str(current)))]
    return []


def _stage(target: Path, content: bytes, undo: ExitStack) -> Path:
    """Write a file beside its target; raises OSError."""
    missing = [parent for parent in target.parents if not parent.exists()]
    for parent in reversed(missing):
        parent.mkdir()
        undo.callback(_remove_folder, parent)
    temporary = target.with_name(TEMPORARY + target.name)
    temporary.unlink(missing_ok=True)
    undo.callback(_remove, temporary)
    with temporary.open("xb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    return temporary


def _remove(path: Path) -> None:
    with suppress(OSError):
        path.unlink(missing_ok=True)


def _remove_folder(path: Path) -> None:
    with suppress(OSError):
        path.rmdir()
