"""Findings in, text for a person out: the frame with the line and a caret, or one line each."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from mlspec.diagnostics import Diagnostic, Severity, Span
from mlspec.report.hidden import Source

_WIDTH = 120
# What could move the cursor, colour the terminal or turn text around is shown as a picture of itself.
_PICTURES = (
    {code: 0x2400 + code for code in range(0x20) if code != 0x09}
    | {0x7F: 0x2421}
    | dict.fromkeys(
        (*range(0x80, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A), *range(0xD800, 0xE000)), 0xFFFD
    )
)
_NOTHING = Source("")
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}


def concise(diagnostics: Sequence[Diagnostic]) -> str:
    """Return one line a finding: `file:line:column: CODE message`."""
    return "".join(safe(f"{_place(d.span)}: {d.severity}[{d.code}] {d.message}") + "\n" for d in diagnostics)


def full(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str], *, colour: bool) -> str:
    """Return a frame a finding; `texts` holds the sources that frames are cut from, of which no secret is shown."""
    shown = {diagnostic.span.file for diagnostic in diagnostics}
    sources = {name: Source(text) for name, text in texts.items() if name in shown}
    return "\n".join(_frame(diagnostic, sources, colour=colour) for diagnostic in diagnostics)


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the last line, `found 4 errors and 1 warning in 2 files`; nothing where nothing was found."""
    if not diagnostics:
        return ""
    counts = [(severity, sum(d.severity is severity for d in diagnostics)) for severity in Severity]
    words = [f"{count} {severity}{'s' if count != 1 else ''}" for severity, count in counts if count]
    files = len({d.span.file for d in diagnostics if d.span.file} or {""})
    return f"found {' and '.join(words)} in {files} file{'s' if files != 1 else ''}\n"


def safe(text: str) -> str:
    """Return text of a user's without control characters, so that a finding is one line and only that."""
    return text.translate(_PICTURES).replace("\t", " ")


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}" if span.file else "mlspec"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _frame(diagnostic: Diagnostic, sources: Mapping[str, Source], *, colour: bool) -> str:
    head = _paint(f"{diagnostic.severity}[{diagnostic.code}]", f"1;{_COLOURS[diagnostic.severity]}", colour)
    path = f"  ({safe(diagnostic.path)})" if diagnostic.path else ""
    message, place = safe(diagnostic.message), safe(_place(diagnostic.span))
    source = sources.get(diagnostic.span.file, _NOTHING)
    shown = _context(source.lines, diagnostic.span.line)
    gutter = len(str(shown[-1])) if shown else 2
    text = f"{head}: {message}\n{' ' * gutter}--> {place}{path}\n" if diagnostic.span.file else f"{head}: {message}\n"
    if shown:
        text += f"{' ' * gutter} |\n"
    for number in shown:
        whole = source.masked(number)
        span = diagnostic.span._replace(
            column=whole.column(diagnostic.span.column), end_column=whole.column(diagnostic.span.end_column)
        )
        line, start = _cut(whole.text, span.column)
        text += f"{number:>{gutter}} | {line.translate(_PICTURES)}".rstrip() + "\n"
        if number == diagnostic.span.line:
            length = _length(span, line, span.column - start, whole.text)
            caret = _paint("^" * length, _COLOURS[diagnostic.severity], colour)
            text += f"{' ' * gutter} | {_blank(line, span.column - start)}{caret}\n"
    for related in diagnostic.related:
        text += f"{' ' * gutter} = note: {safe(f'{_place(related.span)}: {related.message}')}\n"
    if diagnostic.help:
        text += f"{' ' * gutter} = help: {safe(diagnostic.help)}\n"
    return text


def _context(source: Sequence[str], line: int) -> list[int]:
    """Return the numbers of the lines shown: the line itself, and its neighbours that hold something."""
    if not 0 < line <= len(source) or source == _NOTHING.lines:
        return []
    return [
        number
        for number in (line - 1, line, line + 1)
        if 0 < number <= len(source) and (number == line or source[number - 1].strip())
    ]


def _cut(line: str, column: int) -> tuple[str, int]:
    """Return what of a line is shown, around a column, and how many characters were left out before it."""
    if len(line) <= _WIDTH:
        return line, 0
    start = max(0, min(column - _WIDTH // 2, len(line) - _WIDTH))
    return ("…" if start else "") + line[start + (1 if start else 0) : start + _WIDTH] + (
        "…" if start + _WIDTH < len(line) else ""
    ), start


def _length(span: Span, shown: str, column: int, line: str) -> int:
    """Return how many carets mark a span whose beginning stands at a column of what is shown."""
    end = span.end_column if span.end_line == span.line else len(line.rstrip()) + 1
    marked = shown[column - 1 : column - 1 + end - span.column].removesuffix("…")
    return max(1, min(sum(map(_width, marked)), _WIDTH // 2))


def _blank(line: str, column: int) -> str:
    """Return white space as wide as the line before a column, its tabs kept."""
    before = "".join("\t" if char == "\t" else " " * _width(char) for char in line[: column - 1])
    return before + " " * (column - 1 - len(line[: column - 1]))


def _width(char: str) -> int:
    """Return the cells of a terminal that a character takes."""
    if unicodedata.combining(char) or re.match("[\u200b-\u200d\ufe0f]", char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1
