"""Objects with the same item twice in a list: where the server refuses it, and where not."""

from __future__ import annotations

from typing import Any, Final

Body = dict[str, Any]
Path = tuple[str | int, ...]


def _job(**container: Any) -> Body:
    pod = {"restartPolicy": "Never", "containers": [{"name": "main", "image": "main:1", **container}]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": _meta(), "spec": {"template": {"spec": pod}}}


def _meta(**more: Any) -> Body:
    return {"name": "twice", "namespace": "default", **more}


def _pytorch(**container: Any) -> Body:
    pod = {"containers": [{"name": "pytorch", "image": "main:1", **container}]}
    roles = {"Master": {"template": {"spec": pod}}}
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": _meta(),
        "spec": {"pytorchReplicaSpecs": roles},
    }


def _service(*ports: Body) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": _meta(),
        "spec": {"selector": {"a": "b"}, "ports": list(ports)},
    }


_ACCOUNT: Final = {"apiVersion": "v1", "kind": "ServiceAccount"}
_JOB: Final = ("spec", "template", "spec", "containers", 0)
_PYTORCH: Final = ("spec", "pytorchReplicaSpecs", "Master", "template", "spec", "containers", 0)
_PORT: Final = {"containerPort": 80, "protocol": "TCP"}
TWICE: Final[dict[str, tuple[Body, Path]]] = {
    "ports of a Job": (_job(ports=[_PORT, _PORT]), (*_JOB, "ports", 1)),
    "a port with the default protocol": (_job(ports=[{"containerPort": 80}, _PORT]), (*_JOB, "ports", 1)),
    "variables": (_job(env=[{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]), (*_JOB, "env", 1)),
    "finalizers": ({**_ACCOUNT, "metadata": _meta(finalizers=["a.b/c", "a.b/c"])}, ("metadata", "finalizers", 1)),
    "ports of a Service": (
        _service(*({"port": 80, "protocol": "TCP", "name": name} for name in ("a", "b"))),
        ("spec", "ports", 1),
    ),
    "ports of a PyTorchJob": (_pytorch(ports=[_PORT, {"containerPort": 80}]), (*_PYTORCH, "ports", 1)),
}
"""What server-side apply refuses, and of custom resources the server at all; and where the second of the two is."""
KEPT: Final[dict[str, Body]] = {
    "two protocols": _job(ports=[_PORT, {"containerPort": 80, "protocol": "UDP"}]),
    "arguments": _job(args=["a", "a"]),
    "secrets of a ServiceAccount": {
        **_ACCOUNT,
        "metadata": _meta(),
        "imagePullSecrets": [{"name": "x"}, {"name": "x"}],
    },
    "access modes": {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": _meta(),
        "spec": {"accessModes": ["ReadWriteOnce"] * 2, "resources": {"requests": {"storage": "1Gi"}}},
    },
}
"""What it takes."""
