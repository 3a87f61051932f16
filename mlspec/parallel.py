"""Many projects at once: forked workers compile a root's files in chunks, the parent judges and writes.

A worker hands back what that takes and no more: findings, files that change, what overlays must build. Where
projects may share a namespace their objects are compared with one another, so everything stays in one process.
"""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Final

from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Diagnostic, has_errors
from mlspec.files.lock import State
from mlspec.pipeline import compile_workspace, conclude
from mlspec.plan.history import History
from mlspec.source import Mapping
from mlspec.spec.load import begin, check_unique, load
from mlspec.spec.workspace import LoadedProject, Variant, Workspace

# Below this a pool costs more than it brings.
_FEW: Final = 150
_CHUNKS_A_WORKER: Final = 6


@dataclass(frozen=True, slots=True)
class _Chunk:
    """What a worker found out about some files."""

    projects: list[Compiled]
    diagnostics: list[Diagnostic]
    texts: dict[str, str]
    digests: dict[str, str]
    files: list[str]


def compile_root(root: Path, chosen: Sequence[Path], only: Sequence[str] = (), *, builds: bool = True) -> Compilation:
    """Compile a root, or the chosen part of it; without `builds` nothing can be judged afterwards, only written."""
    workspace, _, files = begin(root, chosen)
    workers = min(os.cpu_count() or 1, 8)
    shared = any(not environment.model.namespace.manage for environment in workspace.environments.values())
    if len(files) < _FEW or workers < 2 or shared or "fork" not in multiprocessing.get_all_start_methods():
        return compile_workspace(load(root, chosen), only)
    size = max(1, len(files) // (workers * _CHUNKS_A_WORKER))
    parts = [files[start : start + size] for start in range(0, len(files), size)]
    from concurrent.futures import ProcessPoolExecutor  # late: 30 ms that few projects do not need

    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(max_workers=workers, mp_context=context) as pool:
        return _join(workspace, pool.map(partial(_compile, root, tuple(only), builds), parts))


def _compile(root: Path, only: Sequence[str], builds: bool, files: Sequence[Path]) -> _Chunk:
    workspace = load(root, files)
    compilation = compile_workspace(workspace, only)
    projects = [_slim(compiled, builds=builds) for compiled in compilation.projects]
    return _Chunk(projects, compilation.diagnostics, workspace.texts, workspace.digests, workspace.files)


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


def _join(workspace: Workspace, chunks: Iterable[_Chunk]) -> Compilation:
    compilation = Compilation(workspace)
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
