"""ddp.py beside a plain loop as tutorials teach it, on one model and data set: `python -m tests.benchmarks.training`.

It prints a table in Markdown, and ends with 1 where ddp.py misses what is promised of it. Times are medians of
interleaved pairs; each process has one thread.
"""

from __future__ import annotations

import ast
import contextlib
import random
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Final

import torch

from tests.support import REPOSITORY
from tests.training import data
from tests.training.launch import DDP, DRIVER, Program, environment, finish, losses, polls, torchrun

PLAIN: Final = Path(__file__).with_name("plain_loop.py")
LEAST_SCALING: Final = 1.5
"""Samples a second of two processes to those of one, on two processors that nothing else uses."""
PAIRS: Final = 5
KILLS: Final = 20
ENDS: Final = 10
_ENV: Final = environment(PYTHONPATH=str(REPOSITORY))
_EPOCHS: Final = 4
_DETERMINISTIC: Final = ("--deterministic", "--no-export")


def main() -> int:
    """Measure, print, and return 1 where something is short of what is promised."""
    _print("", "ddp.py", "plain loop")
    _print("---", "---", "---")
    with tempfile.TemporaryDirectory(prefix="mlspec-training-") as name:
        folder = Path(name)
        digits = data.digits(folder / "digits")
        short = [*_exact(folder, digits), *_whole(folder, digits), *_fast(folder)]
    for line in short:
        sys.stderr.write(f"short: {line}\n")
    return 1 if short else 0


def _print(*cells: str) -> None:
    sys.stdout.write(f"| {' | '.join(cells)} |\n")
    sys.stdout.flush()


def _exact(folder: Path, digits: Path) -> list[str]:
    short: list[str] = []
    ours, plain = resumed_ours(folder, digits), resumed_plain(folder, digits)
    if ours != (True, 0, 0):
        short.append(f"after kill -9 ddp.py: equal {ours[0]}, {ours[1]} lost, {ours[2]} repeated")
    _print("equal to an uninterrupted run after kill -9 and a restart", _yes(ours[0]), _yes(plain[0]))
    _print("samples lost / trained on again", f"{ours[1]} / {ours[2]}", f"{plain[1]} / {plain[2]}")
    accuracies = accuracy(folder, digits)
    if len(set(accuracies[0])) > 1:
        short.append(f"ddp.py's accuracy follows the number of ranks: {accuracies[0]}")
    _print("accuracy told by 1 / 2 / 4 ranks", *(" / ".join(f"{each:.3f}" for each in one) for one in accuracies))
    return short


def _whole(folder: Path, digits: Path) -> list[str]:
    short: list[str] = []
    unreadable = broken(folder, digits)
    if unreadable[0]:
        short.append(f"{unreadable[0]} of {KILLS} checkpoints of ddp.py cannot be read")
    _print(f"checkpoints unreadable after kill -9 while saving, of {KILLS}", *map(str, unreadable))
    failed = ends(folder, digits)
    if failed[0]:
        short.append(f"{failed[0]} of {ENDS} runs of ddp.py failed at their end")
    _print(f"ends other than 0, of {ENDS} runs of two ranks", *map(str, failed))
    return short


def _fast(folder: Path) -> list[str]:
    short: list[str] = []
    ratios = scaling(folder, data.synthetic(folder / "images", train=2560, test=100, side=28, shard=1000))
    if ratios[0] < LEAST_SCALING:
        short.append(
            f"two processes of ddp.py do {ratios[0]:.2f} of one's, {LEAST_SCALING} wanted: is the machine busy?"
        )
    _print(f"samples a second, two processes to one (median of {PAIRS} pairs)", *(f"{ratio:.2f}" for ratio in ratios))
    _print("lines of code", str(lines(DDP)), str(lines(PLAIN)))
    return short


def _yes(holds: bool) -> str:
    return "yes" if holds else "no"


def _plain(world: int, *arguments: object) -> list[str]:
    return torchrun(world, *arguments, script=PLAIN)


def _weights(state: Any) -> list[Any]:
    return [tensor.tolist() for tensor in state.values()]


