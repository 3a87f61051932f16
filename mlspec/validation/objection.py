"""What a judge of one object has against it, and in which of its fields."""

from __future__ import annotations

from typing import NamedTuple

Path = tuple[str | int, ...]


class Objection(NamedTuple):
    """One fault of an object; `path` leads to the field, or to the one that should hold it. Empty: the object.

    `key` leads to the field whose name is at fault, whatever it holds; empty where none is.
    """

    code: str
    message: str
    path: Path = ()
    help: str = ""
    key: Path = ()


def words(path: Path) -> str:
    """Return a field as people write it, `spec.containers[0].name`."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "the object"
