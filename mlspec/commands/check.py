"""`mlspec check`: everything that can be proven without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from mlspec.commands import session
from mlspec.diagnostics import Accepted, Diagnostic, has_errors
from mlspec.files.hold import locked
from mlspec.judge import Asked, judge
from mlspec.parallel import compile_root


@click.command("check")
@session.paths_argument
@click.option(
    "-e", "--env", "environments", multiple=True, metavar="ENV", help="Judge only this environment; repeatable."
)
@click.option(
    "--output-format",
    type=click.Choice(["full", "concise", "json"]),
    default="full",
    show_default=True,
    help="How findings are printed on stdout.",
)
@session.root_option
def command(paths: tuple[Path, ...], environments: tuple[str, ...], output_format: str, own_root: Path | None) -> int:
    """Judge projects: spec rules, schemas, references, drift, kustomize build; kubeconform if found.

    PATHS are project files, or folders to search for them. Default: the whole root.
    """
    root, chosen = session.find(own_root, paths)
    with locked(root, exclusive=False, waiting=session.waiting):
        session.check_environments(environments, root)
        compilation = compile_root(root, chosen, environments)
        diagnostics: list[Diagnostic] = list(compilation.diagnostics)
        lines: Sequence[str] = ()
        accepted: Sequence[Accepted] = ()
        if not has_errors(diagnostics):
            verdict = judge(compilation, Asked(environments), session.progress)
            diagnostics += verdict.diagnostics
            lines, accepted = verdict.lines, verdict.accepted
    code = session.show(diagnostics, compilation.workspace.texts, output_format, err=False, accepted=accepted)
    for line in lines:
        click.echo(line, err=True)
    return code
