"""Values as bytes, by which what has been judged is known again: equal bytes are equal values of the same types.

`marshal` makes them several times as fast as JSON. The bytes never leave the process.
"""

from __future__ import annotations

import marshal
from typing import Any, Final

_WITHOUT_REFERENCES: Final = 2
"""Later versions of the format tell one value twice from two that are equal."""


def written(value: Any) -> bytes | None:
    """Return JSON values as bytes; None where something in them is a subclass of what JSON knows."""
    try:
        return marshal.dumps(value, _WITHOUT_REFERENCES)
    except ValueError:
        return None


def read(content: bytes) -> Any:
    """Return what `written` was given, as new values."""
    return marshal.loads(content)  # noqa: S302  # our own bytes, of this process
