"""Whether an object can be read as an InferenceService at all: a `patch` may have made anything of it."""

from __future__ import annotations

from typing import Any, Final

from mlspec.k8s.projected import Body

_NAMED: Final = ("name",)
_STRINGS: Final = frozenset(("annotations", "labels", "nodeSelector"))
_MAPS: Final = frozenset(
    (
        *("affinity", "batcher", "capabilities", "emptyDir", "httpGet", "limits", "logger", "metadata", "model"),
        *("modelFormat", "persistentVolumeClaim", "predictor", "readinessProbe", "requests", "resources"),
        *("securityContext", "spec", "storage", "tcpSocket"),
    )
)
_TEXTS: Final = frozenset(
    (
        *("image", "namespace", "protocolVersion", "runtime", "runtimeVersion", "schedulerName"),
        *("serviceAccountName", "storageUri", "mode", "url"),
    )
)
_TEXT_LISTS: Final = frozenset(("add", "args", "command", "drop", "metadataAnnotations", "metadataHeaders"))
_NUMBERS: Final = frozenset(("containerConcurrency", "maxReplicas", "minReplicas", "scaleTarget", "timeout"))
_ROWS: Final = {
    "containers": _NAMED,
    "env": _NAMED,
    "imagePullSecrets": _NAMED,
    "initContainers": _NAMED,
    "ports": ("containerPort",),
    "tolerations": (),
    "volumeMounts": ("mountPath", "name"),
    "volumes": _NAMED,
}


def is_read(body: Body) -> bool:
    """Say whether every field that the projection reads is of the type that the API gives it.

    Where it is not, the object is refused by its schema, and there is nothing to project.
    """
    spec = body.get("spec")
    predictor = spec.get("predictor") if isinstance(spec, dict) else None
    metadata = body.get("metadata")
    if not isinstance(metadata, dict) or not isinstance(metadata.get("name"), str) or not isinstance(predictor, dict):
        return False
    return _fits(metadata) and _fits(predictor) and _can_serve(predictor)


def _can_serve(predictor: Body) -> bool:
    model = predictor.get("model")
    if model is not None:
        return not isinstance(model.get("modelFormat"), dict) or isinstance(model["modelFormat"].get("name"), str)
    return bool(predictor.get("containers"))


def _fits(value: Body) -> bool:
    return all(_is_of_its_type(key, item) for key, item in value.items())


def _is_of_its_type(key: str, item: Any) -> bool:
    if item is None:
        return False
    if key in _STRINGS:
        return isinstance(item, dict) and all(isinstance(each, str) for each in item.values())
    if key in _MAPS:
        return isinstance(item, dict) and _fits(item)
    if key in _TEXTS:
        return isinstance(item, str)
    if key in _NUMBERS:
        return isinstance(item, int) and not isinstance(item, bool)
    if key in _TEXT_LISTS:
        return isinstance(item, list) and all(isinstance(each, str) for each in item)
    if key in _ROWS:
        return isinstance(item, list) and all(_is_row(each, _ROWS[key]) for each in item)
    return True


def _is_row(item: Any, keys: tuple[str, ...]) -> bool:
    sorts = {"containerPort": int}
    return (
        isinstance(item, dict)
        and all(isinstance(item.get(key), sorts.get(key, str)) for key in keys)
        and all(isinstance(item.get(key, ""), str) for key in ("value", "subPath"))
        and _fits(item)
    )
