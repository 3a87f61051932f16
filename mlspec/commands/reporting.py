"""What `mlspec check` found, in the format that was asked for: on stdout, and in the summary of a step of CI."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Final

import click

from mlspec import git
from mlspec.codes import exit_code
from mlspec.commands import session
from mlspec.diagnostics import Severity
from mlspec.report import json, text
from mlspec.report.findings import Report
from mlspec.report.hidden import without_secrets

FORMATS: Final = ("full", "concise", "json", "github", "markdown")
_SUMMARY: Final = 1024 * 1024
"""Bytes that GitHub takes as the summary of a step; of more it shows nothing."""
_LEAST: Final = 1000
"""Characters below which a report would say nothing."""


def show(report: Report, texts: Mapping[str, str], output_format: str, root: Path) -> int:
    """Print a report, data on stdout and the rest on stderr; returns the exit code that its findings mean.

    `texts` holds the sources of the findings, by their paths from the root. In the formats for CI the report also goes
    to the file that GITHUB_STEP_SUMMARY names.
    """
    found = Report(without_secrets(report.findings, texts), report.accepted, report.lines)
    if output_format == "github":
        _github(found, root)
    elif output_format == "markdown":
        from mlspec.report import markdown  # late: only CI asks for it

        click.echo(markdown.render(found), nl=False)
    elif output_format == "json":
        click.echo(json.render(found.findings, found.accepted, found.lines), nl=False)
        _aside(found, str)
    else:
        session.show(found.findings, texts, output_format, err=False)
        for line in found.lines:
            click.echo(line, err=True)
    return max((exit_code(d.code) for d in found.findings if d.severity is Severity.ERROR), default=0)


def _github(found: Report, root: Path) -> None:
    from mlspec.report import github  # late, as above

    told = _summarise(found)
    click.echo(github.render(found, _from_top(root), elsewhere=told), nl=False)
    _aside(found, github.harmless)


def _aside(found: Report, shown: Callable[[str], str]) -> None:
    """Say on stderr what was looked at, and the sum."""
    click.echo(text.summary(found.findings), nl=False, err=True)
    for line in found.lines:
        click.echo(shown(line), err=True)


def _summarise(found: Report) -> bool:
    """Append the report to the summary of the step, whole or cut; says whether there is one that shows all."""
    from mlspec.report import markdown  # late, as above

    name = os.environ.get("GITHUB_STEP_SUMMARY")
    if not name:
        return False
    path = Path(name)
    try:
        taken = path.stat().st_size if path.exists() else 0
        # A character takes four bytes at most.
        room = (_SUMMARY - taken - 1) // 4
        if room >= _LEAST:
            with path.open("a", encoding="utf-8") as file:
                file.write("\n" * bool(taken) + markdown.render(found, room))
            return True
        click.echo("the summary of this step is full: nothing was added", err=True)
    except OSError as error:
        click.echo(f"the summary of this step cannot be written: {error.strerror}", err=True)
    return False


def _from_top(root: Path) -> Callable[[str], str]:
    """Return what turns a path from the root into one from the top of the repository, as annotations need it.

    Where Git does not know the top, it is the folder that GITHUB_WORKSPACE names, or else the root itself.
    """
    try:
        prefix = git.repository(root).prefix
    except git.GitError:
        workspace = os.environ.get("GITHUB_WORKSPACE")
        top = Path(os.path.abspath(workspace)) if workspace else root  # noqa: PTH100  # links stay as they are written
        prefix = f"{root.relative_to(top).as_posix()}/" if root != top and root.is_relative_to(top) else ""
    return lambda path: f"{prefix}{path}"
