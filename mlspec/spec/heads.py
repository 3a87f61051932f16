"""A project file's bytes in, the names and owners of its projects out, without reading the rest of them.

What one project may take from another (its name, a namespace) follows from these, so they are needed of every file of
a root, also of those that are not compiled.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from mlspec import source

_NAME: Final = rb"""([a-z][-a-z0-9]*|"[a-z][-a-z0-9]*"|'[a-z][-a-z0-9]*')[ ]*(?:[ ]\#[^\n]*)?\r?$"""
_NAMES: Final = re.compile(rb"^name:[ ]+" + _NAME, re.MULTILINE)
_OWNERS: Final = re.compile(rb"^owner:[ ]+" + _NAME, re.MULTILINE)
# At the left margin a plain file has keys and comments alone: no second document, no key that is written otherwise.
_PLAIN: Final = re.compile(rb"(?:[ \t]*(?:#[^\n]*)?\r?\n)*[a-zA-Z]")
_OTHER: Final = re.compile(rb"^[^\sa-zA-Z#]|\\|\A[ \t]", re.MULTILINE)
_KEYS: Final = re.compile(rb"^(?:name|owner)\b", re.MULTILINE)


class Head(NamedTuple):
    """What others must know of a project; None where it is not written, or is no text."""

    name: str | None
    owner: str | None


def read_heads(file: str, data: bytes) -> tuple[Head, ...]:
    """Return the head of every document of a project file; what cannot be read has none, and never raises."""
    found, owners = _NAMES.findall(data), _OWNERS.findall(data)
    plain = _PLAIN.match(data) is not None and _OTHER.search(data) is None
    # A parser takes a hundred times as long, for what nearly every file writes in the plainest way.
    if plain and len(found) == len(owners) == 1 and len(_KEYS.findall(data)) == 2:
        return (Head(_text(found[0]), _text(owners[0])),)
    return tuple(Head(_scalar(document, "name"), _scalar(document, "owner")) for document in source.read(file, data)[0])


def _text(written: bytes) -> str:
    return written.strip(b"\"'").decode("ascii")


def _scalar(document: source.Mapping, key: str) -> str | None:
    node = document.get(key)
    return node.text if isinstance(node, source.Scalar) else None
