"""Programs of containers that are not there: what each does is said here, at any time while it runs.

A container's command that is no shell's finds a stand-in in its PATH (`stand_in.py`). The stand-in says over a socket
that it was started, and waits; the harness answers with what it is to write and its exit status. Start and end are
written down here before the stand-in goes on, so whatever comes of them is later than they.
"""

from __future__ import annotations

import json
import select
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mlspec.k8s import meta
from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.nodes.fates import Pods
from tests.cluster.harness.nodes.runtime import LIMIT

GATE: Final = "mlspec.dev/gate"
"""The label of the pods of gates; its value is the service."""
_LOOK: Final = 0.1
"""Seconds between two looks at what a program is to do."""


@dataclass(frozen=True)
class Program:
    """What a stand-in does."""

    seconds: float | None = 0.3
    """How long it runs; None: until it is given another program, or killed."""
    exit_code: int = 0
    metrics: Mapping[str, float] | None = None
    """Written as metrics.json."""
    files: Mapping[str, str] = field(default_factory=dict)
    """By path below the run's directory (MLSPEC_RUN_DIR); written at the end, by the program of rank 0 only."""
    times: int | None = None
    """So often it ends with `exit_code` and without files, then with 0 and with files; None: it ends the same each
    time. Counted over the tries of one pod of the run."""
    on_term: int | None = None
    """The exit status when it is asked to end; None: the signal ends it."""

    def __str__(self) -> str:
        length = "until told" if self.seconds is None else f"for {self.seconds:g} s"
        files = [*self.files, *([] if self.metrics is None else ["metrics.json"])]
        times = "" if self.times is None else f", {self.times} times"
        return ", ".join([f"{length}, status {self.exit_code}{times}", *files])

    def at(self, tries: int) -> Program:
        """Return what it does when it has ended so often before."""
        if self.times is None:
            return self
        return replace(self, files={}, metrics=None) if tries < self.times else replace(self, exit_code=0)

    def reply(self, rank: int) -> list[str]:
        """Return what the stand-in is told at its end."""
        metrics = {} if self.metrics is None else {"metrics.json": json.dumps(dict(self.metrics))}
        files = {**self.files, **metrics} if rank == 0 else {}
        return ["exit", str(self.exit_code), *(word for pair in files.items() for word in pair)]


@dataclass(frozen=True)
class ProgramRun:
    """A program that was started, once."""

    number: int
    namespace: str
    pod: str
    of: str
    """The step, or the service of a gate."""
    run: str
    """The name of the Job, PyTorchJob or TFJob."""
    argv: tuple[str, ...]
    environment: Mapping[str, str]
    inputs: frozenset[str]
    """The names of the MLSPEC_INPUT_ variables whose folders had a marker of success when it was started."""
    started: float
    """By `time.monotonic`, as is `ended`."""
    ended: float | None = None
    code: int | None = None
    """None while it runs, and when it was killed."""

    @property
    def rank(self) -> int:
        """Its rank, as its operator told it."""
        return rank(self.environment)

    @property
    def status(self) -> str:
        """One word or two: Running, Killed, or how it ended."""
        if self.ended is None:
            return "Running"
        return "Killed" if self.code is None else f"Ended {self.code}"

    def __str__(self) -> str:
        return f"program of {self.run}, rank {self.rank}, {Path(self.argv[0]).name}: {self.status}"


def rank(environment: Mapping[str, str]) -> int:
    """Return the rank that an operator wrote into a container's variables; 0 where it wrote none.

    TensorFlow has no ranks: its chief (or the first worker, where there is none) counts as 0, all others as 1.
    """
    if "TF_CONFIG" in environment:
        config = json.loads(environment["TF_CONFIG"])
        task, roles = config["task"], config["cluster"]
        first = next((role for role in ("chief", "master") if role in roles), "worker")
        return 0 if (task["type"], task["index"]) == (first, 0) else 1
    return int(environment.get("RANK", 0))


