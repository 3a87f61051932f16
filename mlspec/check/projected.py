"""What the API server would refuse of the Pods and Services that operators make of an object.

Nobody else says so before a run starts: a definition of a custom resource does not judge the pods inside it, and the
server judges them when the operator makes them. The run then waits for a pod that never comes.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from mlspec.check.objects import Fault
from mlspec.k8s import patch
from mlspec.k8s.projected import Body, ProjectedPods
from mlspec.k8s.resource import Resource
from mlspec.validation import native
from mlspec.validation.declared import Release, declared
from mlspec.validation.objection import Objection
from mlspec.validation.objection import Path as Field

UNREAD: Final = frozenset({"MLS301", "MLS302", "MLS316"})
"""Codes of an object whose fields may be of any type: of it, nothing is judged here."""
_TRAINING: Final = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs"}
"""Kinds with a template for each role, and its field."""
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
                field = _field(resource.body, pods, objection.path)
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
    return patch.wrote(resource.patched.operations, field) if resource.patched is not None else None


def _field(body: Body, pods: ProjectedPods, path: Field) -> Field:
    """Return the field of an object that a field of its pod was made of; none where the operator made it up."""
    return next(
        (found for root in _roots(body, pods) if (found := _same(body, root, pods.first, path)) is not None), ()
    )


def _roots(body: Body, pods: ProjectedPods) -> Iterator[tuple[Field, Field]]:
    """Yield where an object describes its pods: a field of the pod, and the one of the object that it comes from."""
    kind, spec = body["kind"], body["spec"]
    if kind in _TRAINING:
        for role in spec[_TRAINING[kind]]:
            if role.lower() == pods.role:
                yield ("spec",), ("spec", _TRAINING[kind], role, "template", "spec")
                yield ("metadata",), ("spec", _TRAINING[kind], role, "template", "metadata")
    elif kind == "InferenceService":
        if "model" in spec["predictor"]:
            yield ("spec", "containers", "kserve-container"), ("spec", "predictor", "model")
        yield ("spec",), ("spec", "predictor")
        yield ("metadata",), ("metadata",)
    elif kind == "SeldonDeployment":
        for index, predictor in enumerate(spec.get("predictors") or ()):
            if predictor.get("name") == pods.role:
                for other in range(len(predictor.get("componentSpecs") or ())):
                    yield ("spec",), ("spec", "predictors", index, "componentSpecs", other, "spec")


def _same(body: Body, root: tuple[Field, Field], pod: Body, path: Field) -> Field | None:
    """Return the field of an object that has the value which a pod has; both may lack the last part of the path."""
    here: Any = pod
    there: Any = body
    found = list(root[1])
    for part in root[1]:
        there = _at(there, part)
    for depth, part in enumerate(path):
        here = _at(here, part)
        named = root[0][depth] if depth < len(root[0]) else None
        if named is not None:
            if named != part and not (isinstance(here, dict) and here.get("name") == named):
                return None
            continue
        at = _twin(there, here) if isinstance(part, int) and isinstance(here, dict) else part
        if at is None:
            return None
        found.append(at)
        there = _at(there, at)
        if there is None:
            return tuple(found) if here is None and depth == len(path) - 1 else None
    return tuple(found) if here == there or isinstance(here, dict | list) else None


def _at(value: Any, part: str | int) -> Any:
    if isinstance(value, list) and isinstance(part, int):
        return value[part] if part < len(value) else None
    return value.get(part) if isinstance(value, dict) else None


def _twin(items: Any, item: Body) -> int | None:
    """Return where a list has the element of a pod's list: that of the same name, or an equal one."""
    for index, other in enumerate(items if isinstance(items, list) else ()):
        if other == item or (isinstance(other, dict) and "name" in item and other.get("name") == item["name"]):
            return index
    return None
