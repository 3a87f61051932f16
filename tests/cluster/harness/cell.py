"""Where the cluster's processes live: a network, a mount table and a process table of their own.

Everything in a cell listens on its private loopback, so two harnesses never meet and nothing is reachable from
outside but what is forwarded. The first process of the cell reads a pipe from this one: when this process ends, in
whatever way, the pipe closes, that process ends, and the kernel ends all others with it.

Where such namespaces cannot be made (no root and no user namespaces), the cell is plain: the same processes on free
ports of this machine, each killed by the kernel when this process ends. Operators then share their certificate
folders with others, which is said.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tests.cluster.harness.build import say
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.process import Process, Ready

_NAMESPACES: Final = ("--net", "--mount", "--pid")
_AS_ROOT: Final[tuple[tuple[str, ...], ...]] = ((), ("--user", "--map-root-user"))
_LISTENING: Final = "0A"
"""A TCP state in /proc/net/tcp: Linux, include/net/tcp_states.h."""


class Cell:
    """The processes of one harness and the folder of their state; a context manager."""

    def __init__(self, *, private: bool = True) -> None:
        """Make a cell that has not started; `private=False` asks for the plain form."""
        self.folder = Path(tempfile.mkdtemp(prefix="mlspec-cluster-"))
        self.keep = False
        self.private = private
        self._first: subprocess.Popen[bytes] | None = None
        self._enter: tuple[str, ...] = ()
        self._ends = ExitStack()
        self._processes: list[Process] = []

    def __enter__(self) -> Self:
        """Start the cell's first process."""
        if self.private:
            for user in _AS_ROOT:
                if self._start(user):
                    break
            else:
                self.private = False
                say("cluster: no private network can be made here; using free ports of this machine instead")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End every process; keep the folder where something failed."""
        if self._first is not None:
            self._first.communicate()  # closes its input: the kernel ends everything in the cell at once
        self._ends.close()
        if self.keep or kind is not None:
            say(f"cluster: logs are kept in {self.logs}")
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def logs(self) -> Path:
        """The folder of every process's log."""
        folder = self.folder / "logs"
        folder.mkdir(exist_ok=True)
        return folder

    def port(self) -> int:
        """Return a free port of the cell."""
        with socket.socket() as probe:  # free on this machine is free in a private network, too
            probe.bind(("127.0.0.1", 0))
            port: int = probe.getsockname()[1]
        return port

    def start(
        self,
        name: str,
        command: Sequence[str | Path],
        *,
        environment: Mapping[str, str] | None = None,
        ready: Ready | None = None,
        seconds: float = 60,
    ) -> Process:
        """Start a program in the cell and wait until it is ready.

        Raises:
            HarnessError: it ends before it is ready, or is not ready in time.
        """
        argv = [*self._prefix(), *map(str, command)]
        process = Process(name, argv, self.logs / f"{name}.log", {**os.environ, **(environment or {})})
        self._processes.append(process)
        self._ends.enter_context(process)
        if ready is not None:
            process.wait_until(ready, seconds)
        return process

    def run(self, command: Sequence[str | Path], *, name: str, input_text: str | None = None) -> str:
        """Run a command in the cell to its end; returns what it printed.

        Raises:
            HarnessError: it fails.
        """
        argv = [*self._prefix(), *map(str, command)]
        done = subprocess.run(argv, input=input_text, capture_output=True, text=True, check=False)  # our own words
        if done.returncode:
            raise HarnessError(name, f"{command[0]} failed: {done.stderr.strip()[-600:]}")
        return done.stdout

    def check(self) -> None:
        """Raise HarnessError if a process of the cell has ended by itself."""
        for process in self._processes:
            process.check()

    def listening(self, port: int) -> Ready:
        """Return a test whether something in the cell listens on a port."""
        return lambda: port in self._listening_ports()

    def forward(self, port: int) -> int:
        """Return a port of this machine's loopback that leads to a port of the cell."""
        if not self.private:
            return port
        with socket.create_server(("127.0.0.1", 0)) as server:
            outside: int = server.getsockname()[1]
            forwarder = Path(__file__).parent / "forward.py"
            argv = [*self._prefix(), sys.executable, str(forwarder), str(server.fileno()), str(port)]
            process = Process(f"forward-{port}", argv, self.logs / f"forward-{port}.log", keep=(server.fileno(),))
            self._ends.enter_context(process)
        return outside

    def bind(self, source: Path, target: Path) -> None:
        """Put a folder of ours in the place of another one, in the cell's mount table only."""
        if not self.private:
            if target.exists() or target.is_symlink():
                raise HarnessError(str(target), "is there already: another harness or operator of this machine uses it")
            target.parent.mkdir(parents=True, exist_ok=True)
            target.symlink_to(source)
            self._ends.callback(target.unlink)
            return
        self.run(["mkdir", "-p", target], name="cell")
        self.run(["mount", "--bind", source, target], name="cell")

    def _prefix(self) -> tuple[str, ...]:
        return self._enter or ("setpriv", "--pdeathsig", "KILL", "--")

    def _start(self, user: tuple[str, ...]) -> bool:
        first = [sys.executable, str(Path(__file__).parent / "first.py")]
        argv = ["unshare", *user, *_NAMESPACES, "--fork", "--kill-child=KILL", "--mount-proc", "--", *first]
        try:
            process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        except OSError:
            return False
        assert process.stdout is not None
        if process.stdout.readline() != b"ready\n":
            process.wait()
            return False
        inside = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0]
        credentials = ("--user", "--preserve-credentials") if user else ()
        self._first = process
        self._enter = ("nsenter", "--target", inside, *credentials, *_NAMESPACES, "--")
        self._inside = inside
        return True

    def _listening_ports(self) -> set[int]:
        process = self._inside if self.private else "self"
        ports = set()
        for table in ("tcp", "tcp6"):
            rows = Path(f"/proc/{process}/net/{table}").read_text().splitlines()[1:]
            ports |= {int(row.split()[1].rpartition(":")[2], 16) for row in rows if row.split()[3] == _LISTENING}
        return ports
