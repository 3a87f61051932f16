"""What operators' validating webhooks refuse."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlspec.validation.declared import Declared
from mlspec.validation.objection import Objection


def judge(body: dict[str, Any], declared: Declared) -> Iterator[Objection]:
    """Yield what is against an object."""
    yield from ()
