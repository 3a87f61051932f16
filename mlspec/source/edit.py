"""One text of a YAML file set in place: bytes in, bytes out, and every byte that is not the edit kept.

Only offsets of the reader's nodes are used, never a writer of YAML, so comments, order, quotes and line breaks stay.
What came out is read again; where it does not mean what was meant, there is no edit.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from mlspec.diagnostics import Span
from mlspec.source.composer import LINE_BREAK
from mlspec.source.nodes import Entry, Mapping, Node, Scalar
from mlspec.source.nodes import Sequence as List
from mlspec.source.offsets import Page
from mlspec.source.reader import read

_WORD: Final = re.compile(r"[A-Za-z][-A-Za-z0-9]*|[0-9]+[A-Za-z0-9]*")
# What looks like a word, but is something else to YAML 1.1, 1.2 or Go: numbers, exponents, 0b1 and the like.
_NUMBER: Final = re.compile(r"[0-9]+([eE][0-9]+)?|0[bB][01]+|0[oO][0-7]+|0[xX][0-9a-fA-F]+")
_RESERVED: Final = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null"))
_COMMENT: Final = re.compile(r"#[^\r\n\x85\u2028\u2029]*")
_COLON: Final = re.compile(r"[ \t]*:")
_INDENT: Final = 2
_UNREADABLE: Final = "the result would not read back as it is meant"

Path = tuple[str, ...]
Walked = list[tuple[Node, Entry | None]]
Form = tuple[Any, ...]


class CannotEditError(Exception):
    """The text cannot be set in place; `span` is where it would have to be."""

    def __init__(self, reason: str, span: Span) -> None:
        super().__init__(reason)
        self.reason = reason
        self.span = span


class _Change(NamedTuple):
    """Characters to replace; none where text is put between two."""

    start: int
    end: int
    text: str


class _Style(NamedTuple):
    """How its neighbours are written: the quote of keys, if any, and the space inside braces."""

    quote: str = ""
    pad: str = ""

    def scalar(self, text: str) -> str:
        """Return text as its neighbours are quoted, or bare where every reader takes it for text."""
        bare = _WORD.fullmatch(text) and not _NUMBER.fullmatch(text) and text.lower() not in _RESERVED
        quote = self.quote or ("" if bare else '"')
        if quote == "'":
            return "'" + text.replace("'", "''") + "'"
        escaped = text.replace("\\", "\\\\").replace('"', '\\"') if quote else text
        return f"{quote}{escaped}{quote}"

    def pair(self, path: Sequence[str], value: str) -> str:
        """Return keys and a value in flow style, without the braces around them: `model: {run: 0123abcd}`."""
        text = f"{self.scalar(path[-1])}: {self.scalar(value)}"
        for key in reversed(path[:-1]):
            text = f"{self.scalar(key)}: {self.braced(text)}"
        return text

    def braced(self, text: str) -> str:
        """Return text in braces."""
        return f"{{{self.pad}{text}{self.pad}}}"


def set_text(file: str, data: bytes, document: int, path: Path, value: str) -> bytes:
    """Return the file with `path` of a document (0-based, empty ones not counted) set to a text.

    Maps that are missing on the way are added behind the entries that are there. `value` and the keys are printable
    text of one line. Raises CannotEditError.
    """
    trees, findings = read(file, data)
    if findings:
        raise CannotEditError(findings[0].message, findings[0].span)
    tree = trees[document]
    page = Page(data.decode("utf-8-sig"))
    result = _apply(page.text, _changes(page, tree, path, value)).encode()
    if data.startswith(codecs.BOM_UTF8):
        result = codecs.BOM_UTF8 + result
    after, findings = read(file, result)
    meant = [_form(other, None) for other in trees]
    meant[document] = _with(_form(tree, path), path, value)
    found = [_form(other, path if index == document else None) for index, other in enumerate(after)]
    if findings or found != meant:
        reason = f"{_UNREADABLE}: {findings[0].message}" if findings else _UNREADABLE
        raise CannotEditError(reason, _walk(tree, path)[-1][0].span)
    return result


def _walk(tree: Mapping, path: Path) -> Walked:
    """Return the nodes on a path that exist, from the document down, each with its entry in the one above."""
    found: Walked = [(tree, None)]
    for key in path:
        node = found[-1][0]
        entry = node.entries.get(key) if isinstance(node, Mapping) else None
        if entry is None:
            break
        found.append((entry.value, entry))
    return found


def _changes(page: Page, tree: Mapping, path: Path, value: str) -> Iterator[_Change]:
    """Yield what to change, in order."""
    walked = _walk(tree, path)
    node, entry = walked[-1]
    rest = path[len(walked) - 1 :]
    if isinstance(node, Scalar) and node.is_null and entry is not None:
        parent = walked[-2][0]
        yield from (
            _fill(page, walked, entry, rest, value)
            if page.end(node.span) == page.start(node.span)
            else [_Change(page.start(node.span), page.end(node.span), _value(_style(page, parent), rest, value))]
        )
    elif rest and isinstance(node, Mapping):
        yield from _into_flow(page, node, rest, value) if page.is_flow(node) else _into_block(page, walked, rest, value)
    elif isinstance(node, Scalar) and not rest:
        start, end = page.start(node.span), page.end(node.span)
        mark = "" if node.plain else page.text[start]
        if mark not in ("", "'", '"'):
            raise CannotEditError("the value is a block of text", node.span)
        yield _Change(start, end, _Style(mark).scalar(value))
    else:
        shown = ".".join(path[: len(walked) - 1])
        raise CannotEditError(f"`{shown}` is not {'a map' if rest else 'a text'}", node.span)


def _style(page: Page, parent: Node) -> _Style:
    """Return how the entries of a map are written."""
    if not isinstance(parent, Mapping) or not page.is_flow(parent):
        return _Style()
    keys = [page.text[page.start(entry.key)] for entry in parent.entries.values()]
    quote = keys[-1] if keys and keys[-1] in "'\"" else ""
    return _Style(quote, " " if page.text[page.start(parent.span) + 1] == " " else "")


def _value(style: _Style, rest: Path, value: str) -> str:
    return style.braced(style.pair(rest, value)) if rest else style.scalar(value)


def _fill(page: Page, walked: Walked, entry: Entry, rest: Path, value: str) -> Iterator[_Change]:
    """Yield what gives a key a value that has none."""
    parent = walked[-2][0]
    key_end = page.end(entry.key)
    colon = _COLON.match(page.text, key_end)
    at = colon.end() if colon else key_end
    if rest and not page.is_flow(parent):
        step = _step(page, walked[:-1])
        outer = parent.span.column - 1
        yield _lines(page, page.block_end(at, outer), walked[0][0], (outer + step, step), rest, value)
        return
    text = _value(_style(page, parent), rest, value)
    if colon and page.text[at : at + 2] in (" ,", " }"):
        yield _Change(at + 1, at + 1, text)
    else:
        yield _Change(at, at, f"{'' if colon else ':'} {text}")


def _into_flow(page: Page, parent: Mapping, rest: Path, value: str) -> Iterator[_Change]:
    """Yield what adds an entry to a map in braces: behind the last, on a line of its own if that has one."""
    opening, closing = page.start(parent.span), page.end(parent.span) - 1
    text = _style(page, parent).pair(rest, value)
    if not parent.entries:
        pad = " " if page.text[opening + 1 : closing] else ""
        yield _Change(opening + 1, opening + 1, pad + text)
        return
    last = list(parent.entries.values())[-1]
    end, key = page.end(last.value.span), page.start(last.key)
    before = page.text[page.line_start(key) : key]
    if before.strip() or not LINE_BREAK.search(page.text, end, closing):
        yield _Change(end, end, f", {text}")
        return
    # A comment may hold a comma, too.
    tail = _COMMENT.sub(lambda found: " " * len(found.group()), page.text[end:closing])
    comma = tail.find(",")
    if comma < 0:
        yield _Change(end, end, ",")
    line = page.line_end(end + max(comma, 0))
    yield _Change(line, line, f"{page.line_break(line)}{before}{text}{',' if comma >= 0 else ''}")


def _into_block(page: Page, walked: Walked, rest: Path, value: str) -> Iterator[_Change]:
    """Yield what adds an entry to a map in block style, behind the last and what belongs to it."""
    parent = walked[-1][0]
    indent = parent.span.column - 1
    at = page.block_end(page.last(parent), indent)
    change = _lines(page, at, walked[0][0], (indent, _step(page, walked)), rest, value)
    sections = LINE_BREAK.split(page.text[page.start(parent.span) : at])
    if len(walked) == 1 and any(not line.strip() for line in sections):
        # Empty lines part the sections of this document.
        change = change._replace(text=page.line_break(at) + change.text)
    yield change


def _lines(page: Page, at: int, tree: Node, indent: tuple[int, int], rest: Path, value: str) -> _Change:
    """Return lines in block style, put behind the line that ends at an offset; `indent` is the first's, and the step.

    Where the document has maps in braces anywhere, the innermost is one, too: a pin is one line then.
    """
    style, lines = _Style(), list[str]()
    inline = 2 if len(rest) > 1 and _has_braces(page, tree) else 1
    first, step = indent
    for key in rest[:-inline]:
        lines.append(f"{' ' * (first + len(lines) * step)}{style.scalar(key)}:")
    lines.append(" " * (first + len(lines) * step) + style.pair(rest[-inline:], value))
    return _Change(at, at, "".join(page.line_break(at) + line for line in lines))


def _has_braces(page: Page, node: Node) -> bool:
    """Say whether a map that is not empty is written in braces."""
    if not isinstance(node, Mapping) or not node.entries:
        return False
    return page.is_flow(node) or any(_has_braces(page, entry.value) for entry in node.entries.values())


def _step(page: Page, walked: Walked) -> int:
    """Return by how much maps are indented: on the way to the edit, or else anywhere at the top of the document."""
    way = [node for node, _ in walked if isinstance(node, Mapping)]
    inside = way if len(way) > 1 else [way[0], *(entry.value for entry in way[0].entries.values())]
    columns = [node.span.column for node in inside if isinstance(node, Mapping) and not page.is_flow(node)]
    return max(columns[1] - columns[0], 1) if len(columns) > 1 else _INDENT


def _apply(text: str, changes: Iterator[_Change]) -> str:
    parts, done = list[str](), 0
    for change in changes:
        parts += [text[done : change.start], change.text]
        done = change.end
    return "".join([*parts, text[done:]])


def _form(node: Node, path: Path | None) -> Form:
    """Return what a node means, order included; on the path the text alone counts, not whether it is quoted."""
    if isinstance(node, Mapping):
        entries = node.entries.items()
        return "map", [(key, _form(entry.value, _below(path, key))) for key, entry in entries]
    if isinstance(node, List):
        return "list", [_form(item, None) for item in node.items]
    return ("text", node.text) if path == () else ("text", node.text, node.plain)


def _below(path: Path | None, key: str) -> Path | None:
    return path[1:] if path and path[0] == key else None


def _with(form: Form, path: Path, value: str) -> Form:
    """Return what a node means with one text set."""
    if not path:
        return "text", value
    entries = list(form[1]) if form[0] == "map" else []
    known = [key for key, _ in entries]
    at = known.index(path[0]) if path[0] in known else len(entries)
    before = entries[at][1] if at < len(entries) else ("map", [])
    entries[at : at + 1] = [(path[0], _with(before, path[1:], value))]
    return "map", entries
