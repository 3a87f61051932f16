"""A plan and its objects in, the pods of each workload and what the plan says of their traffic out.

What may flow is what the NetworkPolicies are made of; what the policies say is not looked at here, so that the two can
be compared.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from ipaddress import ip_network
from typing import Final, Literal, NamedTuple

from mlspec.concerns import network
from mlspec.ir import Flow, Peer, Plan, Port, Stated
from mlspec.k8s import meta
from mlspec.k8s.projected import ProjectedPods
from mlspec.k8s.resource import Resource
from mlspec.reachability import Block, Endpoint, PortRange, Selector, pod
from mlspec.reachability import Peer as Selected
from mlspec.reachability.endpoints import NAMESPACE_NAME
from mlspec.reachability.networks import METADATA, holds, left_out
from mlspec.reachability.networks import network as parsed

Way = Literal["ingress", "egress"]
WAYS: Final[tuple[Way, Way]] = ("ingress", "egress")


class Opening(NamedTuple):
    """One peer on one range of ports, None for all ports, as a rule of a policy says it."""

    peer: Selected | None
    ports: PortRange | None

    @property
    def is_of_here(self) -> bool:
        """Say whether the other end is pods of the same namespace, however they are selected."""
        return self.peer is not None and self.peer.namespaces is None


class Pods(NamedTuple):
    """Pods of ours that are alike, with what the plan lets them do."""

    resource: Resource
    words: str
    """How people call them."""
    endpoint: Endpoint
    stated: Stated | None
    """The workload whose pods they are; None for what stands beside them, such as a gate, which needs no network."""
    ingress: tuple[Flow, ...] = ()
    egress: tuple[Flow, ...] = ()

    def flows(self, way: Way) -> tuple[Flow, ...]:
        """Return what the plan opens in a direction."""
        return self.ingress if way == "ingress" else self.egress


def pods(plan: Plan, resources: Sequence[Resource]) -> list[Pods]:
    """Return the pods that will exist, those that are alike once, and a pod of the project that nobody accounts for."""
    namespace = plan.target.namespace or ""
    by_object = {(each.facts.gvk.kind, each.workload.object_name): each for each in plan.workloads}
    within = network.neighbours(plan)
    found = []
    for resource in resources:
        alike = resource.projection.pods if resource.projection is not None else ()
        stated = by_object.get((resource.body["kind"], resource.body["metadata"]["name"])) if alike else None
        ingress = tuple(network.ingress(plan, stated, within)) if stated is not None else ()
        egress = tuple(network.egress(plan, stated)) if stated is not None else ()
        for each in alike:
            endpoint = pod(each.first, namespace)
            found.append(Pods(resource, _words(resource, each, stated), endpoint, stated, ingress, egress))
    if found:
        unknown = Endpoint(namespace, {meta.PROJECT: plan.project}, {NAMESPACE_NAME: namespace})
        found.append(Pods(found[0].resource, "pods of the project that are no workload's", unknown, None))
    return found


def _words(resource: Resource, alike: ProjectedPods, stated: Stated | None) -> str:
    if stated is None:
        return f"the pod of {resource.key}"
    return (
        f"the {alike.role} pods of `{stated.workload.name}`" if alike.role else f"the pods of `{stated.workload.name}`"
    )


def openings(flows: Iterable[Flow]) -> frozenset[Opening]:
    """Return what flows open, in the words of NetworkPolicies."""
    return frozenset(
        Opening(peer, ports) for flow in flows for peer in _selected(flow.peer) for ports in _ranges(flow.ports)
    )


def _selected(peer: Peer) -> Iterator[Selected]:
    for cidr in peer.cidrs:
        whole = parsed(cidr)
        yield Selected(block=Block(whole, frozenset(left_out(whole))))
    if not peer.cidrs:
        place = Selector(frozenset({(NAMESPACE_NAME, peer.namespace)})) if peer.namespace is not None else None
        yield Selected(place, Selector(frozenset(peer.pod_labels.items())))


def _ranges(ports: tuple[Port, ...]) -> Iterator[PortRange | None]:
    if not ports:
        yield None
    for port in ports:
        yield PortRange(port.protocol, port.number, port.number)


def with_end(flows: Iterable[Flow], other: Endpoint, own_namespace: str) -> list[Flow]:
    """Return the flows that are with an end; said of flows alone, not of what policies make of them."""
    return [flow for flow in flows if _is_with(flow.peer, other, own_namespace)]


def declares(flows: Iterable[Flow], port: int, protocol: str) -> Flow | None:
    """Return the first of the flows that is on a port; None where none is."""
    return next((flow for flow in flows if not flow.ports or _has(flow.ports, port, protocol)), None)


def _has(ports: tuple[Port, ...], port: int, protocol: str) -> bool:
    return any((item.number, item.protocol) == (port, protocol) for item in ports)


def _is_with(peer: Peer, other: Endpoint, own_namespace: str) -> bool:
    if not peer.cidrs:
        return other.namespace == (peer.namespace or own_namespace) and peer.pod_labels.items() <= other.labels.items()
    if other.address is None:
        return False
    address = ip_network(other.address)
    # A destination that is a metadata service is refused by policy; where that is accepted, it is meant.
    meant = [parsed(cidr) for cidr in peer.cidrs]
    return any(holds(whole, address) for whole in meant if whole in METADATA or address not in METADATA)
