"""One run on this computer: its programs side by side, their reports, and a stop that waits for the checkpoint."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlspec.local.containers import Program
from mlspec.local.folders import Folders
from mlspec.local.graph import LocalRun
from mlspec.local.processes import Process, Stop
from mlspec.local.progress import Progress

_PAUSE: Final = 0.05
_GRACE: Final = 30.0
"""Seconds that other programs of a run have, once it has ended; a pod's default."""
_TAIL: Final = 20
_FAILED_RANK: Final = re.compile(r"rank\s*: \d+ \(local_rank: (\d+)\)")
"""In what torchrun says at the end; the root cause stands last."""


@dataclass(frozen=True, slots=True)
class Ended:
    """How a run ended: 0, or the code of the program that failed first, and its log."""

    code: int
    log: Path
    stopped: bool = False


def start_and_wait(
    run: LocalRun, programs: Sequence[Program], folders: Folders, lock: int, stop: Stop, progress: Progress
) -> Ended:
    """Start the programs of a run and wait for their end; whatever happens, no process is left behind."""
    logs = folders.logs(run.name)
    with ExitStack() as stack:
        started: list[tuple[Program, Process, Path]] = []
        for program in programs:
            for folder in program.folders:
                folder.mkdir(parents=True, exist_ok=True)
            log = logs / ("output.log" if len(programs) == 1 else f"{program.name}.log")
            process = Process(program.name, program.words, program.env, folders.work(run.name), log, lock)
            stack.callback(process.end)
            started.append((program, process, log))
        return _Waiting(started, stop, progress).wait()


class _Waiting:
    """The wait for the programs of one run."""

    def __init__(self, started: list[tuple[Program, Process, Path]], stop: Stop, progress: Progress) -> None:
        self.started = started
        self.stop = stop
        self.progress = progress
        self.told = 0
        self.over: Ended | None = None
        self.until = 0.0

    def wait(self) -> Ended:
        """Return once all programs have ended, or have been given up."""
        while True:
            codes = [process.poll() for _, process, _ in self.started]
            for (program, process, _), code in zip(self.started, codes, strict=True):
                for line in process.lines(last=code is not None):
                    self.progress.line(line, "" if program.leads else program.name)
            self._obey()
            self._judge(codes)
            if self.over is not None and (None not in codes or time.monotonic() > self.until):
                self.progress.clear()
                return self.over
            time.sleep(_PAUSE)

    def _obey(self) -> None:
        """Pass the user's wish on."""
        if self.stop.count > self.told:
            self.told = self.stop.count
            if self.told == 1:
                self.progress.say("asked to stop; waiting for its checkpoint (Ctrl-C again kills it)")
                self._stop_all()
            else:
                self.over, self.until = Ended(self.stop.code, self.started[0][2], stopped=True), 0.0

    def _judge(self, codes: Sequence[int | None]) -> None:
        """See whether the run is over: it fails with any program, and succeeds with the one that leads."""
        if self.over is not None:
            return
        for (program, _, log), code in zip(self.started, codes, strict=True):
            if code is not None and (code or program.leads) and (self.told == 0 or None not in codes):
                self.over = Ended(code, log, stopped=self.told > 0 and code != 0)
                self.until = time.monotonic() + _GRACE
                self._stop_all()
                return

    def _stop_all(self) -> None:
        for _, process, _ in self.started:
            process.stop()


def tail(log: Path, ranks: Path) -> tuple[Path, list[str]]:
    """Return the log of what failed first, that of a rank where torchrun tells which, and its last lines."""
    text = _text(log)
    found = _FAILED_RANK.findall(text)
    if found:
        for name in ("stderr.log", "stdout.log"):
            logs = sorted(ranks.glob(f"*/attempt_*/{found[-1]}/{name}"), key=lambda path: path.stat().st_mtime)
            if logs and (lines := _text(logs[-1]).splitlines()):
                return logs[-1], lines[-_TAIL:]
    return log, text.splitlines()[-_TAIL:]


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