class Programs:
    """What every stand-in does, and what was started; a context manager around the socket."""

    def __init__(self) -> None:
        """Begin with the one rule that every program succeeds at once."""
        self.listeners: list[Callable[[ProgramRun], None]] = []
        """Told of each start and each end, before the program goes on."""
        self._rules = [(Pods(), Program())]
        self._runs: dict[int, ProgramRun] = {}
        self._ended: dict[str, int] = {}
        self._pods: dict[str, Body] = {}
        self._lock = threading.RLock()
        self._socket: socket.socket | None = None
        self._threads: list[threading.Thread] = []

    def listen(self, path: Path) -> None:
        """Take what stand-ins say at a socket."""
        self._socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._socket.bind(str(path))
        self._socket.listen(64)
        threading.Thread(target=self._accept, args=(self._socket,), name="programs", daemon=True).start()

    def close(self) -> None:
        """Take no more; those that run are ended with their containers."""
        self.listeners.clear()
        if self._socket is not None:
            self._socket.shutdown(socket.SHUT_RDWR)
        for thread in self._threads:
            thread.join(2)

    def give(self, program: Program, pods: Pods) -> None:
        """Say what the programs of some pods do, those that run now, too; it goes before everything said earlier."""
        with self._lock:
            self._rules.append((pods, program))

    def forget(self) -> None:
        """Go back to the first rule."""
        with self._lock:
            del self._rules[1:]
            self._ended.clear()

    def runs(self, namespace: str, of: str = "") -> list[ProgramRun]:
        """Return the programs of a step or of a service's gate (default: of all) that were started, in order."""
        with self._lock:
            found = list(self._runs.values())
        return [run for run in found if run.namespace == namespace and of in {"", run.of}]

    def expect(self, container: str, pod: Body) -> None:
        """Say which pod a container is of, before it starts."""
        with self._lock:
            self._pods[container] = pod

    def begin(
        self, container: str, argv: tuple[str, ...], environment: Mapping[str, str], inputs: frozenset[str]
    ) -> ProgramRun:
        """Write down that a program was started."""
        with self._lock:
            about = self._pods[container]["metadata"]
            labels = about.get("labels", {})
            run = ProgramRun(
                number=len(self._runs),
                namespace=about["namespace"],
                pod=about["name"],
                of=of(self._pods[container]),
                run=labels.get(meta.RUN) or next((one["name"] for one in about.get("ownerReferences", [])), ""),
                argv=argv,
                environment=environment,
                inputs=inputs,
                started=time.monotonic(),
            )
            self._runs[run.number] = run
        self._tell(run)
        return run

    def end(self, container: str, run: ProgramRun, code: int | None) -> None:
        """Write down that a program ended; None: it was killed."""
        ended = replace(run, ended=time.monotonic(), code=code)
        with self._lock:
            self._runs[run.number] = ended
            tries = fates.key(self._pods[container])
            self._ended[tries] = self._ended.get(tries, 0) + 1
        self._tell(ended)

    def _tell(self, run: ProgramRun) -> None:
        for listener in self.listeners:
            listener(run)

    def _of(self, container: str) -> Program:
        """Return what the program of a container does."""
        with self._lock:
            pod = self._pods[container]
            found = next(program for pods, program in reversed(self._rules) if pod in pods)
            return found.at(self._ended.get(fates.key(pod), 0))

    def _accept(self, listening: socket.socket) -> None:
        with listening, suppress(OSError):  # until it is shut down
            while True:
                connection, _ = listening.accept()
                thread = threading.Thread(target=self._serve, args=(connection,), name="program", daemon=True)
                self._threads.append(thread)
                thread.start()

    def _serve(self, connection: socket.socket) -> None:
        """Lead one stand-in from its start to its end."""
        with connection, suppress(ConnectionError):
            words = _read(connection)
            if words[0] != "start":
                return  # killed before it could say anything
            container, (argv, rest) = words[1], _counted(words[2:])
            inputs, variables = _counted(rest)
            environment = dict(pair.split("=", 1) for pair in variables)
            run = self.begin(container, tuple(argv), environment, frozenset(inputs))
            code = None
            try:
                code = self._lead(connection, container, run)
            finally:
                self.end(container, run, code)
            connection.send(b".")

    def _lead(self, connection: socket.socket, container: str, run: ProgramRun) -> int | None:
        """Return the status with which a stand-in ended, None if it was killed."""
        told = False
        while True:
            program = self._of(container)
            over = program.seconds is not None and time.monotonic() >= run.started + program.seconds
            if over and not told:
                told = True
                _write(connection, program.reply(run.rank))
            left = _LOOK if told or program.seconds is None else run.started + program.seconds - time.monotonic()
            if not select.select([connection], [], [], max(0.0, min(left, _LOOK)))[0]:
                continue
            words = _read(connection)
            if words[0] == "term" and not told:
                told = program.on_term is not None
                _write(connection, ["die"] if program.on_term is None else ["exit", str(program.on_term)])
            elif words[0] == "ended":
                return int(words[1])
            elif not words[0]:
                return None


def of(pod: Body) -> str:
    """Return what a pod works for: the name of its step, or of the service of its gate."""
    labels = pod["metadata"].get("labels", {})
    return str(labels.get(meta.STEP) or labels.get(GATE) or "")


def _read(connection: socket.socket) -> list[str]:
    return connection.recv(LIMIT).decode().split("\0")


def _write(connection: socket.socket, words: list[str]) -> None:
    connection.send("\0".join(words).encode())


def _counted(words: list[str]) -> tuple[list[str], list[str]]:
    """Return as many words as the first says, and the rest."""
    count = int(words[0])
    return words[1 : count + 1], words[count + 1 :]
