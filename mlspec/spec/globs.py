"""Globs over dotted paths: `*` is one part or a piece of it, `**` any number of parts, none included.

They are matched all at once and letter by letter, never by trying: a regular expression for `**a**a**a**b` tries every
way to share a long key among the wildcards, and does not come to an end. The states of all patterns are the bits of
one number; what has been read of a path is such a number, so paths with one beginning share the work.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

_WILDCARDS: Final = ("**", ".**", "**.", "*")
_PARTS: Final = re.compile(r"(\.\*\*|\*\*\.|\*\*|\*)")


class Globs:
    """Patterns, of which a path has to match one. A state is a number; reading begins at `start`."""

    def __init__(self, patterns: tuple[str, ...]) -> None:
        self._letters: dict[str, int] = {}
        self._stay = self._stay_in_part = self._enter_at_dot = self._leave_at_dot = self._pass = self._into = 0
        self._ends = first = 0
        bit = 0
        for pattern in patterns:
            first |= 1 << bit
            for part in _PARTS.split(pattern):
                for step in (part,) if part in _WILDCARDS else part:
                    self._add(step, 1 << bit)
                    bit += 2
            self._ends |= 1 << bit
            bit += 2
        self.start: Final = self._reached(first)
        self._after = lru_cache(maxsize=1 << 12)(self._read)

    def _add(self, step: str, before: int) -> None:
        """Add a step: `before` is the state in front of it, the next bit the one inside of it, then comes the next."""
        inside = before << 1
        if step not in _WILDCARDS:
            self._letters[step] = self._letters.get(step, 0) | before
            return
        self._pass |= before
        if step == "*":
            self._stay_in_part |= before
        elif step == "**":
            self._stay |= before
        else:
            self._stay |= inside
            self._enter_at_dot |= before if step == ".**" else 0
            self._leave_at_dot |= inside if step == "**." else 0
            self._into |= before if step == "**." else inside

    def _reached(self, states: int) -> int:
        """Return states with those behind steps that need no letter."""
        while True:
            more = states | (states & self._pass) << 2 | (states & self._into) << 1
            if more == states:
                return states
            states = more

    def _read(self, states: int, text: str) -> int:
        for letter in text:
            after = (states & self._letters.get(letter, 0)) << 2 | (states & self._stay)
            if letter == ".":
                after |= (states & self._enter_at_dot) << 1 | (states & self._leave_at_dot) << 1
            else:
                after |= states & self._stay_in_part
            states = self._reached(after)
        return states

    def read(self, states: int, text: str) -> int:
        """Return the state after more of a path."""
        return self._after(states, text)

    def match(self, states: int) -> bool:
        """Say whether what has been read is a path that a pattern means."""
        return bool(states & self._ends)


@lru_cache(maxsize=64)
def globs(patterns: tuple[str, ...]) -> Globs | None:
    """Return patterns ready to match; None where every path does."""
    return None if "**" in patterns else Globs(patterns)
