"""Differences in, text for a terminal out."""

from __future__ import annotations

from collections.abc import Iterator

from mlspec.changes.totals import totals
from mlspec.changes.values import RootChanges
from mlspec.literals.redaction import redact
from mlspec.report.changes.sections import sections, title
from mlspec.report.changes.summary import summary
from mlspec.report.text import safe


def render(found: RootChanges) -> str:
    """Return the text; each value of a user's is one line, without control characters."""
    return "".join(f"{line}\n" for line in _lines(found))


def _lines(found: RootChanges) -> Iterator[str]:
    for warning in found.warnings:
        yield f"warning: {safe(redact(warning))}"
    since = f"{safe(found.against)} ({found.commit[:7]})"
    if not found.projects:
        yield f"nothing differs from {since}"
        return
    for project in found.projects:
        for environment in project.environments:
            yield title(project.project, environment).shown(safe)
            for section in sections(environment):
                yield f"  {section.title}"
                for row in section.rows:
                    yield f"    {row.line.shown(safe)}"
                    yield from (f"      {detail.shown(safe)}" for detail in row.details)
            yield ""
    yield f"since {since}: {summary(totals(found.each()))}"
