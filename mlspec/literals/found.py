"""One secret in a text, and what is shown instead of it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, NamedTuple

HIDDEN: Final = "[hidden]"
"""What is shown instead of a secret."""


class Found(NamedTuple):
    """Where a secret stands in a text, in characters from 0, the end exclusive; `what` reads `a password`."""

    start: int
    end: int
    what: str


def apart(found: Iterable[Found]) -> list[Found]:
    """Return secrets in order and without overlaps: those that overlap become one."""
    merged: list[Found] = []
    for item in sorted(found):
        if merged and item.start < merged[-1].end:
            merged[-1] = merged[-1]._replace(end=max(item.end, merged[-1].end))
        else:
            merged.append(item)
    return merged
