"""One program of the cluster: started with a log, waited for until it is ready, ended in every case."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.cluster.harness.errors import HarnessError

Ready = Callable[[], bool]
"""A test whether something is there yet; polled, so it must be cheap and must not raise."""
_GRACE = 5.0


class Process:
    """A running program; a context manager that ends it."""

    def __init__(
        self,
        name: str,
        argv: Sequence[str],
        log: Path,
        environment: Mapping[str, str] | None = None,
        keep: Sequence[int] = (),
    ) -> None:
        """Start the program; `keep` are file descriptors that it inherits.

        Raises:
            HarnessError: there is no such program.
        """
        self.name = name
        self.log = log
        self._ended = False
        try:
            with log.open("ab") as output:
                self._popen = subprocess.Popen(
                    argv,
                    stdin=subprocess.DEVNULL,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    env=environment,
                    pass_fds=tuple(keep),
                    start_new_session=True,  # Ctrl-C reaches the harness, which ends its processes in order
                )
        except OSError as error:
            raise HarnessError(name, f"cannot be started: {error.strerror}: {argv[0]}", log) from error

    def __enter__(self) -> Self:
        """Return the running program."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End the program."""
        self.stop()

    def stop(self, grace: float = _GRACE) -> None:
        """Ask the program to end, and kill it if it does not within so many seconds."""
        self._ended = True
        until = time.monotonic() + grace
        self._signal(signal.SIGTERM)
        while self._signal(0):
            self._popen.poll()
            if time.monotonic() > until:
                self._signal(signal.SIGKILL)
            time.sleep(0.02)
        self._popen.wait()

    def _signal(self, number: int) -> bool:
        """Signal the program and what entered the cell with it; says whether anything was there."""
        try:
            os.killpg(self._popen.pid, number)
        except ProcessLookupError:
            return False
        return True

    def check(self) -> None:
        """Raise HarnessError if the program has ended by itself."""
        code = self._popen.poll()
        if code is not None and not self._ended:
            raise HarnessError(self.name, f"ended by itself with status {code}: {self.last_words()}", self.log)

    def wait_until(self, ready: Ready, seconds: float) -> None:
        """Wait until the program is ready.

        Raises:
            HarnessError: it ends before, or is not ready in time.
        """
        until = time.monotonic() + seconds
        while not ready():
            self.check()
            if time.monotonic() > until:
                raise HarnessError(self.name, f"not ready after {seconds:.0f} seconds: {self.last_words()}", self.log)
            time.sleep(0.05)

    def last_words(self) -> str:
        """Return the last line of the log."""
        lines = self.log.read_text(errors="replace").strip().splitlines()
        return lines[-1][:400] if lines else "it printed nothing"


def poll(what: str, test: Ready, seconds: float, *, every: float = 0.05) -> None:
    """Wait until something holds.

    Raises:
        HarnessError: it does not in time.
    """
    until = time.monotonic() + seconds
    while not test():
        if time.monotonic() > until:
            raise HarnessError(what, f"did not happen within {seconds:.0f} seconds")
        time.sleep(every)
