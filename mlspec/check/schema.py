"""Objects in, schema findings out: every object against the strict schema of the version that is declared."""

from __future__ import annotations

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import jsonschema_rs

from mlspec import schemas
from mlspec.k8s.resource import Body
from mlspec.validation.objection import Objection, words


@cache
def schema_file(folders: tuple[Path, ...], api_version: str, kind: str) -> Path | None:
    """Return the schema of a kind, in kubeconform's layout: `<kind>[-<first label of the group>]-<version>.json`."""
    group, _, version = api_version.rpartition("/")
    suffix = f"-{group.split('.')[0]}-{version}" if group else f"-{version}"
    name = f"{kind.lower()}{suffix}.json"
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def _elsewhere(api_version: str, kind: str) -> str:
    """Return which releases have a schema of a kind that the declared ones do not have."""
    found = [path for path in schemas.releases() if schema_file((path,), api_version, kind)]
    names = ", ".join(path.name.removesuffix("-standalone-strict") for path in found)
    return f"there is one for {names}" if names else "no release that mlspec knows has it"


class _Damaged(NamedTuple):
    """A schema that cannot be used, and why."""

    reason: str


@cache
def _validator(path: Path) -> Any:
    """Return the validator of a schema file, or `_Damaged`: one that states nothing would accept anything."""
    try:
        content = json.loads(path.read_bytes())
        if not isinstance(content, dict) or "properties" not in content:
            return _Damaged("it states no properties")
        return jsonschema_rs.validator_for(content)
    except (OSError, ValueError, RecursionError, jsonschema_rs.ReferencingError) as error:
        return _Damaged(str(getattr(error, "strerror", None) or error).split("\n", 1)[0][:200])


def check_schema(folders: tuple[Path, ...], body: Body) -> Iterator[Objection]:
    """Yield everything that the schema has against an object; no schema is an objection too."""
    path = schema_file(folders, body["apiVersion"], body["kind"])
    if path is None:
        message = f"there is no schema of {body['kind']} {body['apiVersion']} in the declared versions"
        yield Objection("MLS302", message, help=_elsewhere(body["apiVersion"], body["kind"]))
        return
    validator = _validator(path)
    if isinstance(validator, _Damaged):
        file = f"{path.parent.name}/{path.name}"
        yield Objection("MLS316", f"the schema {file} cannot be used: {validator.reason}", help="install mlspec again")
        return
    for error in validator.iter_errors(body):
        field = tuple(error.instance_path)
        help = "write one such as `500m`, `16Gi` or `1.5G`" if _is_of_quantity(error) else ""
        yield Objection("MLS301", f"{words(field)}: {_words(error)}", field, help, _unknown(error))


def _unknown(error: Any) -> tuple[str | int, ...]:
    """Return the first field that no schema knows; empty where that is not the objection."""
    if type(error.kind).__name__ != "AdditionalProperties":
        return ()
    return (*error.instance_path, error.kind.unexpected[0])


def _is_of_quantity(error: Any) -> bool:
    """Say whether a text breaks the pattern of quantities, which CRDs and our schemas have from apimachinery."""
    return type(error.kind).__name__ == "Pattern" and "[KMGTPE]i" in error.kind.pattern


_SUFFIXES: Final = "`m`, `k`, `M`, `G`, `T`, `P`, `E`, `Ki`, `Mi`, `Gi`, `Ti`, `Pi`, `Ei`"


def _words(error: Any) -> str:
    """Return the schema's objection without the instance, which may hold anything."""
    name = type(error.kind).__name__
    if name == "AdditionalProperties":
        return "unknown field " + ", ".join(f"`{key}`" for key in error.kind.unexpected)
    if name == "Required":
        return f"missing field `{error.kind.property}`"
    if _is_of_quantity(error):
        return f"`{str(error.instance)[:60]}` is not a quantity: a number, and behind it one of {_SUFFIXES}, or none"
    first = str(error.message).split("\n", 1)[0]
    return first if len(first) <= 200 else first[:197] + "…"
