"""Characters that a spec may not hold: what YAML forbids, and what a reviewer sees otherwise than mlspec reads.

The second kind is known as Trojan Source (CVE-2021-42574): text that is turned around, characters that take no room,
and ends of lines that only some programs see, so that a comment holds a field.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from typing import Final, NamedTuple

# Unicode's property Bidi_Control.
_TURNS: Final = "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"
# Unicode's property Default_Ignorable_Code_Point without the joiners and the variation selectors of the first plane:
# Persian, Hindi and emoji are not written without them. The byte order mark stands apart: our writer escapes it.
_UNSEEN: Final = (
    "\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b\u2060-\u2065\u206a-\u206f\u3164\uffa0\ufff0-\ufff8"
    "\U0001bca0-\U0001bca3\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
)
_JOINERS: Final = "\u200c\u200d\ufe00-\ufe0f"
_FORBIDDEN: Final = "\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x84\x86-\x9f\ufffe\uffff"
# A carriage return alone is an end of line where it is the only one; _alone() looks.
_ENDS_OF_LINES: Final = "\x85\u2028\u2029"

_UNFIT: Final = re.compile(f"[{_FORBIDDEN}{_TURNS}{_UNSEEN}{_ENDS_OF_LINES}\ufeff]|\r(?!\n)")
_CONTROL: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f]|\r(?!\n)")
_TURNING: Final = re.compile(f"[{_TURNS}]")
_ESCAPED: Final = re.compile(f"[\x00\x7f-\x9f\ufffe\uffff{_TURNS}{_UNSEEN}]")
_IN_KEYS: Final = re.compile(f"[{_JOINERS}\ufeff]")


class Unfit(NamedTuple):
    """A character that may not stand there: where it is, what is wrong with it, and what to do."""

    start: int
    message: str
    help: str


def in_text(text: str) -> Iterator[Unfit]:
    """Yield every character that may not stand in a file, in order."""
    ascii_only = text.isascii()
    if ascii_only and _CONTROL.search(text) is None:
        return
    one_kind = "\n" not in text  # as old Macintosh programs wrote: every reader agrees about such a file
    for found in _UNFIT.finditer(text):
        if found.group() != "\r" or not one_kind:
            yield _explained(found)


def in_escape(value: str) -> Unfit | None:
    """Return what an escape of a double-quoted text wrote and a manifest cannot carry, or should not."""
    found = _ESCAPED.search(value)
    if found is None:
        return None
    if _TURNING.match(found.group()) or ord(found.group()) > 0x9F:
        return _explained(found)
    return Unfit(found.start(), f"character {_shown(found.group())} cannot be part of a manifest", "remove the escape")


def in_key(key: str) -> Unfit | None:
    """Return what makes two keys look like one, though a text may hold it."""
    found = None if key.isascii() else _IN_KEYS.search(key)
    return _explained(found) if found is not None else None


def _explained(found: re.Match[str]) -> Unfit:
    char, start = found.group(), found.start()
    if char == "\r" or char in _ENDS_OF_LINES:
        message = f"{_shown(char)} ends a line for YAML, but not for every editor: what stands behind it can be hidden"
        return Unfit(start, message, "end lines with a line feed; in a double-quoted text write the escape")
    if _TURNING.match(char):
        message = f"character {_shown(char)} turns text around: a reviewer would read something else than mlspec"
        return Unfit(start, message, "remove it")
    if re.match(f"[{_FORBIDDEN}]", char):
        return Unfit(start, f"control character {_code(char)} is not allowed in YAML", "remove it")
    return Unfit(start, f"character {_shown(char)} cannot be seen", "remove it")


def _code(char: str) -> str:
    return f"U+{ord(char):04X}"


def _shown(char: str) -> str:
    name = "CARRIAGE RETURN" if char == "\r" else "NEXT LINE" if char == "\x85" else unicodedata.name(char, "")
    return f"{_code(char)} ({name})" if name else _code(char)
