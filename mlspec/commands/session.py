"""What commands share: finding the root, showing findings, and the exit code that they mean."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from mlspec import git
from mlspec.codes import exit_code
from mlspec.diagnostics import Diagnostic, Severity, ordered
from mlspec.report import text
from mlspec.report.hidden import without_secrets
from mlspec.spec.discover import COMMON, ENVIRONMENT_FOLDER, find_root

Item = TypeVar("Item")
Decorated = TypeVar("Decorated", bound=Callable[..., Any])


class GitSaysError(click.ClickException):
    """Git cannot say what a revision holds, or what differs from it."""

    exit_code = 2

    def __init__(self, error: git.GitError) -> None:
        super().__init__(f"{error.message}\nhelp: {error.help}")


def root_option(command: Decorated) -> Decorated:
    """Add `--root` to a command; it may stand before or after the command's name."""
    return click.option(
        "--root",
        "own_root",
        type=click.Path(path_type=Path),
        help="Folder with environments/. Default: the nearest one upwards.",
    )(command)


def paths_argument(command: Decorated) -> Decorated:
    """Add PATHS: project files, or folders to search."""
    return click.argument("paths", nargs=-1, type=click.Path(path_type=Path))(command)


def find(own_root: Path | None, paths: Sequence[Path]) -> tuple[Path, list[Path]]:
    """Return the root and absolute paths; raises click.UsageError for what is not there."""
    inherited = click.get_current_context().obj
    given = own_root or (inherited if isinstance(inherited, Path) else None)
    chosen = [Path(os.path.abspath(path)) for path in paths]  # noqa: PTH100  # links stay as the user wrote them
    for path in chosen:
        if not path.exists():
            raise click.UsageError(f"no such file or folder: {click.format_filename(path)}")
    if given is not None:
        root = Path(os.path.abspath(given))  # noqa: PTH100
        if not (root / ENVIRONMENT_FOLDER).is_dir():
            raise click.UsageError(f"{click.format_filename(given)} holds no folder environments/")
    else:
        found = find_root(chosen[0] if chosen else Path.cwd())
        if found is None:
            raise click.UsageError("no folder environments/ here or above; name the root with --root")
        root = found
    for path in chosen:
        if not path.is_relative_to(root):
            raise click.UsageError(f"{click.format_filename(path)} is not inside the root")
    return root, chosen


def check_environments(names: Sequence[str], root: Path) -> None:
    """Refuse names of environments that the root has no file for."""
    for name in names:
        if not (root / ENVIRONMENT_FOLDER / f"{name}.yaml").exists() or name == COMMON:
            raise click.BadParameter(f"there is no environments/{name}.yaml", param_hint="-e")


def waiting() -> None:
    """Tell that another run holds the root."""
    click.echo("another mlspec is at work in this root; waiting", err=True)


def show(
    diagnostics: Iterable[Diagnostic],
    texts: Mapping[str, str],
    output_format: str = "full",
    *,
    err: bool,
) -> int:
    """Print findings, full or concise, on stdout or stderr, and their sum; returns the exit code they mean."""
    found = without_secrets(ordered(diagnostics), texts)
    stream = sys.stderr if err else sys.stdout
    if output_format == "concise":
        click.echo(text.concise(found), nl=False, err=err)
    elif found:
        click.echo(text.full(found, texts, colour=coloured(stream)), nl=False, err=err, color=coloured(stream))
    click.echo(text.summary(found), nl=False, err=True)
    return max((exit_code(d.code) for d in found if d.severity is Severity.ERROR), default=0)


def told(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str], *, colour: bool) -> str:
    """Return findings and their sum as `show` prints them on stderr."""
    found = without_secrets(ordered(diagnostics), texts)
    return (text.full(found, texts, colour=colour) if found else "") + text.summary(found)


def coloured(stream: Any) -> bool:
    """Colour only on a terminal that wants it (no-color.org)."""
    return bool(stream.isatty()) and not os.environ.get("NO_COLOR")


def progress(items: Sequence[Item], label: str) -> Iterator[Item]:
    """Yield items; past one second a bar on a terminal's stderr shows how far it is."""
    began = time.monotonic()
    bar: Any = None
    for index, item in enumerate(items):
        yield item
        if bar is None and sys.stderr.isatty() and time.monotonic() - began > 1:
            bar = click.progressbar(length=len(items), label=label, file=sys.stderr)
            bar.update(index + 1)
        elif bar is not None:
            bar.update(1)
    if bar is not None:
        bar.render_finish()
