"""A value and its schema in, what a rule sees of it out.

Source: apiserver 1.34, pkg/cel/common/valuesunstructured.go and schemas.go, pkg/cel/escaping.go. Fields without a
schema are not seen; a field whose name is no name in CEL is seen under an escaped one (`namespace` as `__namespace__`),
keys of maps as they are. Of metadata rules see the name.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Mapping
from typing import Any, Final

from mlspec.validation.structure import Schema, Structure

_RESERVED: Final = frozenset(
    [
        "true",
        "false",
        "null",
        "in",
        "as",
        "break",
        "const",
        "continue",
        "else",
        "for",
        "function",
        "if",
        "import",
        "let",
        "loop",
        "package",
        "namespace",
        "return",
        "var",
        "void",
        "while",
    ]
)
_NAME: Final = re.compile(r"[A-Za-z_.\-/][A-Za-z0-9_.\-/]*")
_SPELLED: Final = {"__": "__underscores__", ".": "__dot__", "-": "__dash__", "/": "__slash__"}
_TEXT: Final = {"type": "string"}
_RESOURCE: Final[Schema] = {
    "apiVersion": _TEXT,
    "kind": _TEXT,
    "metadata": {"type": "object", "properties": {"name": _TEXT, "generateName": _TEXT}},
}


def escaped(name: str) -> str | None:
    """Return a field's name as rules write it, None if they cannot."""
    if name in _RESERVED:
        return f"__{name}__"
    if not _NAME.fullmatch(name):
        return None
    return re.sub(r"__|[.\-/]", lambda found: _SPELLED[found[0]], name)


def seen(structure: Structure, schema: Schema, value: Any, *, resource: bool = False) -> Any:
    """Return a value as a rule sees it; `resource`: with apiVersion, kind and metadata."""
    schema = structure.resolved(schema)
    if schema.get("x-kubernetes-int-or-string"):
        return value
    match schema.get("type"):
        case "object" if isinstance(value, dict):
            return _object(structure, schema, value, resource or bool(schema.get("x-kubernetes-embedded-resource")))
        case "array" if isinstance(value, list) and isinstance(schema.get("items"), dict):
            return [seen(structure, schema["items"], item) for item in value]
        case "number" if isinstance(value, int):
            return float(value)
        case "integer" if isinstance(value, float):
            return int(value)
        case "string" if schema.get("format") == "byte":
            return _bytes(value)
    return value


def _object(structure: Structure, schema: Schema, value: dict[str, Any], resource: bool) -> dict[str, Any]:
    properties: Mapping[str, Any] = schema.get("properties", {})
    if resource:
        properties = {**properties, **_RESOURCE}
    others = schema.get("additionalProperties")
    if not properties and isinstance(others, dict):
        return {name: seen(structure, others, item) for name, item in value.items()}
    found = {}
    for name, child in properties.items():
        if value.get(name) is not None and (spelled := escaped(name)) is not None and _exposed(structure, child):
            found[spelled] = seen(structure, child, value[name])
            if name in _RESERVED:  # after a dot most readers take it as it is, and so does the server
                found[name] = found[spelled]
    return found


def _exposed(structure: Structure, schema: Schema) -> bool:
    """Say whether rules see a field: one of unknown type they do not."""
    schema = structure.resolved(schema)
    if schema.get("x-kubernetes-int-or-string"):
        return True
    match schema.get("type"):
        case "array":
            return isinstance(schema.get("items"), dict) and _exposed(structure, schema["items"])
        case "object":
            others = schema.get("additionalProperties")
            return not isinstance(others, dict) or _exposed(structure, others)
        case None:
            return False
    return True


def _bytes(value: str) -> Any:
    try:
        return base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        return value  # not a value of its format; what a rule says of it is an error, as it is on the server
