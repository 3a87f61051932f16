"""Lists that the server keeps as sets or maps: an item that is there twice is refused, which no JSON Schema can say.

Of custom resources apiextensions-apiserver 1.34 refuses it (pkg/apiserver/schema/listtype/validation.go). Of other
kinds server-side apply does, with which Argo CD writes here (structured-merge-diff: "duplicate entries for key").
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mlspec.validation import structure
from mlspec.validation.objection import Objection, words
from mlspec.validation.objection import Path as Field
from mlspec.validation.structure import Node, Structure

_DEFAULTS: Final = {"protocol": "TCP"}
"""Of keys in lists of Kubernetes' own kinds, whose schemas state none."""


def judge(schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield the items that a list has twice."""
    yield from judge_by(structure.read(schema), body)


def judge_by(schema: Structure, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield the items that a list has twice, by a schema at hand."""
    if schema.tree is not None and _any(schema.tree, body):
        yield from _below(schema.tree, body, ())


def _any(node: Node, value: Any) -> bool:
    """Say whether there is anything to yield: nearly never, so nothing is made for it; 60,000 objects ask."""
    if type(value) is dict:
        fields, every = node.fields, node.every
        for name, item in value.items():
            if type(item) is dict or type(item) is list:
                child = fields.get(name) or every
                if child is not None and _any(child, item):
                    return True
    elif type(value) is list:
        if node.keys is not None and len(value) > 1 and next(_twice(node, value, ()), None) is not None:
            return True
        if node.items is not None:
            for item in value:
                if _any(node.items, item):
                    return True
    return False


def _below(node: Node, value: Any, at: Field) -> Iterator[Objection]:
    if isinstance(value, dict):
        for name, item in value.items():
            child = node.fields.get(name) or node.every
            if child is not None:
                yield from _below(child, item, (*at, name))
    elif isinstance(value, list):
        if node.keys is not None and len(value) > 1:
            yield from _twice(node, value, at)
        if node.items is not None:
            for index, item in enumerate(value):
                yield from _below(node.items, item, (*at, index))


def _twice(node: Node, value: list[Any], at: Field) -> Iterator[Objection]:
    """Yield an objection at the second of two items that are alike in what tells items of this list apart."""
    assert node.keys is not None  # noqa: S101  # asked before
    first: dict[Any, int] = {}
    told: set[Any] = set()
    for index, item in enumerate(value):
        key = _key(node, item)
        if key in first and key not in told:
            told.add(key)
            what = f"the same {' and '.join(f'`{name}`' for name in node.keys)}" if node.keys else "the same item"
            message = f"{words((*at, index))}: {what} as {words((*at, first[key]))}, and the list may hold each once"
            yield Objection("MLS318", message, (*at, index), "remove one of the two")
        first.setdefault(key, index)


def _key(node: Node, item: Any) -> Any:
    """Return what may be in a list once; values of other types differ, though Python takes 1 for true."""
    keys, default = node.keys, node.defaults
    if not keys or type(item) is not dict:
        return item if type(item) is str else json.dumps(item, sort_keys=True)
    found = []
    for name in keys:
        value = item.get(name)
        if value is None:
            value = default.get(name, _DEFAULTS.get(name))
        found.append(value)
    return tuple(found)
