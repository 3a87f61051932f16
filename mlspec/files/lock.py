"""The lock of a project: what its last complete run read and wrote, and the bytes of its runs."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mlspec.diagnostics import Diagnostic, whole_file
from mlspec.layout import is_run_path
from mlspec.spec.discover import GENERATED

FORMAT: Final = 1
"""Number of the output format: raised when an upgrade writes other bytes for the same inputs."""
LOCK: Final = "mlspec.lock"
PENDING: Final = "mlspec.lock.pending"


@dataclass(frozen=True, slots=True)
class Lock:
    """What a project's last complete run read and wrote; paths of outputs from generated/."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    superseded: tuple[str, ...] = ()
    format: int = FORMAT

    def text(self) -> bytes:
        """Return the bytes of the file."""
        content = {
            "format": self.format,
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "superseded": sorted(self.superseded),
        }
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


def digest(content: bytes) -> str:
    """Return a content's digest as the lock records it."""
    return "sha256:" + hashlib.sha256(content).hexdigest()


@dataclass(slots=True)
class State:
    """What is on disk for one project."""

    lock: Lock | None = None
    pending: Lock | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def owned(self) -> dict[str, set[str]]:
        """Paths that mlspec wrote, with the digests that it gave them."""
        found: dict[str, set[str]] = {}
        for lock in (self.lock, self.pending):
            for path, value in lock.outputs.items() if lock else ():
                found.setdefault(path, set()).add(value)
        return found


def read_state(generated: Path, project: str) -> State:
    """Read a project's lock, and the one of an interrupted run."""
    state = State()
    state.lock = _read_lock(generated, f"{project}/{LOCK}", state)
    state.pending = _read_lock(generated, f"{project}/{PENDING}", state)
    return state


def _read_lock(generated: Path, path: str, state: State) -> Lock | None:
    try:
        content = json.loads((generated / path).read_bytes())
        outputs, inputs = dict(content["outputs"]), dict(content["inputs"])
        valid = all(isinstance(text, str) for pair in (*outputs.items(), *inputs.items()) for text in pair)
        if not valid or not all(_inside(name) for name in outputs):
            raise ValueError(path)
        return Lock(inputs, outputs, tuple(map(str, content["superseded"])), int(content["format"]))
    except FileNotFoundError:
        return None
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        help = "restore it with `git checkout`, or delete it together with the project's folder in generated/"
        state.diagnostics.append(
            Diagnostic("MLS507", "the lock is not what mlspec writes", whole_file(f"{GENERATED}/{path}"), help=help)
        )
        return None


def _inside(path: str) -> bool:
    return not path.startswith("/") and ".." not in path.split("/") and "\\" not in path


def read_runs(generated: Path, state: State) -> dict[str, bytes]:
    """Return the run files that mlspec wrote and nobody edited."""
    found = {}
    for path, digests in state.owned.items():
        if is_run_path(path):
            content = read_file(generated / path)
            if content is not None and digest(content) in digests:
                found[path] = content
    return found


def read_file(path: Path) -> bytes | None:
    try:
        return path.read_bytes()
    except OSError:
        return None


def locked_projects(generated: Path) -> list[str]:
    """Return the names of the projects that have a lock, or an interrupted run's."""
    return sorted({path.parent.name for name in (LOCK, PENDING) for path in generated.glob(f"*/{name}")})
