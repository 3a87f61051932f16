"""Findings in, a report in Markdown out, for the summary of a step or a comment: the worst file first.

Whatever users wrote is shown, and does nothing (`report/inline.py`); a limit cuts whole rows, and says how many.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mlspec import codes
from mlspec.diagnostics import Accepted, Diagnostic, Severity, Span
from mlspec.literals.redaction import redact
from mlspec.report.blocks import COMMENT, Block, fitting
from mlspec.report.findings import RANK, Report, counted, counts
from mlspec.report.inline import code, element, sentence

_LONG: Final = 8
"""Rows above which a file is folded."""
_FILES: Final = 10
"""Files after which each is folded."""
_TABLE: Final = "| place | finding | what is wrong |\n|---|---|---|\n"
_SHOWN: Final = 600
"""Characters of a message or help that are shown."""


def render(report: Report, most: int = COMMENT) -> str:
    """Return the document, of at most `most` characters."""
    files: dict[str, list[Diagnostic]] = {}
    for finding in report.findings:
        files.setdefault(finding.span.file, []).append(finding)
    grave = sorted(files.items(), key=lambda item: (_weight(item[1]), item[0]))
    blocks = [_file(file, found, folded=index >= _FILES) for index, (file, found) in enumerate(grave)]
    beside = fitting(
        "", list(_beside(report)), most // 4, lambda number: f"\n{counted(number, 'more line')} left out.\n"
    )
    text = fitting(_head(report, len(files)), blocks, most - len(beside), _note)
    return text + beside


def _note(number: int) -> str:
    return f"\n{counted(number, 'more finding')} left out: `mlspec check` shows all.\n\n"


def _head(report: Report, files: int) -> str:
    if not report.findings:
        return "**mlspec check: nothing found.**\n\n"
    return f"**mlspec check: {counts(report.findings)} in {counted(files, 'file')}.**\n\n"


def _weight(found: Sequence[Diagnostic]) -> tuple[int, ...]:
    """Return what sorts files with more errors, then more warnings, first."""
    return tuple(-sum(finding.severity is severity for finding in found) for severity in Severity)


def _file(file: str, found: Sequence[Diagnostic], *, folded: bool) -> Block:
    ordered = sorted(found, key=lambda finding: (RANK[finding.severity], finding.span, finding.code))
    rows = tuple(map(_row, ordered))
    words = f": {counts(found)}"
    if folded or len(rows) > _LONG:
        name = element(file) if file else "about no file"
        return Block(f"<details><summary>{name}{words}</summary>\n\n{_TABLE}", rows, "\n</details>\n\n")
    return Block(f"{f'**{code(file)}**' if file else '**About no file**'}{words}\n\n{_TABLE}", rows)


def _row(finding: Diagnostic) -> str:
    cells = [sentence(finding.message[:_SHOWN])]
    cells += [f"{_where(other.span, finding.span.file)}{sentence(other.message[:_SHOWN])}" for other in finding.related]
    cells += [f"*help:* {sentence(finding.help[:_SHOWN])}"] if finding.help else []
    place = f"{finding.span.line}:{finding.span.column}" if finding.span.file else ""
    weight = f"**{finding.severity}**" if finding.severity is Severity.ERROR else str(finding.severity)
    return f"| {place} | {weight} {finding.code} {codes.CODES[finding.code].title} | {'<br>'.join(cells)} |\n"


def _where(span: Span, file: str) -> str:
    if not span.file:
        return "*note:* "
    place = f"line {span.line}" if span.file == file else f"{code(span.file)} line {span.line}"
    return f"*note:* {place}: "


def _beside(report: Report) -> Iterator[Block]:
    if report.accepted:
        number = counted(len(report.accepted), "finding")
        head = f"<details><summary>Accepted with a reason: {number}</summary>\n\n"
        rows = tuple(dict.fromkeys(map(_accepted, report.accepted)))
        yield Block(f"{head}| accepted by | finding | reason |\n|---|---|---|\n", rows, "\n</details>\n\n")
    # Lines below a judge's line say again what was accepted.
    lines = [line for line in report.lines if not line.startswith(" ")]
    if lines:
        yield Block("", tuple(f"- {sentence(line)}\n" for line in lines))


def _accepted(item: Accepted) -> str:
    words = [redact(text)[:_SHOWN] for text in (item.message, item.reason)]
    return f"| {code('.'.join(item.path))} | {item.code}: {sentence(words[0])} | {sentence(words[1])} |\n"
