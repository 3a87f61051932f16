"""`mlspec render`: the plain objects of an environment, or the Pods and Services that operators will make of them."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final

import click

from mlspec.commands import session
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import has_errors
from mlspec.files.hold import locked
from mlspec.k8s.resource import CLUSTER_SCOPED, Body
from mlspec.layout import PlannedEnvironment, lay_out
from mlspec.pipeline import compile_workspace
from mlspec.report import stream
from mlspec.report.stream import Document
from mlspec.spec.load import load

_FORMATS: Final[dict[str, Callable[[Iterable[Document]], Iterator[str]]]] = {"yaml": stream.yaml, "json": stream.json}


@click.command("render")
@session.paths_argument
@click.option(
    "-e",
    "--env",
    "environments",
    multiple=True,
    required=True,
    metavar="ENV",
    help="Print this environment; repeatable.",
)
@click.option(
    "--projected",
    is_flag=True,
    help="Print the Pods and Services that the operators will make, containers that they add included.",
)
@click.option(
    "--output-format",
    type=click.Choice(list(_FORMATS)),
    default="yaml",
    show_default=True,
    help="One stream of YAML documents, or one JSON list.",
)
@session.root_option
def command(
    paths: tuple[Path, ...],
    environments: tuple[str, ...],
    projected: bool,
    output_format: str,
    own_root: Path | None,
) -> int:
    """Print the objects of an environment whole, without kustomize, those for Argo CD included.

    Nothing is written, and nothing is printed where there is an error. With --projected any policy tool for pods can
    judge what is inside custom resources. PATHS are project files, or folders to search for them. Default: the whole
    root.
    """
    root, chosen = session.find(own_root, paths)
    with locked(root, exclusive=False, waiting=session.waiting):
        session.check_environments(environments, root)
        compilation = compile_workspace(load(root, chosen), environments)
    code = session.show(compilation.diagnostics, compilation.workspace.texts, err=True)
    if has_errors(compilation.diagnostics):
        return code
    sys.stdout.writelines(_FORMATS[output_format](_documents(compilation, environments, projected=projected)))
    return code


def _documents(compilation: Compilation, only: Iterable[str], *, projected: bool) -> Iterator[Document]:
    for compiled in compilation.projects:
        for name in dict.fromkeys(only):
            if name in compiled.resources:
                found = _projected(compiled, name) if projected else map(Document, _plain(compiled, name))
                yield from stream.titled(f"Project {compiled.project.name} in {name}", found)


def _plain(compiled: Compiled, name: str) -> list[Body]:
    """Return the objects as they are written, a run's as its file has it; namespaces first, so that the rest fits."""
    project, namespace = compiled.project.name, compiled.plans[name].target.namespace or ""
    environment = PlannedEnvironment(name, namespace, compiled.resources[name], compiled.argocd[name])
    builds = lay_out(project, (), [environment], compiled.history.files).builds
    bodies = [*builds.get(f"{project}/overlays/{name}", ()), *compiled.argocd[name]]
    return sorted(bodies, key=lambda body: body["kind"] not in CLUSTER_SCOPED)


def _projected(compiled: Compiled, name: str) -> Iterator[Document]:
    for resource in compiled.resources[name]:
        if resource.projection is not None:
            yield from stream.projected(str(resource.key), resource.projection)
