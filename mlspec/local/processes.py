"""Processes on this computer: started in a session of their own, stopped politely, and none is ever left."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any, Final

_MARK: Final = "_MLSPEC_LOCAL"
"""A variable that every process of a run has: torchrun gives its workers sessions of their own, so neither the process
group nor, once torchrun is gone, the parent tells whose they are."""
_PROC: Final = Path("/proc")
_SET_PARENT_DEATH_SIGNAL: Final = 1  # PR_SET_PDEATHSIG of <linux/prctl.h>
_LIBC: Final = ctypes.CDLL(None, use_errno=True) if sys.platform == "linux" else None
_LONGEST_KILL: Final = 10.0


def _with_parent() -> None:
    """Be told to stop when mlspec dies, whatever kills it; Linux alone knows this."""
    if _LIBC is not None:
        _LIBC.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGTERM)


class Process:
    """A program that writes to a file, from which its lines are read.

    Not to a pipe: a program goes on writing its checkpoint when nobody reads any more.
    """

    def __init__(
        self, name: str, words: Sequence[str], env: Mapping[str, str], folder: Path, log: Path, lock: int
    ) -> None:
        """Start it in a folder; raises OSError."""
        self.name = name
        self._mark = f"{os.getpid()}.{time.monotonic_ns()}"
        self._rest = b""
        with log.open("ab") as output:
            self._read = output.tell()
            self._popen = subprocess.Popen(  # noqa: S603  # what the user's own spec says
                list(words),
                cwd=folder,
                env={**env, _MARK: self._mark},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
                pass_fds=(lock,),
                preexec_fn=_with_parent,  # this process has one thread
            )
        self._log = log.open("rb")
        self._log.seek(self._read)

    def poll(self) -> int | None:
        """Return the exit code, that of a signal as a shell gives it; None while it runs."""
        code = self._popen.poll()
        return 128 - code if code is not None and code < 0 else code

    def lines(self, *, last: bool = False) -> Iterator[str]:
        """Yield the lines that it has written since; with `last` also one that has no end."""
        *whole, self._rest = (self._rest + self._log.read()).split(b"\n")
        for line in whole:
            yield _as_shown(line)
        if last and self._rest:
            yield _as_shown(self._rest)
            self._rest = b""

    def stop(self) -> None:
        """Ask the program to stop: the wrapper and torchrun pass it on, as they do in a pod."""
        if self._popen.poll() is None:
            self._popen.send_signal(signal.SIGTERM)

    def end(self) -> None:
        """Kill whatever is left of it, and wait until it is gone."""
        until = time.monotonic() + _LONGEST_KILL
        while (left := self._members()) and time.monotonic() < until:
            for process in left:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(process, signal.SIGKILL)
            self._popen.poll()
            time.sleep(0.02)
        if self._popen.poll() is None:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._popen.pid, signal.SIGKILL)
            self._popen.wait()
        self._log.close()

    def _members(self) -> set[int]:
        if (_PROC / "self" / "environ").exists():
            return _marked(f"{_MARK}={self._mark}".encode())
        return _below(self._popen.pid) if self._popen.poll() is None else set()


def _as_shown(line: bytes) -> str:
    """Return what a terminal would show of a line at its end: a progress bar writes over itself."""
    return line.decode("utf-8", "replace").rstrip("\r").rpartition("\r")[2]


def _marked(mark: bytes) -> set[int]:
    """Return the processes that have an entry in their environment; those that have ended have none."""
    found = set()
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with contextlib.suppress(OSError):
                if mark in (entry / "environ").read_bytes().split(b"\0"):
                    found.add(int(entry.name))
    return found


def _below(root: int) -> set[int]:
    """Return a process and all that come from it, where the system has no /proc."""
    listed = subprocess.run(["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=False)  # noqa: S607  # the system's own
    pairs = [(int(pid), int(parent)) for pid, parent in (line.split() for line in listed.stdout.splitlines())]
    found, size = {root}, 0
    while len(found) > size:
        size = len(found)
        found |= {pid for pid, parent in pairs if parent in found}
    return found


class Stop:
    """What the user wants: signals that this process has got since; the first is passed on, the second ends all."""

    _SIGNALS: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)

    def __init__(self) -> None:
        """Begin with none."""
        self.first: int | None = None
        self.count = 0
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Stop:
        """Take the signals."""
        self._before = {number: signal.signal(number, self._take) for number in self._SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
        """Give the signals back."""
        for number, handler in self._before.items():
            signal.signal(number, handler)

    def _take(self, number: int, _: FrameType | None) -> None:
        self.first = self.first or number
        self.count += 1

    @property
    def code(self) -> int:
        """The exit code that the first signal means."""
        return 128 + (self.first or signal.SIGINT)
