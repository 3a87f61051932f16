"""Starts training programs as users do, python or torchrun, and ends whatever they started; events and stderr, read."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Final

from tests.support import REPOSITORY

DDP: Final = REPOSITORY / "mlspec" / "training" / "ddp.py"
DRIVER: Final = Path(__file__).with_name("driver.py")
LIMIT: Final = 120.0
"""Seconds after which a program counts as hanging."""

SET_BY_LAUNCHERS: Final = ("MLSPEC_", "PET_", "TORCHELASTIC_", "MASTER_", "RANK", "WORLD_SIZE", "LOCAL_", "GROUP_")
"""How the names of variables begin that launchers set."""


def environment(**more: str) -> dict[str, str]:
    """Return this environment without what launchers set, one thread a process, and `more`."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(SET_BY_LAUNCHERS)}
    return {**kept, "OMP_NUM_THREADS": "1", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1", **more}


def python(*arguments: object, script: Path = DDP) -> list[str]:
    """Return the command for one process."""
    return [sys.executable, str(script), *map(str, arguments)]


def torchrun(processes: int, *arguments: object, script: Path = DDP, options: tuple[str, ...] = ()) -> list[str]:
    """Return the command for some processes on this computer; without `options`, of one agent alone."""
    launcher = [sys.executable, "-m", "torch.distributed.run", *(options or ("--standalone",))]
    return [*launcher, "--nproc-per-node", str(processes), str(script), *map(str, arguments)]


def ranks(processes: int, *arguments: object, script: Path = DDP) -> list[str]:
    """Return the command for some processes: python alone for one of them."""
    return python(*arguments, script=script) if processes == 1 else torchrun(processes, *arguments, script=script)


def descendants(pid: int) -> list[int]:
    """Return the processes that a process has started, and those that they have."""
    found = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        with contextlib.suppress(OSError):
            for child in map(int, task.read_text().split()):
                found += [child, *descendants(child)]
    return found


def alive(pid: int) -> bool:
    """Say whether a process runs; one that has ended and was not waited for does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


class Program:
    """A program in a session of its own; leaving the context kills it and all that it has started."""

    def __init__(self, command: list[str], folder: Path, env: dict[str, str] | None = None, name: str = "log") -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self.out, self.err = folder / f"{name}.out", folder / f"{name}.err"
        self._seen: set[int] = set()
        with self.out.open("wb") as out, self.err.open("wb") as err:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=err, env=env or environment(), cwd=folder, start_new_session=True
            )

    def __enter__(self) -> Program:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()

    @property
    def pids(self) -> list[int]:
        """The program, and all that it has started and that still runs; first the program."""
        self._seen |= {self.process.pid, *descendants(self.process.pid)}
        return sorted((pid for pid in self._seen if alive(pid)), key=lambda pid: (pid != self.process.pid, pid))

    @property
    def events(self) -> list[dict[str, Any]]:
        """The JSON lines of stdout so far."""
        lines = self.out.read_text().splitlines(keepends=True)
        return [json.loads(line) for line in lines if line.startswith("{") and line.endswith("\n")]

    @property
    def errors(self) -> list[str]:
        """The lines on stderr that the training program itself wrote."""
        return [line for line in self.err.read_text().splitlines() if line.startswith("ddp.py: ")]

    def said(self, event: str) -> list[dict[str, Any]]:
        """Return the events of that name so far."""
        return [found for found in self.events if found["event"] == event]

    def until(self, event: str, step: int = 0) -> dict[str, Any]:
        """Wait for an event at `step` or later."""
        for _ in polls(f"{event} {step}"):
            for found in self.said(event):
                if found.get("step", 0) >= step:
                    return found
            ended = self.process.poll()
            assert ended is None or self.said(event), f"ended with {ended}: {self.err.read_text()[-2000:]}"
        raise AssertionError

    def wait(self, limit: float = LIMIT) -> int:
        """Wait for the end; return the exit status."""
        self.pids  # noqa: B018 # notes who belongs to it, for `kill`
        try:
            return self.process.wait(limit)
        except subprocess.TimeoutExpired:
            error = self.err.read_text()[-2000:]
            raise AssertionError(f"hangs: {self.process.args!r}\n{error}") from None

    def send(self, number: signal.Signals) -> None:
        """Send the program a signal."""
        self.process.send_signal(number)

    def kill(self) -> None:
        """Kill the program and all that it has started, all at once, and see them gone."""
        for pid in self.pids:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        self.process.wait(LIMIT)
        self.gone()

    def gone(self) -> None:
        """Wait until nothing of it runs any more."""
        for _ in polls("the end of all processes"):
            if not self.pids:
                return


def polls(what: str, limit: float = LIMIT) -> Iterator[None]:
    """Yield until the caller is content, or fail after `limit` seconds."""
    end = time.monotonic() + limit
    while time.monotonic() < end:
        yield
        time.sleep(0.02)
    raise AssertionError(f"waited {limit} s for {what}")


def finish(command: list[str], folder: Path, env: dict[str, str] | None = None) -> tuple[int, Program]:
    """Run a program to its end; return its exit status and what it said."""
    with Program(command, folder, env) as program:
        return program.wait(), program


def newest(out: Path) -> Path:
    """Return the folder of a run's newest checkpoint."""
    return out / "checkpoints" / (out / "checkpoints" / "LATEST").read_text()


def state(out: Path) -> dict[str, Any]:
    """Return what the newest checkpoint of ddp.py holds."""
    import torch  # takes seconds, and most of what is here does without

    found: dict[str, Any] = torch.load(newest(out) / "state.pt", weights_only=True)
    return found


def losses(out: Path) -> list[float]:
    """Return the loss of each step of a run, as its newest checkpoint knows them."""
    of_all_ranks = newest(out) / "manifest.json"  # fsdp.py's
    found: list[float] = (json.loads(of_all_ranks.read_text()) if of_all_ranks.exists() else state(out))["losses"]
    return found
