"""Concern network: everything is closed both ways, and exactly the flows that a plan declares are opened."""

from __future__ import annotations

from collections.abc import Iterator
from ipaddress import ip_network
from typing import Final

from mlspec import names
from mlspec.ir import Flow, Peer, Place, Plan, Port, Stated
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource, compact

KINDS: Final = (("networking.k8s.io", "NetworkPolicy"),)
"""(group, kind) of everything that this concern may emit."""
_DNS: Final = Flow(Peer("kube-system", {"k8s-app": "kube-dns"}), (Port(53, "UDP"), Port(53)))
# The node-local cache listens on the node itself, at this link-local address by convention.
_NODE_LOCAL_DNS: Final = Flow(Peer(cidrs=("169.254.20.10/32",)), _DNS.ports)
# Cloud credentials of the node are served here; no opening by CIDR includes it.
_METADATA: Final = ip_network("169.254.169.254/32")


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield the default-deny and one policy a workload."""
    if not plan.workloads:
        return
    # Without a rule nobody owns the lists, and a rule added by hand is neither seen nor healed (seen on Argo CD 3.5).
    nobody = {"podSelector": {"matchLabels": dict(meta.NOBODY)}}
    closed = {
        "podSelector": {"matchLabels": {meta.PROJECT: plan.project}},
        "policyTypes": ["Ingress", "Egress"],
        "ingress": [{"from": [nobody]}],
        "egress": [{"to": [nobody]}],
    }
    yield Resource(_policy(plan, names.default_deny(plan.project), closed), Place.FOUNDATION, ("name",))
    for stated in plan.workloads:
        workload = stated.workload
        selector = meta.workload_selector(plan.project, workload.section, workload.name)
        rules = compact(
            {
                "ingress": [_rule(flow, "from") for flow in ingress(plan, stated)],
                "egress": [_rule(flow, "to") for flow in egress(plan, stated)],
            }
        )
        # A direction without rules is left to the default-deny: listed here without a rule, it could be opened
        # by hand unseen.
        spec = {"podSelector": {"matchLabels": selector}, "policyTypes": [way.capitalize() for way in rules], **rules}
        yield Resource(_policy(plan, workload.name, spec), Place.FOUNDATION, (workload.section, workload.name))


def ingress(plan: Plan, stated: Stated) -> Iterator[Flow]:
    """Yield what may reach a workload's pods."""
    facts, target = stated.facts, plan.target
    if facts.talks_to_itself:
        yield Flow(_itself(plan, stated))
    if target.gateway is not None and facts.served_from_gateway:
        yield Flow(target.gateway, facts.served_from_gateway)
    yield from facts.ingress
    if target.prometheus is not None and facts.metrics is not None:
        yield Flow(target.prometheus, (facts.metrics,))


def egress(plan: Plan, stated: Stated) -> Iterator[Flow]:
    """Yield what a workload's pods may reach."""
    yield _DNS
    if plan.target.node_local_dns:
        yield _NODE_LOCAL_DNS
    if stated.facts.talks_to_itself:
        yield Flow(_itself(plan, stated))
    yield from stated.facts.egress
    yield from stated.workload.egress


def _itself(plan: Plan, stated: Stated) -> Peer:
    return Peer(None, meta.workload_selector(plan.project, stated.workload.section, stated.workload.name))


def _policy(plan: Plan, name: str, spec: Body) -> Body:
    labels, annotations = meta.project_labels(plan.project), meta.wave(meta.FOUNDATION_WAVE)
    metadata = meta.metadata(name, plan.target.namespace, labels, annotations)
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def _rule(flow: Flow, direction: str) -> Body:
    ports = [{"protocol": port.protocol, "port": port.number} for port in flow.ports]
    return compact({direction: list(_peers(flow.peer)), "ports": ports})


def _peers(peer: Peer) -> Iterator[Body]:
    for cidr in peer.cidrs:
        network = ip_network(cidr)
        closed = network.version == 4 and network != _METADATA and network.supernet_of(_METADATA)  # type: ignore[arg-type]  # same version
        yield {"ipBlock": {"cidr": cidr, **({"except": [str(_METADATA)]} if closed else {})}}
    if not peer.cidrs:
        selector: Body = {}
        if peer.namespace is not None:
            selector["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": peer.namespace}}
        yield {**selector, "podSelector": {"matchLabels": dict(sorted(peer.pod_labels.items()))}}
