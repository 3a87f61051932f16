"""Random roots, compiled in memory: single ones for property tests, and one sample for tests that look at many."""

from __future__ import annotations

import copy
import tempfile
from functools import cache
from pathlib import Path

from hypothesis import Phase, given, settings

from mlspec.compiled import Compilation
from mlspec.diagnostics import has_errors
from mlspec.k8s.resource import Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.strategies import Root, roots

SIZE = 24


def compiled(root: Root) -> Compilation:
    """Write a root into a folder of its own and compile it; it must be valid."""
    with tempfile.TemporaryDirectory() as folder:
        compilation = compile_workspace(load(root.write(Path(folder))))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    return compilation


def run_names(compilation: Compilation) -> dict[tuple[str, str, str], str]:
    """Return the name of every run by project, environment and step."""
    return {
        (item.project.name, environment, stated.workload.name): stated.workload.object_name
        for item in compilation.projects
        for environment, plan in item.plans.items()
        for stated in plan.steps
    }


def bodies(compilation: Compilation) -> list[Body]:
    """Return every object of every environment, Argo CD's included."""
    found = []
    for item in compilation.projects:
        found += [resource.body for resources in item.resources.values() for resource in resources]
        found += [body for argocd in item.argocd.values() for body in argocd]
    return found


def renamed(root: Root, suffix: str) -> Root:
    """Return a root whose projects and namespaces clash with those of no other root."""
    changed = copy.deepcopy(root)
    for project in changed.projects:
        project["name"] += suffix
    for environment in changed.environments.values():
        environment["namespace"]["pattern"] += suffix
    return changed


@cache
def sample() -> tuple[Compilation, ...]:
    """Return roots that clash in nothing, compiled; the same ones in every run."""
    found: list[Root] = []

    @settings(max_examples=SIZE, derandomize=True, phases=[Phase.generate])
    @given(roots())
    def collect(root: Root) -> None:
        found.append(root)

    collect()
    return tuple(compiled(renamed(root, f"-{index}")) for index, root in enumerate(found))
