"""One object in, all that schema and law 8 have against it out, with the operation of a patch that brought it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final, NamedTuple

from mlspec.check import quiet, references
from mlspec.check.schema import check_schema, schema_file
from mlspec.ir import Plan
from mlspec.ir_sources import Source
from mlspec.k8s import alike, patch
from mlspec.k8s.resource import Body, Resource
from mlspec.validation import rules
from mlspec.validation.objection import Objection


class Fault(NamedTuple):
    """What is wrong with an object; `operation` is that of its patch, None where the patch has no part in it."""

    code: str
    message: str
    help: str = ""
    operation: int | None = None
    path: tuple[str | int, ...] = ()
    """The field of the object that it is about; empty where it is about the object."""
    because: tuple[Source, ...] = ()
    """The fields that were written and make it, where they are known; the first one is at fault."""
    key: tuple[str | int, ...] = ()
    """The field whose name is at fault, whatever it holds; empty where none is."""

    @property
    def origin(self) -> tuple[str, ...]:
        """The path of the operation below the workload; empty for a fault of the workload itself."""
        return () if self.operation is None else ("patch", str(self.operation))


def judge(folders: tuple[Path, ...], resource: Resource) -> Iterator[Fault]:
    """Yield the faults of one object: a patch that is refused, then what schema and law 8 say."""
    if resource.patched is not None and resource.patched.refusal is not None:
        operation, message, help, field = resource.patched.refusal
        yield Fault("MLS310", message, help, operation, field)
    yield from _blamed(resource, lambda body: judge_body(folders, body))


def judge_references(plan: Plan, resources: Sequence[Resource]) -> Iterator[tuple[Resource, Fault]]:
    """Yield every object that refers to nothing, or whose selector matches nothing."""
    found = {id(resource): resource for resource, _ in references.check_references(plan, resources)}
    for resource in found.values():

        def of_body(body: Body, resource: Resource = resource) -> Iterator[Fault]:
            other = [replace(item, body=body) if item is resource else item for item in resources]
            for about, message in references.check_references(plan, other):
                if about.body is body:
                    yield Fault("MLS303", message, path=references.field(body, message))

        for fault in _blamed(resource, of_body):
            yield resource, fault


_ALONE: Final = frozenset({"Job", "PyTorchJob", "TFJob"})
"""Kinds of runs, whose labels tell the run: no two are alike. A Job's rules look at its name in other fields, too."""
_PLACEHOLDER: Final = "a"
"""Stands for the name and the namespace of an object; any kind may have it."""


def judge_body(folders: tuple[Path, ...], body: Body) -> Iterator[Fault]:
    """Yield what the server and law 8 say of a manifest, wherever it comes from.

    Of a field that both are about one speaks: law 8 where text is written as a number, which it shows, else the server.
    The environments of a project have most objects alike but for the namespace. So the name and the namespace are
    judged of each object, and what is beside them once.
    """
    schema = schema_file(folders, body["apiVersion"], body["kind"])
    nameless = None if body["kind"] in _ALONE or schema is None else _nameless(body)
    if schema is not None and nameless is not None and _is_sound(folders, schema, nameless):
        yield from map(_fault, rules.judge_named(folders, schema, body))
        return
    refused = list(judge_accepted(folders, body))
    drifting = [
        Fault(one.code, f"{quiet.words(one.path)}: {one.message}", one.help, path=one.path) for one in quiet.check(body)
    ]
    if refused and drifting:
        both = {fault.path for fault in refused if fault.code == "MLS301"} & {fault.path for fault in drifting}
        numbers = {path for path in both if isinstance(_value_at(body, path), int | float)}
        refused = [fault for fault in refused if fault.path not in numbers]
        drifting = [fault for fault in drifting if fault.path not in both - numbers]
    yield from refused
    yield from drifting


def _value_at(body: Any, path: Iterable[str | int]) -> Any:
    for part in path:
        body = body[part]
    return body


def _nameless(body: Body) -> bytes | None:
    """Return an object with another name and namespace, as bytes; None where these are no text."""
    metadata = body.get("metadata")
    if not isinstance(metadata, dict):
        return None
    named = {key: _PLACEHOLDER for key in ("name", "namespace") if isinstance(metadata.get(key), str)}
    if "name" not in named or len(named) != len({"name", "namespace"} & metadata.keys()):
        return None
    return alike.written({**body, "metadata": {**metadata, **named}})


@lru_cache(maxsize=512)  # the objects of some twenty projects: a project's environments are judged one after the other
def _is_sound(folders: tuple[Path, ...], schema: Path, nameless: bytes) -> bool:
    """Say whether nothing is against an object, whatever its name and namespace are."""
    body = alike.read(nameless)
    found = (check_schema(folders, body), rules.judge_nameless(folders, schema, body), quiet.check(body))
    return all(next(iter(judged), None) is None for judged in found)


def judge_accepted(folders: tuple[Path, ...], body: Body) -> Iterator[Fault]:
    """Yield why the server would refuse a manifest: its schema, and where that says nothing, further rules."""
    found = list(check_schema(folders, body))
    schema = schema_file(folders, body["apiVersion"], body["kind"])
    if not found and schema is not None:
        found = list(rules.judge(folders, schema, body))
    yield from map(_fault, found)


def _fault(objection: Objection) -> Fault:
    return Fault(objection.code, objection.message, objection.help, path=objection.path, key=objection.key)


def _blamed(resource: Resource, faults_of: Callable[[Body], Iterable[Fault]]) -> Iterator[Fault]:
    """Yield the faults of an object, each with the operation since which it has been there."""
    faults = list(faults_of(resource.body))
    patched = resource.patched
    if not faults or patched is None or patched.refusal is not None:
        yield from faults
        return
    since: dict[Fault, int] = {}
    for index, body in enumerate(patch.stages(patched.before, patched.operations)):
        found = (_anywhere(fault) for fault in faults_of(body))
        since = {fault: since.get(fault, index - 1) for fault in found}
    for fault in faults:
        operation = since[_anywhere(fault)]
        yield fault if operation < 0 else fault._replace(operation=operation)


def _anywhere(fault: Fault) -> Fault:
    """Return a fault without its field: what stands behind an item that is added moves, and is no other fault."""
    return fault._replace(path=(), key=())
