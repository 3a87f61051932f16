"""What programs say, for a person: one moving line on a terminal, a line now and then elsewhere.

The trainer speaks JSON lines with an `event`; everything else a program writes is passed through.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, TextIO

_RANK: Final = re.compile(r"^\[[a-z_]+(\d+)\]:")
"""What torchrun puts before the lines of a worker (`--tee`): its role, `default`, and its rank."""
_LAUNCHER: Final = re.compile(r"[EW]\d{4} [\d:.]+ +\d+ torch/distributed/")
"""What torchrun itself says when a worker fails, or it is stopped: its own traceback follows, which tells nobody
anything; the log has it."""
_CONTROL: Final = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_EVERY: Final = 10.0
"""Seconds between two lines about steps, where there is no terminal."""


class Progress:
    """The reports on one run."""

    def __init__(self, step: str, stream: TextIO | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        """Take the step's name, and where to write (stderr)."""
        self._step = step
        self._stream = stream if stream is not None else sys.stderr
        self._moves = self._stream.isatty() and os.environ.get("TERM") != "dumb"
        self._clock = clock
        self._drawn = False
        self._launcher = False
        self._told: float | None = None
        self._first: tuple[float, int] | None = None

    def say(self, text: str) -> None:
        """Write a line."""
        self.clear()
        self._stream.write(f"{self._step}: {text}\n")
        self._stream.flush()

    def clear(self) -> None:
        """Take the moving line away."""
        if self._drawn:
            self._stream.write("\r\x1b[2K")
            self._stream.flush()
            self._drawn = False

    def line(self, text: str, who: str = "") -> None:
        """Take a line of a program; `who` wrote it, where several do, and then its steps are not those of the run."""
        event = parse(text)
        if event is None:
            self._launcher = self._launcher or _LAUNCHER.match(text) is not None
            if not self._launcher or _RANK.match(text):
                said = plain(_RANK.sub(r"[\1] ", text))
                self.say(f"[{who}] {said}" if who else said)
        elif who:
            return
        elif event["event"] == "step":
            self._steps(event)
        elif (words := _words(event)) is not None:
            self.say(words)

    def _steps(self, event: Mapping[str, Any]) -> None:
        done, total = event.get("step"), event.get("steps")
        if not isinstance(done, int) or not isinstance(total, int):
            return
        now = self._clock()
        self._first = self._first or (now, done)
        text = f"step {done:,} of {total:,}"
        rate = event.get("samples_per_second")
        text += f", {rate:,.0f} samples/s" if isinstance(rate, int | float) else ""
        text += f", loss {event['loss']:.4g}" if isinstance(event.get("loss"), int | float) else ""
        began, from_step = self._first
        if done > from_step and now > began:
            text += f", {_duration((total - done) * (now - began) / (done - from_step))} left"
        if self._moves:
            width = shutil.get_terminal_size().columns - 1
            self._stream.write(f"\r\x1b[2K{f'{self._step}: {text}'[:width]}")
            self._stream.flush()
            self._drawn = True
        elif self._told is None or now - self._told >= _EVERY or done >= total:
            self._told = now
            self.say(text)


def plain(text: str) -> str:
    """Return a line without colours, and without what moves a cursor."""
    return _CONTROL.sub("", text)


def parse(line: str) -> dict[str, Any] | None:
    """Return the event that a line tells, of rank 0 where torchrun says whose line it is; None for other text."""
    bare = _RANK.sub("", line).strip()
    if not bare.startswith("{"):
        return None
    try:
        found = json.loads(bare)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) and isinstance(found.get("event"), str) else None


def _words(event: Mapping[str, Any]) -> str | None:
    """Return an event as a sentence; None where a person needs none."""
    match event["event"]:
        case "start":
            return f"world size {event.get('world', 1)}, on {event.get('device', 'cpu')}"
        case "resume":
            return f"continues behind step {event.get('step')}"
        case "evaluate":
            return ", ".join(f"{name} {number(event[name])}" for name in ("accuracy", "loss", "count") if name in event)
        case "stop":
            return f"stopped at step {event.get('step')}; its checkpoint is written"
        case "checkpoint" | "done" | "export":
            return None
        case other:
            rest = {name: value for name, value in event.items() if name != "event"}
            return f"{other} {json.dumps(rest)}" if rest else other


def number(value: object) -> str:
    """Return a metric as a person reads it."""
    return f"{value:.6g}" if isinstance(value, float) else str(value)


def _duration(seconds: float) -> str:
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