def resumed_ours(folder: Path, digits: Path) -> tuple[bool, int, int]:
    """Kill ddp.py in its third epoch and start it again: are the weights equal, and which samples count not once."""
    whole, out, options = folder / "whole", folder / "broken", ("--epochs", _EPOCHS, *_DETERMINISTIC)
    finish(torchrun(2, "--data", digits, "--out", whole, *options), folder / "log", _ENV)
    arguments = ('{"sleep": 0.1}', "--data", digits, "--out", out, *options, "--log-every", 1)
    with Program(torchrun(2, *arguments, script=DRIVER), folder / "log", _ENV, "killed") as program:
        program.until("step", 27)
        program.kill()
    code, after = finish(torchrun(2, "--data", digits, "--out", out, *options, "--log-every", 1), folder / "log", _ENV)
    assert code == 0, after.err.read_text()[-1000:]
    first = after.said("resume")[0]["step"]
    behind = [*range(first), *(event["step"] - 1 for event in after.said("step"))]
    wanted = list(range(len(losses(whole))))
    states = [
        torch.load(sorted((path / "checkpoints").glob("step-*/state.pt"))[-1], weights_only=True)
        for path in (whole, out)
    ]
    return _weights(states[0]["model"]) == _weights(states[1]["model"]), *_difference(behind, wanted, 128)


def resumed_plain(folder: Path, digits: Path) -> tuple[bool, int, int]:
    """Do the same to the plain loop."""
    logs = {name: folder / f"{name}.log" for name in ("whole", "first", "second")}
    for name in ("plain-whole", "plain"):
        (folder / name).mkdir()
    finish(_plain(2, digits, folder / "plain-whole", _EPOCHS, 64, logs["whole"]), folder / "log", _ENV)
    command = _plain(2, digits, folder / "plain", _EPOCHS, 64, logs["first"])
    with Program(command, folder / "log", {**_ENV, "PAUSE": "0.1"}, "plain") as program:
        for _ in polls("its third epoch"):
            if logs["first"].exists() and "2 3\n" in logs["first"].read_text():
                break
        program.kill()
    saved = torch.load(folder / "plain" / "snapshot.pt", weights_only=True)["EPOCHS_RUN"]
    finish(_plain(2, digits, folder / "plain", _EPOCHS, 64, logs["second"]), folder / "log", _ENV)
    kept = [line for line in logs["first"].read_text().splitlines() if int(line.split()[0]) <= saved]
    behind, wanted = [*kept, *logs["second"].read_text().splitlines()], logs["whole"].read_text().splitlines()
    states = [torch.load(folder / name / "snapshot.pt", weights_only=True) for name in ("plain-whole", "plain")]
    return _weights(states[0]["MODEL_STATE"]) == _weights(states[1]["MODEL_STATE"]), *_difference(behind, wanted, 128)


def _difference(found: list[Any], wanted: list[Any], batch: int) -> tuple[int, int]:
    """Return the samples that are missing, and those that count once more."""
    return len(set(wanted) - set(found)) * batch, (len(found) - len(set(found))) * batch


_SAVES: Final = """
import sys, pathlib, torch
from tests.training.driver import program
ddp = program()
training = ddp.Training(ddp.parse(["--data", sys.argv[1], "--out", sys.argv[2]]))
print("ready", flush=True)
for step in range(1, 10**6):
    if sys.argv[3] == "ours":
        ddp.save(training, step)
    else:
        torch.save({"MODEL_STATE": training.raw.state_dict(), "EPOCHS_RUN": step}, sys.argv[2] + "/snapshot.pt")
"""


def broken(folder: Path, digits: Path) -> tuple[int, int]:
    """Kill a process that only saves, at random moments; return how often nothing could be read then."""
    source, found = random.Random(0), []  # noqa: S311
    for way in ("ours", "plain"):
        bad = 0
        for number in range(KILLS):
            out = folder / f"saves-{way}-{number}"
            out.mkdir()
            command = [sys.executable, "-c", _SAVES, str(digits), str(out), way]
            with subprocess.Popen(command, env=_ENV, stdout=subprocess.PIPE, cwd=REPOSITORY) as process:
                assert process.stdout is not None
                while b"ready" not in process.stdout.readline():
                    assert process.poll() is None, "it ended by itself"
                time.sleep(0.3 + source.random() / 5)
                process.kill()
            bad += not _readable(out, way)
        found.append(bad)
    return found[0], found[1]


