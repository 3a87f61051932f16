"""One object in, all that schema and law 8 have against it out, with the operation of a patch that brought it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

from mlspec.check import quiet, references
from mlspec.check.schema import check_schema, schema_file
from mlspec.ir import Plan
from mlspec.k8s import patch
from mlspec.k8s.resource import Body, Resource
from mlspec.validation import rules


class Fault(NamedTuple):
    """What is wrong with an object; `operation` is that of its patch, None where the patch has no part in it."""

    code: str
    message: str
    help: str = ""
    operation: int | None = None
    path: tuple[str | int, ...] = ()
    """The field of the object that it is about; empty where it is about the object."""

    @property
    def origin(self) -> tuple[str, ...]:
        """The path of the operation below the workload; empty for a fault of the workload itself."""
        return () if self.operation is None else ("patch", str(self.operation))


def judge(folders: tuple[Path, ...], resource: Resource) -> Iterator[Fault]:
    """Yield the faults of one object: a patch that is refused, then what schema and law 8 say."""
    if resource.patched is not None and resource.patched.refusal is not None:
        operation, message, help = resource.patched.refusal
        yield Fault("MLS310", message, help, operation)
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


def judge_body(folders: tuple[Path, ...], body: Body) -> Iterator[Fault]:
    """Yield what the server and law 8 say of a manifest, wherever it comes from."""
    yield from judge_accepted(folders, body)
    for finding in quiet.check(body):
        message = f"{quiet.words(finding.path)}: {finding.message}"
        yield Fault(finding.code, message, finding.help, path=finding.path)


def judge_accepted(folders: tuple[Path, ...], body: Body) -> Iterator[Fault]:
    """Yield why the server would refuse a manifest: its schema, and where that says nothing, further rules."""
    found = list(check_schema(folders, body))
    schema = schema_file(folders, body["apiVersion"], body["kind"])
    if not found and schema is not None:
        found = list(rules.judge(folders, schema, body))
    for code, message, path, help in found:
        yield Fault(code, message, help, path=path)


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
    return fault._replace(path=())
