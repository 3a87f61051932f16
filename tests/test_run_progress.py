"""What `mlspec run` says of a trainer's lines: one moving line on a terminal, a line now and then elsewhere."""

from __future__ import annotations

import io
import json
from typing import Any

import pytest

from mlspec.local.progress import Progress, number, parse


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def _step(step: int, steps: int = 100, **more: Any) -> str:
    return json.dumps({"event": "step", "step": step, "steps": steps, **more})


def test_a_line_moves_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """With what is left, counted from what this process has seen: a resumed run has done its first steps before."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "200")
    stream, clock = _Terminal(), _Clock()
    progress = Progress("train", stream, clock)
    progress.line(f"[default0]:{_step(50, samples_per_second=2000.4, loss=0.51234)}")
    assert stream.getvalue() == "\r\x1b[2Ktrain: step 50 of 100, 2,000 samples/s, loss 0.5123"
    clock.now += 10
    progress.line(_step(60))
    assert stream.getvalue().endswith("\r\x1b[2Ktrain: step 60 of 100, 0:40 left")
    progress.line("a word")
    assert stream.getvalue().endswith("left\r\x1b[2Ktrain: a word\n")


def test_a_line_now_and_then_on_a_pipe() -> None:
    """The first, the last, and one in ten seconds."""
    stream, clock = io.StringIO(), _Clock()
    progress = Progress("train", stream, clock)
    for step in range(1, 101):
        progress.line(_step(step))
        clock.now += 0.5
    told = [int(line.split()[2]) for line in stream.getvalue().splitlines()]
    assert told == [1, 21, 41, 61, 81, 100]
    assert "\x1b" not in stream.getvalue()


def test_no_moving_line_on_a_terminal_that_cannot(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "dumb")
    stream = _Terminal()
    Progress("train", stream).line(_step(1))
    assert stream.getvalue() == "train: step 1 of 100\n"


@pytest.mark.parametrize(
    ("event", "words"),
    [
        ({"event": "start", "world": 2, "device": "cpu"}, "world size 2, on cpu"),
        ({"event": "resume", "step": 7}, "continues behind step 7"),
        ({"event": "evaluate", "accuracy": 0.5, "loss": 0.25, "count": 360}, "accuracy 0.5, loss 0.25, count 360"),
        ({"event": "stop", "step": 9, "signal": "SIGTERM"}, "stopped at step 9; its checkpoint is written"),
        ({"event": "mine", "value": 1}, 'mine {"value": 1}'),
    ],
)
def test_events_are_sentences(event: dict[str, Any], words: str) -> None:
    stream = io.StringIO()
    Progress("train", stream).line(json.dumps(event))
    assert stream.getvalue() == f"train: {words}\n"


@pytest.mark.parametrize("name", ["checkpoint", "export", "done"])
def test_events_that_tell_a_person_nothing(name: str) -> None:
    stream = io.StringIO()
    Progress("train", stream).line(json.dumps({"event": name, "step": 1, "path": "x"}))
    assert stream.getvalue() == ""


@pytest.mark.parametrize(
    "line", ["{", '{"event": 1}', '{"step": 1}', "[1]", '["event"]', "event", "{" * 100_000, '[default0]:{"a": 1}']
)
def test_other_lines_are_no_events(line: str) -> None:
    assert parse(line) is None


@pytest.mark.parametrize("step", ["null", '"x"', "1.5", "[]"])
def test_a_step_without_numbers_is_left_out(step: str) -> None:
    stream = io.StringIO()
    Progress("train", stream).line(f'{{"event": "step", "step": {step}, "steps": 4, "loss": "high"}}')
    assert stream.getvalue() == ""


def test_lines_of_others() -> None:
    """Ranks and pods are named, colours and cursors taken out, torchrun's own traceback left to the log."""
    stream = io.StringIO()
    progress = Progress("train", stream)
    progress.line("[default3]:hello \x1b[1mwor\x07ld\x1b[0m")
    progress.line("served", "ps-0")
    progress.line(_step(1), "worker-1")
    progress.line("E1201 03:44:48.753000 1682 torch/distributed/elastic/multiprocessing/api.py:1002] failed")
    progress.line("Traceback (most recent call last):")
    progress.line("[default1]:last words")
    assert stream.getvalue() == "train: [3] hello world\ntrain: [ps-0] served\ntrain: [1] last words\n"


def test_numbers() -> None:
    assert [number(value) for value in (0.123456789, 3, 1e-9, 2.0)] == ["0.123457", "3", "1e-09", "2"]
