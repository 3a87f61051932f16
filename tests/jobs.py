"""Small Jobs, PyTorchJobs and TFJobs of any name and size, with what is projected of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from mlspec.check import fits, projected
from mlspec.check.objects import Fault
from mlspec.ir import Place
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Resource
from mlspec.projection import kubernetes, training_operator
from mlspec.schemas import kubernetes_folder
from mlspec.validation import native
from mlspec.validation.declared import declared
from mlspec.validation.objection import Objection

Body = dict[str, Any]

NAMESPACE: Final = "demo-dev"
_IMAGE: Final = "ghcr.io/acme/train:1.0"
_FIELDS: Final = {"PyTorchJob": ("pytorchReplicaSpecs", "pytorch"), "TFJob": ("tfReplicaSpecs", "tensorflow")}
_PROJECTED: Final[dict[str, Callable[[Body], Projection]]] = {
    "Job": kubernetes.job,
    "PyTorchJob": training_operator.pytorch,
    "TFJob": training_operator.tensorflow,
}


def job(kind: str, name: str, roles: Mapping[str, int], namespace: str = NAMESPACE) -> Body:
    """Return a job; a Job of Kubernetes has no roles."""
    metadata = {"name": name, "namespace": namespace}
    if kind == "Job":
        template = {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": _IMAGE}]}}
        return {"apiVersion": "batch/v1", "kind": kind, "metadata": metadata, "spec": {"template": template}}
    field, container = _FIELDS[kind]
    replicas = {
        role: {"replicas": count, "template": {"spec": {"containers": [{"name": container, "image": _IMAGE}]}}}
        for role, count in roles.items()
    }
    return {"apiVersion": "kubeflow.org/v1", "kind": kind, "metadata": metadata, "spec": {field: replicas}}


def resource(body: Body) -> Resource:
    """Return a job with its projection, as the pipeline holds it."""
    projection = _PROJECTED[body["kind"]](body)
    return Resource(body, Place.PIPELINE, ("steps", "train"), body["metadata"]["name"], projection=projection)


def faults(resource: Resource, kubernetes: str = "1.34") -> list[Fault]:
    """Return what the server's own rules and law 6 have against an object and what is projected of it."""
    folders = (kubernetes_folder(kubernetes),)
    own = [Fault(one.code, one.message, one.help, path=one.path) for one in _own(resource, folders)]
    return [*own, *fits.judge(resource), *projected.judge(folders, resource)]


def _own(resource: Resource, folders: tuple[Path, ...]) -> Iterator[Objection]:
    return native.judge(resource.body, declared(folders))


def template(body: Body, role: str = "") -> Body:
    """Return the pod template of a job, or of one of its roles, to be changed."""
    spec: Body = body["spec"]
    found: Body = spec["template"] if body["kind"] == "Job" else spec[_FIELDS[body["kind"]][0]][role]["template"]
    return found


def bodies(projection: Projection) -> list[Body]:
    """Return all that is projected: every pod, then the Services."""
    pods = [group.make(number) for group in projection.pods for number in range(group.count)]
    return [*pods, *projection.services]


def names(projection: Projection) -> set[tuple[str, str]]:
    """Return kind and name of all that is projected."""
    pods = {
        ("Pod", group.make(number)["metadata"]["name"]) for group in projection.pods for number in range(group.count)
    }
    return pods | {("Service", service["metadata"]["name"]) for service in projection.services}
