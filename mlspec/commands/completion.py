"""`mlspec completion SHELL`: a completion script."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> int:
    """Print a completion script for SHELL; source it, or put it where the shell looks."""
    found = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    assert found is not None  # noqa: S101  # click knows all three
    click.echo(found(root, {}, "mlspec", "_MLSPEC_COMPLETE").source())
    return 0
