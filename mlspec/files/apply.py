"""Changes in, files on disk out: every file whole, the lock last, nothing of anybody else touched.

The lock of a project, or of the root, is the commit point. `mlspec.lock.pending` is there before the first file
changes and until `mlspec.lock` is written after the last, so that a killed run is seen and the next one finishes it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mlspec.diagnostics import Diagnostic, whole_file
from mlspec.files.compare import TEMPORARY, Changes
from mlspec.files.lock import Lock
from mlspec.files.marks import PENDING, lock_path
from mlspec.spec.discover import GENERATED

_MANY: Final = 64
# Linux waits in sync(2) until everything is written; elsewhere it only asks for it.
_WAITS: Final = sys.platform == "linux"


@dataclass(slots=True)
class _Staged:
    """Files written beside their targets, and the folders made for them."""

    files: list[tuple[str, str]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    there: set[Path] = field(default_factory=set)
    """Folders that were seen: asking the disk for each file would cost as much as writing it."""

    def put_all(self, contents: Mapping[Path, bytes]) -> None:
        """Write files beside their targets, and wait until they are on the disk; raises OSError.

        Many files are waited for together: one wait each would take most of the time.
        """
        together = len(contents) >= _MANY and _WAITS
        for target, content in contents.items():
            _fill(self.place(target), content, wait=not together)
        if together:
            os.sync()

    def place(self, target: Path) -> str:
        """Make the folders of a target, and return the name that its content gets first; raises OSError."""
        missing = []
        folder = target.parent
        while folder not in self.there and not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir()
            self.folders.append(folder)
        self.there.add(target.parent)
        temporary = f"{target.parent}/{TEMPORARY}{target.name}"
        self.files.append((temporary, str(target)))
        return temporary

    def undo(self) -> None:
        """Take back everything that is not in its place yet; what cannot be removed is left for the next run."""
        for temporary, _ in self.files:
            with suppress(OSError):
                Path(temporary).unlink(missing_ok=True)
        for folder in reversed(self.folders):
            with suppress(OSError):
                folder.rmdir()

    def commit(self) -> None:
        """Move every file to its place; each is whole at any time."""
        for temporary, target in self.files:
            Path(temporary).replace(target)
        if len(self.files) >= _MANY and _WAITS:
            os.sync()
            return
        for folder in {Path(target).parent for _, target in self.files}:
            _sync(folder)


def _fill(path: str, content: bytes, *, wait: bool) -> None:
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL
    try:
        try:
            handle = os.open(path, flags, 0o666)
        except FileExistsError:
            # What a killed run left, or a link that somebody put there, must not be written through.
            Path(path).unlink()
            handle = os.open(path, flags, 0o666)
        try:
            left = memoryview(content)
            while left:
                left = left[os.write(handle, left) :]
            if wait:
                os.fsync(handle)
        finally:
            os.close(handle)
    except OSError as error:
        # A full disk does not say for which file.
        raise OSError(error.errno, error.strerror, path) from error


def _sync(folder: Path) -> None:
    """Make renames in a folder last; folders cannot be opened everywhere."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def apply(generated: Path, changes: list[Changes]) -> list[Diagnostic]:
    """Bring the disk to what should be, or report what stopped it; the caller holds the root's lock."""
    files, journal, locks = _Staged(), _Staged(), _Staged()
    begun = False
    try:
        files.put_all({generated / path: text for change in changes for path, text in sorted(change.writes.items())})
        pending = {generated / lock_path(c.project, PENDING): (c.lock or Lock()).text(c.interrupted) for c in changes}
        journal.put_all(pending)
        locks.put_all({generated / lock_path(c.project): c.lock.text() for c in changes if c.lock is not None})
        begun = True
        journal.commit()
        files.commit()
        for change in changes:
            for path in change.removes:
                (generated / path).unlink(missing_ok=True)
        locks.commit()
        for change in changes:
            _close(generated, change)
    except OSError as error:
        for staged in (files, locks, journal):
            staged.undo()
        place = Path(error.filename) if error.filename else generated
        return [_unwritable(generated, place, error, begun=begun)]
    return []


def _unwritable(generated: Path, path: Path, error: OSError, *, begun: bool) -> Diagnostic:
    name = f"{GENERATED}/{path.relative_to(generated).as_posix()}" if path.is_relative_to(generated) else GENERATED
    name = name.removesuffix("/.").replace(TEMPORARY, "")
    help = "then run `mlspec generate`: it finishes what has begun" if begun else ""
    reason = (error.strerror or "unknown error").lower()
    return Diagnostic("MLS506", f"cannot be written: {reason}", whole_file(name), help=help)


def _close(generated: Path, change: Changes) -> None:
    """Take the journal away, and the lock of a project that is gone, and folders that are empty now."""
    lock = lock_path(change.project)
    if change.lock is None:
        (generated / lock).unlink(missing_ok=True)
    (generated / lock_path(change.project, PENDING)).unlink(missing_ok=True)
    _sync((generated / lock).parent)
    for parent in {parent for path in [*change.removes, lock] for parent in Path(path).parents}:
        _prune_empty(generated, generated / parent)


def _prune_empty(generated: Path, folder: Path) -> None:
    while folder != generated and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
