"""`mlspec graph`: steps and services, and the volumes and models that they read and write, or who may reach whom."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from mlspec.commands import session
from mlspec.diagnostics import Diagnostic, has_errors
from mlspec.files.hold import locked
from mlspec.files.lock import read_history, read_state
from mlspec.ir import Plan
from mlspec.plan import defaults
from mlspec.plan.resolve import build_base_plan, build_plan
from mlspec.report import graph, mermaid, network, network_mermaid
from mlspec.spec.discover import GENERATED
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.load import load
from mlspec.spec.workspace import Workspace


class _Shown(NamedTuple):
    plan: Plan
    environment: EnvironmentFields


@click.command("graph")
@session.paths_argument
@click.option("-e", "--env", "environments", multiple=True, metavar="ENV", help="Show this environment; repeatable.")
@click.option("--network", "of_network", is_flag=True, help="Show who may reach whom, on which ports, both ways.")
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "mermaid"]),
    default="text",
    show_default=True,
    help="Text for a terminal, or a Mermaid flowchart.",
)
@session.root_option
def command(
    paths: tuple[Path, ...],
    environments: tuple[str, ...],
    of_network: bool,
    output_format: str,
    own_root: Path | None,
) -> int:
    """Show steps in their order, services, and the volumes and models that they read and write.

    With --network: what may reach the pods of each, and what they may reach; everything else is closed.

    Without -e: as written above `environments:`; with --network, every environment. PATHS are project files, or folders
    to search for them. Default: the whole root.
    """
    root, chosen = session.find(own_root, paths)
    with locked(root, exclusive=False, waiting=session.waiting):
        workspace = load(root, chosen)
        session.check_environments(environments, root)
    # Who reaches whom is the environments' business: without one there would be no gateway and no destination.
    asked = environments or (tuple(sorted(workspace.environments)) if of_network else ())
    shown, diagnostics = _plans(workspace, asked)
    code = session.show(diagnostics, workspace.texts, err=True)
    if not has_errors(diagnostics):
        click.echo(_network(shown, output_format) if of_network else _graph(shown, output_format), nl=False)
    return code


def _graph(shown: Sequence[_Shown], output_format: str) -> str:
    plans = [each.plan for each in shown]
    return mermaid.render(plans) if output_format == "mermaid" else graph.render(plans)


def _network(shown: Sequence[_Shown], output_format: str) -> str:
    drawn = [network.draw(each.plan, _named(each.environment)) for each in shown]
    return network_mermaid.render(drawn) if output_format == "mermaid" else network.render(drawn)


def _named(environment: EnvironmentFields) -> network.Named:
    """Return what destinations open, and their names."""
    return [(defaults.flow(each, name), name) for name, each in environment.network.destinations.items()]


def _plans(workspace: Workspace, only: Sequence[str]) -> tuple[list[_Shown], list[Diagnostic]]:
    """Return what is shown, and the findings about the environments that were asked for, or about all."""
    shown: list[_Shown] = []
    diagnostics = list(workspace.diagnostics)
    for project in workspace.projects:
        if not only:
            shown.append(_Shown(build_base_plan(project.base, workspace.common), workspace.common))
        for name in dict.fromkeys(only) if only else project.variants:
            if name not in project.variants:
                continue
            environment = workspace.environments[name]
            generated = workspace.root / GENERATED
            history = read_history(generated, project.name, read_state(generated, project.name))
            plan, found = build_plan(project.variants[name], environment, project.base, history)
            diagnostics += found
            shown += [_Shown(plan, environment.model)] if only else []
    return shown, diagnostics
