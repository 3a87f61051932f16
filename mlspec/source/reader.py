"""Bytes of a file in, positioned documents and findings out; never raises for bad input."""

from __future__ import annotations

import codecs
import itertools
import re
from collections.abc import Iterator
from typing import Final

import yaml

from mlspec.diagnostics import Diagnostic, Related, Span, whole_file
from mlspec.source import characters
from mlspec.source.composer import LINE_BREAK, MAX_DEPTH, MAX_FINDINGS, Composer, TooDeepError, TooMuchError
from mlspec.source.nodes import Mapping, Node, Scalar

MAX_BYTES: Final = 1 << 20

_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)


def decode(file: str, data: bytes) -> tuple[str, list[Diagnostic]]:
    """Return the text of a file, or the reason why it is none."""
    if len(data) > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES} bytes"
        return "", [Diagnostic("MLS108", message, whole_file(file), help="split it into several projects")]
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "", [Diagnostic("MLS109", "this is UTF-16, not UTF-8", whole_file(file), help="save the file as UTF-8")]
    if is_binary(data):
        return "", [Diagnostic("MLS109", "this is a binary file, not YAML text", whole_file(file))]
    try:
        # Not `utf-8-sig`: its errors count from behind the mark.
        body = data.removeprefix(codecs.BOM_UTF8)
        text = body.decode()
    except UnicodeDecodeError as error:
        before = body[: error.start].decode("utf-8", "replace")
        message = f"byte {body[error.start]:#04x} is not UTF-8"
        return "", [Diagnostic("MLS109", message, _at(file, before), help="save the file as UTF-8")]
    found = list(itertools.islice(_unfit(file, text), MAX_FINDINGS))
    if len(found) == MAX_FINDINGS:
        message = f"more than {MAX_FINDINGS} faults in one file: the rest was not looked at"
        found.append(Diagnostic("MLS108", message, found[-1].span))
    return text, found


def _unfit(file: str, text: str) -> Iterator[Diagnostic]:
    """Yield a finding for every character that may not stand in a file."""
    line, column, done = 1, 1, 0
    for found in characters.in_text(text):
        for end in LINE_BREAK.finditer(text, done, found.start):
            line, column, done = line + 1, 1, end.end()
        column += found.start - done
        done = found.start
        yield Diagnostic("MLS109", found.message, Span(file, line, column, line, column + 1), help=found.help)


def is_binary(data: bytes) -> bool:
    """Say whether bytes are no text at all, so that no line of them is worth showing."""
    return b"\0" in data[:8192]


def _at(file: str, before: str) -> Span:
    lines = LINE_BREAK.split(before)
    line, column = len(lines), len(lines[-1]) + 1
    return Span(file, line, column, line, column + 1)


def read(file: str, data: bytes) -> tuple[list[Mapping], list[Diagnostic]]:
    """Return every readable document of a file and every finding about its YAML; never raises for bad input.

    A syntax error ends its own document: reading goes on at the next `---`.
    """
    text, diagnostics = decode(file, data)
    if diagnostics:
        return [], diagnostics
    conflict = _CONFLICT.search(text)
    if conflict:
        span = _at(file, text[: conflict.start()])
        return [], [
            Diagnostic("MLS101", "an unresolved merge conflict", span, help="choose one side and remove the markers")
        ]
    composer = Composer(file)
    try:
        _compose(composer, text)
    except TooMuchError:
        return [], composer.diagnostics
    return _mappings(file, composer.documents, composer.diagnostics), composer.diagnostics


def _compose(composer: Composer, text: str) -> None:
    """Read the text as a whole; after a syntax error one document at a time, so that no error costs the rest."""
    broken = _piece(composer, text, 1)
    if broken is None:
        return
    begins = _after_line(text, broken)
    first_line = 1 + len(LINE_BREAK.findall(text[:begins]))
    for piece in _NEXT_DOCUMENT.split(text[begins:])[1:]:
        _piece(composer, f"---{piece}", first_line)
        first_line += len(LINE_BREAK.findall(piece))


def _piece(composer: Composer, text: str, first_line: int) -> int | None:
    """Read a piece; returns the 0-based line in it at which reading ended, or None where it did not end early."""
    try:
        composer.compose(text, first_line)
    except TooDeepError as error:
        return error.line
    except yaml.YAMLError as error:
        composer.add(_syntax(composer, error, text))
        return error.problem_mark.line if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark else 0
    return None


def _after_line(text: str, line: int) -> int:
    """Return where the first `---` after the 0-based `line` begins; the end of the text if there is none."""
    before = next(itertools.islice(LINE_BREAK.finditer(text), line - 1, None), None) if line else None
    found = _NEXT_DOCUMENT.search(text, before.end() if before else 1)
    return found.start() if found else len(text)


