"""Specs as people write them, for edits in place: any style, indentation, quotes, comments and line breaks."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from hypothesis import strategies as st

_KEYS = ("environments", "prod", "dev", "services", "classifier", "model", "run", "replicas", "note", "no")
_PATH = ("environments", "prod", "services", "classifier", "model", "run")
_WORDS = ("3", "1e-4", "export", "a b", "it's", 'say "x"', "# no comment", "a: b", "é😀", "0123abcd", "x,y", "{z}")
# What a pin is replaced in: never a block of text, which is refused.
_RUNS = ("9999aaaa", "12345678")
_PLAIN = frozenset(("3", "1e-4", "export", "a b", "it's", "é😀", "0123abcd"))


@dataclass
class Page:
    """A text with what it means, and an edit to make in it."""

    text: str
    trees: list[Any]
    document: int
    path: tuple[str, ...]
    comments: list[str]


@dataclass
class _Writer:
    """Renders one page; every choice is drawn."""

    draw: st.DrawFn
    comments: list[str] = field(default_factory=list)

    def chance(self, most: int = 3) -> bool:
        """Return True once in a while."""
        return self.draw(st.integers(0, most)) == 0

    def comment(self) -> str:
        """Return a comment that no other line has."""
        self.comments.append(f"# {len(self.comments)}, {{c: d}}")
        return self.comments[-1]

    def scalar(self, text: str) -> str:
        """Return a text bare or in quotes."""
        style = self.draw(st.sampled_from(["bare", "single", "double"]))
        if style == "bare" and text in _PLAIN:
            return text
        return "'" + text.replace("'", "''") + "'" if style == "single" else json.dumps(text, ensure_ascii=False)

    def key(self, text: str) -> str:
        """Return a key, sometimes in quotes."""
        return json.dumps(text) if self.chance(5) else text

    def flow(self, value: Any, pad: str) -> str:
        """Return a value in braces, on one line or on many."""
        if value is None:
            return "~"
        if isinstance(value, str):
            return self.scalar(value)
        opening, closing = ("{", "}") if isinstance(value, dict) else ("[", "]")
        if not value:
            return opening + (" " if self.chance() else "") + closing
        inner = pad + "  "
        several = self.chance(1)
        parts = (
            [f"{self.key(key)}: {self.flow(item, inner)}" for key, item in value.items()]
            if isinstance(value, dict)
            else [self.flow(item, inner) for item in value]
        )
        if not several:
            space = " " if self.chance() else ""
            return opening + space + ", ".join(parts) + (", " if self.chance() else "") + space + closing
        lines = []
        for index, part in enumerate(parts):
            comma = "," if index < len(parts) - 1 or self.chance() else ""
            lines.append(f"{inner}{part}{comma}" + (f" {self.comment()}" if self.chance() else ""))
        return opening + "\n" + "\n".join(lines) + f"\n{pad}{closing}"

    def block(self, value: dict[str, Any], pad: str) -> Iterator[str]:
        """Yield the lines of a map, with comments before, beside and behind its entries."""
        step = " " * self.draw(st.integers(1, 4))
        for key, item in value.items():
            if self.chance():
                yield pad + self.comment() if self.chance(1) else ""
            yield from self.entry(self.key(key), item, pad, step)
        if self.chance():
            yield pad + self.comment()

    def entry(self, key: str, item: object, pad: str, step: str) -> Iterator[str]:
        """Yield the lines of one entry."""
        end = f" {self.comment()}" if self.chance() else ""
        if isinstance(item, dict) and item and not self.chance():
            yield f"{pad}{key}:{end}"
            yield from self.block(item, pad + step)
        elif isinstance(item, list) and item and self.chance(1):
            yield f"{pad}{key}:{end}"
            yield from (f"{pad}- {self.flow(part, pad + '  ')}" for part in item)
        elif isinstance(item, str) and item not in _RUNS and self.chance():
            yield f"{pad}{key}: >-{end}"
            yield f"{pad}{step}{item}"
            yield from [""] * self.draw(st.integers(0, 2))
        elif item is None and self.chance(1):
            yield f"{pad}{key}:{end}"
        else:
            yield f"{pad}{key}: {self.flow(item, pad)}{end}"


def _trees() -> st.SearchStrategy[Any]:
    leaves = st.sampled_from(_WORDS)
    values = st.recursive(
        leaves | st.lists(leaves, max_size=2),
        lambda inner: st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3) | st.lists(inner, max_size=2),
        max_leaves=6,
    )
    return st.dictionaries(st.sampled_from(_KEYS[6:]), values, max_size=3)


@st.composite
def _document(draw: st.DrawFn, depth: int, value: Any) -> dict[str, Any]:
    """Return a tree that holds the first keys of the path, with a value behind them, among others."""
    for key in reversed(_PATH[:depth]):
        others = {name: item for name, item in draw(_trees()).items() if name != key}
        entries = [*others.items()]
        entries.insert(draw(st.integers(0, len(entries))), (key, value))
        value = dict(entries)
    return {"name": "x", **value} if depth else {"name": "x", **(value or {})}


@st.composite
def pages(draw: st.DrawFn) -> Page:
    """Draw a page of one to three documents; the way to the pin exists in one of them, in part or as a whole."""
    writer, texts, trees = _Writer(draw), [], []
    count = draw(st.integers(1, 3))
    document = draw(st.integers(0, count - 1))
    for index in range(count):
        depth = draw(st.integers(0, len(_PATH))) if index == document else 0
        values: list[Any] = [None, *_RUNS] if depth == len(_PATH) else [None, {}]
        value = draw(st.sampled_from(values))
        trees.append(draw(_document(depth, value)))
        braces = draw(st.integers(0, 5)) == 0
        texts.append(writer.flow(trees[-1], "") if braces else "\n".join(writer.block(trees[-1], "")))
    text = "\n---\n".join(texts) + "\n"
    if draw(st.booleans()) and not text.endswith("\n\n"):
        text = text.removesuffix("\n")
    text = text.replace("\n", draw(st.sampled_from(["\n", "\n", "\r\n", "\r"])))
    return Page(draw(st.sampled_from(["", "\ufeff"])) + text, trees, document, _PATH, writer.comments)
