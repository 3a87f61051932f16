"""What should be and what is in, the difference out: writes, removals, drift, and what stands in the way."""

from __future__ import annotations

import os
from collections.abc import Iterator, Set
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from mlspec.diagnostics import Diagnostic, Severity, whole_file
from mlspec.files import disk
from mlspec.files.lock import Digests, Lock, State
from mlspec.files.marks import LOCK, PENDING, ROOT, digest, lock_path
from mlspec.layout import FileTree, is_run_path
from mlspec.spec.discover import GENERATED, MAX_FOLDERS

_MISSING_RUN: Final = "the file of a run is missing"
TEMPORARY: Final = ".mlspec-tmp-"


@dataclass(slots=True)
class Changes:
    """What must happen to the files of one project, or of the root (`marks.ROOT`), and what stands in the way."""

    project: str
    lock: Lock | None
    writes: FileTree = field(default_factory=dict)
    removes: list[str] = field(default_factory=list)
    drift: list[Diagnostic] = field(default_factory=list)
    refusals: list[Diagnostic] = field(default_factory=list)
    restored: list[Diagnostic] = field(default_factory=list)
    fresh: set[str] = field(default_factory=set)
    """Paths of `writes` that mlspec never wrote before."""
    interrupted: Digests = field(default_factory=dict)
    """What interrupted runs wrote: it stays mlspec's own until this one is complete."""

    @property
    def any(self) -> bool:
        """Say whether anything on disk differs."""
        return bool(self.writes or self.removes or self.drift)


def compare(generated: Path, project: str, files: FileTree, lock: Lock | None, state: State) -> Changes:
    """Compare what should be with what is; `lock` is None for a project that is gone."""
    changes = Changes(project, lock, interrupted=state.interrupted)
    if state.diagnostics:
        # Without the lock every file would look like somebody else's.
        changes.refusals += state.diagnostics
        return changes
    if state.pending is not None:
        changes.drift.append(_drift("MLS505", "the last generate was interrupted", lock_path(project, PENDING)))
    for name in (LOCK, PENDING):
        _blocked(changes, generated, lock_path(project, name))
    owned = state.owned
    for path, content in files.items():
        _compare_file(changes, generated, path, content, owned.get(path, set()), state.lock is not None)
    for path in sorted(owned.keys() - files.keys()):
        _compare_gone(changes, generated, path, owned[path])
    if lock is None and state.lock is not None:
        changes.drift.append(_drift("MLS509", "not needed any more", lock_path(project)))
    _compare_lock(changes, lock_path(project), lock, state)
    return changes


def _compare_lock(changes: Changes, path: str, lock: Lock | None, state: State) -> None:
    """Add what only the lock itself shows; where files differ, they are said already."""
    if lock is None:
        return
    if state.lock is None:
        if state.pending is None:
            changes.drift.append(_drift("MLS502", "not generated yet", path))
    elif state.lock != lock and not changes.any and not changes.refusals:
        changed = state.lock.inputs != lock.inputs
        message = "the inputs have changed since it was written" if changed else "it does not list what is there"
        changes.drift.append(_drift("MLS501", message, path))


def _drift(code: str, message: str, path: str, severity: Severity = Severity.ERROR) -> Diagnostic:
    help = "run `mlspec generate`" if code in ("MLS501", "MLS502", "MLS503", "MLS505", "MLS508", "MLS509") else ""
    if code == "MLS502" and message == _MISSING_RUN:
        help = f"restore it with `git checkout {GENERATED}/{path}`"
    return Diagnostic(code, message, whole_file(f"{GENERATED}/{path}"), help=help, severity=severity)


