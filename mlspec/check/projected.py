"""What the API server would refuse of the Pods and Services that operators make of an object.

Nobody else says so before a run starts: a definition of a custom resource does not judge the pods inside it, and the
server judges them when the operator makes them. The run then waits for a pod that never comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from mlspec.check.objects import Fault
from mlspec.k8s import patch
from mlspec.k8s.projected import ProjectedPods
from mlspec.k8s.resource import Resource
from mlspec.projection.fields import field_of
from mlspec.validation import native
from mlspec.validation.declared import Release, declared
from mlspec.validation.objection import Objection
from mlspec.validation.objection import Path as Field

UNREAD: Final = frozenset({"MLS301", "MLS302", "MLS316"})
"""Codes of an object whose fields may be of any type: of it, nothing is judged here."""
_JUDGED: Final = frozenset({"Job", "Service"})
"""Kinds that the rules judge with all that they become (mlspec/validation/native/jobs.py)."""


def judge(folders: tuple[Path, ...], resource: Resource) -> Iterator[Fault]:
    """Yield what the server of the declared release would refuse of an object's pods and Services.

    The object itself has been accepted by its schema. Pods of one role are alike, so the first stands for all.
    """
    projection = resource.projection
    if projection is None or resource.body["kind"] in _JUDGED:
        return
    kubernetes = declared(folders).kubernetes
    for pods in projection.pods:
        if pods.count > 0:
            for objection in _of_pods(pods, kubernetes):
                field = field_of(resource.body, pods, objection.path)
                yield _fault(resource, f"the pod of the {pods.role}" if pods.role else "the pod", objection, field)
    told: set[str] = set()
    for service in projection.services:
        spec = str(service["spec"].get("ports"))
        if spec not in told:  # Services that are alike but for the pod that they lead to
            told.add(spec)
            for objection in native.judge_projected(service, kubernetes):
                yield _fault(resource, f"Service `{service['metadata']['name']}`", objection, ())


def _of_pods(pods: ProjectedPods, kubernetes: Release) -> list[Objection]:
    found: list[Objection] = pods.known(("native", kubernetes), lambda pod: native.judge_projected(pod, kubernetes))
    return found


def _fault(resource: Resource, what: str, objection: Objection, field: Field) -> Fault:
    message = f"{what}: {objection.message}"
    return Fault(objection.code, message, objection.help, _operation(resource, field), field)


def _operation(resource: Resource, field: Field) -> int | None:
    """Return the last operation of a patch that wrote a field, or what is around or in it."""
    patched = resource.patched
    if patched is None or patched.refusal is not None:
        return None
    written = patch.wrote(patched.before, patched.operations, field)
    return written.operation if written is not None else None
