"""What KServe's defaulting webhook makes of an InferenceService, before its validating one looks at it.

Sources: github.com/kserve/kserve, pkg/apis/serving/v1beta1/inference_service_defaults.go (DefaultInferenceService) and
predictor_*.go (Default), read at v0.15.2, v0.16.0, v0.17.0, v0.19.0 and v0.20.0. No module of v0.18 is to be had.

Not here, since they are of the installation: a mode other than the stock one where the annotation is missing (mlspec
always writes it), caches of local models, and `security.autoMountServiceAccountToken: false`, which only fills in what
mlspec writes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mlspec.validation.declared import Release

Body = dict[str, Any]

FRAMEWORKS: Final = (
    "sklearn",
    "tensorflow",
    "xgboost",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
    "paddle",
)
"""Keys of old for one framework each, in the order in which KServe turns the first of them into `model`."""
MODE: Final = "serving.kserve.io/deploymentMode"
CONTAINER: Final = "kserve-container"
MESH: Final = "ModelMesh"
_V2: Final = frozenset({"triton", "onnx", "huggingface"})
_OLD_MODES: Final = {"RawDeployment": "Standard", "Serverless": "Knative"}
_RESOURCES: Final = {"cpu": "1", "memory": "2Gi"}
"""Requests and limits as the ConfigMap `inferenceservice-config` is shipped with."""


class Defaulted(NamedTuple):
    """The object as the validating webhook gets it, and the key of a framework that became `predictor.model`."""

    body: Body
    framework: str | None = None


def defaulted(body: Body, release: Release, default_mode: str | None = None) -> Defaulted:
    """Return an InferenceService with KServe's defaults; what is given is not changed.

    `default_mode` is the installation's, where an object names none: only `Standard` (`RawDeployment` before 0.16) and
    ModelMesh are then written into it.
    """
    metadata, spec = dict(body.get("metadata", {})), dict(body.get("spec", {}))
    annotations: dict[str, str] = dict(metadata.get("annotations", {}))
    written = annotations.get(MODE)
    if written in _OLD_MODES and release >= (0, 17):
        annotations[MODE] = _OLD_MODES[written]
    elif written is None and default_mode in ("Standard" if release >= (0, 16) else "RawDeployment", MESH):
        annotations[MODE] = str(default_mode)
    predictor, framework = dict(spec.get("predictor", {})), None
    if written != MESH:
        framework = _modelled(predictor, release)
        if release >= (0, 17) and predictor.get("model", {}).get("modelFormat", {}).get("name"):
            annotations.setdefault("modelFormat", predictor["model"]["modelFormat"]["name"])
        if implementations(predictor) == [CONTAINER]:
            predictor["containers"] = _first_container(predictor["containers"], named=False)
    spec["predictor"] = predictor
    for name in ("transformer", "explainer"):
        _component(spec, name)
    for name in ("predictor", "transformer", "explainer"):
        if spec.get(name, {}).get("maxReplicas") == 0:  # Go leaves it out where it writes the object anew
            spec[name] = {key: value for key, value in spec[name].items() if key != "maxReplicas"}
    if annotations:
        metadata["annotations"] = annotations
    return Defaulted({**body, "metadata": metadata, "spec": spec}, framework)


def implementations(predictor: Mapping[str, Any]) -> list[str]:
    """Return what serves in a predictor, as KServe counts it: frameworks, the model, containers of the known name.

    Without any of them, containers of any name are one.
    """
    found = [name for name in (*FRAMEWORKS, "model") if name in predictor]
    containers = predictor.get("containers") or []
    found += [CONTAINER for container in containers if container.get("name") == CONTAINER]
    return found or [CONTAINER] * bool(containers)


def _modelled(predictor: Body, release: Release) -> str | None:
    """Turn the first key of a framework into `model`, and give a model its protocol where servers speak only one."""
    framework = next((name for name in FRAMEWORKS if name in predictor), None)
    if framework is not None:
        own = dict(predictor.pop(framework))
        if framework in _V2:
            own.setdefault("protocolVersion", "v2")
        predictor["model"] = {"modelFormat": {"name": framework}, **own}
    model = predictor.get("model")
    if model is not None:
        names = ("triton", "vLLM") if release >= (0, 20) else ("triton",)
        if "protocolVersion" not in model and model.get("modelFormat", {}).get("name") in names:
            predictor["model"] = {**model, "protocolVersion": "v2"}
    return framework


def _component(spec: Body, name: str) -> None:
    """Default a transformer or explainer that is one container."""
    component = spec.get(name)
    if not component or not component.get("containers") or "art" in component:
        return
    spec[name] = {**component, "containers": _first_container(component["containers"], named=True)}


def _first_container(containers: list[Body], *, named: bool) -> list[Body]:
    """Return containers, the first with a name and resources."""
    first, *others = containers
    if named or not others or not first.get("name"):
        first = {**first, "name": CONTAINER}
    resources = dict(first.get("resources", {}))
    for key in ("requests", "limits"):
        resources[key] = {**_RESOURCES, **resources.get(key, {})}
    return [{**first, "resources": resources}, *others]