def _compare_file(
    changes: Changes, generated: Path, path: str, content: bytes, ours: set[str], generated_before: bool
) -> None:
    if _blocked(changes, generated, path):
        return
    found = disk.content(generated, path)
    if found == content:
        return
    if found is None:
        changes.writes[path] = content
        changes.fresh |= set() if ours else {path}
        missing = _MISSING_RUN if ours and is_run_path(path) else "the file is missing"
        changes.drift.append(_drift("MLS502", missing if generated_before else "not generated yet", path))
    elif digest(found) in ours:
        changes.writes[path] = content
        changes.drift.append(_drift("MLS501", "out of date", path))
    elif not ours:
        help = "move it away, or delete it, and run `mlspec generate`"
        refusal = Diagnostic(
            "MLS504", "a file that mlspec did not write stands here", whole_file(f"{GENERATED}/{path}"), help=help
        )
        changes.refusals.append(refusal)
    elif is_run_path(path) and digest(content) not in ours:
        help = f"restore it with `git checkout {GENERATED}/{path}`"
        message = "the file of a run was edited by hand; runs are written once"
        changes.refusals.append(Diagnostic("MLS508", message, whole_file(f"{GENERATED}/{path}"), help=help))
    else:
        changes.writes[path] = content
        code = "MLS508" if is_run_path(path) else "MLS503"
        changes.drift.append(_drift(code, "edited by hand", path))
        changes.restored.append(_drift(code, "was edited by hand; restored", path, Severity.WARNING))


def _blocked(changes: Changes, generated: Path, path: str) -> bool:
    """Say whether something else stands in the way of a file, and refuse it, once."""
    found = disk.obstacle(generated, path)
    if found is None:
        return False
    what, where = found
    place = whole_file(f"{GENERATED}/{where}" if where else GENERATED)
    help = "move it away and run `mlspec generate`"
    refusal = Diagnostic("MLS504", f"{what} stands where mlspec writes", place, help=help)
    if refusal not in changes.refusals:
        changes.refusals.append(refusal)
    return True


def _is_alive(lock: Lock, run: str) -> bool:
    """Say whether the environment of a run still is one of the project's."""
    folder = "/".join(run.split("/")[:3])
    return any(path.startswith(f"{folder}/") for path in lock.outputs)


def _compare_gone(changes: Changes, generated: Path, path: str, ours: set[str]) -> None:
    if _blocked(changes, generated, path):
        return
    found = disk.content(generated, path)
    if found is None:
        if changes.lock is not None and is_run_path(path) and _is_alive(changes.lock, path):
            changes.drift.append(_drift("MLS502", _MISSING_RUN, path))
        return
    place = whole_file(f"{GENERATED}/{path}")
    if digest(found) in ours:
        changes.removes.append(path)
        changes.drift.append(_drift("MLS509", "not needed any more", path))
    elif is_run_path(path):
        help = f"restore it with `git checkout {GENERATED}/{path}`"
        message = "the file of a run was edited by hand; runs are written once"
        changes.refusals.append(Diagnostic("MLS508", message, place, help=help))
    else:
        home = "a file of your own" if changes.project == ROOT else "mlproject.yaml"
        help = f"put the change into {home}, then delete the file"
        message = "no longer needed, but edited by hand: mlspec does not delete it"
        changes.refusals.append(Diagnostic("MLS503", message, place, help=help))


def foreign(generated: Path, owned: Set[str], below: str = "") -> Iterator[str]:
    """Yield the files under generated/ that no lock lists, in order; temporary files of a killed run included.

    Of a path `below` generated/ itself where that is no folder; nothing where a link or a file stands on the way.
    """
    obstacle = disk.obstacle(generated, below) if below else ("a folder", below)
    if obstacle is None or (obstacle[1] == below and obstacle[0] != "a folder"):
        if os.path.lexists(generated / below) and not _is_known(below, owned):
            yield below
    elif obstacle[1] == below:
        yield from _foreign_in(generated, owned, generated / below)


def _foreign_in(generated: Path, owned: Set[str], top: Path) -> Iterator[str]:
    for folder, folders, files in os.walk(top):
        folders.sort()
        links = [name for name in folders if (Path(folder) / name).is_symlink()]
        # Nothing of ours lies that deep, and Python walks down by calling itself: what is there is named as a whole.
        deep = folders[:] if len(Path(folder).relative_to(generated).parts) >= MAX_FOLDERS else []
        folders[:] = [name for name in folders if name not in deep]
        for name in sorted({*files, *links, *deep}):
            path = (Path(folder) / name).relative_to(generated).as_posix()
            if not _is_known(path, owned):
                yield path


def _is_known(path: str, owned: Set[str]) -> bool:
    name = path.rpartition("/")[2]
    return path in owned or name == ".gitattributes" or (name in (LOCK, PENDING) and path.count("/") <= 1)


def is_temporary(path: str) -> bool:
    """Say whether a file is what a killed run left."""
    return path.rsplit("/", 1)[-1].startswith(TEMPORARY)
