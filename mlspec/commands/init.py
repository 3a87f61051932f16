"""`mlspec init [DIR]`: a project and environments to begin with, that generate and check as they stand."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path

import click

from mlspec import starter
from mlspec.check.repository import place_in_repository
from mlspec.commands import session
from mlspec.files.create import create, obstacles
from mlspec.spec.discover import find_root


@click.command("init")
@click.argument("folder", metavar="[DIR]", required=False, type=click.Path(path_type=Path))
@click.option("--name", metavar="NAME", help="The project's name. Default: the folder's, made a valid name.")
@click.option(
    "--template",
    type=click.Choice(starter.TEMPLATES),
    default=starter.TEMPLATES[0],
    show_default=True,
    help="image-classifier: a whole example with its scripts, which trains on this computer with `mlspec run`.",
)
def command(folder: Path | None, name: str | None, template: str) -> int:
    """Write mlproject.yaml and environments/ into DIR (default: here), with comments that say what to change.

    Nothing is overwritten: where one of the files exists already, none is written.
    """
    given = click.get_current_context().obj
    folder = folder or (given if isinstance(given, Path) else Path())
    absolute = Path(os.path.abspath(folder))  # noqa: PTH100  # links stay as the user wrote them
    problem = starter.problem_with(name) if name is not None else None
    if problem is not None:
        raise click.BadParameter(f"`{name}`: {problem}", param_hint="--name")
    chosen = name or starter.name_for(absolute.name)
    files = starter.files(chosen, template)
    found = obstacles(folder, files)
    if not os.path.lexists(folder / starter.ATTRIBUTES):
        files[starter.ATTRIBUTES] = f"{starter.ATTRIBUTES_LINE}\n".encode()
    outer = find_root(absolute.parent)
    found = found or create(folder, files)
    if found:
        return session.show(found, {}, "concise", err=True)
    click.echo(f"project {chosen}: {len(files)} files written", err=True)
    for path in sorted(files):
        click.echo(f"  {click.format_filename(folder / path)}", err=True)
    if outer is not None:
        where = click.format_filename(outer)
        click.echo(f"this is a root of its own inside the root {where}, which from now on leaves it out", err=True)
    for line in ("next:", *_next(folder, absolute, files)):
        click.echo(line, err=True)
    return 0


def _next(folder: Path, absolute: Path, files: Collection[str]) -> Iterator[str]:
    if absolute != Path.cwd():
        yield f"  cd {click.format_filename(folder)}"
    yield "  change what is marked CHANGE in mlproject.yaml and environments/"
    place = place_in_repository(absolute)
    if place:
        yield f"  add `path: {place}` under `argocd:` in environments/common.yaml: where this is in the repository"
    if starter.ATTRIBUTES_LINE not in _attributes(folder):
        yield f"  add `{starter.ATTRIBUTES_LINE}` to {starter.ATTRIBUTES}: output is compared byte for byte"
    yield "  mlspec generate"
    yield "  mlspec check"
    if "README.md" in files:
        yield "  mlspec run -e dev, which trains here; README.md says more"
    yield "  commit everything, generated/ and .mlspec/ included"


def _attributes(folder: Path) -> str:
    try:
        return (folder / starter.ATTRIBUTES).read_text(errors="replace")
    except OSError:
        return ""
