"""YAML events in, positioned nodes out; what YAML can do and a spec must not is refused here."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import Final, NoReturn, Protocol

import yaml

from mlspec.diagnostics import Diagnostic, Related, Span
from mlspec.source import characters
from mlspec.source.nodes import Entry, Mapping, Node, Scalar, Sequence

MAX_DEPTH: Final = 64
MAX_NODES: Final = 100_000
MAX_DOCUMENTS: Final = 1000
MAX_FINDINGS: Final = 10_000
MAX_TEXT: Final = 1 << 17
"""Characters of one value: Linux starts no program with a longer argument or variable (MAX_ARG_STRLEN)."""
MAX_KEY: Final = 1024
"""Characters of a key: what YAML reads without `? ` in front (YAML 1.2, section 7.4.2)."""

# libyaml counts these as line breaks; a frame that counted others would point at the wrong line.
LINE_BREAK: Final = re.compile("\r\n|[\r\n\x85\u2028\u2029]")
_NOT_STRING = re.compile(
    r"true|True|TRUE|false|False|FALSE|[-+]?(\d[\d_]*|0x[0-9a-fA-F]+|0o[0-7]+|\d+(\.\d*)?([eE][-+]?\d+)?)",
    re.ASCII,
)


def _cut(text: str | None) -> str:
    """Return what of a text a finding shows."""
    return (text or "")[:60]


class Mark(Protocol):
    """A place in the text, 0-based; libyaml's and PyYAML's own marks are different classes."""

    line: int
    column: int
    index: int


@dataclass(slots=True)
class _Open:
    """A collection whose end has not been read; `key` waits for its value."""

    start: Mark | None
    entries: dict[str, Entry] | None
    items: list[Node]
    key: tuple[str, Span] | None = None
    skip: bool = False


class TooMuchError(Exception):
    """The file is larger than a spec can be; the finding is already recorded."""


class TooDeepError(Exception):
    """The document is deeper than a spec can be; the finding is already recorded."""

    def __init__(self, line: int) -> None:
        super().__init__(line)
        self.line = line


class Composer:
    """Builds the trees of one file, read in one or more pieces; iterative, so that depth cannot exhaust the stack."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.first_line = 1
        self.documents: list[Node] = []
        self.diagnostics: list[Diagnostic] = []
        self._stack: list[_Open] = []
        self._root: Node | None = None
        self._began = Span(file)
        self._nodes = 0
        self._text = ""

    def span(self, start: Mark | None, end: Mark | None) -> Span:
        """Return the span between two marks."""
        line = self.first_line
        if start is None or end is None:  # the C parser always has marks; its type says that it might not
            return Span(self.file, line, 1, line, 1)
        return Span(self.file, line + start.line, start.column + 1, line + end.line, end.column + 1)

    def inside(self, span: Span) -> Span:
        """Return a place in the text: libyaml ends a text without a line break on a line of its own."""
        lines = LINE_BREAK.split(self._text)
        if span.line - self.first_line < len(lines):
            return span
        line, column = self.first_line + len(lines) - 1, len(lines[-1]) + 1
        return Span(span.file, line, column, line, column)

    def report(self, code: str, message: str, span: Span, help: str = "") -> None:
        """Record a finding."""
        self.add(Diagnostic(code, message, span, help=help))

    def add(self, diagnostic: Diagnostic) -> None:
        """Record a finding; after ten thousand of them the file is not what it was meant to be."""
        self.diagnostics.append(diagnostic)
        if len(self.diagnostics) >= MAX_FINDINGS:
            self._too_much(f"more than {MAX_FINDINGS} faults in one file: the rest was not read", diagnostic.span, "")

    def _too_much(self, message: str, span: Span, help: str) -> NoReturn:
        self.diagnostics.append(Diagnostic("MLS108", message, span, help=help))
        raise TooMuchError

    def compose(self, text: str, first_line: int) -> None:
        """Read every document of `text`, which begins at a line; raises yaml.YAMLError at a syntax error."""
        self.first_line, self._text = first_line, text
        self._stack.clear()
        for event in yaml.parse(text, Loader=yaml.CSafeLoader):
            if isinstance(event, yaml.ScalarEvent):
                if event.anchor is not None or event.tag is not None:
                    self._features(event)
                self._add(self._scalar(event))
            elif isinstance(event, yaml.CollectionStartEvent):
                if event.anchor is not None or event.tag is not None:
                    self._features(event)
                self._open(event)
            elif isinstance(event, yaml.CollectionEndEvent):
                self._close(event)
            elif isinstance(event, yaml.DocumentStartEvent):
                mark = event.start_mark
                self._began = self.span(mark, mark)
            elif isinstance(event, yaml.DocumentEndEvent):
                self._end()
            elif isinstance(event, yaml.AliasEvent):
                span = self.span(event.start_mark, event.end_mark)
                self.report("MLS107", f"alias `*{_cut(event.anchor)}` is not allowed", span, "write the value out here")
                self._add(Scalar("", True, span, refused=True))

    def _scalar(self, event: yaml.ScalarEvent) -> Scalar:
        """Return a scalar, refused where it is longer than anything takes, or escapes hold what they should not."""
        span = self.span(event.start_mark, event.end_mark)
        if event.start_mark is not None and event.start_mark.index >= len(self._text):
            span = self.inside(span)  # nothing, behind the last line
        if len(event.value) > MAX_TEXT:
            message = f"a text of {len(event.value)} characters; at most {MAX_TEXT} fit"
            self.report("MLS108", message, span, "put it into a file: `files` ships it with the run")
            return Scalar(event.value[:MAX_KEY], False, span, refused=True)
        unfit = characters.in_escape(event.value) if event.style == '"' else None
        if unfit is not None:
            self.report("MLS109", unfit.message, span, unfit.help)
        return Scalar(event.value, not event.style, span, refused=unfit is not None)

    def _features(self, event: yaml.ScalarEvent | yaml.CollectionStartEvent) -> None:
        span = self.span(event.start_mark, event.start_mark)
        if event.anchor is not None:
            self.report(
                "MLS107", f"anchor `&{_cut(event.anchor)}` is not allowed", span, "write each value where it is used"
            )
        if event.tag is not None:
            tag = event.tag.replace("tag:yaml.org,2002:", "!!", 1)
            self.report(
                "MLS107", f"tag `{_cut(tag)}` is not allowed", span, "remove the tag; the field decides the type"
            )

    def _count(self, mark: Mark | None) -> None:
        self._nodes += 1
        if self._nodes > MAX_NODES:
            self._too_much(f"more than {MAX_NODES} values in one file", self.span(mark, mark), "split the file")

    def _open(self, event: yaml.CollectionStartEvent) -> None:
        self._count(event.start_mark)
        if len(self._stack) >= MAX_DEPTH:
            span = self.span(event.start_mark, event.start_mark)
            self.report("MLS108", f"nested deeper than {MAX_DEPTH} levels", span, "no field needs this depth")
            raise TooDeepError(event.start_mark.line if event.start_mark else 0)
        mapping = isinstance(event, yaml.MappingStartEvent)
        self._stack.append(_Open(event.start_mark, {} if mapping else None, []))

    def _end(self) -> None:
        """Keep the document that has been read to its end."""
        if self._root is None:
            return
        if len(self.documents) >= MAX_DOCUMENTS:
            span = self._root.span._replace(end_line=self._root.span.line, end_column=self._root.span.column)
            self._too_much(f"more than {MAX_DOCUMENTS} documents in one file", span, "split the file")
        if isinstance(self._root, Scalar) and self._root.is_null:
            # Nothing has no place of its own; the `---` that began it has.
            self._root = replace(self._root, span=self._began._replace(end_column=self._began.column + 3))
        self.documents.append(self._root)
        self._root = None

    def _close(self, event: yaml.CollectionEndEvent) -> None:
        top = self._stack.pop()
        span = self.span(top.start, event.end_mark)
        self._add(Sequence(tuple(top.items), span) if top.entries is None else Mapping(top.entries, span))

    def _add(self, node: Node) -> None:
        if isinstance(node, Scalar):
            self._nodes += 1
            if self._nodes > MAX_NODES:
                self._too_much(f"more than {MAX_NODES} values in one file", node.span, "split the file")
        if not self._stack:
            self._root = node
            return
        top = self._stack[-1]
        if top.entries is None:
            top.items.append(node)
        elif top.key is None:
            top.key = self._key(node)
            top.skip = self._repeated(top)
        else:
            name, span = top.key
            if not top.skip:
                top.entries[name] = Entry(span, node)
            top.key, top.skip = None, False

    def _key(self, node: Node) -> tuple[str, Span]:
        if not isinstance(node, Scalar):
            self.report(
                "MLS107", "a key must be text, not a map or a list", node.span, "quote the braces if they are meant"
            )
            return f"\0{node.span}", node.span
        if node.refused:
            return f"\0{node.span}", node.span
        if node.plain and node.text == "<<":
            self.report("MLS107", "merge key `<<` is not allowed", node.span, "write the keys out here")
            return f"\0{node.span}", node.span
        if node.is_null or (node.plain and _NOT_STRING.fullmatch(node.text)):
            shown = _cut(node.text) or "(empty)"
            help = f'quote it: "{shown}"' if node.text else "give the value a key"
            self.report("MLS107", f"key `{shown}` is not text", node.span, help)
            return f"\0{node.span}", node.span
        if len(node.text) > MAX_KEY:
            message = f"a key of {len(node.text)} characters; at most {MAX_KEY} fit"
            self.report("MLS108", message, node.span, "no name is this long")
            return f"\0{node.span}", node.span
        unfit = characters.in_key(node.text)
        if unfit is not None:
            self.report("MLS109", unfit.message, node.span, unfit.help)
            return f"\0{node.span}", node.span
        return node.text, node.span

    def _repeated(self, top: _Open) -> bool:
        if top.entries is None or top.key is None:
            return False
        name, span = top.key
        before = top.entries.get(name)
        if before is not None:
            self.add(
                Diagnostic(
                    "MLS106",
                    f"key `{name}` stands twice in this map",
                    span,
                    help="keep one of the two",
                    related=(Related(before.key, "first set here"),),
                )
            )
        return before is not None or name.startswith("\0")
