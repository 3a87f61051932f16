"""Data as YAML, and the texts that tests put into it.

Text is `str` (written in quotes), `Plain` is text without quotes; numbers, booleans and None are YAML's own.
"""

from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import strategies as st

Data = dict[str, Any]
_HIDDEN = re.compile("[\x7f-\xa0\u2028\u2029\ufeff\ufffe\uffff]")
PLAIN_TEXT = ("1e-4", "08", "no", "0o17", "1:30", "y", "0x1F", "1_000", "25921e05", "2026-11-30", "+.1", ".5e3", "=")
NASTY_TEXT = (
    *PLAIN_TEXT,
    "",
    " ",
    "# x",
    "a: b",
    "{}",
    "[x",
    "~",
    "null",
    "- ",
    "two\nlines\n",
    "\ttab",
    "é😀",
    "'\"\\",
)


class Plain(str):
    """Text written without quotes."""

    __slots__ = ()


def to_yaml(data: object) -> str:
    """Return data as YAML in flow style, a value a line."""
    return _flow(data, "") + "\n"


def _flow(value: object, pad: str) -> str:
    inside = pad + "  "
    if isinstance(value, dict):
        entries = (f"{inside}{_flow(key, inside)}: {_flow(item, inside)}" for key, item in value.items())
        return "{\n" + ",\n".join(entries) + f"\n{pad}}}" if value else "{}"
    if isinstance(value, list):
        return "[\n" + ",\n".join(inside + _flow(item, inside) for item in value) + f"\n{pad}]" if value else "[]"
    if isinstance(value, Plain):
        return str(value)
    text = json.dumps(value, ensure_ascii=False)
    return _HIDDEN.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


UNFIT = "\0" + "".join(map(chr, range(0x7F, 0xA0))) + "\ufffe\uffff"
"""What kustomize refuses in a value, or turns into a space (U+0085), and U+0000, which no container takes."""
MISLEADING = frozenset(
    "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f"
    "\u200b\u3164\uffa0"
) | {
    chr(code)
    for first, last in ((0x2060, 0x206F), (0xFFF0, 0xFFF8), (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF))
    for code in range(first, last + 1)
}
"""What shows a reviewer something else than is read, and is refused in a spec for that."""
characters = st.characters(exclude_characters=UNFIT, exclude_categories=["Cs"]).filter(
    lambda char: char not in MISLEADING
)
plain_text = st.sampled_from(PLAIN_TEXT).map(Plain)
nasty_text = st.sampled_from(NASTY_TEXT) | st.text(characters, max_size=12) | plain_text


def optional(strategies: dict[str, st.SearchStrategy[Any]]) -> st.SearchStrategy[Data]:
    """Draw a map with any of these fields."""
    return st.fixed_dictionaries({}, optional=strategies)
