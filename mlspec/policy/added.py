"""Containers that operators add: whose each is, and what makes it meet the restricted Pod Security Standard."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from mlspec.k8s.projected import Body
from mlspec.k8s.values import items
from mlspec.policy.subject import Judged


class Owner(NamedTuple):
    """Who adds a container, and how it can be hardened or done without."""

    who: str
    remedy: str


# kserve/kserve v0.16.0 and v0.20.0, pkg/utils/storage.go
_MODELCAR: Final = Owner("KServe", "serve from a claim, `pvc://…`: with `oci://` KServe replaces security contexts")
_SELDON: Final = Owner("Seldon", "serve with KServe: Seldon has no setting for what its own containers lack")
_OWNERS: Final = {
    # kubeflow/training-operator v1.9.3, pkg/controller.v1/pytorch/initcontainer.go and pkg/config/config.go
    "init-pytorch": Owner(
        "the training operator",
        "start the training operator with `--pytorch-init-container-template-file`: a container with a securityContext",
    ),
    # kserve/kserve v0.16.0, pkg/webhook/admission/pod/storage_initializer_injector.go
    "storage-initializer": Owner(
        "KServe",
        "give the container of KServe's ClusterStorageContainer a securityContext, or serve from a claim: `pvc://…`",
    ),
    "modelcar": _MODELCAR,
    "modelcar-init": _MODELCAR,
    # kserve/kserve v0.16.0, pkg/webhook/admission/pod/agent_injector.go: it has the server's own context
    "agent": Owner("KServe", "remove what makes KServe put its agent there: `logger` or `batcher` in a patch"),
    # knative/serving, pkg/reconciler/revision/resources/queue.go
    "queue-proxy": Owner("Knative", "update Knative: its queue proxy meets restricted now"),
    # seldonio/seldon-core operator v1.16.0, controllers/seldondeployment_engine.go
    "seldon-container-engine": _SELDON,
}
_SERVERS: Final = ("kserve-container", "transformer-container")
"""Whose context a modelcar changes: up to KServe 0.17 nothing is left of it, since 0.19 only the user is another."""


def owner_of(container: str) -> Owner:
    """Return whose a container is that an operator adds, or whose security context it replaces."""
    if container.endswith("-model-initializer"):  # controllers/model_initializer_injector.go, there
        return _SELDON
    if container in _SERVERS:
        return _MODELCAR
    return _OWNERS.get(container, Owner("the operator", f"configure the operator's `{container}`"))


def has_other_user(container: str, added: frozenset[str]) -> bool:
    """Say whether an operator chooses the user of a container that the spec describes."""
    return "modelcar" in added and container in _SERVERS


def containers(judged: Judged) -> Iterator[tuple[str, Body, bool]]:
    """Yield name and manifest of every container, init containers first, and whether an operator adds it."""
    for field in ("initContainers", "containers"):
        for container in items(judged.pod, "spec", field):
            name = str(container.get("name"))
            yield name, container, name in judged.pods.added
