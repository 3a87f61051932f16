"""Every rule that no schema shows, for one object that its schema accepts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlspec.validation import cel, lists, native, webhooks
from mlspec.validation.declared import declared
from mlspec.validation.objection import Objection


def judge(folders: tuple[Path, ...], schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield what the API server's own code, the CEL rules of its schema and the operators' webhooks have against it."""
    versions = declared(folders)
    yield from native.judge(body, versions)
    yield from lists.judge(schema, body)
    yield from cel.judge(schema, body)
    yield from webhooks.judge(body, versions)
