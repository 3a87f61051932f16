"""`mlspec generate`: write generated/, or say what would change."""

from __future__ import annotations

from pathlib import Path

import click

from mlspec import cache
from mlspec.commands import session
from mlspec.files.fingerprint import fingerprint
from mlspec.files.hold import locked


@click.command("generate")
@session.paths_argument
@click.option("--check", is_flag=True, help="Write nothing; exit 1 and name each file that differs.")
@click.option("--diff", is_flag=True, help="Write nothing; print what would change, and exit 1 if anything would.")
@session.root_option
def command(paths: tuple[Path, ...], check: bool, diff: bool, own_root: Path | None) -> int:
    """Write generated/ for every environment.

    PATHS are project files, or folders to search for them. Default: the whole root.
    """
    root, chosen = session.find(own_root, paths)
    writes = not (check or diff)
    with locked(root, exclusive=writes, waiting=session.waiting):
        before = fingerprint(root) if not chosen else None
        known = cache.recall("roots", before) if before is not None else None
        if known is not None:
            click.echo(known if writes else "", nl=False, err=True)
            return 0
        from mlspec.commands.generating import generate, preview  # late: an unchanged root needs no model

        return generate(root, chosen) if writes else preview(root, chosen, diff=diff)
