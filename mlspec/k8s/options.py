"""Argo CD's options in annotations and Applications: which of them do harm, and which decide about deletion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

_DELETES: Final = "deletes the object and makes it again: a run starts once more, a service is gone meanwhile"
_ASKS: Final = "keeps a sync open until a person confirms, and every other commit waits"
# What each does was seen on Argo CD 3.5, but for the two that ask (documentation of its sync options).
_HARMFUL: Final = {
    "replace=true": _DELETES,
    "force=true": _DELETES,
    "prune=confirm": _ASKS,
    "delete=confirm": _ASKS,
    "serversidediff=true": "makes the Application Unknown as soon as one object cannot be changed, and hides the rest",
    "includemutationwebhook=true": "compares with what webhooks add, so that it is OutOfSync for ever",
}
_DECIDING: Final = ("prune=", "delete=", "ignoreextraneous")


def options(written: Any) -> list[str]:
    """Return the options that an annotation lists."""
    return [part.strip() for part in written.split(",") if part.strip()] if isinstance(written, str) else []


def harmful(written: list[str]) -> Iterator[tuple[str, str]]:
    """Yield every option that must never be set, and what it does."""
    for option in written:
        reason = _HARMFUL.get(option.replace(" ", "").lower())
        if reason is not None:
            yield option, reason


def kept_changed(before: Any, after: Any) -> bool:
    """Say whether an annotation decides otherwise about deletion; what is harmful besides is judged elsewhere."""
    if any(harmful(options(after))):
        return False
    return _deciding(before) != _deciding(after)


def _deciding(written: Any) -> set[str]:
    return {option for option in options(written) if option.lower().startswith(_DECIDING)}