def _readable(out: Path, way: str) -> bool:
    path = out / "snapshot.pt" if way == "plain" else None
    if path is None:
        newest = sorted((out / "checkpoints").glob("step-*/state.pt"))
        path = newest[-1] if newest else out / "none"
    with contextlib.suppress(Exception):
        return bool(torch.load(path, weights_only=True))
    return False


def accuracy(folder: Path, digits: Path) -> tuple[list[float], list[float]]:
    """Return what 1, 2 and 4 ranks tell of one trained model: the same weights, so one number is right."""
    ours, plain = [], []
    source, snapshot = folder / "whole" / "checkpoints", folder / "plain-whole" / "snapshot.pt"
    for world in (1, 2, 4):
        out = folder / f"told-{world}"
        out.mkdir()
        (out / "checkpoints").symlink_to(source)
        options = ("--epochs", _EPOCHS, *_DETERMINISTIC)
        code, program = finish(torchrun(world, "--data", digits, "--out", out, *options), folder / "log", _ENV)
        assert code == 0, program.err.read_text()[-1000:]
        ours.append(program.said("done")[0]["accuracy"])
        state = torch.load(snapshot, weights_only=True)
        (folder / f"plain-{world}").mkdir()
        torch.save({**state, "EPOCHS_RUN": _EPOCHS}, folder / f"plain-{world}" / "snapshot.pt")
        command = _plain(world, digits, folder / f"plain-{world}", _EPOCHS, 64, folder / "unused.log")
        plain.append(_told(finish(command, folder / "log", _ENV)[1], "accuracy"))
    return ours, plain


def _told(program: Program, word: str) -> float:
    words = program.out.read_text().split()
    return float(words[words.index(word) + 1])


def scaling(folder: Path, images: Path) -> tuple[float, float]:
    """Return samples a second of two processes to one's, the micro-batch of 64 the same: medians of pairs."""
    ours, plain = [], []
    for number in range(PAIRS):
        speeds: dict[tuple[str, int], float] = {}
        for world in (1, 2):
            options = ("--epochs", 1, "--global-batch", 128, "--accumulate", 2 // world, "--no-export")
            out = folder / f"speed-{number}-{world}"
            code, program = finish(torchrun(world, "--data", images, "--out", out, *options), folder / "log", _ENV)
            assert code == 0, program.err.read_text()[-1000:]
            speeds["ours", world] = program.said("done")[0]["samples_per_second"]
            (folder / f"plain-speed-{number}-{world}").mkdir()
            command = _plain(world, images, folder / f"plain-speed-{number}-{world}", 1, 64, folder / "unused.log")
            speeds["plain", world] = _told(finish(command, folder / "log", _ENV)[1], "samples_per_second")
        ours.append(speeds["ours", 2] / speeds["ours", 1])
        plain.append(speeds["plain", 2] / speeds["plain", 1])
    return statistics.median(ours), statistics.median(plain)


def ends(folder: Path, digits: Path) -> tuple[int, int]:
    """Return how many of some short runs of two ranks end with another code than 0."""
    ours = plain = 0
    for number in range(ENDS):
        out = folder / f"end-{number}"
        options = ("--max-steps", 2, "--no-export")
        ours += finish(torchrun(2, "--data", digits, "--out", out, *options), folder / "log", _ENV)[0] != 0
        (folder / f"plain-end-{number}").mkdir()
        command = _plain(2, digits, folder / f"plain-end-{number}", 1, 64, folder / "unused.log")
        plain += finish(command, folder / "log", _ENV)[0] != 0
    return ours, plain


def lines(path: Path) -> int:
    """Return the lines of a program that are neither blank nor a comment nor in a docstring."""
    text = path.read_text()
    described: set[int] = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            described |= set(range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1))
    counted = enumerate(text.splitlines(), 1)
    return sum(bool(line.strip()) and line.strip()[0] != "#" and number not in described for number, line in counted)


if __name__ == "__main__":
    sys.exit(main())
