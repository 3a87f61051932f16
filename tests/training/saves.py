"""Kills a process at every line of saving, in turn: `saves.py DATA OUT` prints what could be read after each kill.

Each kill is of a process of its own (forked, since torch takes seconds to import), as kill -9 does it. The lines are
those of `save`, `write` and `publish`; between two of them the file system changes at most once.
"""

from __future__ import annotations

import json
import os
import signal
import sys
from types import FrameType
from typing import Any

import torch

from tests.training.driver import program


def main(data: str, out: str) -> None:
    """Print, as JSON, for each kill: the step saved before, the step being saved, the step found afterwards."""
    ddp = program()
    training = ddp.Training(ddp.parse(["--data", data, "--out", out, "--keep", "2"]))
    training.say = lambda *_, **__: None
    ddp.save(training, 1)
    before, results = 1, []
    for line in range(1, 200):
        child = os.fork()
        if child == 0:
            _die_at(line)
            ddp.save(training, before + 1)
            os._exit(0)
        _, status = os.waitpid(child, 0)
        folder = training.out / "checkpoints"
        found = torch.load(folder / f"step-{ddp.newest(folder):08}" / "state.pt", weights_only=True)["step"]
        if status == 0:
            break
        results.append([os.WTERMSIG(status), before, before + 1, found])
        before = found
    print(json.dumps({"event": "kills", "results": results, "last": found}))  # noqa: T201
    print(json.dumps({"event": "left", "files": sorted(os.listdir(training.out / "checkpoints"))}))  # noqa: T201, PTH208


def _die_at(line: int) -> None:
    left = [line]

    def trace(frame: FrameType, event: str, _: object) -> Any:
        if not frame.f_code.co_filename.endswith("ddp.py"):
            return None
        left[0] -= event == "line"
        if left[0] == 0:
            os.kill(os.getpid(), signal.SIGKILL)
        return trace

    sys.settrace(trace)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
