"""`mlspec explain CODE|FIELD`: what a finding means, or what a field is and where it goes."""

from __future__ import annotations

import textwrap

import click

from mlspec.codes import CODES


@click.command("explain")
@click.argument("what", metavar="CODE|FIELD", required=False)
@click.option("--reference", is_flag=True, help="Print every field as one Markdown page.")
def command(what: str | None, reference: bool) -> int:
    """Explain a finding by its CODE, for example MLS214, or a FIELD by its path, for example steps.train.nodes.

    Names of your own may stand in a path, or `*`, or nothing: steps.*.nodes, steps.nodes and nodes are the same.
    Fields of environments/ may begin with `environment.`: environment.gpus.t4.perNode.
    """
    if reference == (what is not None):
        raise click.UsageError("name a CODE or a FIELD, or say --reference")
    if what is not None and what.upper() in CODES:
        _explain_code(what.upper())
        return 0
    # Late: a code is explained without the models.
    from mlspec.commands.explaining import explain_field, page

    click.echo(page() if what is None else explain_field(what), nl=False)
    return 0


def _explain_code(code: str) -> None:
    found = CODES[code]
    click.echo(f"{code} ({found.severity}): {found.title}\n")
    click.echo(textwrap.fill(found.explanation, 100, break_long_words=False, break_on_hyphens=False))
