"""Jobs beside the goldens, for what a patch may put into one: what controllers make of each is recorded."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from tests import jobs
from tests.cluster.harness.operators import observe

Body = dict[str, Any]

NAMESPACE: Final = "projected"
POD: Final = {"serviceAccountName": "default", "automountServiceAccountToken": False}
"""Of every template: what admission would add otherwise."""
FOLDER: Final = "variants"
"""Below the controller's folder of what was observed."""


class Variant(NamedTuple):
    """A job, what its spec and each role say more, and what is changed in each pod template."""

    kind: str
    roles: Mapping[str, int] = {}
    spec: Mapping[str, Any] = {}
    change: Callable[[Body], Any] = lambda template: None
    replica: Mapping[str, Any] = {}


def _containers(template: Body) -> None:
    spec = template["spec"]
    spec["containers"] = [
        {"name": "helper", "image": "busybox:1", "env": [{"name": "A", "value": "1"}]},
        *spec["containers"],
    ]
    spec["initContainers"] = [{"name": "first", "image": "busybox:1"}]


def _metadata(template: Body) -> None:
    labels = {"team": "vision", "training.kubeflow.org/job-name": "another"}
    template["metadata"] = {"labels": labels, "annotations": {"team.example/owner": "vision"}}


def _port(name: str, number: int) -> Callable[[Body], Any]:
    return lambda template: template["spec"]["containers"][0].update(
        ports=[{"name": "admin", "containerPort": 9000, "protocol": "UDP"}, {"name": name, "containerPort": number}],
        env=[{"name": "PYTHONUNBUFFERED", "value": "0"}],
    )


VARIANTS: Final[Mapping[str, Variant]] = {
    "job-labels": Variant("Job", {}, {}, _metadata),
    "job-containers": Variant("Job", {}, {}, _containers),
    "torch-labels": Variant("PyTorchJob", {"Master": 1, "Worker": 1}, {}, _metadata),
    "torch-containers": Variant("PyTorchJob", {"Master": 1, "Worker": 2}, {"nprocPerNode": "2"}, _containers),
    "torch-port": Variant(
        "PyTorchJob", {"Master": 1, "Worker": 1}, {"nprocPerNode": "gpu"}, _port("pytorchjob-port", 1234)
    ),
    "torch-port-added": Variant("PyTorchJob", {"Master": 1}, {}, _port("grpc", 1234)),
    "torch-no-master": Variant("PyTorchJob", {"Worker": 2}, {}),
    "elastic": Variant(
        "PyTorchJob",
        {"Worker": 2},
        {
            "nprocPerNode": "2",
            "elasticPolicy": {
                "minReplicas": 1,
                "maxReplicas": 3,
                "maxRestarts": 2,
                "rdzvBackend": "etcd",
                "rdzvConf": [{"key": "a", "value": "b"}, {"key": "c", "value": "d"}],
                "rdzvHost": "etcd.example",
                "rdzvId": "run",
                "rdzvPort": 2379,
                "standalone": True,
            },
        },
    ),
    "elastic-bound": Variant("PyTorchJob", {"Worker": 2}, {"elasticPolicy": {"maxReplicas": 3}}),
    "elastic-processes": Variant("PyTorchJob", {"Worker": 1}, {"elasticPolicy": {"nProcPerNode": 4}}),
    "elastic-master": Variant(
        "PyTorchJob",
        {"Master": 1, "Worker": 2},
        {"nprocPerNode": "1", "elasticPolicy": {"rdzvBackend": "c10d"}},
    ),
    "flow-labels": Variant("TFJob", {"Chief": 1, "Worker": 1}, {}, _metadata),
    "flow-containers": Variant("TFJob", {"PS": 1, "Worker": 2, "Evaluator": 1}, {}, _containers),
    "flow-port": Variant("TFJob", {"Worker": 2}, {}, _port("tfjob-port", 1234)),
    "flow-alone": Variant("TFJob", {"Worker": 1}, {}),
    "flow-master": Variant("TFJob", {"Master": 1, "Worker": 1}, {}),
    "flow-dynamic": Variant("TFJob", {"Chief": 1, "PS": 2, "Worker": 2}, {"enableDynamicWorker": True}),
    "torch-restarts": Variant("PyTorchJob", {"Master": 1, "Worker": 1}, replica={"restartPolicy": "ExitCode"}),
    "flow-restarts": Variant("TFJob", {"Worker": 2}, replica={"restartPolicy": "OnFailure"}),
}


def variant(name: str) -> Body:
    """Return one of them."""
    found = VARIANTS[name]
    body = jobs.job(found.kind, name, found.roles, NAMESPACE)
    body["spec"] |= found.spec
    for role in found.roles or ("",):
        template = jobs.template(body, role)
        template["spec"] |= POD
        found.change(template)
    for field in ("pytorchReplicaSpecs", "tfReplicaSpecs"):
        for replica in body["spec"].get(field, {}).values():
            replica |= found.replica
    return body


def controller(name: str) -> str:
    """Return the folder of what was observed of one of them."""
    return f"{observe.CONTROLLERS[VARIANTS[name].kind]}/{FOLDER}"


def in_order(bodies: list[Body]) -> list[Body]:
    """Return objects with the ports of Services by name: the operator takes them out of a map, in any order."""
    for body in bodies:
        if body["kind"] == "Service":
            body["spec"]["ports"].sort(key=lambda port: port["name"])
    return bodies
