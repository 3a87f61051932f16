"""An object in, the same with what its definition fills in out: structural defaulting, as apiextensions-apiserver does.

Source: apiextensions-apiserver 1.34, pkg/apiserver/schema/defaulting/algorithm.go. A default is filled in where the map
around it is there, from the outside inwards; what was filled in is gone through, too.
"""

from __future__ import annotations

import copy
from typing import Any

from mlspec.validation.structure import Schema, Structure


def defaulted(structure: Structure, schema: Schema, value: Any) -> Any:
    """Return a value with defaults; what was given is not changed."""
    schema = structure.resolved(schema)
    if isinstance(value, dict):
        return _map(structure, schema, value)
    if isinstance(value, list) and isinstance(schema.get("items"), dict):
        return [defaulted(structure, schema["items"], item) for item in value]
    return value


def _map(structure: Structure, schema: Schema, value: dict[str, Any]) -> dict[str, Any]:
    properties, others = schema.get("properties", {}), schema.get("additionalProperties")
    found = dict(value)
    for name, child in properties.items():
        child = structure.resolved(child)
        if name not in found and "default" in child:
            found[name] = copy.deepcopy(child["default"])
    for name, item in found.items():
        if name in properties:
            found[name] = defaulted(structure, properties[name], item)
        elif isinstance(others, dict):
            found[name] = defaulted(structure, others, item)
    return found
