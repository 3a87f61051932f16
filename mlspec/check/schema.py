"""Objects in, schema findings out: every object against the strict schema of the version that is declared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

from mlspec.k8s.resource import Body
from mlspec.validation.objection import Objection, words


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


def check_schema(folders: tuple[Path, ...], body: Body) -> Iterator[Objection]:
    """Yield everything that the schema has against an object; no schema is an objection too."""
    path = schema_file(folders, body["apiVersion"], body["kind"])
    if path is None:
        yield Objection("MLS302", f"there is no schema of {body['kind']} {body['apiVersion']} in the declared versions")
        return
    for error in _validator(path).iter_errors(body):
        field = tuple(error.instance_path)
        yield Objection("MLS301", f"{words(field)}: {_words(error)}", field)


def _words(error: Any) -> str:
    """Return the schema's objection without the instance, which may hold anything."""
    name = type(error.kind).__name__
    if name == "AdditionalProperties":
        return "unknown field " + ", ".join(f"`{key}`" for key in error.kind.unexpected)
    if name == "Required":
        return f"missing field `{error.kind.property}`"
    first = str(error.message).split("\n", 1)[0]
    return first if len(first) <= 200 else first[:197] + "…"
