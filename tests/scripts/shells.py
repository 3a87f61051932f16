"""The shells that images have as /bin/sh, and the hand-over started under one of them with real processes."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mlspec import scripts
from tests.tools import busybox

_FOUND: Final = {
    "dash": (shutil.which("dash"), "dash"),
    "bash": (shutil.which("bash"), "bash"),
    "bash-as-sh": (shutil.which("bash"), "sh"),
    "busybox": (busybox.find(), "sh"),
}
NAMES: Final = tuple(_FOUND)
SHIPPED: Final = scripts.text("handover.sh")


def hurried(hold: float) -> str:
    """Return the shipped text with shorter pauses; `hold`: seconds that signals are held back after the start."""
    text = SHIPPED
    for shipped, hurry in (("    sleep 2 &\n", "    sleep 0.01 &\n"), ("\nsleep 1 &\n", f"\nsleep {hold} &\n")):
        assert text.count(shipped) == 1
        text = text.replace(shipped, hurry)
    return text


HURRIED: Final = hurried(0)


@dataclass
class Started:
    """A hand-over that runs; what it writes is read as it comes, so that no pipe fills up."""

    process: subprocess.Popen[bytes]
    said: list[bytes] = field(default_factory=list)
    wrote: list[bytes] = field(default_factory=list)
    changed: threading.Condition = field(default_factory=threading.Condition)

    def __post_init__(self) -> None:
        """Begin to read."""
        streams = ((self.process.stdout, self.wrote), (self.process.stderr, self.said))
        self._readers = [threading.Thread(target=self._read, args=each, daemon=True) for each in streams]
        for reader in self._readers:
            reader.start()

    def _read(self, stream: object, into: list[bytes]) -> None:
        assert hasattr(stream, "fileno")
        while content := os.read(stream.fileno(), 1 << 16):
            with self.changed:
                into.append(content)
                self.changed.notify_all()

    @property
    def output(self) -> bytes:
        """What the program has written to standard output."""
        return b"".join(self.wrote)

    @property
    def errors(self) -> str:
        """What was written to standard error."""
        return b"".join(self.said).decode(errors="replace")

    def until(self, text: str) -> None:
        """Wait until a text has been written to either stream."""
        with self.changed:
            seen = self.changed.wait_for(lambda: text in self.output.decode(errors="replace") + self.errors, timeout=20)
        assert seen, f"not written: {text}: {self.output!r} {self.errors}"

    def send(self, name: str) -> None:
        """Send a signal to the shell alone."""
        self.process.send_signal(signal.Signals[f"SIG{name}"])

    def feed(self, content: bytes) -> None:
        """Write to the program's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.write(content)
        self.process.stdin.flush()

    def close(self) -> None:
        """End the program's standard input."""
        assert self.process.stdin is not None
        self.process.stdin.close()

    def status(self, within: float = 20) -> int:
        """Wait for the end; returns the status as a shell counts it, below 0 where a signal ended the shell itself.

        Raises TimeoutExpired, and leaves it running, after so many seconds.
        """
        found = self.process.wait(timeout=within)
        self.close_all()
        return found

    def close_all(self) -> None:
        """End what the shell has left, and close the pipes."""
        # A pause that nobody awaits any more holds the pipes open: as in a container, what is left ends, too.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        for reader in self._readers:
            reader.join(timeout=5)
        for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
            assert stream is not None
            with contextlib.suppress(BrokenPipeError):
                stream.close()


@dataclass(frozen=True)
class Shell:
    """One of the shells; `links` is a folder for links to it, `started` what was started under it."""

    name: str
    links: Path
    started: list[Started] = field(default_factory=list, repr=False)

    @property
    def program(self) -> tuple[str, str]:
        """Its path, and the name that it is called by; fails where it is not installed."""
        path, called = _FOUND[self.name]
        assert path is not None, f"there is no {self.name} here: run `make tools`, or install the package {self.name}"
        return path, called

    def start(
        self,
        *program: str,
        inputs: Sequence[Path] = (),
        env: Mapping[str, str] | None = None,
        text: str = HURRIED,
        within: Sequence[str] = (),
    ) -> Started:
        """Start the hand-over of a program, with no other variables than PATH and those given."""
        path, called = self.program
        link = self.links / called
        with contextlib.suppress(FileExistsError):
            link.symlink_to(path)
        command = [str(link), "-c", text, "mlspec", *map(str, inputs), "--", *program]
        process = subprocess.Popen(
            [*within, *command],
            env={"PATH": os.environ["PATH"], **(env or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,  # no terminal, as in a container
        )
        self.started.append(Started(process))
        return self.started[-1]

    def end(self) -> None:
        """End what a failed test has left."""
        for started in self.started:
            if started.process.poll() is None:
                started.close_all()

    def run(
        self, *program: str, inputs: Sequence[Path] = (), env: Mapping[str, str] | None = None, text: str = HURRIED
    ) -> tuple[int, str, str]:
        """Run it to its end, with nothing to read; returns status, output and errors."""
        started = self.start(*program, inputs=inputs, env=env, text=text)
        started.close()
        status = started.status()
        return status, started.output.decode(), started.errors
