"""This computer: its cores and GPUs, the interpreter that programs run with, and the environment that they get."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterable, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from mlspec.local.errors import CannotRunError
from mlspec.local.launch import HOST

_KEPT: Final = re.compile(
    r"HOME|USER|LOGNAME|LANG|LC_\w+|TZ|TMPDIR|(https?|all|no)_proxy|(HTTPS?|ALL|NO)_PROXY|SSL_CERT_(FILE|DIR)"
    r"|REQUESTS_CA_BUNDLE|CUDA_\w+|NVIDIA_\w+|LD_LIBRARY_PATH"
)
"""Variables of one's own that programs get; whatever else a script finds here, it would not find in the cluster."""
LAUNCHERS: Final[Mapping[str, tuple[str, ...]]] = {
    "python": (),
    "python3": (),
    "torchrun": ("-m", "torch.distributed.run"),
}
"""Programs that are the interpreter's, with what it is called with."""


def cores() -> int:
    """Return the cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def gpus() -> int:
    """Return the NVIDIA GPUs that programs may use."""
    visible = os.environ.get("CUDA_VISIBLE_DEVICES")
    tool = shutil.which("nvidia-smi")
    if tool is None or visible in ("", "-1"):
        return 0
    try:
        listed = subprocess.run([tool, "-L"], capture_output=True, text=True, check=False, timeout=30)  # noqa: S603  # found on PATH
    except (OSError, subprocess.TimeoutExpired):
        return 0
    there = sum(line.startswith("GPU ") for line in listed.stdout.splitlines())
    return there if visible is None else min(there, len(visible.split(",")))


def free_ports(count: int) -> list[int]:
    """Return so many ports that nobody listens at, all different."""
    with ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind((HOST, 0))
        return [int(one.getsockname()[1]) for one in sockets]


class Interpreter:
    """The Python that `python`, `python3` and `torchrun` are here."""

    def __init__(self, path: Path | None) -> None:
        """Take the path of an interpreter, or the one that runs mlspec; raises CannotRunError for what is none."""
        self.path = str(path.absolute()) if path is not None else sys.executable
        if not os.access(self.path, os.X_OK) or Path(self.path).is_dir():
            raise CannotRunError(f"{self.path} is no program; name a Python interpreter with --python")

    def has(self, module: str) -> bool:
        """Say whether it has a module."""
        question = f"import importlib.util, sys; sys.exit(importlib.util.find_spec({module!r}) is None)"
        return subprocess.run([self.path, "-c", question], capture_output=True, check=False).returncode == 0  # noqa: S603  # ours

    def put_first(self, folder: Path) -> str:
        """Write the launchers into a folder, and return a PATH in which they stand first.

        Scripts, not links: by a link Python would not find the virtual environment that it belongs to, and an
        interpreter may have no `python`, or no `torchrun`, beside it.
        """
        folder.mkdir(parents=True, exist_ok=True)
        for name, words in LAUNCHERS.items():
            script = folder / name
            script.write_text(f'#!/bin/sh\nexec {shlex.join([self.path, *words])} "$@"\n')
            script.chmod(0o755)
        return os.pathsep.join([str(folder), str(Path(self.path).parent), os.environ.get("PATH", os.defpath)])


def environment(path: str, own: Iterable[tuple[str, str]]) -> dict[str, str]:
    """Return the whole environment of a program: a few variables of this process, PATH, and its own."""
    kept = {name: value for name, value in os.environ.items() if _KEPT.fullmatch(name)}
    return {**kept, "PATH": path, **dict(own)}


def loopback() -> str:
    """Return the network interface of programs that only talk to one another here."""
    return "lo0" if sys.platform == "darwin" else "lo"
