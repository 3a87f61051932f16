"""A manifest on its way to a file: a plain dict, where it belongs, and which field of the spec made it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from mlspec.ir import Place
from mlspec.k8s.projected import Projection

Body = dict[str, Any]


class Key(NamedTuple):
    """What identifies an object within one namespace of one cluster."""

    api_version: str
    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind} {self.name}"


class Refusal(NamedTuple):
    """Why a `patch` is not applied: the operation that is at fault, counted from 0, and what to write instead."""

    operation: int
    message: str
    help: str
    field: tuple[str, ...] = ()
    """The field whose value is refused; empty where it is the operation's `path` that cannot or must not be."""


@dataclass(frozen=True, slots=True)
class Patched:
    """What a `patch` had to do with an object."""

    before: Body
    """The object without the patch."""
    operations: tuple[Body, ...]
    refusal: Refusal | None = None
    """Where it says something, no operation was applied."""


@dataclass(frozen=True, slots=True)
class Resource:
    """One object; `origin` is the path of the spec field that caused it."""

    body: Body
    place: Place
    origin: tuple[str, ...] = ()
    run: str | None = None
    """The run in whose file it stands, which is written once."""
    patched: Patched | None = None
    projection: Projection | None = None
    """The pods that will exist because of it; None where it causes none."""

    _key: list[Key] = field(default_factory=list, init=False, repr=False, compare=False)
    """The key, once somebody has asked: whoever looks something up does, several times."""

    @property
    def is_run(self) -> bool:
        """Say whether it stands in the file of a run."""
        return self.run is not None

    @property
    def key(self) -> Key:
        """The object's identity."""
        if not self._key:
            self._key.append(Key(self.body["apiVersion"], self.body["kind"], self.body["metadata"]["name"]))
        return self._key[0]


CLUSTER_SCOPED = frozenset({"Namespace"})


def compact(fields: Mapping[str, Any]) -> Body:
    """Return the fields that say something: no nulls, no empty maps and lists (law 8)."""
    return {key: value for key, value in fields.items() if value is not None and value != {} and value != []}


def in_order(resources: Iterable[Resource]) -> list[Resource]:
    """Return resources in the order in which they are written: place, kind, name."""
    return sorted(resources, key=_rank)


_RANKS: Final = {place: rank for rank, place in enumerate(Place)}


def _rank(resource: Resource) -> tuple[int, str, str, str]:
    api_version, kind, name = resource.key
    return _RANKS[resource.place], kind, name, api_version
