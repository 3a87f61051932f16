"""`python -m tests.kills [--count 25] [--seed 1]`: generate killed at random moments, and what is left each time.

The process is forked from this one, so that a kill falls into the work and not into the start of Python, and ended by
SIGKILL. A pipe tells when its first change of the disk begins; most kills are aimed behind that.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any, Final
from unittest import mock

from tests.interrupt import CHANGING
from tests.support import ENVIRONMENT, mlspec, snapshot, write_tree

_HEAD: Final = "apiVersion: mlspec.dev/v1alpha1\nkind: Project\nowner: team\n"
_BODY: Final = """\
volumes: {{models: {{size: 1Gi, access: ReadWriteMany}}}}
steps:
  prepare: {{kind: job, image: "a/b:1", command: [x], mounts: {{models: /m}}}}
  train: {{kind: pytorch, needs: [prepare], image: "a/b:{tag}", script: /t.py, nodes: 2, mounts: {{models: /m}}}}
services:
  serve: {{kind: kserve, model: {{format: onnx, uri: "s3://b/{tag}"}}}}
"""
_PROJECTS: Final = 4
_MOST_ROUNDS: Final = 8


class LeftBehindError(Exception):
    """After a kill something is not as law 9 says."""


def _files(tag: int, first: int, environments: tuple[str, ...]) -> dict[str, str | bytes]:
    found: dict[str, str | bytes] = {f"environments/{name}.yaml": ENVIRONMENT for name in environments}
    for number in range(first, first + _PROJECTS):
        found[f"p{number}/mlproject.yaml"] = f"{_HEAD}name: p{number}\n" + _BODY.format(tag=tag)
    return found


# Steps and services change, a project goes, another comes, and so do environments.
_BEFORE: Final = _files(1, 0, ("dev", "prod"))
_AFTER: Final = _files(2, 1, ("dev", "staging"))


def _become(root: Path, files: dict[str, str | bytes]) -> None:
    """Replace everything but generated/."""
    for path in root.iterdir():
        if path.name != "generated":
            shutil.rmtree(path)
    write_tree(root, files)


def _generated(root: Path) -> dict[str, bytes]:
    return snapshot(root / "generated")


def _start(root: Path) -> tuple[int, int]:
    """Begin a generate in a process of its own; returns it, and what can be read once it changes the disk."""
    reader, writer = os.pipe()
    child = os.fork()
    if child:
        os.close(writer)
        return child, reader
    code = 70
    try:
        os.close(reader)
        with _told(writer):
            code = mlspec(root, "generate").code
    finally:
        os._exit(code)


def _told(writer: int) -> Any:
    """Write to a pipe at the first call through which a file comes, moves or goes; opening for writing counts."""

    def telling(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            nonlocal writer
            if writer >= 0 and (name != "open" or arguments[1] & os.O_CREAT):
                os.write(writer, b"x")
                os.close(writer)
                writer = -1
            # Nobody pulls the plug, and waiting for the disk would be where nearly every kill falls.
            return None if name in ("fsync", "sync") else real(*arguments, **options)

        return call

    wrapped: dict[str, Any] = {name: telling(name, getattr(os, name)) for name in (*CHANGING, "open", "sync")}
    return mock.patch.multiple(os, **wrapped)


def _finish(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _measure(root: Path) -> tuple[float, float]:
    """Return how long an undisturbed generate thinks, and how long it writes."""
    began = time.monotonic()
    child, reader = _start(root)
    select.select([reader], [], [])
    writing = time.monotonic()
    if _finish(child) != 0:
        raise LeftBehindError("an undisturbed generate fails")
    os.close(reader)
    return writing - began, time.monotonic() - writing


def _measured_again(before: Path, after: Path) -> tuple[float, float]:
    """Return the same for a generate over another state; what takes longest on a busy machine says nothing."""
    shutil.rmtree(after, ignore_errors=True)
    shutil.copytree(before, after)
    _become(after, _AFTER)
    return _measure(after)


def _kill(random: Random, root: Path, times: tuple[float, float], together: int) -> None:
    """Start generates at once, and end them at a random moment: before, in, or just after the writing."""
    thinking, writing = times
    running = [_start(root) for _ in range(together)]
    if random.random() < 0.15:
        time.sleep(random.uniform(0, thinking))  # there is nothing to wait for: any moment will do
    else:
        select.select([reader for _, reader in running], [], [])
        until = time.monotonic() + random.uniform(0, writing * 1.1)
        while time.monotonic() < until:
            pass  # a timer would wake up too late to aim with
    for child, _ in running:
        os.kill(child, signal.SIGKILL)
    for child, reader in running:
        _finish(child)
        os.close(reader)


def _is_temporary(path: str) -> bool:
    return ".mlspec-tmp-" in path


def _check(root: Path, before: dict[str, bytes], after: dict[str, bytes]) -> str:
    """Say where the kill fell, before, during or after; raises LeftBehindError for what should not be."""
    found = _generated(root)
    for path, content in found.items():
        if _is_temporary(path):
            continue
        if path.endswith(("mlspec.lock", "mlspec.lock.pending")):
            json.loads(content)
        elif content not in (before.get(path), after.get(path)):
            raise LeftBehindError(f"{path} is neither old nor new")
    where = "before" if found == before else "after" if found == after else "during"
    checked = mlspec(root, "generate", "--check")
    if checked.code != (0 if where == "after" else 1) or "internal error" in checked.output:
        raise LeftBehindError(f"check returns {checked.code}: {checked.output}")
    if (where == "during") != ("MLS505" in checked.stdout):
        raise LeftBehindError(f"killed {where}, and check says {checked.stdout[:2000]}")
    if _generated(root) != found:
        raise LeftBehindError("check wrote something")
    again = mlspec(root, "generate")
    if again.code != 0 or "MLS50" in again.output:
        raise LeftBehindError(f"the next generate returns {again.code}: {again.output}")
    if _generated(root) != after:
        raise LeftBehindError("the next generate does not converge")
    return where


def run(count: int, seed: int, enough: int) -> dict[str, int]:
    """Kill at least `count` times, until `enough` of them fell into the writing; returns how many fell where."""
    random = Random(seed)  # noqa: S311  # the same every time, as far as moments can be
    fell: Counter[str] = Counter()
    with (
        tempfile.TemporaryDirectory(prefix="mlspec-kills-") as name,
        mock.patch.dict(os.environ, MLSPEC_CACHE_DIR=f"{name}/cache"),
    ):
        folder = Path(name)
        first, second = write_tree(folder / "before", _BEFORE), folder / "after"
        _measure(first)
        times = min((_measured_again(first, second) for _ in range(3)), key=lambda found: found[1])
        before, after = _generated(first), _generated(second)
        for number in range(count * _MOST_ROUNDS):
            if number >= count and fell["during"] >= enough:
                break
            root = Path(shutil.copytree(first, folder / f"{number}"))
            _become(root, _AFTER)
            together = 2 if number % 5 == 4 else 1
            _kill(random, root, times, together)
            fell[_check(root, before, after)] += 1
            fell["two at once"] += together - 1
            shutil.rmtree(root)
    return {"kills": number + (number < count), **fell}


def main() -> int:
    """Run, and print where the kills fell as JSON; an exception is a law broken."""
    parser = argparse.ArgumentParser(prog="python -m tests.kills", description=__doc__)
    parser.add_argument("--count", type=int, default=25)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--enough", type=int, default=10, help="kills during the writing")
    options = parser.parse_args()
    sys.stdout.write(json.dumps(run(options.count, options.seed, options.enough)) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
