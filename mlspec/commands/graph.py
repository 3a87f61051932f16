"""`mlspec graph`: steps and services, and the volumes and models that they read and write."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Final

import click

from mlspec.commands import session
from mlspec.diagnostics import Diagnostic, has_errors
from mlspec.files.hold import locked
from mlspec.files.lock import read_history, read_state
from mlspec.ir import Plan
from mlspec.plan.resolve import build_base_plan, build_plan
from mlspec.report import graph, mermaid
from mlspec.spec.discover import GENERATED
from mlspec.spec.load import load
from mlspec.spec.workspace import Workspace

_FORMATS: Final[dict[str, Callable[[Iterable[Plan]], str]]] = {"text": graph.render, "mermaid": mermaid.render}


@click.command("graph")
@session.paths_argument
@click.option("-e", "--env", "environments", multiple=True, metavar="ENV", help="Show this environment; repeatable.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(list(_FORMATS)),
    default="text",
    show_default=True,
    help="Text for a terminal, or a Mermaid flowchart.",
)
@session.root_option
def command(paths: tuple[Path, ...], environments: tuple[str, ...], output_format: str, own_root: Path | None) -> int:
    """Show steps in their order, services, and the volumes and models that they read and write.

    Without -e: as written above `environments:`. PATHS are project files, or folders to search for them. Default: the
    whole root.
    """
    root, chosen = session.find(own_root, paths)
    with locked(root, exclusive=False, waiting=session.waiting):
        workspace = load(root, chosen)
        session.check_environments(environments, root)
    plans, diagnostics = _plans(workspace, environments)
    code = session.show(diagnostics, workspace.texts, err=True)
    if not has_errors(diagnostics):
        click.echo(_FORMATS[output_format](plans), nl=False)
    return code


def _plans(workspace: Workspace, only: Sequence[str]) -> tuple[list[Plan], list[Diagnostic]]:
    """Return what is shown, and the findings about the environments that were asked for, or about all."""
    plans: list[Plan] = []
    diagnostics = list(workspace.diagnostics)
    for project in workspace.projects:
        if not only:
            plans.append(build_base_plan(project.base, workspace.common))
        for name in dict.fromkeys(only) if only else project.variants:
            if name not in project.variants:
                continue
            generated = workspace.root / GENERATED
            history = read_history(generated, project.name, read_state(generated, project.name))
            plan, found = build_plan(project.variants[name], workspace.environments[name], project.base, history)
            diagnostics += found
            plans += [plan] if only else []
    return plans, diagnostics
