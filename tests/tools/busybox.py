"""Finds busybox for the tests of shell text: on PATH, else unpacked from the Debian package into mlspec's cache.

Debian's own client downloads the package and verifies it; neither that nor the unpacking needs root. Only the list of
packages does, where a machine has none yet. Exit 2, with what to install, where there is no such client.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from mlspec import cache

_PACKAGE: Final = "busybox-static"


def find() -> str | None:
    """Return a busybox, or None where `make tools` has not been run."""
    kept = _kept()
    return shutil.which("busybox") or (str(kept) if kept.is_file() else None)


def main() -> int:
    """Fetch what is missing; returns the exit code."""
    found = find()
    if found is None:
        problem = _fetch(_kept())
        if problem:
            sys.stderr.write(f"install the package busybox with this machine's package manager: {problem}\n")
            return 2
        found = str(_kept())
    sys.stdout.write(f"{found}\n")
    return 0


def _kept() -> Path:
    return cache.programs() / "busybox"


def _fetch(target: Path) -> str:
    """Unpack into a temporary folder and move the program, so that a killed fetch leaves no half program."""
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return "it can be fetched on Debian and its kin only"
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        result = _run(folder, "apt-get", "download", _PACKAGE)
        if result.returncode != 0:
            _run(folder, "apt-get", "update")
            result = _run(folder, "apt-get", "download", _PACKAGE)
        if result.returncode == 0:
            package = next(Path(folder).glob("*.deb"))
            result = _run(folder, "dpkg-deb", "--extract", str(package), folder)
        if result.returncode != 0:
            return result.stderr.strip()[-2000:]
        programs = [path for path in Path(folder).glob("**/bin/busybox") if path.is_file()]
        programs[0].replace(target)
    return ""


def _run(folder: str, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)  # our own words


if __name__ == "__main__":
    sys.exit(main())
