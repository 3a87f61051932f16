"""Objects in, schema findings out: every object against the strict schema of the version that is declared."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from mlspec.k8s.resource import Body


@cache
def schema_file(folders: tuple[Path, ...], api_version: str, kind: str) -> Path | None:
    """Return the schema of a kind, in kubeconform's layout: `<kind>[-<first label of the group>]-<version>.json`."""
    group, _, version = api_version.rpartition("/")
    suffix = f"-{group.split('.')[0]}-{version}" if group else f"-{version}"
    name = f"{kind.lower()}{suffix}.json"
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


@cache
def _validator(path: Path) -> Any:
    return jsonschema_rs.validator_for(json.loads(path.read_bytes()))


def check_schema(folders: tuple[Path, ...], body: Body) -> Iterator[tuple[str, str]]:
    """Yield (code, message) for everything that the schema has against an object; no schema is a finding too."""
    path = schema_file(folders, body["apiVersion"], body["kind"])
    if path is None:
        yield "MLS302", f"there is no schema of {body['kind']} {body['apiVersion']} in the declared versions"
        return
    for error in _validator(path).iter_errors(body):
        yield "MLS301", f"{_field(error.instance_path)}: {_words(error)}"


def _field(path: Iterable[str | int]) -> str:
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text or "the object"


def _words(error: Any) -> str:
    """Return the schema's objection without the instance, which may hold anything."""
    name = type(error.kind).__name__
    if name == "AdditionalProperties":
        return "unknown field " + ", ".join(f"`{key}`" for key in error.kind.unexpected)
    if name == "Required":
        return f"missing field `{error.kind.property}`"
    first = str(error.message).split("\n", 1)[0]
    return first if len(first) <= 200 else first[:197] + "…"
