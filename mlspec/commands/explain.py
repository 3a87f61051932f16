"""`mlspec explain CODE`: what a finding means."""

from __future__ import annotations

import textwrap

import click

from mlspec.codes import CODES
from mlspec.diagnostics import nearest


@click.command("explain")
@click.argument("code")
def command(code: str) -> int:
    """Explain a finding by its CODE, for example MLS214."""
    found = CODES.get(code.upper())
    if found is None:
        match = nearest(code.upper(), CODES)
        hint = f"; did you mean {match}?" if match else f"; codes go from {min(CODES)} to {max(CODES)}"
        raise click.BadParameter(f"there is no finding `{code}`{hint}", param_hint="CODE")
    click.echo(f"{code.upper()} ({found.severity}): {found.title}\n")
    click.echo(textwrap.fill(found.explanation, 100, break_long_words=False, break_on_hyphens=False))
    return 0
