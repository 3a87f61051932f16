"""What operators' webhooks refuse, one case or more a rule: an object that is taken, and nearly the same one refused.

tests/test_webhooks.py judges them by mlspec, tests/cluster/test_webhooks.py by the real webhooks.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from mlspec.schemas import kubernetes_folder, operator_folder

Body = dict[str, Any]
Changes = dict[tuple[str | int, ...], Any]

TRAINING: Final = "training-operator-1.9"
KSERVE: Final = "kserve-0.16"
SELDON: Final = "seldon-1.16"


@dataclass(frozen=True)
class Case:
    """One fault: of which object, by which changes, found in which field by which code."""

    code: str
    words: str
    base: Body
    bad: Changes
    path: tuple[str | int, ...]
    good: Changes = field(default_factory=dict)
    """Changes of the object that is taken, on which `bad` is built."""
    release: str = ""
    by: str = "webhook"
    """Who refuses it: the validating `webhook`; the `schema`, after the defaulting one; or a `controller`, later."""

    def __str__(self) -> str:
        return f"{self.code} {self.words}"

    @property
    def accepted(self) -> Body:
        """The object that is taken."""
        return changed(self.base, self.good)

    @property
    def refused(self) -> Body:
        """The one that is not."""
        return changed(self.accepted, self.bad)

    @property
    def declared(self) -> str:
        """The release of the operator, as `schemas/crds/` names it."""
        return self.release or {"S": SELDON, "I": KSERVE}.get(self.base["kind"][0], TRAINING)

    @property
    def folders(self) -> tuple[Path, ...]:
        """The schemas to judge by."""
        return kubernetes_folder("1.34"), operator_folder(self.declared)


def changed(body: Body, changes: Changes) -> Body:
    """Return a copy of an object with fields set; None takes one away, and an item behind the last is added."""
    found = copy.deepcopy(body)
    for path, value in changes.items():
        parent: Any = found
        for part in path[:-1]:
            parent = parent.setdefault(part, {}) if isinstance(parent, dict) else parent[part]
        if value is None:
            del parent[path[-1]]
        elif isinstance(parent, list) and path[-1] == len(parent):
            parent.append(copy.deepcopy(value))
        else:
            parent[path[-1]] = copy.deepcopy(value)
    return found


def _template(container: str, **fields: Any) -> Body:
    return {"spec": {"containers": [{"name": container, "image": "train:1", **fields}]}}


PYTORCH: Final[Body] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "PyTorchJob",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "nprocPerNode": "1",
        "pytorchReplicaSpecs": {
            "Master": {"replicas": 1, "restartPolicy": "Never", "template": _template("pytorch")},
            "Worker": {"replicas": 2, "restartPolicy": "Never", "template": _template("pytorch")},
        },
    },
}
TF: Final[Body] = {
    "apiVersion": "kubeflow.org/v1",
    "kind": "TFJob",
    "metadata": {"name": "train", "namespace": "default"},
    "spec": {
        "tfReplicaSpecs": {
            "Chief": {"replicas": 1, "restartPolicy": "Never", "template": _template("tensorflow")},
            "Worker": {"replicas": 2, "restartPolicy": "Never", "template": _template("tensorflow")},
        }
    },
}
_MODEL: Final = {"modelFormat": {"name": "sklearn"}, "protocolVersion": "v1", "storageUri": "gs://models/it"}
_MODE: Final = ("metadata", "annotations", "serving.kserve.io/deploymentMode")
_CLASS: Final = ("metadata", "annotations", "serving.kserve.io/autoscalerClass")
_KNATIVE_CLASS: Final = ("metadata", "annotations", "autoscaling.knative.dev/class")
_PREDICTOR: Final = ("spec", "predictor")
STANDARD: Final[Body] = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {"name": "serve", "namespace": "default", "annotations": {_MODE[-1]: "Standard", _CLASS[-1]: "hpa"}},
    "spec": {"predictor": {"minReplicas": 1, "maxReplicas": 2, "model": _MODEL}},
}
KNATIVE: Final = changed(STANDARD, {_MODE: "Knative", _CLASS: None})
KEDA: Final = changed(STANDARD, {_CLASS: "keda"})
_SERVER: Final = {"name": "kserve-container", "image": "serve:1"}
OWN: Final = changed(STANDARD, {(*_PREDICTOR, "model"): None, (*_PREDICTOR, "containers"): [_SERVER]})
_NODES: Final[Changes] = {
    _CLASS: "none",
    (*_PREDICTOR, "model", "storageUri"): "pvc://models/it",
    (*_PREDICTOR, "workerSpec"): {"pipelineParallelSize": 2, "tensorParallelSize": 1},
}
_METRIC: Final = (*_PREDICTOR, "autoScaling", "metrics", 0)
_CANARY: Final[Body] = {"trafficPercent": 10, "predictor": {"name": "next", "model": {**_MODEL, "name": ""}}}
SELDON_DEPLOYMENT: Final[Body] = {
    "apiVersion": "machinelearning.seldon.io/v1",
    "kind": "SeldonDeployment",
    "metadata": {"name": "serve", "namespace": "default"},
    "spec": {
        "predictors": [
            {
                "name": "first",
                "graph": {"name": "model", "implementation": "SKLEARN_SERVER", "modelUri": "gs://models/it"},
                "componentSpecs": [{"spec": {"containers": [{"name": "model"}]}}],
            }
        ]
    },
}
_FIRST: Final = ("spec", "predictors", 0)
_SECOND: Final[Body] = {**SELDON_DEPLOYMENT["spec"]["predictors"][0], "name": "second"}
_UNIT: Final[Body] = {"name": "model", "type": "MODEL"}


def _metrics(*metrics: Body) -> Changes:
    return {_METRIC[:-2]: {"metrics": list(metrics)}}


def _resource(name: str, **target: Any) -> Body:
    return {"type": "Resource", "resource": {"name": name, "target": target}}


def _prometheus(**changes: Any) -> Body:
    metric = {"backend": "prometheus", "serverAddress": "http://prometheus", "query": "up"}
    external = {"metric": metric, "target": {"type": "Value", "value": "5"}, **changes}
    return {"type": "External", "external": external}


def _two(first: int, second: int, **changes: Any) -> Changes:
    predictors = [{**SELDON_DEPLOYMENT["spec"]["predictors"][0], "traffic": first}, {**_SECOND, "traffic": second}]
    return {_FIRST[:-1]: [predictors[0], {**predictors[1], **changes}]}


def _storage(*entries: tuple[str, str]) -> Changes:
    listed = [{"uri": uri, "mountPath": path} for uri, path in entries]
    return {(*_PREDICTOR, "model", "storageUri"): None, (*_PREDICTOR, "storageUris"): listed}


_REPLICAS: Final = ("spec", "pytorchReplicaSpecs")
_POD: Final = ("template", "spec", "containers")
_TF_POD: Final = ("spec", "tfReplicaSpecs", "Worker", *_POD)
_TRAINING: Final = (
    Case("MLS330", "digit", PYTORCH, {("metadata", "name"): "0train"}, ("metadata", "name")),
    Case("MLS330", "of a TFJob", TF, {("metadata", "name"): "train.it"}, ("metadata", "name")),
    Case(
        "MLS331",
        "nobody",
        PYTORCH,
        {("spec", "runPolicy", "managedBy"): "example.com/nobody"},
        ("spec", "runPolicy", "managedBy"),
        {("spec", "runPolicy", "managedBy"): "kueue.x-k8s.io/multikueue"},
    ),
    Case(
        "MLS331",
        "nobody runs a TFJob",
        TF,
        {("spec", "runPolicy", "managedBy"): "example.com/nobody"},
        ("spec", "runPolicy", "managedBy"),
        {("spec", "runPolicy", "managedBy"): "kubeflow.org/training-operator"},
    ),
    Case(
        "MLS332",
        "lower case",
        PYTORCH,
        {(*_REPLICAS, "worker"): PYTORCH["spec"]["pytorchReplicaSpecs"]["Worker"], (*_REPLICAS, "Worker"): None},
        (*_REPLICAS, "worker"),
    ),
    Case(
        "MLS333",
        "a sidecar",
        PYTORCH,
        {(*_REPLICAS, "Worker", *_POD, 1, "image"): None},
        (*_REPLICAS, "Worker", *_POD, 1, "image"),
        {(*_REPLICAS, "Worker", *_POD): [{"name": "pytorch", "image": "a"}, {"name": "other", "image": "b"}]},
    ),
    Case("MLS333", "of a TFJob", TF, {(*_TF_POD, 0, "image"): None}, (*_TF_POD, 0, "image")),
    Case(
        "MLS334",
        "another name",
        PYTORCH,
        {(*_REPLICAS, "Master", *_POD, 0, "name"): "train"},
        (*_REPLICAS, "Master", *_POD),
    ),
    Case("MLS334", "none in a TFJob", TF, {_TF_POD: []}, _TF_POD),
    Case("MLS335", "two masters", PYTORCH, {(*_REPLICAS, "Master", "replicas"): 2}, (*_REPLICAS, "Master", "replicas")),
    Case("MLS335", "no count", PYTORCH, {(*_REPLICAS, "Master", "replicas"): None}, (*_REPLICAS, "Master", "replicas")),
    Case("MLS335", "no worker", PYTORCH, {(*_REPLICAS, "Worker", "replicas"): 0}, (*_REPLICAS, "Worker", "replicas")),
    Case(
        "MLS336",
        "without workers",
        PYTORCH,
        {(*_REPLICAS, "Worker"): None},
        ("spec", "elasticPolicy"),
        {("spec", "elasticPolicy"): {"minReplicas": 1, "maxReplicas": 2}},
    ),
    Case(
        "MLS336",
        "without workers, not counted, 1.8",
        PYTORCH,
        {("spec", "elasticPolicy"): {"rdzvBackend": "c10d"}},
        ("spec", "elasticPolicy"),
        {(*_REPLICAS, "Worker"): None, ("spec", "elasticPolicy"): {"maxReplicas": 2}},
        "training-operator-1.8",
    ),
    Case(
        "MLS336",
        "processes twice",
        PYTORCH,
        {("spec", "elasticPolicy", "nProcPerNode"): 2},
        ("spec", "elasticPolicy", "nProcPerNode"),
        {("spec", "elasticPolicy"): {"maxReplicas": 2}},
    ),
    Case("MLS338", "nothing", PYTORCH, {("spec",): None}, ("spec", "pytorchReplicaSpecs")),
    Case("MLS338", "nothing in a TFJob", TF, {("spec",): None}, ("spec", "tfReplicaSpecs")),
    Case(
        "MLS337",
        "both",
        TF,
        {("spec", "tfReplicaSpecs", "Master"): TF["spec"]["tfReplicaSpecs"]["Chief"]},
        ("spec", "tfReplicaSpecs", "Master"),
    ),
)
_SERVERS: Final = (
    Case("MLS340", "digit", STANDARD, {("metadata", "name"): "0-it"}, ("metadata", "name")),
    Case("MLS340", "dot", STANDARD, {("metadata", "name"): "it.is"}, ("metadata", "name")),
    Case(
        "MLS341",
        "model and container",
        STANDARD,
        {(*_PREDICTOR, "containers", 0, "name"): "kserve-container"},
        _PREDICTOR,
        {(*_PREDICTOR, "containers"): [{"name": "sidecar", "image": "a"}]},
    ),
    Case("MLS341", "no spec", STANDARD, {("spec",): None}, _PREDICTOR),
    Case("MLS341", "nothing", STANDARD, {(*_PREDICTOR, "model"): None}, _PREDICTOR),
    Case(
        "MLS341",
        "two frameworks",
        STANDARD,
        {(*_PREDICTOR, "xgboost"): {"storageUri": "gs://models/it"}},
        _PREDICTOR,
        {(*_PREDICTOR, "sklearn"): {"storageUri": "gs://models/it"}},
    ),
    Case(
        "MLS341", "empty transformer", STANDARD, {("spec", "transformer"): {"minReplicas": 1}}, ("spec", "transformer")
    ),
    Case("MLS342", "of a model", STANDARD, {(*_PREDICTOR, "model", "name"): "it"}, (*_PREDICTOR, "model", "name")),
    Case(
        "MLS342",
        "of a framework",
        STANDARD,
        {(*_PREDICTOR, "sklearn", "name"): "it"},
        (*_PREDICTOR, "sklearn", "name"),
        {(*_PREDICTOR, "model"): None, (*_PREDICTOR, "sklearn"): {"storageUri": "gs://models/it"}},
    ),
    Case(
        "MLS350",
        "no mode",
        STANDARD,
        {(*_PREDICTOR, "logger", "mode"): None},
        (*_PREDICTOR, "logger", "mode"),
        {(*_PREDICTOR, "logger"): {"mode": "all", "url": "http://log"}},
    ),
    Case(
        "MLS350",
        "no key",
        STANDARD,
        {(*_PREDICTOR, "logger", "storage", "key"): None},
        (*_PREDICTOR, "logger", "storage", "key"),
        {
            (*_PREDICTOR, "logger"): {
                "mode": "all",
                "url": "s3://log",
                "storage": {"path": "/", "parameters": {"type": "s3"}, "key": "it"},
            }
        },
    ),
    Case(
        "MLS351",
        "gRPC",
        OWN,
        {(*_PREDICTOR, "containers", 0, "env"): [{"name": "PROTOCOL", "value": "grpc-v2"}]},
        (*_PREDICTOR, "containers", 0, "env", 0, "value"),
        {(*_PREDICTOR, "containers", 0, "env"): [{"name": "PROTOCOL", "value": "v2"}]},
    ),
    Case(
        "MLS351",
        "from elsewhere",
        OWN,
        {
            (*_PREDICTOR, "containers", 0, "env", 0): {
                "name": "PROTOCOL",
                "valueFrom": {"configMapKeyRef": {"name": "it", "key": "protocol"}},
            }
        },
        (*_PREDICTOR, "containers", 0, "env", 0, "value"),
        {(*_PREDICTOR, "containers", 0, "env"): [{"name": "PROTOCOL", "value": "v1"}]},
    ),
    Case(
        "MLS355",
        "in a model, 0.19",
        STANDARD,
        {(*_PREDICTOR, "model", "env", 0, "name"): "PYTHONPATH"},
        (*_PREDICTOR, "model", "env", 0),
        {(*_PREDICTOR, "model", "env"): [{"name": "PATHS", "value": "/opt"}]},
        "kserve-0.19",
    ),
    Case(
        "MLS355",
        "in an init container, 0.20",
        OWN,
        {(*_PREDICTOR, "initContainers", 0, "env", 0, "name"): "PYTHONPATH"},
        (*_PREDICTOR, "initContainers", 0, "env", 0),
        {(*_PREDICTOR, "initContainers"): [{"name": "a", "image": "b", "env": [{"name": "C", "value": "d"}]}]},
        "kserve-0.20",
    ),
    Case("MLS359", "RawDeployment", STANDARD, {_MODE: "RawDeployment"}, _MODE, by="controller"),
)
_SCALING: Final = (
    Case("MLS343", "more at least", STANDARD, {(*_PREDICTOR, "minReplicas"): 3}, (*_PREDICTOR, "maxReplicas")),
    Case("MLS343", "less than none", STANDARD, {(*_PREDICTOR, "minReplicas"): -1}, (*_PREDICTOR, "minReplicas")),
    Case("MLS343", "less at most", STANDARD, {(*_PREDICTOR, "maxReplicas"): -1}, (*_PREDICTOR, "maxReplicas")),
    Case("MLS344", "Knative's", STANDARD, {_CLASS: "kpa"}, _CLASS, {_CLASS: "external"}),
    Case(
        "MLS345",
        "concurrency in Standard mode",
        STANDARD,
        {(*_PREDICTOR, "scaleMetric"): "concurrency"},
        (*_PREDICTOR, "scaleMetric"),
        {(*_PREDICTOR, "scaleMetric"): "memory"},
    ),
    Case(
        "MLS345",
        "CPU in Knative mode",
        KNATIVE,
        {(*_PREDICTOR, "scaleMetric"): "cpu"},
        (*_PREDICTOR, "scaleMetric"),
        {(*_PREDICTOR, "scaleMetric"): "rps"},
    ),
    Case("MLS345", "with KEDA", KEDA, {(*_PREDICTOR, "scaleMetric"): "cpu"}, (*_PREDICTOR, "scaleMetric")),
    Case(
        "MLS345",
        "concurrency with Kubernetes' autoscaler in Knative mode",
        KNATIVE,
        {(*_PREDICTOR, "scaleMetric"): "concurrency"},
        (*_PREDICTOR, "scaleMetric"),
        {_KNATIVE_CLASS: "hpa.autoscaling.knative.dev", (*_PREDICTOR, "scaleMetric"): "cpu"},
    ),
    Case(
        "MLS346",
        "CPU",
        STANDARD,
        {(*_PREDICTOR, "scaleTarget"): 101},
        (*_PREDICTOR, "scaleTarget"),
        {(*_PREDICTOR, "scaleTarget"): 100},
    ),
    Case(
        "MLS346",
        "memory",
        STANDARD,
        {(*_PREDICTOR, "scaleTarget"): 101},
        (*_PREDICTOR, "scaleTarget"),
        {(*_PREDICTOR, "scaleTarget"): 80, (*_PREDICTOR, "scaleMetric"): "memory"},
    ),
    Case(
        "MLS346",
        "rps",
        KNATIVE,
        {(*_PREDICTOR, "scaleTarget"): 0},
        (*_PREDICTOR, "scaleTarget"),
        {(*_PREDICTOR, "scaleTarget"): 500, (*_PREDICTOR, "scaleMetric"): "rps"},
    ),
    Case(
        "MLS347",
        "of Prometheus without KEDA",
        STANDARD,
        _metrics(_prometheus()),
        (*_METRIC, "type"),
        _metrics(_resource("cpu", type="Utilization", averageUtilization=50)),
    ),
    Case(
        "MLS347",
        "without its resource",
        STANDARD,
        {(*_METRIC, "resource"): None},
        (*_METRIC, "resource"),
        _metrics(_resource("cpu", type="Utilization", averageUtilization=50)),
    ),
    Case(
        "MLS347",
        "CPU by a value",
        KEDA,
        _metrics(_resource("cpu", type="AverageValue", averageValue="1")),
        (*_METRIC, "resource", "target", "type"),
        _metrics(_resource("cpu", type="Utilization", averageUtilization=50)),
    ),
    Case(
        "MLS347",
        "too little memory",
        KEDA,
        _metrics(_resource("memory", type="AverageValue", averageValue="1023Ki")),
        (*_METRIC, "resource", "target", "averageValue"),
        _metrics(_resource("memory", type="AverageValue", averageValue="1Mi")),
    ),
    Case(
        "MLS347",
        "more than all of the memory",
        KEDA,
        _metrics(_resource("memory", type="Utilization", averageUtilization=101)),
        (*_METRIC, "resource", "target", "averageUtilization"),
        _metrics(_resource("memory", type="Utilization", averageUtilization=100)),
    ),
    Case(
        "MLS347",
        "no utilization",
        KEDA,
        _metrics(_resource("cpu", type="Utilization")),
        (*_METRIC, "resource", "target", "averageUtilization"),
        _metrics(_resource("cpu", type="Utilization", averageUtilization=1)),
    ),
    Case(
        "MLS347",
        "no type in Knative mode",
        KNATIVE,
        {(*_METRIC, "resource", "target", "type"): None},
        (*_METRIC, "resource", "target", "type"),
        _metrics(_resource("cpu", type="Value", averageUtilization=50)),
        by="schema",
    ),
    Case(
        "MLS347",
        "no query",
        KEDA,
        _metrics(_prometheus(metric={"backend": "prometheus", "serverAddress": "http://prometheus"})),
        (*_METRIC, "external", "metric", "query"),
        _metrics(_prometheus()),
    ),
    Case(
        "MLS347",
        "no value",
        KEDA,
        _metrics(_prometheus(target={"type": "AverageValue", "averageValue": "5"})),
        (*_METRIC, "external", "target", "value"),
        _metrics(_prometheus(target={"type": "AverageValue", "averageValue": "5", "value": "5"})),
    ),
    Case(
        "MLS347", "no source", KEDA, _metrics({"type": "PodMetric"}), (*_METRIC, "podmetric"), _metrics(_prometheus())
    ),
    Case(
        "MLS348",
        "in Knative mode",
        KNATIVE,
        {(*_PREDICTOR, "deploymentStrategy"): {"type": "Recreate"}},
        (*_PREDICTOR, "deploymentStrategy"),
    ),
    Case(
        "MLS349",
        "below 0",
        KNATIVE,
        {(*_PREDICTOR, "containerConcurrency"): -1},
        (*_PREDICTOR, "containerConcurrency"),
        {(*_PREDICTOR, "containerConcurrency"): 0},
    ),
)
_STORAGE: Final = (
    Case(
        "MLS352",
        "beside the server",
        OWN,
        {(*_PREDICTOR, "containers", 1, "env"): [{"name": "STORAGE_URI", "value": "gs://models/it"}]},
        (*_PREDICTOR, "containers", 1, "env", 0),
        {(*_PREDICTOR, "containers"): [_SERVER, {"name": "transformer-container", "image": "transform:1"}]},
    ),
    Case(
        "MLS353",
        "one and several",
        STANDARD,
        {(*_PREDICTOR, "model", "storageUri"): "gs://models/it"},
        (*_PREDICTOR, "storageUris"),
        _storage(("gs://models/it", "/mnt/models")),
    ),
    Case(
        "MLS353",
        "upwards",
        STANDARD,
        {(*_PREDICTOR, "storageUris", 0, "mountPath"): "/mnt/../etc"},
        (*_PREDICTOR, "storageUris", 0, "mountPath"),
        _storage(("gs://models/it", "/mnt/models")),
    ),
    Case(
        "MLS353",
        "nothing in common",
        STANDARD,
        {(*_PREDICTOR, "storageUris", 1, "mountPath"): "/opt/b"},
        (*_PREDICTOR, "storageUris"),
        _storage(("gs://models/a", "/mnt/a"), ("gs://models/b", "/mnt/b")),
    ),
    Case(
        "MLS353",
        "two claims in one place",
        STANDARD,
        {(*_PREDICTOR, "storageUris", 3, "mountPath"): "/mnt/c"},
        (*_PREDICTOR, "storageUris"),
        _storage(("gs://a", "/mnt/a"), ("gs://b", "/mnt/b"), ("pvc://c/c", "/mnt/c"), ("pvc://d/d", "/mnt/d")),
    ),
    Case(
        "MLS358",
        "FTP",
        STANDARD,
        {(*_PREDICTOR, "model", "storageUri"): "ftp://models/it"},
        (*_PREDICTOR, "model", "storageUri"),
        {(*_PREDICTOR, "model", "storageUri"): "hf://models/it"},
        by="controller",
    ),
    Case(
        "MLS358",
        "FTP of a server of one's own",
        OWN,
        {(*_PREDICTOR, "containers", 0, "env", 0, "value"): "ftp://models/it"},
        (*_PREDICTOR, "containers", 0, "env", 0, "value"),
        {(*_PREDICTOR, "containers", 0, "env"): [{"name": "STORAGE_URI", "value": "/mnt/models"}]},
        by="controller",
    ),
)
_NEWER: Final = (
    Case(
        "MLS354",
        "two containers",
        STANDARD,
        {(*_PREDICTOR, "workerSpec", "containers"): [{"name": "a", "image": "a"}, {"name": "b", "image": "b"}]},
        (*_PREDICTOR, "workerSpec", "containers"),
        _NODES,
    ),
    Case(
        "MLS354",
        "size in a variable",
        STANDARD,
        {(*_PREDICTOR, "model", "env"): [{"name": "TENSOR_PARALLEL_SIZE", "value": "2"}]},
        (*_PREDICTOR, "model", "env", 0),
        _NODES,
    ),
    Case(
        "MLS354",
        "a size of 0",
        STANDARD,
        {(*_PREDICTOR, "workerSpec", "pipelineParallelSize"): 0},
        (*_PREDICTOR, "workerSpec", "pipelineParallelSize"),
        _NODES,
    ),
    Case(
        "MLS354",
        "unknown GPU",
        STANDARD,
        {(*_PREDICTOR, "model", "resources"): {"limits": {"example.com/gpu": "1"}}},
        (*_PREDICTOR, "model", "resources"),
        _NODES | {(*_PREDICTOR, "model", "resources"): {"limits": {"nvidia.com/gpu": "1"}}},
    ),
    Case(
        "MLS354",
        "list of GPUs that is none",
        STANDARD,
        {("metadata", "annotations", "serving.kserve.io/gpu-resource-types"): "example.com/gpu"},
        (*_PREDICTOR, "model", "resources"),
        _NODES
        | {
            (*_PREDICTOR, "model", "resources"): {"limits": {"example.com/gpu": "1"}},
            ("metadata", "annotations", "serving.kserve.io/gpu-resource-types"): '["example.com/gpu"]',
        },
    ),
    Case(
        "MLS354",
        "from S3",
        STANDARD,
        {(*_PREDICTOR, "model", "storageUri"): "s3://models/it"},
        (*_PREDICTOR, "model", "storageUri"),
        _NODES,
    ),
    Case("MLS354", "an autoscaler", STANDARD, {_CLASS: "hpa"}, _CLASS, _NODES),
    Case(
        "MLS356",
        "in Knative mode",
        STANDARD,
        {_MODE: "Knative"},
        ("spec", "canary"),
        {("spec", "canary"): [_CANARY]},
        "kserve-0.20",
    ),
    Case(
        "MLS356",
        "more than all",
        STANDARD,
        {("spec", "canary", 0, "trafficPercent"): 95},
        ("spec", "canary"),
        {("spec", "canary"): [_CANARY, {**_CANARY, "predictor": {"name": "other", "model": {**_MODEL, "name": ""}}}]},
        "kserve-0.20",
    ),
    Case(
        "MLS356",
        "without a name",
        STANDARD,
        {("spec", "canary", 0, "predictor", "name"): None},
        ("spec", "canary", 0, "predictor", "name"),
        {("spec", "canary"): [_CANARY]},
        "kserve-0.20",
    ),
    Case(
        "MLS356",
        "scaled",
        STANDARD,
        {("spec", "canary", 0, "predictor", "maxReplicas"): 3},
        ("spec", "canary", 0, "predictor", "maxReplicas"),
        {("spec", "canary"): [_CANARY]},
        "kserve-0.20",
    ),
    Case(
        "MLS357",
        "badly named key",
        STANDARD,
        {(*_PREDICTOR, "model", "confidential", "resourceId"): "vault://a/b/c"},
        (*_PREDICTOR, "model", "confidential", "resourceId"),
        {(*_PREDICTOR, "model", "confidential"): {"enabled": True, "resourceId": "kbs:///a/b/c"}},
        "kserve-0.20",
    ),
    Case(
        "MLS357",
        "without a model",
        STANDARD,
        {(*_PREDICTOR, "model", "storageUri"): None},
        (*_PREDICTOR, "model", "confidential"),
        {(*_PREDICTOR, "model", "confidential"): {"enabled": True}},
        "kserve-0.20",
    ),
)
_SELDON: Final = (
    Case(
        "MLS360",
        "protocol",
        SELDON_DEPLOYMENT,
        {("spec", "protocol"): "v1"},
        ("spec", "protocol"),
        {("spec", "protocol"): "v2"},
    ),
    Case(
        "MLS360",
        "transport",
        SELDON_DEPLOYMENT,
        {("spec", "transport"): "REST"},
        ("spec", "transport"),
        {("spec", "transport"): "rest"},
    ),
    Case(
        "MLS361",
        "no broker",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "svcOrchSpec", "env", 0, "name"): "KAFKA"},
        (*_FIRST, "svcOrchSpec", "env"),
        {
            ("spec", "serverType"): "kafka",
            (*_FIRST, "svcOrchSpec"): {
                "env": [{"name": f"KAFKA_{name}", "value": "it"} for name in ("BROKER", "INPUT_TOPIC", "OUTPUT_TOPIC")]
            },
        },
    ),
    Case("MLS362", "alone", SELDON_DEPLOYMENT, {(*_FIRST, "shadow"): True}, (*_FIRST, "shadow")),
    Case(
        "MLS362",
        "two",
        SELDON_DEPLOYMENT,
        {("spec", "predictors", 2): {**_SECOND, "name": "third", "shadow": True}},
        ("spec", "predictors", 2, "shadow"),
        {
            ("spec", "predictors"): [
                SELDON_DEPLOYMENT["spec"]["predictors"][0],
                {**_SECOND, "shadow": True},
            ]
        },
    ),
    Case("MLS363", "not 100", SELDON_DEPLOYMENT, _two(50, 40), ("spec", "predictors"), _two(50, 50)),
    Case(
        "MLS363",
        "a part of one",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "traffic"): 50},
        ("spec", "predictors"),
        {(*_FIRST, "traffic"): 100},
    ),
    Case(
        "MLS364",
        "same name",
        SELDON_DEPLOYMENT,
        _two(50, 50, name="first"),
        ("spec", "predictors", 1, "name"),
        _two(50, 50),
    ),
    Case("MLS364", "no spec", SELDON_DEPLOYMENT, {("spec",): None}, ("spec", "predictors")),
    Case("MLS364", "none", SELDON_DEPLOYMENT, {("spec", "predictors"): []}, ("spec", "predictors")),
    Case(
        "MLS364",
        "same Service",
        SELDON_DEPLOYMENT,
        {("spec", "predictors", 1, "annotations", "seldon.io/svc-name"): "a"},
        ("spec", "predictors", 1, "annotations", "seldon.io/svc-name"),
        _two(50, 50, annotations={"seldon.io/svc-name": "b"}) | {(*_FIRST, "annotations"): {"seldon.io/svc-name": "a"}},
    ),
    Case(
        "MLS365",
        "several units",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "annotations", "seldon.io/no-engine"): "true"},
        (*_FIRST, "annotations", "seldon.io/no-engine"),
        {(*_FIRST, "graph", "children"): [_UNIT], (*_FIRST, "annotations"): {"a": "b"}},
    ),
    Case(
        "MLS366",
        "no container",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "graph", "name"): "other"},
        (*_FIRST, "graph"),
        {(*_FIRST, "graph"): _UNIT},
    ),
    Case(
        "MLS366",
        "a unit that is a number",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "graph", "children"): [-1]},
        (*_FIRST, "graph", "children", 0),
        {(*_FIRST, "graph", "children"): []},
    ),
    Case(
        "MLS366",
        "no methods",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "graph", "type"): "UNKNOWN_TYPE"},
        (*_FIRST, "graph", "type"),
        {(*_FIRST, "graph"): _UNIT},
    ),
    Case(
        "MLS367", "no model", SELDON_DEPLOYMENT, {(*_FIRST, "graph", "modelUri"): None}, (*_FIRST, "graph", "modelUri")
    ),
    Case(
        "MLS367",
        "another protocol",
        SELDON_DEPLOYMENT,
        {("spec", "protocol"): "tensorflow"},
        (*_FIRST, "graph", "implementation"),
    ),
    Case(
        "MLS368",
        "no mode",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "graph", "logger", "mode"): None},
        (*_FIRST, "graph", "logger", "mode"),
        {(*_FIRST, "graph", "logger"): {"mode": "all", "url": "http://log"}},
    ),
    Case(
        "MLS369",
        "two kinds",
        SELDON_DEPLOYMENT,
        {(*_FIRST, "graph", "children", 0, "endpoint", "type"): "GRPC"},
        (*_FIRST, "graph", "children", 0, "endpoint", "type"),
        {
            (*_FIRST, "graph", "endpoint"): {"type": "REST"},
            (*_FIRST, "graph", "children"): [{**_UNIT, "endpoint": {"type": "REST"}}],
        },
    ),
    Case(
        "MLS369",
        "not the transport",
        SELDON_DEPLOYMENT,
        {("spec", "transport"): "grpc"},
        (*_FIRST, "graph", "endpoint", "type"),
        {(*_FIRST, "graph", "endpoint"): {"type": "REST"}, ("spec", "transport"): "rest"},
    ),
)
CASES: Final[tuple[Case, ...]] = (*_TRAINING, *_SERVERS, *_SCALING, *_STORAGE, *_NEWER, *_SELDON)
