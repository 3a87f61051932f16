"""Findings in, workflow commands of GitHub Actions out: annotations on the lines of a pull request.

GitHub keeps ten errors, ten warnings and ten notices of a step, and drops the rest without a word
(docs.github.com, "Workflow commands", and actions/toolkit, packages/core); so the worst are chosen here, and what is
left out is said.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mlspec import codes
from mlspec.diagnostics import Diagnostic, Severity
from mlspec.report.findings import Report, counts, worst
from mlspec.report.text import concise, safe

MOST: Final = 10
"""Annotations of one severity that a step can have."""
_COMMANDS: Final = {Severity.ERROR: "error", Severity.WARNING: "warning", Severity.NOTE: "notice"}
_DATA: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_PROPERTY: Final = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A", ":": "%3A", ",": "%2C"})


def render(report: Report, place: Callable[[str], str], *, elsewhere: bool) -> str:
    """Return the commands, one a line, and how many findings none stands for.

    `place` turns a path from the root into one from the top of the repository. `elsewhere` says that the step summary
    shows everything; where it does not, what has no annotation follows in one line each.
    """
    shown: list[Diagnostic] = []
    for severity in Severity:
        shown += worst([finding for finding in report.findings if finding.severity is severity], MOST)
    known = {id(finding) for finding in shown}
    rest = [finding for finding in report.findings if id(finding) not in known]
    return "".join(f"{line}\n" for line in (*(_command(item, place) for item in shown), *_rest(rest, elsewhere)))


def _rest(rest: list[Diagnostic], elsewhere: bool) -> Iterator[str]:
    if rest and elsewhere:
        yield f"and {counts(rest)} more, without an annotation: the step summary shows all"
    elif rest:
        yield f"and {counts(rest)} more, without an annotation:"
        yield from (harmless(line) for line in concise(rest).splitlines())


def _command(finding: Diagnostic, place: Callable[[str], str]) -> str:
    span = finding.span
    properties = {"title": f"{finding.code} {codes.CODES[finding.code].title}"}
    if span.file:
        where = {"file": place(span.file), "line": str(span.line), "endLine": str(span.end_line)}
        # Columns of an annotation over several lines are refused.
        columns = {"col": str(span.column), "endColumn": str(max(span.column, span.end_column - 1))}
        properties = where | (columns if span.end_line == span.line else {}) | properties
    words = [
        finding.message,
        *(f"{_where(other.span.file, other.span.line)}{other.message}" for other in finding.related),
    ]
    words += [f"help: {finding.help}"] if finding.help else []
    text = "\n".join(map(safe, words)).translate(_DATA)
    # A path with a line break could end the command; it is shown as a picture of one, as everywhere.
    shown = ",".join(f"{name}={safe(value).translate(_PROPERTY)}" for name, value in properties.items())
    return f"::{_COMMANDS[finding.severity]} {shown}::{text}"


def _where(file: str, line: int) -> str:
    return f"{file}:{line}: " if file else ""


def harmless(line: str) -> str:
    """Return a line for the log of a step, of which the runner takes no command.

    It reads one after `::` at the beginning of a line, white space left out, and after `##[` anywhere in it
    (actions/runner, src/Runner.Common/ActionCommand.cs).
    """
    start = line.lstrip()
    indent = line[: len(line) - len(start)]
    return indent + (f": {start[1:]}" if start.startswith("::") else start).replace("##[", "# #[")
