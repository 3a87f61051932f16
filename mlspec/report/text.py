"""Findings in, text for a person out: the frame with the line and a caret, or one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from mlspec.diagnostics import Diagnostic, Severity, Span
from mlspec.source import LINE_BREAK

_WIDTH = 120
_COLOURS = {Severity.ERROR: "31", Severity.WARNING: "33", Severity.NOTE: "36"}


def concise(diagnostics: Sequence[Diagnostic]) -> str:
    """Return one line a finding: `file:line:column: CODE message`."""
    return "".join(f"{_place(d.span)}: {d.severity}[{d.code}] {d.message}\n" for d in diagnostics)


def full(diagnostics: Sequence[Diagnostic], texts: Mapping[str, str], *, colour: bool) -> str:
    """Return a frame a finding; `texts` holds the sources that frames are cut from."""
    lines = {name: LINE_BREAK.split(text) for name, text in texts.items()}
    return "\n".join(_frame(diagnostic, lines, colour=colour) for diagnostic in diagnostics)


def summary(diagnostics: Sequence[Diagnostic]) -> str:
    """Return the last line, `found 4 errors and 1 warning in 2 files`; nothing where nothing was found."""
    if not diagnostics:
        return ""
    counts = [(severity, sum(d.severity is severity for d in diagnostics)) for severity in Severity]
    words = [f"{count} {severity}{'s' if count != 1 else ''}" for severity, count in counts if count]
    files = len({d.span.file for d in diagnostics})
    return f"found {' and '.join(words)} in {files} file{'s' if files != 1 else ''}\n"


def _place(span: Span) -> str:
    return f"{span.file}:{span.line}:{span.column}" if span.file else "mlspec"


def _paint(text: str, code: str, colour: bool) -> str:
    return f"\x1b[{code}m{text}\x1b[0m" if colour else text


def _frame(diagnostic: Diagnostic, lines: Mapping[str, list[str]], *, colour: bool) -> str:
    head = _paint(f"{diagnostic.severity}[{diagnostic.code}]", f"1;{_COLOURS[diagnostic.severity]}", colour)
    path = f"  ({diagnostic.path})" if diagnostic.path else ""
    source = lines.get(diagnostic.span.file, [])
    shown = _context(source, diagnostic.span.line)
    gutter = len(str(shown[-1])) if shown else 2
    text = (
        f"{head}: {diagnostic.message}\n{' ' * gutter}--> {_place(diagnostic.span)}{path}\n"
        if diagnostic.span.file
        else f"{head}: {diagnostic.message}\n"
    )
    if shown:
        text += f"{' ' * gutter} |\n"
    for number in shown:
        line, start = _cut(source[number - 1], diagnostic.span.column)
        text += f"{number:>{gutter}} | {line}\n".replace(" | \n", " |\n")
        if number == diagnostic.span.line:
            caret = _paint("^" * _length(diagnostic.span, source[number - 1]), _COLOURS[diagnostic.severity], colour)
            text += f"{' ' * gutter} | {_blank(line, diagnostic.span.column - start)}{caret}\n"
    for related in diagnostic.related:
        text += f"{' ' * gutter} = note: {_place(related.span)}: {related.message}\n"
    if diagnostic.help:
        text += f"{' ' * gutter} = help: {diagnostic.help}\n"
    return text


def _context(source: Sequence[str], line: int) -> list[int]:
    """Return the numbers of the lines shown: the line itself, and its neighbours that hold something."""
    if not 0 < line <= len(source):
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


def _length(span: Span, line: str) -> int:
    end = span.end_column if span.end_line == span.line else len(line.rstrip()) + 1
    return max(1, min(end - span.column, _WIDTH // 2))


def _blank(line: str, column: int) -> str:
    """Return white space as wide as the line before a column, its tabs kept."""
    return "".join("\t" if char == "\t" else " " for char in line[: column - 1]).ljust(column - 1)
