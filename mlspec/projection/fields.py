"""A field of a pod that an operator will make in, the field of the object that it is made of out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mlspec.k8s.projected import Body, ProjectedPods

Field = tuple[str | int, ...]
"""The path of a field of a manifest."""
_TRAINING: Final = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs"}
"""Kinds with a template for each role, and its field."""


def field_of(body: Body, pods: ProjectedPods, path: Field) -> Field:
    """Return the field of an object that a field of its first pod was made of; none where the operator made it up."""
    return next(
        (found for root in _roots(body, pods) if (found := _same(body, root, pods.first, path)) is not None), ()
    )


def _roots(body: Body, pods: ProjectedPods) -> Iterator[tuple[Field, Field]]:
    """Yield where an object describes its pods: a field of the pod, and the one of the object that it comes from."""
    kind, spec = body["kind"], body["spec"]
    if kind == "Job":
        yield ("spec",), ("spec", "template", "spec")
        yield ("metadata",), ("spec", "template", "metadata")
    elif kind in _TRAINING:
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
        yield from _predictors(spec, pods.role)


def _predictors(spec: Body, role: str) -> Iterator[tuple[Field, Field]]:
    for index, predictor in enumerate(spec.get("predictors") or ()):
        if predictor.get("name") == role:
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
