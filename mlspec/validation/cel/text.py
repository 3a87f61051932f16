"""The text of a rule: what it asks about, and the few words that are spelled otherwise for the evaluator."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

_TOKEN: Final = re.compile(
    # A text that does not end takes in all that follows: looking behind each of its quotes would take for ever.
    r"""(?P<text>[rRbB]{0,2}(?:\"{3}(?s:.*?)(?:\"{3}|\Z)|'{3}(?s:.*?)(?:'{3}|\Z)"""
    r"""|"(?:\\(?s:.)?|[^"\\])*+(?:"|\Z)|'(?:\\(?s:.)?|[^'\\])*+(?:'|\Z)))"""
    r"""|(?P<word>\.[A-Za-z_]\w*|(?<!\w)[A-Za-z_]\w*)"""
)
"""A string, in which a name means nothing; or a name, with the dot that makes it a field or a method."""
MEMBERS: Final = {".indexOf": ".indexOfAny", ".lastIndexOf": ".lastIndexOfAny"}
"""Methods of texts in the library, and of lists, too, in Kubernetes: functions of ours serve both."""
NOBODY: Final = "optional.none()"
"""What `oldSelf` is in a rule that is written for a missing one."""


def names(rule: str, name: str) -> bool:
    """Say whether an expression reads a variable."""
    return any(found["word"] == name for found in _TOKEN.finditer(rule))


def asked_on_creation(rule: Mapping[str, Any]) -> bool:
    """Say whether a rule is asked of a new object: one about the old object is not, unless that may be missing."""
    return bool(rule.get("optionalOldSelf")) or not names(rule["rule"], "oldSelf")


def respelled(expression: str, words: Mapping[str, str]) -> str:
    """Return an expression with some names exchanged; a name with a dot before it is written with the dot."""

    def exchanged(found: re.Match[str]) -> str:
        return found[0] if found["text"] is not None else words.get(found["word"], found[0])

    return _TOKEN.sub(exchanged, expression)
