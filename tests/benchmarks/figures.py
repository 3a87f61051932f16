"""One run of a whole process, started fresh, and what it took."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Figure:
    """One run of one process."""

    wall: float
    user: float
    system: float
    memory: float

    @property
    def cpu(self) -> float:
        """CPU seconds, the kernel's included."""
        return self.user + self.system

    def row(self) -> str:
        """Return the cells of the table."""
        return f"{self.wall:.2f} | {self.user:.2f} | {self.system:.2f} | {self.memory:.0f}"


def measure(command: Sequence[str], folder: Path, code: int = 0) -> Figure:
    """Run a process to its end and return what it took; raises RuntimeError for another exit code."""
    environment = {**os.environ, "MLSPEC_CACHE_DIR": str(folder / ".cache"), "PYTHONPATH": os.getcwd()}  # noqa: PTH109  # text, for the environment
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    with (folder / ".output").open("w") as output:
        began = time.perf_counter()
        process = subprocess.Popen(list(command), cwd=folder, env=environment, stdout=output, stderr=output)
        _, status, usage = os.wait4(process.pid, 0)
        wall = time.perf_counter() - began
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode != code:
        raise RuntimeError(
            f"{' '.join(command)}: exit {process.returncode}\n{(folder / '.output').read_text()[-2000:]}"
        )
    return Figure(wall, usage.ru_utime, usage.ru_stime, usage.ru_maxrss / 1024)
