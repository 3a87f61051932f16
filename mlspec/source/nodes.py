"""Positioned values: what a YAML document holds, each with the place where it stands."""

from __future__ import annotations

from dataclasses import dataclass

from mlspec.diagnostics import Span

_NULLS = frozenset(("", "~", "null", "Null", "NULL"))


@dataclass(slots=True, frozen=True)
class Scalar:
    """One scalar: `text` as written (or as unquoted), `plain` where it stood without quotes."""

    text: str
    plain: bool
    span: Span
    refused: bool = False

    @property
    def is_null(self) -> bool:
        """Say whether YAML means null here (`~`, `null`, or nothing at all)."""
        return self.plain and self.text in _NULLS


@dataclass(slots=True, frozen=True)
class Entry:
    """One key of a mapping with its value."""

    key: Span
    value: Node


@dataclass(slots=True, frozen=True)
class Mapping:
    """A mapping; keys are unique strings, in the order written."""

    entries: dict[str, Entry]
    span: Span

    def get(self, key: str) -> Node | None:
        """Return the value under `key`, or None."""
        entry = self.entries.get(key)
        return entry.value if entry else None


@dataclass(slots=True, frozen=True)
class Sequence:
    """A list."""

    items: tuple[Node, ...]
    span: Span


Node = Scalar | Mapping | Sequence


class PlainText(str):
    """The text of an unquoted scalar: the only form that a typed (integer, boolean) field accepts."""

    __slots__ = ()


def to_raw(node: Node) -> object:
    """Return a node as dict, list, `PlainText` (unquoted), str (quoted) or None."""
    if isinstance(node, Mapping):
        return {key: to_raw(entry.value) for key, entry in node.entries.items()}
    if isinstance(node, Sequence):
        return [to_raw(item) for item in node.items]
    if node.is_null:
        return None
    return PlainText(node.text) if node.plain else node.text
