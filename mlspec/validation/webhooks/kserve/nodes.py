"""Rules of KServe's validating webhook about services over several nodes, canaries and encrypted models."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from mlspec.model.scalars import shown
from mlspec.validation.objection import Objection, Path
from mlspec.validation.webhooks.kserve.defaults import MODE
from mlspec.validation.webhooks.kserve.scaling import concurrency, replicas
from mlspec.validation.webhooks.kserve.servers import logger, one_server, protocol
from mlspec.validation.webhooks.kserve.service import AUTOSCALER, Component, Service, first_variable
from mlspec.validation.webhooks.rule import Rule, maps

_GPU_TYPES: Final = "serving.kserve.io/gpu-resource-types"
_GPUS: Final = frozenset({"nvidia.com/gpu", "amd.com/gpu", "intel.com/gpu", "habana.ai/gaudi"})
_BASIC: Final = frozenset({"cpu", "memory", "storage", "ephemeral-storage"})
_SIZES: Final = {"pipelineParallelSize": "PIPELINE_PARALLEL_SIZE", "tensorParallelSize": "TENSOR_PARALLEL_SIZE"}
_FIXED: Final = ("scaleTarget", "scaleMetric", "autoScaling", "workerSpec")
_KEY: Final = re.compile(r"kbs:///[a-zA-Z0-9_.-]+/[a-zA-Z0-9_.-]+/[a-zA-Z0-9_.-]+")

Fault = tuple[Path, str, str]
"""A field below the predictor, what is wrong with it, and what to write."""


def several_nodes(service: Service) -> Iterator[Objection]:
    """A `workerSpec` spreads a model over several nodes, which KServe does for less: one container of workers; the
    sizes in the fields, at least 1, not in variables; the model from a claim or, since 0.16, an OCI image; class none
    of autoscalers; and of resources beside cpu, memory and storage only GPUs that it knows: nvidia.com/gpu,
    amd.com/gpu, intel.com/gpu, habana.ai/gaudi, and those that the annotation `serving.kserve.io/gpu-resource-types`
    lists as JSON.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateMultiNodeVariables; pkg/utils/utils.go,
    HasUnknownGpuResourceType, IsValidCustomGPUArray.
    """
    predictor = service.predictor
    worker = predictor.spec.get("workerSpec")
    if worker is None:
        return
    faults = [*_worker(worker, service), *_served(predictor.spec.get("model"), service)]
    for field, words, help in faults:
        path, text = predictor.at(*field)
        yield Objection("MLS354", f"{text}: {words}", path, help)
    if "model" in predictor.spec and service.annotations.get(AUTOSCALER) != "none":
        message = f"annotation `{AUTOSCALER}`: over several nodes nothing scales"
        yield Objection("MLS354", message, ("metadata", "annotations", AUTOSCALER), "write none")


def _worker(worker: Mapping[str, Any], service: Service) -> Iterator[Fault]:
    containers = maps(worker.get("containers"))
    if len(containers) > 1:
        yield ("workerSpec", "containers"), "workers have one container", "remove the others"
    for field in _SIZES:
        if worker.get(field, 1) < 1:
            yield ("workerSpec", field), f"{worker[field]} is less than 1", "write 1 or more"
    for index, container in enumerate(containers):
        if _unknown(container, service):
            yield ("workerSpec", "containers", index, "resources"), "a resource that is no known GPU", _LISTED


def _served(model: Mapping[str, Any] | None, service: Service) -> Iterator[Fault]:
    if model is None:
        return
    for field, variable in _SIZES.items():
        found = first_variable(model, variable)
        if found is not None:
            yield ("model", "env", found[0]), f"{variable} is KServe's own", f"write `workerSpec.{field}`"
    if _unknown(model, service):
        yield ("model", "resources"), "a resource that is no known GPU", _LISTED
    schemes = ("pvc", "oci") if service.release >= (0, 16) else ("pvc",)
    if str(model.get("storageUri", "")).split("://")[0] not in schemes:
        words = "over several nodes a model comes from " + " or ".join(schemes)
        yield ("model", "storageUri"), words, f"write `{schemes[0]}://…`"


_LISTED: Final = f"list it as JSON in the annotation `{_GPU_TYPES}`"


def _unknown(container: Mapping[str, Any], service: Service) -> bool:
    """Say whether a container asks for what KServe takes for a GPU that it does not know, or lists GPUs badly."""
    resources = container.get("resources", {})
    names = {*resources.get("limits", {}), *resources.get("requests", {})} - _BASIC - _GPUS
    written = service.annotations.get(_GPU_TYPES, "")
    if not written:
        return bool(names)
    try:
        listed = json.loads(written)
    except ValueError:
        return True
    if not isinstance(listed, list) or not listed or not all(isinstance(item, str) and item for item in listed):
        return True
    return bool(names - set(listed))


def canary(service: Service) -> Iterator[Objection]:
    """`canary` (since KServe 0.20) is for Standard mode and one model. Each has a predictor with a name of its own, one
    server, a share from 0 to 100 percent, all together at most 100, and a fixed number of pods: no `maxReplicas`,
    `scaleTarget`, `scaleMetric`, `autoScaling` or `workerSpec`, and not more `minReplicas` than the predictor.

    Keys of frameworks (`sklearn`, …) in a canary are not exchanged for `model`, and what KServe asks of them one by one
    is not asked here.

    Source: kserve/kserve v0.20.0, pkg/apis/serving/v1beta1/inference_service_validation.go, validateCanarySpecs.
    """
    entries = maps(service.body["spec"].get("canary")) if service.release >= (0, 20) else []
    if entries and service.annotations.get(MODE) != "Standard":
        message = "spec.canary: there are canaries in Standard mode only"
        yield Objection("MLS356", message, ("spec", "canary"), f"write the annotation `{MODE}: Standard`")
    if entries and service.predictor.storage is None and "model" not in service.predictor.spec:
        yield Objection("MLS356", "spec.canary: the predictor has no model", ("spec", "canary"), "give it one")
    if sum(entry.get("trafficPercent", 0) for entry in entries) > 100:
        message = "spec.canary: more than 100 percent of the requests"
        yield Objection("MLS356", message, ("spec", "canary"), "lower a `trafficPercent`")
    names = [service.predictor.spec.get("name")]
    for index, entry in enumerate(entries):
        path = ("spec", "canary", index, "predictor")
        for field, words in _of_canary(service, entry["predictor"], names):
            message = f"spec.canary[{index}].predictor{''.join(f'.{part}' for part in field)}: {words}"
            yield Objection("MLS356", message, (*path, *field), "see `mlspec explain MLS356`")
        names.append(entry["predictor"].get("name"))


def _of_canary(service: Service, predictor: Mapping[str, Any], names: list[str | None]) -> Iterator[tuple[Path, str]]:
    if not predictor.get("name"):
        yield ("name",), "a canary has a name"
    elif predictor["name"] in names:
        yield ("name",), f"{shown(predictor['name'])} is another predictor's name"
    for field in _FIXED:
        if field in predictor:
            yield (field,), "a canary has a fixed number of pods on one node each"
    if predictor.get("maxReplicas", 0) > 0:
        yield ("maxReplicas",), "a canary has a fixed number of pods"
    least = service.predictor.spec.get("minReplicas", 1)
    if predictor.get("minReplicas", 0) > least:
        yield ("minReplicas",), f"more than the {least} of the predictor"
    alone = Service({**service.body, "spec": {"predictor": predictor}}, service.release)
    rules = (one_server, concurrency, replicas, logger) + ((protocol,) if predictor.get("containers") else ())
    for rule in rules:
        for found in rule(alone):
            yield found.path[2:], found.message.partition(": ")[2]


def confidential(service: Service) -> Iterator[Objection]:
    """An encrypted model (`confidential.enabled`, since KServe 0.20) has a URI, and its key, where it names one, is
    `kbs:///<repository>/<type>/<tag>`.

    Source: kserve/kserve v0.20.0, pkg/apis/serving/v1beta1/inference_service_validation.go, validateConfidential;
    pkg/validation/confidential.go, ValidateConfidentialSpec.
    """
    predictor: Component = service.predictor
    found = predictor.spec.get("model", {}).get("confidential", {})
    if service.release < (0, 20) or not found.get("enabled"):
        return
    if predictor.storage is None or not predictor.storage[1]:
        path, text = predictor.at("model", "confidential")
        yield Objection("MLS357", f"{text}: an encrypted model has a URI", path, "write `storageUri`")
    if found.get("resourceId") and not _KEY.fullmatch(found["resourceId"]):
        path, text = predictor.at("model", "confidential", "resourceId")
        message = f"{text}: {shown(found['resourceId'])} names no key"
        yield Objection("MLS357", message, path, "write `kbs:///<repository>/<type>/<tag>`")


RULES: Final = (Rule("MLS354", several_nodes), Rule("MLS356", canary), Rule("MLS357", confidential))
