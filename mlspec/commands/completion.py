"""`mlspec completion SHELL`: a completion script."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Final

import click
from click.shell_completion import get_completion_class

_SHELLS: Final = ("bash", "zsh", "fish")


@click.command("completion")
@click.argument("shell", type=click.Choice(_SHELLS), required=False)
def command(shell: str | None) -> int:
    """Print a completion script for SHELL (default: the one in $SHELL); source it, or put it where the shell looks."""
    mine = Path(os.environ.get("SHELL", "")).name
    shell = shell or (mine if mine in _SHELLS else "bash")
    found = get_completion_class(shell)
    root = click.get_current_context().find_root().command
    assert found is not None  # noqa: S101  # click knows all three
    click.echo(found(root, {}, "mlspec", "_MLSPEC_COMPLETE").source())
    return 0
