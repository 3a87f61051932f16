"""The two ends of traffic: a pod as policies see it, or an address outside of the cluster."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mlspec.k8s.projected import Body
from mlspec.k8s.values import items
from mlspec.reachability.networks import Address

NAMESPACE_NAME: Final = "kubernetes.io/metadata.name"
"""Label of every namespace: its name (kept so by the API server)."""
Labels = Mapping[str, str]


class ContainerPort(NamedTuple):
    """A port that a pod's container names; policies may refer to it by that name."""

    name: str
    number: int
    protocol: str = "TCP"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A pod, or, without a namespace, an address that is no pod's.

    A pod whose address is not known is matched by its labels alone, never by a network.
    """

    namespace: str | None = None
    labels: Labels = field(default_factory=dict)
    namespace_labels: Labels = field(default_factory=dict)
    ports: tuple[ContainerPort, ...] = ()
    address: Address | None = None


def pod(body: Body, namespace: str, address: Address | None = None, namespace_labels: Labels | None = None) -> Endpoint:
    """Return the pod of a manifest, in a namespace that has at least the label with its name.

    The manifest may have been patched into any shape, and its schema is judged elsewhere: what is no label or port is
    left out.
    """
    labels = {NAMESPACE_NAME: namespace} if namespace_labels is None else namespace_labels
    written = body["metadata"].get("labels")
    own = {key: value for key, value in written.items() if isinstance(value, str)} if isinstance(written, dict) else {}
    return Endpoint(namespace, own, labels, tuple(_ports(body["spec"])), address)


def _ports(spec: Body) -> Iterator[ContainerPort]:
    """Yield the ports with a name, of containers and of init containers that stay (sidecars)."""
    stay = [item for item in items(spec.get("initContainers")) if item.get("restartPolicy") == "Always"]
    for container in (*items(spec.get("containers")), *stay):
        for port in items(container.get("ports")):
            name, number, protocol = port.get("name"), port.get("containerPort"), port.get("protocol", "TCP")
            if isinstance(name, str) and isinstance(number, int) and isinstance(protocol, str):
                yield ContainerPort(name, number, protocol)
