"""One rule of a webhook, as a function whose docstring says what it refuses, why, and where that is written."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from mlspec.validation.objection import Objection

Subject = TypeVar("Subject")

DNS_LABEL: Final = re.compile(r"[a-z]([-a-z0-9]*[a-z0-9])?")
"""A name that starts with a letter (RFC 1035), without its length."""


@dataclass(frozen=True, slots=True)
class Rule(Generic[Subject]):
    """A code, and the function that yields what it has against a subject."""

    code: str
    judge: Callable[[Subject], Iterable[Objection]]

    @property
    def explanation(self) -> str:
        """What `mlspec explain CODE` prints: the function's docstring, its paragraphs kept."""
        return inspect.cleandoc(self.judge.__doc__ or "")


def maps(value: Any) -> list[dict[str, Any]]:
    """Return the maps of a list; what is left out, as a Go slice of nothing, is empty, and what is no map is, too."""
    return [item if isinstance(item, dict) else {} for item in value] if isinstance(value, list) else []
