"""Bytes of a file in, positioned documents and findings out; never raises for bad input."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

import yaml

from mlspec.diagnostics import Diagnostic, Related, Span, whole_file
from mlspec.source.composer import MAX_DEPTH, Composer, TooMuchError
from mlspec.source.nodes import Mapping, Node, Scalar

MAX_BYTES: Final = 1 << 20

_CONTROL = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff]")
# libyaml counts these as line breaks; a frame that counted others would point at the wrong line.
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_NEXT_DOCUMENT = re.compile(r"^---(?=\s|$)", re.MULTILINE)
_CONFLICT = re.compile(r"^(<{7} |={7}$|>{7} )", re.MULTILINE)


def decode(file: str, data: bytes) -> tuple[str, list[Diagnostic]]:
    """Return the text of a file, or the reason why it is none."""
    if len(data) > MAX_BYTES:
        message = f"the file is larger than {MAX_BYTES} bytes"
        return "", [Diagnostic("MLS108", message, whole_file(file), help="split it into several projects")]
    if b"\0" in data[:8192]:
        return "", [Diagnostic("MLS109", "this is a binary file, not YAML text", whole_file(file))]
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = data[: error.start].decode("utf-8", "replace")
        message = f"byte {data[error.start]:#04x} is not UTF-8"
        return "", [Diagnostic("MLS109", message, _at(file, before), help="save the file as UTF-8")]
    found = _CONTROL.search(text)
    if found:
        message = f"control character U+{ord(found.group()):04X} is not allowed in YAML"
        return "", [Diagnostic("MLS109", message, _at(file, text[: found.start()]), help="remove it")]
    return text, []


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
    documents: list[Node] = []
    for composer in _stretches(file, text):
        documents += composer.documents
        diagnostics += composer.diagnostics
    return _mappings(file, documents, diagnostics), diagnostics


def _stretches(file: str, text: str) -> Iterator[Composer]:
    first_line = 1
    while True:
        composer = Composer(file, first_line)
        try:
            composer.compose(text)
        except TooMuchError:
            yield composer
            return
        except yaml.YAMLError as error:
            composer.diagnostics.append(_syntax(composer, error, text))
            yield composer
            line = error.problem_mark.line if isinstance(error, yaml.MarkedYAMLError) and error.problem_mark else 0
            rest = _after_line(text, line)
            if rest is None:
                return
            first_line += len(LINE_BREAK.findall(text[:rest]))
            text = text[rest:]
            continue
        yield composer
        return


def _after_line(text: str, line: int) -> int | None:
    """Return where the first `---` after the 0-based `line` begins."""
    start = 0
    for _ in range(line):
        found = LINE_BREAK.search(text, start)
        if found is None:
            return None
        start = found.end()
    found = _NEXT_DOCUMENT.search(text, max(start, 1))
    return found.start() if found else None


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
            diagnostics.append(Diagnostic("MLS104", "expected a map of fields at the top", document.span))
    if not documents and not diagnostics:
        help = "start with `apiVersion: mlspec.dev/v1alpha1`"
        diagnostics.append(Diagnostic("MLS110", "the file is empty", whole_file(file), help=help))
    return found


_PROBLEMS = (
    ("found character that cannot start any token", "this character cannot start a value", "quote the value"),
    ("mapping values are not allowed", "a `: ` is not allowed here", "quote the value, or check the indentation"),
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
    span = composer.span(mark, mark)
    if "nesting depth" in problem:
        return Diagnostic("MLS108", f"nested deeper than {MAX_DEPTH} levels", span, help="no field needs this depth")
    if text[mark.index : mark.index + 1] == "\t":
        return Diagnostic("MLS101", "a tab is used for indentation", span, help="use spaces")
    message, help = next(((m, h) for start, m, h in _PROBLEMS if start in problem), (f"not valid YAML: {problem}", ""))
    related: tuple[Related, ...] = ()
    if error.context_mark is not None and error.context_mark.line != mark.line:
        related = (Related(composer.span(error.context_mark, error.context_mark), "it began here"),)
    return Diagnostic("MLS101", message, span, help=help, related=related)
