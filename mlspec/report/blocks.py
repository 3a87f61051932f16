"""Rows of Markdown that stand together, and as many of them as a limit lets through: never half of one."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

RESERVED: Final = 300
"""Characters kept for the note about what was left out."""
COMMENT: Final = 60_000
"""Characters of a document that is to be a comment: GitHub takes 65,536, and something may stand around it."""


@dataclass(frozen=True, slots=True)
class Block:
    """Rows that stand together, with what must stand before and behind them."""

    head: str
    rows: tuple[str, ...]
    tail: str = "\n"


def fitting(head: str, blocks: Sequence[Block], most: int, note: Callable[[int], str]) -> str:
    """Return as many whole rows as fit into `most` characters; `note` says how many do not."""
    text, left_out = head, 0
    for block in blocks:
        room = most - RESERVED - len(text) - len(block.head) - len(block.tail)
        rows = []
        for row in block.rows:
            if left_out or len(row) > room:
                left_out += 1
            else:
                rows.append(row)
                room -= len(row)
        if rows or (not block.rows and not left_out and room > 0):
            text += block.head + "".join(rows) + block.tail
    return text + note(left_out) if left_out else text
