"""Objects with one fault each, made from good ones: what a typing error, a bad merge or a stale example would give."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final

from tests.cluster.harness.client import Body
from tests.cluster.harness.goldens import Golden, goldens

Path = tuple[str | int, ...]

_QUANTITY: Final = re.compile(r"\d+(\.\d+)?([KMGTPE]i|[mkMGTPE])")
"""A string that can only be a quantity."""
_IDENTITY: Final = {("apiVersion",), ("kind",), ("metadata", "namespace")}
"""Where a change asks for another kind or place, not for a faulty object; `metadata.name` has faults of its own."""
_ROLES: Final = {"pytorchReplicaSpecs", "tfReplicaSpecs"}
"""Maps by role whose definition has one schema for every role."""
_NAMES: Final = {"upper case": "Bad", "underscore": "bad_name", "dot": "bad.name", "64 characters": "x" * 64}


@dataclass(frozen=True)
class Mutant:
    """One fault: which, in which field (`[]` for any element), and the object that has it."""

    kind: str
    fault: str
    field: str
    body: Body

    def __str__(self) -> str:
        return f"{self.kind} {self.fault} {self.field}"


def mutants(body: Body) -> Iterator[Mutant]:
    """Yield every mutant of an object, in the order of its fields."""
    for path, value in walk(body):
        if path in _IDENTITY:
            continue
        if path == ("metadata", "name"):
            for words, name in _NAMES.items():
                yield _mutant(body, f"bad name ({words})", path, name)
            continue
        if isinstance(value, dict):
            yield _mutant(body, "extra field", (*path, "unexpectedField"), "text")
        if path and isinstance(path[-1], str):
            yield _dropped(body, "missing field", path)
            yield _renamed(body, path)
        if path:
            yield from _wrong(body, path, value)


def _wrong(body: Body, path: Path, value: Any) -> Iterator[Mutant]:
    if isinstance(value, dict | list):
        yield _mutant(body, "wrong type (text)", path, "text")
        return
    yield _mutant(body, "wrong type (map)", path, {"unexpected": "text"})
    if isinstance(value, bool):
        yield _mutant(body, "wrong type (text)", path, "perhaps")
    elif isinstance(value, int):
        yield _mutant(body, "wrong type (text)", path, "seven")
        yield _mutant(body, "negative number", path, -1)
    else:
        yield _mutant(body, "wrong type (number)", path, 7)
        yield _mutant(body, "bad value", path, "No Such Value!")
        if _QUANTITY.fullmatch(value):
            yield _mutant(body, "bad quantity", path, "5Gx")


def walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every field of an object with its path, maps and lists before what they hold."""
    yield path, value
    for key, child in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from walk(child, (*path, key))


def _mutant(body: Body, fault: str, path: Path, value: Any) -> Mutant:
    return Mutant(body["kind"], fault, words(path), changed_at(body, path, value))


def _dropped(body: Body, fault: str, path: Path) -> Mutant:
    changed, parent = _copied_along(body, path)
    del parent[path[-1]]
    return Mutant(body["kind"], fault, words(path), changed)


def _renamed(body: Body, path: Path) -> Mutant:
    changed, parent = _copied_along(body, path)
    parent[f"{path[-1]}x"] = parent.pop(path[-1])
    return Mutant(body["kind"], "typing error", words(path), changed)


def changed_at(body: Body, path: Path, value: Any) -> Body:
    """Return an object with one field changed."""
    changed, parent = _copied_along(body, path)
    parent[path[-1]] = value
    return changed


def _copied_along(body: Body, path: Path) -> tuple[Body, Any]:
    """Return a copy that shares all but the way to a field, and the map or list that holds the field."""
    changed = copy.copy(body)
    parent: Any = changed
    for part in path[:-1]:
        parent[part] = copy.copy(parent[part])
        parent = parent[part]
    return changed, parent


def words(path: Path) -> str:
    """Return a field as people write it; elements of lists are alike, and so are the pods of a job's roles."""
    text = ""
    for index, part in enumerate(path):
        role = index > 0 and path[index - 1] in _ROLES and path[index + 1 : index + 2] == ("template",)
        name = "<role>" if role else str(part)
        text += "[]" if isinstance(part, int) else f".{name}" if text else name
    return text


def fields(body: Body) -> set[str]:
    """Return every field of an object."""
    return {words(path) for path, _ in walk(body)}


NEWEST: Final = (
    "argo-cd-3.5",
    "kserve-0.16",
    "kueue-0.17",
    "prometheus-operator-0.85",
    "seldon-1.16",
    "training-operator-1.9",
)
"""The releases that mutants are judged by."""


@dataclass(frozen=True)
class Sample:
    """An object whose fields have not been judged before."""

    golden: Golden
    body: Body
    new: frozenset[str]


@cache
def samples() -> dict[str, list[Sample]]:
    """Return, by kind, the fewest objects (greedily) that together have every field that any golden has."""
    found: dict[str, list[Sample]] = {}
    candidates = [
        (golden, copy.deepcopy(body))
        for golden in goldens()
        if set(golden.releases) <= set(NEWEST)
        for body in golden.bodies
    ]
    for _, body in candidates:
        if body["kind"] == "Namespace":  # one that is not there yet: a dry run of its creation says no more than that
            body["metadata"]["name"] += "-mutant"
    for kind in sorted({body["kind"] for _, body in candidates}):
        of_kind = [(golden, body, fields(body)) for golden, body in candidates if body["kind"] == kind]
        seen: set[str] = set()
        while True:
            golden, body, its = max(of_kind, key=lambda row: len(row[2] - seen))
            if not its - seen:
                break
            found.setdefault(kind, []).append(Sample(golden, body, frozenset(its - seen)))
            seen |= its
    return found


def mutants_of(kind: str) -> Iterator[tuple[Sample, Mutant]]:
    """Yield each fault of each field of a kind once, however many elements a list has."""
    seen: set[tuple[str, str]] = set()
    for sample in samples()[kind]:
        for mutant in mutants(sample.body):
            known = mutant.field.removesuffix("unexpectedField").rstrip(".") in sample.new
            if known and (mutant.fault, mutant.field) not in seen:
                seen.add((mutant.fault, mutant.field))
                yield sample, mutant
