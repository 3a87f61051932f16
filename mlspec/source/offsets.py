"""Places of nodes as offsets in the text that they were read from, for edits that keep everything else."""

from __future__ import annotations

import re
from bisect import bisect_right
from typing import Final

from mlspec.diagnostics import Span
from mlspec.source.composer import LINE_BREAK
from mlspec.source.nodes import Mapping, Node, Sequence

_BLOCK_SCALAR: Final = re.compile(r"[|>][-+0-9]*")
_LAST_BREAK: Final = re.compile(rf"(?:{LINE_BREAK.pattern})\Z")


class Page:
    """The text of a file, with the places of nodes as offsets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = [0, *(found.end() for found in LINE_BREAK.finditer(text))]

    def start(self, span: Span) -> int:
        """Return where a span begins."""
        return self._starts[span.line - 1] + span.column - 1

    def end(self, span: Span) -> int:
        """Return where a span ends, exclusive; libyaml may end on a line behind the last."""
        line = span.end_line - 1
        return self._starts[line] + span.end_column - 1 if line < len(self._starts) else len(self.text)

    def is_flow(self, node: Node) -> bool:
        """Say whether a map or list is written in brackets."""
        return self.text[self.start(node.span)] in "{["

    def last(self, node: Node) -> int:
        """Return the end of what a node consists of, line breaks and comments behind it left out."""
        if isinstance(node, Mapping | Sequence) and not self.is_flow(node):
            inside = list(node.entries.values())[-1].value if isinstance(node, Mapping) else node.items[-1]
            return self.last(inside)
        start, end = self.start(node.span), self.end(node.span)
        header = _BLOCK_SCALAR.match(self.text, start)
        if header is None:
            return end
        # Of a block of text, empty lines at its end belong to it only where it says so: `|+`.
        body = self.text[start:end]
        return start + len(_LAST_BREAK.sub("", body) if "+" in header.group() else body.rstrip())

    def line_end(self, offset: int) -> int:
        """Return where the line of an offset ends, its line break left out."""
        found = LINE_BREAK.search(self.text, offset)
        return found.start() if found else len(self.text)

    def line_start(self, offset: int) -> int:
        """Return where the line of an offset begins."""
        return self._starts[bisect_right(self._starts, offset) - 1]

    def line_break(self, offset: int) -> str:
        """Return the line break behind an offset, else the first of the file."""
        found = LINE_BREAK.search(self.text, offset) or LINE_BREAK.search(self.text)
        return found.group() if found and found.group() in ("\r\n", "\r") else "\n"

    def block_end(self, offset: int, indent: int) -> int:
        """Return the end of the line of an offset, or of the last comment behind it that is indented deeper.

        A comment that stands deeper than the keys belongs to the entry above it, any other to what comes behind.
        """
        end = here = self.line_end(offset)
        while found := LINE_BREAK.match(self.text, here):
            start, here = found.end(), self.line_end(found.end())
            line = self.text[start:here]
            depth = len(line) - len(line.lstrip(" "))
            if line.strip() and not (line[depth] == "#" and depth > indent):
                break
            end = here if line.strip() else end
        return end