def _mappings(file: str, documents: list[Node], diagnostics: list[Diagnostic]) -> list[Mapping]:
    found: list[Mapping] = []
    for document in documents:
        if isinstance(document, Mapping):
            found.append(document)
        elif isinstance(document, Scalar) and document.is_null:
            diagnostics.append(
                Diagnostic("MLS110", "this document is empty", document.span, help="remove the stray `---`")
            )
        elif not (isinstance(document, Scalar) and document.refused):
            help = "start with `apiVersion: mlspec.dev/v1alpha1`"
            diagnostics.append(Diagnostic("MLS104", "expected a map of fields at the top", document.span, help=help))
    if not documents and not diagnostics:
        help = "start with `apiVersion: mlspec.dev/v1alpha1`"
        diagnostics.append(Diagnostic("MLS110", "the file is empty", whole_file(file), help=help))
    return found


_COLON: Final = ("a `: ` is not allowed here", "quote the value, or check the indentation")
_PROBLEMS: Final = (
    ("found character that cannot start any token", "this character cannot start a value", "quote the value"),
    ("mapping values are not allowed", *_COLON),
    ("found unexpected ':'", *_COLON),
    ("block sequence entries are not allowed", "a list item cannot stand here", "put it on a line of its own"),
    ("mapping keys are not allowed", "a `? ` cannot stand here", "quote the value"),
    ("did not find expected alphabetic or numeric character", "a value cannot begin like this", "quote the value"),
    ("found undefined tag handle", "a value cannot begin with `!`", "quote the value"),
    ("did not find expected whitespace or line break", "white space is missing here", "quote the value"),
    ("could not find expected ':'", "a key without `:`", "write `key: value`"),
    ("did not find expected key", "this line does not fit the block that it stands in", "check the indentation"),
    (
        "did not find expected '-' indicator",
        "this line does not fit the list that it stands in",
        "check the indentation",
    ),
    ("did not find expected ',' or", "a bracket or brace is not closed, or a comma is missing", "close it"),
    ("found unexpected end of stream", "a quote or bracket is not closed", "close it"),
    ("found unexpected document indicator", "a quote is not closed before this `---`", "close it"),
    ("did not find expected node content", "a value is missing here", "write one, or remove the comma"),
    (
        "did not find expected <document start>",
        "this does not belong to the document",
        "check the indentation, or start a new document with `---`",
    ),
    (
        "found unknown escape character",
        "unknown escape in a double-quoted text",
        "use single quotes, or double the backslash",
    ),
)


def _syntax(composer: Composer, error: yaml.YAMLError, text: str) -> Diagnostic:
    if not isinstance(error, yaml.MarkedYAMLError) or error.problem_mark is None:
        return Diagnostic("MLS101", "not valid YAML", Span(composer.file, composer.first_line))
    problem = error.problem or ""
    mark = error.problem_mark
    span = composer.inside(composer.span(mark, mark))
    if "nesting depth" in problem:
        return Diagnostic("MLS108", f"nested deeper than {MAX_DEPTH} levels", span, help="no field needs this depth")
    if text[mark.index : mark.index + 1] == "\t":
        return Diagnostic("MLS101", "a tab is used for indentation", span, help="use spaces")
    message, help = next(((m, h) for start, m, h in _PROBLEMS if start in problem), (f"not valid YAML: {problem}", ""))
    began = composer.span(error.context_mark, error.context_mark) if error.context_mark is not None else None
    rest = text[mark.index :]
    if "node content" in problem and (not rest.strip() or rest.startswith("---")):
        return Diagnostic("MLS101", "a bracket or brace is not closed before this", span, help="close it")
    if began is not None and began.line < span.line:
        if "expected ':'" in problem and error.context_mark is not None:
            word = LINE_BREAK.split(text[error.context_mark.index : mark.index], maxsplit=1)[0].rstrip()
            return Diagnostic("MLS101", message, began._replace(end_column=began.column + len(word)), help=help)
        if not rest.strip() or rest.startswith("---"):
            # Nothing is wrong where the text ends; what was not closed is.
            return Diagnostic("MLS101", message, began, help=help, related=(Related(span, "the text ends here"),))
        return Diagnostic("MLS101", message, span, help=help, related=(Related(began, "it began here"),))
    if "expected ',' or" in problem and rest.startswith(":"):
        message, help = _COLON
    if "alphabetic or numeric" in problem and began is not None:
        span = began._replace(end_column=began.column + 1)
    return Diagnostic("MLS101", message, span, help=help)
