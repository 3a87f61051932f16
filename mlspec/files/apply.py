"""Changes in, files on disk out: every file whole, the lock last, nothing of anybody else touched.

The lock of a project is the commit point. `mlspec.lock.pending` is written before the first file changes and
renamed to `mlspec.lock` after the last, so that a killed run is seen and the next one finishes it.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from mlspec.diagnostics import Diagnostic, whole_file
from mlspec.files.compare import TEMPORARY, Changes
from mlspec.files.lock import LOCK, PENDING, Lock
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED


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


@dataclass(slots=True)
class _Staged:
    """Files written beside their targets, and the folders made for them."""

    files: list[tuple[Path, Path]] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)

    def put(self, target: Path, content: bytes) -> None:
        """Write a file beside its target; raises OSError."""
        missing = []
        folder = target.parent
        while not folder.exists():
            missing.append(folder)
            folder = folder.parent
        for folder in reversed(missing):
            folder.mkdir()
            self.folders.append(folder)
        temporary = target.with_name(TEMPORARY + target.name)
        self.files.append((temporary, target))
        with temporary.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())

    def undo(self) -> None:
        """Take everything back that was written."""
        for temporary, _ in self.files:
            temporary.unlink(missing_ok=True)
        for folder in reversed(self.folders):
            try:
                folder.rmdir()
            except OSError:
                continue  # somebody put a file there meanwhile

    def commit(self) -> None:
        """Move every file to its place; each is whole at any time."""
        for temporary, target in self.files:
            temporary.replace(target)
        for folder in {target.parent for _, target in self.files}:
            _sync(folder)


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
    """Bring the disk to what should be, or report why no file was changed; the caller holds the root's lock."""
    staged, journal = _Staged(), _Staged()
    current = generated
    try:
        for change in changes:
            for path, content in sorted(change.writes.items()):
                current = generated / path
                staged.put(current, content)
            current = generated / change.project / PENDING
            journal.put(current, (change.lock or Lock()).text())
    except OSError as error:
        staged.undo()
        journal.undo()
        return [_unwritable(generated, current, error)]
    try:
        journal.commit()
        staged.commit()
        for change in changes:
            _finish(generated, change)
    except OSError as error:
        current = Path(error.filename) if error.filename else generated
        return [_unwritable(generated, current, error)]
    return []


def _unwritable(generated: Path, path: Path, error: OSError) -> Diagnostic:
    name = f"{GENERATED}/{path.relative_to(generated).as_posix()}" if path.is_relative_to(generated) else GENERATED
    name = name.removesuffix("/.")
    return Diagnostic("MLS506", f"cannot be written: {(error.strerror or 'unknown error').lower()}", whole_file(name))


def _finish(generated: Path, change: Changes) -> None:
    """Remove what is not needed any more, then commit the lock."""
    for path in change.removes:
        (generated / path).unlink(missing_ok=True)
    pending = generated / change.project / PENDING
    if change.lock is None:
        (generated / change.project / LOCK).unlink(missing_ok=True)
        pending.unlink(missing_ok=True)
    else:
        pending.replace(generated / change.project / LOCK)
    for folder in {parent for path in [*change.removes, f"{change.project}/{LOCK}"] for parent in Path(path).parents}:
        _prune_empty(generated, generated / folder)
    _sync(generated)


def _prune_empty(generated: Path, folder: Path) -> None:
    while folder != generated and folder.is_dir() and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent
