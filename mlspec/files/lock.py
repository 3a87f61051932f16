"""The lock of a project, or of the root: what its last complete run read and wrote, and the bytes of its runs."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mlspec import names
from mlspec.diagnostics import Diagnostic, whole_file
from mlspec.files import disk
from mlspec.files.marks import FORMAT, LOCK, PENDING, ROOT, digest, lock_path
from mlspec.layout import is_run_path
from mlspec.plan.history import History
from mlspec.spec.discover import GENERATED

MAX_BYTES: Final = 4 << 20
_PART: Final = "[A-Za-z0-9_-][A-Za-z0-9._-]*"
_FORMAT: Final = re.compile(rb'\s*{\s*"format": ?([0-9]{1,9}),')
_CONFLICT: Final = re.compile(rb"^(<{7} |>{7} )", re.MULTILINE)
_ADMIN: Final = f"argocd/{names.ADMIN}"

Digests = Mapping[str, set[str]]


@dataclass(frozen=True, slots=True)
class Lock:
    """What the last complete run read and wrote for a project, or for the root; paths of outputs from generated/."""

    inputs: Mapping[str, str] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    superseded: tuple[str, ...] = ()
    format: int = FORMAT

    def text(self, earlier: Digests | None = None) -> bytes:
        """Return the bytes of the file; `earlier` is what interrupted runs wrote, for the pending lock alone."""
        content = {
            "format": self.format,
            "inputs": dict(self.inputs),
            "outputs": dict(self.outputs),
            "superseded": sorted(self.superseded),
            **({"earlier": {path: sorted(values) for path, values in earlier.items()}} if earlier else {}),
        }
        return (json.dumps(content, indent=1, sort_keys=True) + "\n").encode()


@dataclass(slots=True)
class State:
    """What is on disk for one project, or for the root."""

    lock: Lock | None = None
    pending: Lock | None = None
    before: Digests = field(default_factory=dict)
    """What runs wrote that were interrupted before the pending one began."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    @property
    def interrupted(self) -> dict[str, set[str]]:
        """Paths that interrupted runs wrote, or may have written, with the digests that they gave them."""
        found = {path: set(values) for path, values in self.before.items()}
        for path, value in self.pending.outputs.items() if self.pending else ():
            found.setdefault(path, set()).add(value)
        return found

    @property
    def owned(self) -> dict[str, set[str]]:
        """Paths that mlspec wrote, with the digests that it gave them."""
        found = self.interrupted
        for path, value in self.lock.outputs.items() if self.lock else ():
            found.setdefault(path, set()).add(value)
        return found


def read_state(generated: Path, project: str) -> State:
    """Read the lock of a project (or of the root, `marks.ROOT`), and the one of an interrupted run."""
    state = State()
    for name in (LOCK, PENDING):
        content = disk.read(generated, lock_path(project, name), MAX_BYTES + 1)
        if content is None:
            continue
        try:
            found, before = _parse(project, content)
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            state.diagnostics.append(_unreadable(project, name, content))
            continue
        if name == LOCK:
            state.lock = found
        else:
            state.pending, state.before = found, before
    return state


def _unreadable(project: str, name: str, content: bytes) -> Diagnostic:
    path = f"{GENERATED}/{lock_path(project, name)}"
    if _CONFLICT.search(content):
        # Runs of the other branch are strangers then, but for those that the merged spec means.
        help = f"take that of the branch which Argo CD follows (`git checkout --theirs -- {path}` where it is merged "
        help += "into yours), run `mlspec generate`, and delete what `mlspec check` then does not know"
        return Diagnostic("MLS507", "an unresolved merge conflict", whole_file(path), help=help)
    folder = f"{GENERATED}/{_ADMIN}/" if project == ROOT else "the project's folder in generated/"
    help = f"restore it with `git checkout`, or delete it together with {folder}"
    return Diagnostic("MLS507", "the lock is not what mlspec writes", whole_file(path), help=help)


def _parse(project: str, text: bytes) -> tuple[Lock, Digests]:
    """Return a lock and what it lists as written before; raises ValueError and its like for anything strange."""
    if len(text) > MAX_BYTES:
        raise ValueError
    content = json.loads(text)
    inputs, outputs, superseded = content["inputs"], content["outputs"], content["superseded"]
    before = {path: set(values) for path, values in content.get("earlier", {}).items()}
    words = [word for pair in (*inputs.items(), *outputs.items()) for word in pair]
    words += [*superseded, *(value for values in before.values() for value in values)]
    if not all(isinstance(word, str) for word in words) or type(content["format"]) is not int:
        raise ValueError
    if not all(_is_own(project, path) for path in (*outputs, *superseded, *before)):
        raise ValueError
    return Lock(inputs, outputs, tuple(superseded), content["format"]), before


def _is_own(project: str, path: str) -> bool:
    """Say whether mlspec could have written a path for a project: nothing outside, nothing of another or the root's."""
    if project == ROOT:
        return re.fullmatch(rf"{_ADMIN}(/{_PART})+", path) is not None
    own = re.escape(project)
    return re.fullmatch(rf"{own}(/{_PART})+|argocd/(?!{names.ADMIN}/){_PART}/{own}\.yaml", path) is not None


def read_runs(generated: Path, state: State) -> dict[str, bytes]:
    """Return the run files that mlspec wrote and nobody edited."""
    found = {}
    for path, digests in state.owned.items():
        if is_run_path(path):
            content = disk.read(generated, path)
            if content is not None and digest(content) in digests:
                found[path] = content
    return found


def read_history(generated: Path, project: str, state: State) -> History:
    """Return the runs that were written before, with the paths of those that were and are not there."""
    owned = frozenset(path for path in state.owned if is_run_path(path))
    return History(project, read_runs(generated, state), owned)


def read_formats(generated: Path) -> set[int]:
    """Return the output formats that complete runs wrote in; what is no lock of ours is left to those who read it."""
    found = set()
    for path in (generated / LOCK, *generated.glob(f"*/{LOCK}")):
        name = path.relative_to(generated).as_posix()
        match = _FORMAT.match(disk.read(generated, name, 64) or b"")
        found |= {int(match[1])} if match else set()
    return found


def locked_projects(generated: Path) -> list[str]:
    """Return the names of the projects that have a lock, or an interrupted run's."""
    found = {path.parent.name for name in (LOCK, PENDING) for path in generated.glob(f"*/{name}")}
    return sorted(found - names.RESERVED_PROJECTS)
