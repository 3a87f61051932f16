"""Where a run is on this computer: `.mlspec/volumes` and `.mlspec/logs` of a root, held by one command at a time."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from mlspec.ir_runs import ShippedFile
from mlspec.local.errors import CannotRunError

FOLDER: Final = ".mlspec"
VOLUMES: Final = "volumes"
LOGS: Final = "logs"
_LOCK: Final = "run.lock"
_IGNORED: Final = "*\n"
_HIGH: Final = 50
"""The wrapper uses descriptor 3, and shells what is just above: the lock is held by one that they leave alone."""


class Folders:
    """The folders of a root."""

    def __init__(self, root: Path) -> None:
        """Take the root; nothing is made yet."""
        self.root = root
        self._volumes = root / FOLDER / VOLUMES
        self._logs = root / FOLDER / LOGS

    def prepare(self) -> None:
        """Make the folders, and keep Git from seeing what is in them; raises CannotRunError."""
        try:
            for folder in (self._volumes, self._logs):
                folder.mkdir(parents=True, exist_ok=True)
                ignore = folder / ".gitignore"
                if not ignore.exists():
                    ignore.write_text(_IGNORED)
        except OSError as error:
            raise CannotRunError(f"{self.shown(Path(str(error.filename)))} cannot be made: {_reason(error)}") from error

    def volume_path(self, claim: str) -> Path:
        """Return the folder that stands for a claim."""
        return self._volumes / claim

    def is_empty(self, claim: str) -> bool:
        """Say whether nothing is in a claim yet."""
        folder = self._volumes / claim
        return not folder.is_dir() or not any(folder.iterdir())

    def logs(self, run: str) -> Path:
        """Return the folder for the logs of a run, and what its programs need for themselves."""
        return self._logs / run

    def programs(self) -> Path:
        """Return the folder for programs that stand first in PATH."""
        return self._logs / "programs"

    def afresh(self, run: str, files: Sequence[ShippedFile]) -> Path:
        """Return the folder of a run's logs, empty but for what the run ships, at its path in the container."""
        folder = self.logs(run)
        if folder.exists():
            shutil.rmtree(folder)
        for path in (self.work(run), self.image(run), folder / "ranks"):
            path.mkdir(parents=True)
        for file in files:
            for inside in file.paths:
                there = self.image(run) / inside.lstrip("/")
                there.parent.mkdir(parents=True, exist_ok=True)
                there.write_bytes(file.content)
        return folder

    def work(self, run: str) -> Path:
        """Return where a run's programs start: an empty folder, so that none finds by chance what no image has."""
        return self.logs(run) / "work"

    def image(self, run: str) -> Path:
        """Return the folder that holds what is mounted into a container beside claims."""
        return self.logs(run) / "image"

    def shown(self, path: Path) -> str:
        """Return a path as messages show it: from the root."""
        return path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)

    @contextmanager
    def held(self) -> Iterator[int]:
        """Hold the root against other runs; yields the descriptor that holds it, for programs to inherit.

        The lock is the kernel's: it goes with the last process that has it, so that a program that outlives a killed
        command still holds it, and a file that is left behind holds nothing. Raises CannotRunError where it is taken.
        """
        path = self.root / FOLDER / LOGS / _LOCK
        opened = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
        handle = fcntl.fcntl(opened, fcntl.F_DUPFD_CLOEXEC, _HIGH)
        os.close(opened)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                holder = os.pread(handle, 20, 0).decode("ascii", "replace").strip()
                who = f" (process {holder})" if holder.isdecimal() else ""
                message = f"another `mlspec run` is at work in this root{who}; wait for it, or stop it with Ctrl-C"
                raise CannotRunError(message) from error
            os.ftruncate(handle, 0)
            os.pwrite(handle, f"{os.getpid()}\n".encode(), 0)
            yield handle
        finally:
            os.close(handle)


def _reason(error: OSError) -> str:
    return (error.strerror or "unknown error").lower()
