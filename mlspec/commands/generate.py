"""`mlspec generate`: write generated/, or say what would change."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

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
        said = _remembered(before) if before is not None else None
        if said is not None:
            colour = session.coloured(sys.stderr)
            click.echo(said["found"][colour] + (said["written"] if writes else ""), nl=False, err=True, color=colour)
            return 0
        from mlspec.commands.generating import generate, preview  # late: an unchanged root needs no model

        return generate(root, chosen) if writes else preview(root, chosen, diff=diff)


def _remembered(name: str) -> dict[str, Any] | None:
    """Return what was said about a root that is as it was; None where nothing is known, or cannot be read."""
    known = cache.recall("roots", name)
    try:
        said = json.loads(known) if known is not None else None
    except ValueError:
        return None
    return said if isinstance(said, dict) and said.keys() == {"found", "written"} else None
