"""Manifests on their way out of the program, without the secrets in them; everything else as it is.

Unlike text, a manifest is read by programs, so only what is refused elsewhere is hidden, and nothing that merely might
be a secret.
"""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any, Final

from mlspec.literals.found import HIDDEN
from mlspec.literals.keys import FIELDS
from mlspec.literals.places import all_in, is_flag, is_secret
from mlspec.literals.redaction import without

_WORDS: Final = frozenset({"args", "command"})


def redact_object(value: Any, name: str = "") -> Any:
    """Return a manifest, or a part of one that stands under a name, with its secrets hidden; itself without any."""
    if isinstance(value, str):
        return _text(value, name)
    if isinstance(value, dict):
        changed: Any = {key: redact_object(item, _name(str(key), value)) for key, item in value.items()}
    elif isinstance(value, list):
        words = name in _WORDS and all(isinstance(item, str) for item in value)
        changed = [redact_object(item, _flag(value, index) if words else name) for index, item in enumerate(value)]
    else:
        return value
    return changed if changed != value else value


def _name(key: str, among: dict[Any, Any]) -> str:
    """Return what an entry is called: in Kubernetes the name of a `value` stands beside it."""
    beside = among.get("name")
    return beside if key == "value" and isinstance(beside, str) else key


def _flag(words: list[str], index: int) -> str:
    before = words[index - 1] if index else ""
    return before if is_flag(before) and words[index][:1] != "-" else ""


def _text(text: str, name: str) -> str:
    if name not in FIELDS and is_secret(name, text):
        return HIDDEN
    suffix = PurePosixPath(name).suffix
    return without(text, ((found.start, found.end) for found in all_in(text, suffix if "/" not in name else "")))
