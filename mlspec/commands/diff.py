"""`mlspec diff`: what a change means, since a revision."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import click

from mlspec.changes.compare import compare_projects
from mlspec.changes.graph import graphs
from mlspec.changes.values import RootChanges
from mlspec.commands import session
from mlspec.commands.comparing import Comparison, compare
from mlspec.diagnostics import Severity
from mlspec.files.hold import locked
from mlspec.report.changes import json, markdown, text

_PLAIN: Final[dict[str, Callable[[RootChanges], str]]] = {
    "text": text.render,
    "json": json.render,
}
# What exists cannot become what is planned: everything is known, and the difference shows what it is about.
_BESIDE: Final = frozenset({"MLS236", "MLS248", "MLS249"})


@click.command("diff")
@click.option(
    "-e", "--env", "environments", multiple=True, metavar="ENV", help="Compare only this environment; repeatable."
)
@click.option(
    "--against",
    default="HEAD",
    show_default=True,
    metavar="REF",
    help="Revision to compare with: HEAD shows what is not committed, origin/main what a branch means.",
)
@click.option(
    "--format",
    "output_format",
    type=click.Choice(["text", "markdown", "json"]),
    default="text",
    show_default=True,
    help="Text for a terminal, Markdown for a comment on a pull request, or JSON for programs.",
)
@session.root_option
def command(environments: tuple[str, ...], against: str, output_format: str, own_root: Path | None) -> int:
    """Show what the files mean that differ from a revision: runs, GPUs, cost, models, exposure, data, deletions.

    Compares what would be generated, without writing anything: no cluster is asked, and the work tree stays as it is.
    Exits with 1 where anything differs, as `generate --diff`, or where an error stands in the way.
    """
    root, _ = session.find(own_root, ())
    with locked(root, exclusive=False, waiting=session.waiting):
        found = compare(root, against, environments)
    return _show(found, against, output_format)


def _show(found: Comparison, against: str, output_format: str) -> int:
    """Print what differs; returns the exit code. With other errors nothing is: half of a difference misleads."""
    errors = [finding for finding in found.now.diagnostics if finding.severity is Severity.ERROR]
    code = session.show(errors, found.now.workspace.texts, err=True)
    if any(finding.code not in _BESIDE for finding in errors):
        return code
    projects = tuple(compare_projects(found.before, found.after))
    changes = RootChanges(against, found.commit, projects, found.warnings)
    if output_format == "markdown":
        shown = markdown.render(changes, tuple(graphs(found.before, found.after, projects)))
    else:
        shown = _PLAIN[output_format](changes)
    click.echo(shown, nl=False)
    return 1 if projects else code
