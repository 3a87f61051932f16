"""Every rule that no schema shows, for one object that its schema accepts."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from mlspec.validation import cel, lists, native, webhooks
from mlspec.validation.declared import declared
from mlspec.validation.objection import Objection


def judge_nameless(folders: tuple[Path, ...], schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield what does not depend on an object's name and namespace, if these are sound; not for a Job.

    The rules of a Job judge the names of its pods where its fields make them.
    """
    yield from native.judge(body, declared(folders))
    yield from lists.judge(schema, body)


def judge_named(folders: tuple[Path, ...], schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield what may depend on an object's name and namespace: CEL and webhooks see the whole object."""
    versions = declared(folders)
    yield from native.judge_named(body, versions)
    yield from cel.judge(schema, body)
    yield from webhooks.judge(body, versions)


def judge(folders: tuple[Path, ...], schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield what the API server's own code, the CEL rules of its schema and the operators' webhooks have against it."""
    versions = declared(folders)
    yield from native.judge(body, versions)
    yield from lists.judge(schema, body)
    yield from cel.judge(schema, body)
    yield from webhooks.judge(body, versions)
