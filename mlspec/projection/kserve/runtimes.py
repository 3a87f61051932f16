"""Which runtime serves a model, and the server that becomes of runtime and model together.

Sources (kserve/kserve): pkg/apis/serving/v1beta1/predictor_model.go (GetSupportingRuntimes),
inference_service_defaults.go (SetRuntimeDefaults), pkg/controller/v1beta1/inferenceservice/utils/utils.go
(MergeRuntimeContainers, MergePodSpec, ReplacePlaceholders, UpdateImageTag).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.projection.kserve import merge
from mlspec.projection.kserve.stock import CONTAINER, MODEL_PATH, Release

_MLSERVER: Final = "kserve-mlserver"
_TORCHSERVE: Final = "kserve-torchserve"
_TRITON: Final = "kserve-tritonserver"
_GPU_TAGGED: Final = frozenset({"kserve-huggingfaceserver", "kserve-tensorflow-serving", _TORCHSERVE})
_VLLM: Final = "kserve-vllmserver"
_MODEL_CLASSES: Final = {
    "lightgbm": "mlserver_lightgbm.LightGBMModel",
    "mlflow": "mlserver_mlflow.MLflowRuntime",
    "xgboost": "mlserver_xgboost.XGBoostModel",
}
_SKLEARN_CLASS: Final = "mlserver_sklearn.SKLearnModel"
# The lowest of a runtime's protocols orders the list that is searched (constants.go, GetProtocolVersionInt).
_PROTOCOLS: Final = {"v1": 1, "v2": 2, "grpc-v1": 3, "grpc-v2": 4}
_UNKNOWN: Final = 5
# Fields of a runtime that reach the pod (MergePodSpec); its `hostIPC`, for one, does not.
_POD_FIELDS: Final = ("affinity", "imagePullSecrets", "nodeSelector", "tolerations", "volumes")
_MODEL_FIELDS: Final = frozenset(
    ("modelFormat", "name", "protocolVersion", "runtime", "runtimeVersion", "storage", "storageUri")
)
EXTENSIONS: Final = frozenset(
    (
        *("annotations", "autoScaling", "batcher", "canaryTrafficPercent", "containerConcurrency"),
        *("deploymentStrategy", "labels", "logger", "maxReplicas", "minReplicas", "model", "name", "scaleMetric"),
        *("scaleMetricType", "scaleTarget", "storageContainerName", "storageUris", "timeout", "workerSpec"),
    )
)
"""Fields of a predictor that are not of a pod (PredictorSpec and ComponentExtensionSpec, 0.20)."""
_PLACEHOLDER: Final = re.compile(r"\{\{\s*\.(Name|Namespace|Labels\.\w+|Annotations\.\w+)\s*\}\}")
_TAG: Final = re.compile(r":[\w.\-]*$")


@dataclass(frozen=True, slots=True)
class Server:
    """The server of an InferenceService before the webhook sees its pods."""

    pod: Body
    """Fields of the pod spec beside the containers."""
    container: Body
    others: tuple[Body, ...] = ()
    """Containers that stand beside it."""
    labels: Mapping[str, str] | None = None
    """Labels that KServe adds to those of the InferenceService, for its own templates."""
    annotations: Mapping[str, str] | None = None
    """Annotations of the runtime."""


def of_its_own(predictor: Body, release: Release) -> Server:
    """Return the server of a predictor that brings its container (predictor_custom.go).

    What it does not ask for, KServe fills in (setResourceRequirementDefaults).
    """
    containers = predictor["containers"]
    named = [each for each in containers if each.get("name") == CONTAINER or len(containers) == 1]
    container = {**(named or containers)[0], "name": CONTAINER}
    least = release.configuration["inferenceService"]["resource"]
    defaults = {
        sort: {"cpu": least[f"cpu{word}"], "memory": least[f"memory{word}"]}
        for sort, word in (("limits", "Limit"), ("requests", "Request"))
    }
    container["resources"] = merge.merged(defaults, container.get("resources", {}))
    written = {key: value for key, value in predictor.items() if key not in (*EXTENSIONS, "containers")}
    return Server(written, container, tuple(containers[1:]))


def select(model: Body, release: Release) -> str | None:
    """Return the name of the stock runtime that serves a model: the one it names, else the one that KServe picks.

    None: there is none, so that only a runtime that the platform added can serve it.
    """
    if model.get("runtime") is not None:
        return model["runtime"] if model["runtime"] in release.runtimes else None
    found = fitting(model, release)
    return found[0][1] if found else None


def fitting(model: Body, release: Release) -> list[tuple[tuple[float, int], str]]:
    """Return the stock runtimes that may be picked for a model, each with its rank, the best first."""
    written = model.get("modelFormat") or {}
    protocol = model.get("protocolVersion") or "v1"
    return sorted(
        (_rank(spec, written.get("name")), name)
        for name, spec in release.runtimes.items()
        if not spec.get("multiModel")
        and not spec.get("disabled")
        and "workerSpec" not in spec
        and _serves(spec, written)
        and (not spec.get("protocolVersions") or protocol in spec["protocolVersions"])
    )


def _serves(spec: Body, written: Mapping[str, Any]) -> bool:
    """Say whether a runtime may be picked for a format; a version has to be one of its own."""
    rows = [row for row in spec["supportedModelFormats"] if row.get("autoSelect")]
    version = written.get("version")
    return any(row["name"] == written.get("name") and version in (None, row.get("version")) for row in rows)


def _rank(spec: Body, name: object) -> tuple[float, int]:
    """Return what orders runtimes: their priority for the format, highest first, then their lowest protocol."""
    priority = next((row.get("priority") for row in spec["supportedModelFormats"] if row["name"] == name), None)
    protocols = [_PROTOCOLS.get(each, _UNKNOWN) for each in spec.get("protocolVersions") or ()]
    return (float("inf") if priority is None else -priority, min(protocols, default=_UNKNOWN))


def metrics_port(model: Body, number: Release) -> int | None:
    """Return where the runtime of a model serves its metrics, as its annotations say; None: that is not known."""
    name = select(model, number)
    port = number.runtimes[name].get("annotations", {}).get("prometheus.kserve.io/port") if name is not None else None
    return int(port) if port is not None else None


def serve(metadata: Body, predictor: Body, release: Release) -> Server:
    """Return the server of a model.

    A runtime that is not among the release's own is the platform's: its image, its arguments and its security context
    are then unknown, and the server has what the InferenceService says.
    """
    model = predictor["model"]
    name = select(model, release)
    runtime: Body = release.runtimes[name] if name is not None else {"containers": [{"name": CONTAINER}]}
    (base,) = (each for each in runtime["containers"] if each["name"] == CONTAINER)
    ours, labels = _defaults(name, metadata, model)
    container = merge.merged(base, {key: value for key, value in ours.items() if key != "args"})
    arguments = [*base.get("args", ()), *ours.get("args", ())]
    if arguments:
        container["args"] = arguments
    container = _replaced(container, {**metadata, "labels": {**metadata.get("labels", {}), **labels}})
    _retag(container, model, name)
    fields = {key: runtime[key] for key in (*_POD_FIELDS, *_since(release)) if key in runtime}
    written = {key: value for key, value in predictor.items() if key not in (*EXTENSIONS, "containers")}
    others = [each for each in runtime["containers"] if each["name"] != CONTAINER] + predictor.get("containers", [])
    return Server(merge.merged(fields, written), container, tuple(others), labels, runtime.get("annotations"))


def _since(release: Release) -> tuple[str, ...]:
    return ("schedulerName",) if release.number >= (0, 17) else ()


def _defaults(name: str | None, metadata: Body, model: Body) -> tuple[Body, dict[str, str]]:
    """Return the container of a model with what KServe adds for some runtimes, and labels for their templates."""
    ours: Body = {key: value for key, value in model.items() if key not in _MODEL_FIELDS}
    variables, labels = list(model.get("env", ())), {}
    named = {each["name"] for each in variables}
    stored = "storageUri" in model or "storage" in model
    if name == _MLSERVER:
        place = {"MLSERVER_MODEL_NAME": metadata["name"], "MLSERVER_MODEL_URI": MODEL_PATH}
        added = place if stored else {"MLSERVER_LOAD_MODELS_AT_STARTUP": "false"}
        variables += [{"name": key, "value": value} for key, value in added.items() if key not in named]
        labels["modelClass"] = _MODEL_CLASSES.get(model.get("modelFormat", {}).get("name"), _SKLEARN_CLASS)
    elif name == _TORCHSERVE:
        protocol = model.get("protocolVersion", "v1")
        labels["serviceEnvelope"] = "kservev2" if protocol in ("v2", "grpc-v2") else "kserve"
        variables.append({"name": "PROTOCOL_VERSION", "value": protocol})
    elif name == _TRITON and not stored:
        ours["args"] = [*model.get("args", ()), "--model-control-mode=explicit"]
    return {**ours, **({"env": variables} if variables else {})}, labels


def _replaced(value: Any, metadata: Body) -> Any:
    """Return a container whose `{{.Name}}` and the like are filled in."""
    if isinstance(value, dict):
        return {key: _replaced(item, metadata) for key, item in value.items()}
    if isinstance(value, list):
        return [_replaced(item, metadata) for item in value]
    if isinstance(value, str) and "{{" in value:
        return _PLACEHOLDER.sub(lambda found: _meant(found[1], metadata), value)
    return value


def _meant(path: str, metadata: Body) -> str:
    field, _, key = path.partition(".")
    found = metadata.get(field.lower(), "")
    return str(found.get(key, "<no value>") if key else found)


def _retag(container: Body, model: Body, name: str | None) -> None:
    """Give the image the tag of the wanted version, or of its build for GPUs."""
    image = container.get("image", "")
    limits = container.get("resources", {}).get("limits", {})
    if not image or "@sha256:" in image:
        return
    on_gpu = any(key == "nvidia.com/gpu" or key.startswith("nvidia.com/mig-") for key in limits)
    if model.get("runtimeVersion") is not None:
        container["image"] = _TAG.sub("", image) + f":{model['runtimeVersion']}"
    elif on_gpu and name in _GPU_TAGGED and _TAG.search(image) and not image.endswith("-gpu"):
        container["image"] = f"{image}-gpu"
    elif not on_gpu and name == _VLLM and (tag := _TAG.search(image)) and not image[: tag.start()].endswith("-cpu"):
        container["image"] = f"{image[: tag.start()]}-cpu{tag[0]}"
