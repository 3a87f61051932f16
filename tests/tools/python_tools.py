"""Installs Python programs that the suite runs into environments of their own in mlspec's cache: none of what they need
comes into mlspec's, and none of ours into theirs.

In: `tests/tools/<name>/requirements.txt`, every package at one version. Out: a virtual environment a program, kept by
version, by those requirements and by the Python that runs it. Exit 2, with the reason, where one cannot be installed.
"""

from __future__ import annotations

import hashlib
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlspec import cache

_HERE: Final = Path(__file__).parent
_FOLDER: Final = cache.programs()
"""Read once: the suite gives every test a cache of its own, and these programs outlive it."""


@dataclass(frozen=True)
class PythonProgram:
    """A program at a version; the folder `<name>` beside this file has its requirements."""

    name: str
    version: str

    @property
    def requirements(self) -> Path:
        """Everything that is installed."""
        return _HERE / self.name / "requirements.txt"

    @property
    def folder(self) -> Path:
        """Where its environment is, or will be."""
        made_of = f"{sys.implementation.cache_tag} {sys.base_prefix}\n".encode() + self.requirements.read_bytes()
        return _FOLDER / f"{self.name}-{self.version}-{hashlib.sha256(made_of).hexdigest()[:12]}"

    @property
    def python(self) -> Path:
        """The Python that has it."""
        return _python_in(self.folder)

    @property
    def label(self) -> str:
        """How people call it."""
        return f"{self.name} {self.version}"


CHECKOV: Final = PythonProgram("checkov", "3.3.30")
"""Judges what will run in the cluster; shown what operators will make (tests/policy_tools)."""


def main() -> int:
    """Install what is missing; returns the exit code."""
    for program in (CHECKOV,):
        problem = _ensure(program)
        if problem:
            sys.stderr.write(f"{program.label} cannot be installed: {problem}\n")
            return 2
        sys.stdout.write(f"{program.folder}\n")
    return 0


def _ensure(program: PythonProgram) -> str:
    """Install a program where it is missing; returns why it cannot be."""
    if program.python.is_file():
        return ""
    if f"{program.name}=={program.version}\n" not in program.requirements.read_text():
        return f"{program.name}/requirements.txt does not pin {program.version}"
    sys.stderr.write(f"installing {program.label} (1 to 3 minutes) ...\n")
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
        made = Path(folder) / program.name
        steps = (
            [sys.executable, "-m", "venv", str(made)],
            # Whatever is installed is written down: nothing is looked for that the file does not name.
            [str(_python_in(made)), "-m", "pip", "install", "--quiet", "--no-deps", "-r", str(program.requirements)],
            [str(_python_in(made)), "-m", "pip", "check"],
        )
        for step in steps:
            result = subprocess.run(step, capture_output=True, text=True, check=False)  # our own words
            if result.returncode != 0:
                return (result.stderr or result.stdout).strip()[-2000:]
        # Whole or not there: a killed installation leaves nothing. It is run as `python -m`, so that it may move.
        if not program.folder.is_dir():
            made.rename(program.folder)
    return ""


def _python_in(folder: Path) -> Path:
    return folder / "bin" / "python"


if __name__ == "__main__":
    sys.exit(main())
