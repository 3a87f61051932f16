"""The parts of a schema file that say more than JSON Schema does: lists without duplicates, and rules in CEL.

Both stand at few places, so a tree of the ways to them is made once a file; an object is then followed along it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

Schema = Mapping[str, Any]
_RULES: Final = "x-kubernetes-validations"
_LIST_TYPE: Final = "x-kubernetes-list-type"


@dataclass(frozen=True, slots=True)
class Node:
    """A place in a schema, with the ways from it to lists without duplicates and to rules."""

    schema: Schema
    fields: Mapping[str, Node]
    every: Node | None
    """Of the values of a map."""
    items: Node | None
    keys: tuple[str, ...] | None
    """Fields by which the items of a list differ; none where the whole items do; None where they may be alike."""
    defaults: Schema
    """Of those fields, as the server fills them in before it compares."""
    rules: tuple[Schema, ...]
    resource: bool
    """An object with apiVersion, kind and metadata, of which rules see the name."""


@dataclass(frozen=True, slots=True)
class Structure:
    """A schema file: its text as parsed, and the tree; None where there is nothing to follow."""

    definitions: Mapping[str, Schema]
    root: Schema
    tree: Node | None

    def resolved(self, schema: Schema) -> Schema:
        """Return what a reference stands for."""
        while "$ref" in schema:
            schema = self.definitions[schema["$ref"].rpartition("/")[2]]
        return schema

    def rules(self) -> Iterator[Schema]:
        """Yield every rule once for each place in the file that states it."""
        seen: set[int] = set()
        waiting = [self.tree]
        while waiting:
            node = waiting.pop()
            if node is not None and id(node) not in seen:
                seen.add(id(node))
                yield from node.rules
                waiting += [node.every, node.items, *node.fields.values()]


@cache
def read(path: Path) -> Structure:
    """Return the structure of a schema file that a validator has taken.

    Raises:
        OSError, ValueError: it cannot be read any more.
    """
    root = json.loads(path.read_bytes())
    return of(root)


def of(root: Schema) -> Structure:
    """Return the structure of a schema whose references all lead to its `definitions`."""
    structure = Structure(root.get("definitions", {}), root, None)
    return Structure(structure.definitions, root, _Builder(structure).node(root, resource=True))


class _Builder:
    """Makes each place of a schema once, however many references lead to it."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure
        self.known: dict[tuple[int, bool], Node | None] = {}

    def node(self, schema: Schema, *, resource: bool = False) -> Node | None:
        """Return the tree below a schema, None if nothing of it leads anywhere."""
        schema = self.structure.resolved(schema)
        resource = resource or bool(schema.get("x-kubernetes-embedded-resource"))
        key = id(schema), resource
        if key not in self.known:
            self.known[key] = None  # a schema that leads back to itself leads nowhere new
            self.known[key] = self._made(schema, resource)
        return self.known[key]

    def _made(self, schema: Schema, resource: bool) -> Node | None:
        rules = list(schema.get(_RULES, ()))
        fields = {name: found for name, child in schema.get("properties", {}).items() if (found := self.node(child))}
        for branch in schema.get("allOf", ()):  # the only combiner in which rules may stand
            rules += self.structure.resolved(branch).get(_RULES, ())
        every, items = (
            self.node(child) if isinstance(child := schema.get(name), dict) else None
            for name in ("additionalProperties", "items")
        )
        keys = _keys(schema)
        if not (rules or fields or every or items or keys is not None):
            return None
        return Node(schema, fields, every, items, keys, self._defaults(schema, keys or ()), tuple(rules), resource)

    def _defaults(self, schema: Schema, keys: tuple[str, ...]) -> Schema:
        properties = self.structure.resolved(schema.get("items", {})).get("properties", {})
        found = {name: self.structure.resolved(properties.get(name, {})) for name in keys}
        return {name: child["default"] for name, child in found.items() if "default" in child}


def _keys(schema: Schema) -> tuple[str, ...] | None:
    kind = schema.get(_LIST_TYPE)
    if kind == "map":
        return tuple(schema.get("x-kubernetes-list-map-keys", ()))
    return () if kind == "set" else None
