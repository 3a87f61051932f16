"""Fields that a `patch` must leave as they are, because other objects, rules or the operator go by them."""

from __future__ import annotations

from typing import Final

Path = tuple[str, ...]
"""Keys on the way to a field; `*` stands for every key or item."""
_ONE_POD: Final = "decides how many pods there are, by which volumes and names are judged"
_PODS: Final = "decides how many pods there are, by which volumes, quota and names are judged"
_FRONT: Final = "puts a container with a port of its own in front, which no NetworkPolicy opens"
_LOADED: Final = "loads a model from where no NetworkPolicy leads, and with which no Secret goes"
_SCALED: Final = "lets an autoscaler decide how many pods there are"
_SEVERAL: Final = "several pods are `kind: pytorch` or `tensorflow`, or several steps"
_INDEXED: Final = "makes indexed pods, which have other names, and retries of their own"
_RETRIED: Final = "decides what a retry is, by which `retries` is counted and failed pods keep their logs"
_RETRIES: Final = "write `retries:` in the step"
_MANAGED: Final = ("hands the object to another controller, so that nothing here would run it", "remove the operation")
_NAMED: Final = "keeps the pod's name from being found until it is ready, and it is ready when it has found the others"
_UNKNOWN: Final = "makes pods, or changes some, of which the plan knows nothing: no account, policy or label is theirs"
_CONTAINERS: Final = ("template", "spec", "containers", "*")
_SEPARATE: Final = tuple(
    (*way, "annotations", "seldon.io/engine-separate-pod")
    for way in (("metadata",), ("spec",), ("spec", "predictors", "*"))
)
KEPT: Final[dict[str, tuple[tuple[Path, str, str], ...]]] = {
    "Job": (
        *((("spec", name), _ONE_POD, _SEVERAL) for name in ("parallelism", "completions")),
        (("spec", "completionMode"), _INDEXED, _SEVERAL),
        (("spec", "backoffLimitPerIndex"), _INDEXED, "write `retries:` in the step"),
        (("spec", "template", "spec", "restartPolicy"), _RETRIED, _RETRIES),
        (("spec", "managedBy"), *_MANAGED),
    ),
    "PyTorchJob": (
        (("spec", "pytorchReplicaSpecs", "*", "restartPolicy"), _RETRIED, _RETRIES),
        (("spec", "pytorchReplicaSpecs", "*", *_CONTAINERS, "readinessProbe"), _NAMED, "remove the operation"),
        (("spec", "runPolicy", "managedBy"), *_MANAGED),
        (("spec", "pytorchReplicaSpecs", "*", "replicas"), _PODS, "write `nodes:` in the step"),
        (("spec", "elasticPolicy", "metrics"), _SCALED, "leave `metrics` out"),
    ),
    "TFJob": (
        (("spec", "tfReplicaSpecs", "*", "replicas"), _PODS, "write `replicas:` in the step's `roles`"),
        (("spec", "tfReplicaSpecs", "*", "restartPolicy"), _RETRIED, _RETRIES),
        (("spec", "tfReplicaSpecs", "*", *_CONTAINERS, "readinessProbe"), _NAMED, "remove the operation"),
        (("spec", "runPolicy", "managedBy"), *_MANAGED),
    ),
    "InferenceService": (
        (("spec", "predictor", "minReplicas"), _PODS, "write `replicas:` in the service"),
        (("spec", "predictor", "maxReplicas"), _PODS, "write `replicas:` in the service"),
        (("spec", "predictor", "workerSpec"), _PODS, "remove the operation"),
        (("spec", "predictor", "batcher"), _FRONT, "remove the operation"),
        (("spec", "predictor", "model", "storage"), _LOADED, "write `model.uri:` in the service"),
        (("spec", "predictor", "storageUris"), _LOADED, "write `model.uri:` in the service"),
        (("spec", "predictor", "logger"), _FRONT, "remove the operation"),
        (
            ("spec", "predictor", "model", "modelFormat"),
            "decides where metrics are read",
            "write `model.format:` or `model.version:` in the service",
        ),
        (
            ("spec", "predictor", "model", "runtime"),
            "decides where metrics are read",
            "write `model.runtime:` in the service",
        ),
        (
            ("spec", "predictor", "model", "ports"),
            "decides which port answers, which NetworkPolicies open",
            "write `image:` and `port:` in the service",
        ),
    ),
    "SeldonDeployment": (
        (("spec", "replicas"), _PODS, "write `replicas:` in the predictor"),
        (("spec", "predictors", "*", "replicas"), _PODS, "write `replicas:` in the predictor"),
        (("spec", "predictors", "*", "name"), "is part of the names of its pods", "write it in `predictors`"),
        (("spec", "predictors", "*", "componentSpecs", "*", "replicas"), _PODS, "write `replicas:` in the predictor"),
        (("spec", "predictors", "*", "componentSpecs", "*", "hpaSpec"), _SCALED, "remove the operation"),
        (("spec", "predictors", "*", "componentSpecs", "*", "kedaSpec"), _SCALED, "remove the operation"),
        (("spec", "predictors", "*", "explainer"), _UNKNOWN, "remove the operation"),
        (("spec", "predictors", "*", "svcOrchSpec"), _UNKNOWN, "remove the operation"),
        (("spec", "predictors", "*", "ssl"), _UNKNOWN, "remove the operation"),
        *((way, _UNKNOWN, "remove the operation") for way in _SEPARATE),
    ),
}
