"""Many projects at once: forked workers compile a root's files in chunks, the parent judges and writes.

A worker hands back what that takes and no more: findings, files that change, what overlays must build. Where
projects may share a namespace their objects are compared with one another, so everything stays in one process.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from mlspec.affected.select import select
from mlspec.check import tools
from mlspec.compiled import Compilation, Compiled, Known, Part
from mlspec.diagnostics import Diagnostic, has_errors
from mlspec.files.lock import State
from mlspec.pipeline import compile_workspace, conclude
from mlspec.plan.history import History
from mlspec.source import Mapping
from mlspec.spec.load import begin, read
from mlspec.spec.unique import check_unique
from mlspec.spec.workspace import LoadedProject, Variant, Workspace
from mlspec.verdicts import Memory

# Below this a pool costs more than it brings.
_FEW: Final = 150
_CHUNKS_A_WORKER: Final = 6
_MOST_WORKERS: Final = 8


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What a worker found out about some files."""

    projects: list[Compiled]
    diagnostics: list[Diagnostic]
    texts: dict[str, str]
    digests: dict[str, str]
    files: list[str]


@dataclass(frozen=True, slots=True)
class Wanted:
    """What of a root is compiled, and by how many workers."""

    paths: Sequence[Path] = ()
    """Project files, or folders to search for them; the whole root, if none is named."""
    environments: Sequence[str] = ()
    """All, if none is named."""
    since: str | None = None
    """A revision: only what differs from where it and HEAD parted."""
    builds: bool = True
    """Without them nothing can be judged afterwards, only written."""
    memory: Memory | None = None
    """What is known of project files is not compiled again; for a whole root alone."""
    jobs: int | None = None
    """Processes at once; as many as there are processors, if it is not said."""


def compile_root(root: Path, wanted: Wanted) -> Compilation:
    """Compile a root, or a part of it; raises git.GitError where Git cannot say what differs."""
    workspace, known, files = begin(root, wanted.paths)
    part: Part | None = None
    verdicts: tuple[Known, ...] = ()
    if wanted.since is not None:
        selection = select(workspace, files, wanted.since)
        files, part = selection.files, selection.part
    elif wanted.memory is not None:
        selection, verdicts = wanted.memory.select(workspace, files)
        files, part = selection.files, selection.part
    compilation = _compile_files(workspace, known, files, part, wanted)
    compilation.known = verdicts
    compilation.diagnostics += (finding for verdict in verdicts for finding in verdict.findings)
    return compilation


def _compile_files(
    workspace: Workspace, known: frozenset[str], files: Sequence[Path], part: Part | None, wanted: Wanted
) -> Compilation:
    workers = min(wanted.jobs or tools.processors(), _MOST_WORKERS)
    shared = any(not environment.model.namespace.manage for environment in workspace.environments.values())
    if len(files) < _FEW or workers < 2 or shared or "fork" not in multiprocessing.get_all_start_methods():
        read(workspace, known, files)
        check_unique(workspace)
        return compile_workspace(workspace, wanted.environments, part)
    size = max(1, len(files) // (workers * _CHUNKS_A_WORKER))
    parts = [files[start : start + size] for start in range(0, len(files), size)]
    from concurrent.futures import ProcessPoolExecutor  # late: 30 ms that few projects do not need

    context = multiprocessing.get_context("fork")
    # A forked worker has the environments already; what differs from chunk to chunk is all that is sent.
    work = partial(_compile, workspace, known, tuple(wanted.environments), wanted.builds)
    with ProcessPoolExecutor(workers, context, _inherit, (work,)) as pool:
        return _join(workspace, pool.map(_inherited, parts), part)


_WORK: Final[list[Callable[[Sequence[Path]], _Chunk]]] = []
"""In a worker, what it does to a chunk; it comes with the fork, so that it need not be pickled."""


def _inherit(work: Callable[[Sequence[Path]], _Chunk]) -> None:
    _WORK[:] = [work]


def _inherited(files: Sequence[Path]) -> _Chunk:
    return _WORK[0](files)


def _compile(
    loaded: Workspace, known: frozenset[str], only: Sequence[str], builds: bool, files: Sequence[Path]
) -> _Chunk:
    # Only some of the projects: what is left of others is the parent's to say.
    workspace = replace(
        loaded, projects=[], diagnostics=list(loaded.diagnostics), texts={}, digests=dict(loaded.digests), files=[]
    )
    workspace.complete = False
    read(workspace, known, files)
    compilation = compile_workspace(workspace, only)
    projects = [_slim(compiled, builds=builds) for compiled in compilation.projects]
    # What was found about the environments, the parent knows already.
    found = compilation.diagnostics[len(loaded.diagnostics) :]
    return _Chunk(projects, found, workspace.texts, workspace.digests, workspace.files)


def _slim(compiled: Compiled, *, builds: bool) -> Compiled:
    """Leave out what only the compilation itself needed: it would cost more to send than to make."""
    project = compiled.project
    compiled.project = LoadedProject(
        project.name,
        project.file,
        _head(project.base),
        {name: _head(variant) for name, variant in project.variants.items()},
    )
    compiled.plans = {name: replace(plan, workloads=(), volumes=()) for name, plan in compiled.plans.items()}
    compiled.resources = {}
    compiled.state, compiled.history = State(), History()
    if not builds:
        compiled.argocd = {}
        compiled.layout.builds = {}
        compiled.layout.files = dict.fromkeys(compiled.layout.files, b"")
    return compiled


def _head(variant: Variant) -> Variant:
    """Keep the fields that findings about a project as a whole point at."""
    tree = Mapping(
        {key: entry for key, entry in variant.tree.entries.items() if key in ("name", "owner")}, variant.tree.span
    )
    return Variant(tree, variant.model.model_copy(update={"steps": {}, "services": {}, "volumes": {}, "secrets": {}}))


def _join(workspace: Workspace, chunks: Iterable[_Chunk], part: Part | None) -> Compilation:
    compilation = Compilation(workspace, diagnostics=list(workspace.diagnostics), part=part)
    for chunk in chunks:
        compilation.projects += chunk.projects
        compilation.diagnostics += chunk.diagnostics
        workspace.projects += [compiled.project for compiled in chunk.projects]
        workspace.texts |= chunk.texts
        workspace.digests |= chunk.digests
        workspace.files += chunk.files
    workspace.diagnostics.clear()
    check_unique(workspace)
    compilation.diagnostics += workspace.diagnostics
    conclude(compilation, laid_out=not has_errors(compilation.diagnostics))
    return compilation
