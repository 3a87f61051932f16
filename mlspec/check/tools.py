"""External judges: where they are, which version, and a memory of what they found valid before.

Verdicts are remembered by content (files, expectation, tool), so an unchanged overlay is built once a machine.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import shutil
import subprocess
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlspec import cache

KUBECONFORM_VERSION: Final = "v0.7.0"
OLDEST_KUSTOMIZE: Final = (5, 0)
_SECONDS: Final = 300


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that was found; `prefix` are its first words."""

    name: str
    path: Path
    prefix: tuple[str, ...]
    version: str = ""

    @property
    def identity(self) -> str:
        """What tells this build of the program from another, on any machine: its content."""
        stat = self.path.stat()
        return f"{self.name} {_digest(str(self.path), stat.st_size, stat.st_mtime_ns)} {self.version}"


@functools.cache
def _digest(path: str, size: int, changed: int) -> str:
    """Return the digest of a program's file; the size and the time of a change say whether it is known already."""
    name = cache.key((path, str(size), str(changed)))
    known = cache.recall("programs", name)
    if known is not None:
        return known
    with open(path, "rb") as file:  # noqa: PTH123  # a text path, as in the key
        found = hashlib.file_digest(file, "blake2b").hexdigest()[:40]
    cache.remember("programs", name, found)
    return found


def find_kustomize() -> Tool | None:
    """Return kubectl of the `kustomize` extra, else `kustomize` or `kubectl` on PATH; None if there is none."""
    bundled = Path(sysconfig.get_path("scripts")) / "kubectl"
    candidates = [("kubectl", str(bundled) if bundled.is_file() else None)]
    candidates += [(name, shutil.which(name)) for name in ("kustomize", "kubectl")]
    for name, path in candidates:
        if path is not None:
            words = (path, "kustomize") if name == "kubectl" else (path, "build")
            return Tool(name, Path(path), words, _kustomize_version(name, Path(path)))
    return None


def too_old(tool: Tool) -> bool:
    """Say whether a kustomize lacks what overlays use; one that does not tell its version is tried."""
    parts = tool.version.lstrip("v").split(".")
    return len(parts) > 1 and parts[0].isdecimal() and tuple(map(int, parts[:2])) < OLDEST_KUSTOMIZE


def _kustomize_version(name: str, path: Path) -> str:
    stat = path.stat()
    key = cache.key((f"{name} {path} {stat.st_size} {stat.st_mtime_ns}",))
    known = cache.recall("versions", key)
    if known is not None:
        return known
    command = [str(path), "version", "--client", "-o", "json"] if name == "kubectl" else [str(path), "version"]
    result = run(command)
    version = result.stdout.strip()
    if name == "kubectl":
        try:
            # kubectl before 1.24 does not tell; it bundles kustomize 2 or 4.
            version = str(json.loads(result.stdout).get("kustomizeVersion", "v4.0.0"))
        except ValueError:
            version = ""
    cache.remember("versions", key, version)
    return version


def find_kubeconform() -> Tool | None:
    """Return kubeconform from PATH, else the one that `make tools` built."""
    built = cache.programs() / f"kubeconform-{KUBECONFORM_VERSION}" / "kubeconform"
    path = shutil.which("kubeconform") or (str(built) if built.is_file() else None)
    return Tool("kubeconform", Path(path), (path,)) if path else None


def processors() -> int:
    """Return how many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def run(
    command: Iterable[str], stdin: str | None = None, *, seconds: int = _SECONDS, collects: bool = False
) -> subprocess.CompletedProcess[str]:
    """Run a program to its end; it sees neither a kubeconfig nor the user's settings.

    GOGC=off saves a third of the CPU time of kustomize, which lives too short to need its collector; one that lives
    longer `collects`. A program that cannot be run, or hangs for so many seconds, has the exit code 126 or 124.
    """
    environment = {"PATH": os.environ.get("PATH", ""), "HOME": os.devnull, "KUBECONFIG": os.devnull}
    environment |= {} if collects else {"GOGC": "off"}
    words = list(command)
    try:
        return subprocess.run(  # noqa: S603  # our own words and a program that the user installed
            words, input=stdin, capture_output=True, text=True, check=False, env=environment, timeout=seconds
        )
    except subprocess.TimeoutExpired:
        return subprocess.CompletedProcess(words, 124, "", f"took more than {seconds} seconds")
    except (OSError, UnicodeDecodeError) as error:
        return subprocess.CompletedProcess(words, 126, "", f"cannot be run: {error}")


def content_key(tool: Tool, contents: Iterable[str | bytes]) -> str:
    """Return the key under which a verdict of a tool on these contents is remembered."""
    return cache.key((tool.identity, *contents))
