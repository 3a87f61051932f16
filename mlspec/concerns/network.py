"""Concern network: everything is closed both ways, and exactly the flows that a plan declares are opened."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec import names
from mlspec.ir import Flow, Peer, Place, Plan, Port, Stated
from mlspec.ir_sources import Source
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource, compact
from mlspec.reachability.networks import left_out, network

KINDS: Final = (("networking.k8s.io", "NetworkPolicy"),)
"""(group, kind) of everything that this concern may emit."""
Neighbours = tuple[tuple[Stated, Flow], ...]
_DNS_PORTS: Final = (Port(53, "UDP"), Port(53))
_GATEWAY: Final = Source(("network", "gateway"), of_environment=True)
_PROMETHEUS: Final = Source(("prometheus",), of_environment=True)
_RESOLVER: Final = (Source(("network", "dns"), of_environment=True),)
DNS: Final = Flow(Peer("kube-system", {"k8s-app": "kube-dns"}), _DNS_PORTS, _RESOLVER)
"""Queries to the cluster's DNS; the label is that of CoreDNS in every common distribution, too."""
NODE_LOCAL_DNS: Final = Flow(Peer(cidrs=("169.254.20.10/32",)), _DNS_PORTS, _RESOLVER)
"""Queries to the node-local cache, which listens on the node itself, at this link-local address by convention."""


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield the default-deny, one policy a workload, and one a run whose pods reach one another."""
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
    within = neighbours(plan)
    for stated in plan.workloads:
        workload = stated.workload
        selector = meta.workload_selector(plan.project, workload.section, workload.name)
        spec = _spec(selector, list(_from_others(plan, stated, within)), list(_to_others(plan, stated)))
        origin = (workload.section, workload.name)
        yield Resource(_policy(plan, workload.name, spec), Place.FOUNDATION, origin)
        flows = list(_itself(plan, stated))
        if flows:
            yield Resource(_of_run(plan, stated, _spec(_run(plan, stated), flows, flows)), Place.FOUNDATION, origin)


def neighbours(plan: Plan) -> Neighbours:
    """Return who reaches what by a destination in the project's own namespace; asked for once a plan."""
    namespace = plan.target.namespace
    if namespace is None:
        return ()
    return tuple(
        (other, flow)
        for other in plan.workloads
        for flow in (*other.facts.egress, *other.workload.egress)
        if flow.peer.namespace == namespace
    )


def ingress(plan: Plan, stated: Stated, within: Neighbours | None = None) -> Iterator[Flow]:
    """Yield what may reach a workload's pods; whoever asks for all of them hands over the plan's neighbours."""
    yield from _itself(plan, stated)
    yield from _from_others(plan, stated, neighbours(plan) if within is None else within)


def egress(plan: Plan, stated: Stated) -> Iterator[Flow]:
    """Yield what a workload's pods may reach."""
    yield from _itself(plan, stated)
    yield from _to_others(plan, stated)


def _itself(plan: Plan, stated: Stated) -> Iterator[Flow]:
    """Yield what goes on among the pods of one run, and no other of its step: a superseded one may still train."""
    if stated.facts.talks_to_itself:
        workload = stated.workload
        yield Flow(Peer(None, _run(plan, stated)), because=(Source((workload.section, workload.name)),))


def _from_others(plan: Plan, stated: Stated, within: Neighbours) -> Iterator[Flow]:
    facts, target = stated.facts, plan.target
    if target.gateway is not None and facts.served_from_gateway:
        yield Flow(target.gateway, facts.served_from_gateway, (_GATEWAY,))
    yield from facts.ingress
    if target.prometheus is not None and facts.metrics is not None:
        yield Flow(target.prometheus, (facts.metrics,), (_PROMETHEUS,))
    for other, flow in within:
        yield from _from_neighbour(plan, stated, other, flow)


def _from_neighbour(plan: Plan, stated: Stated, other: Stated, flow: Flow) -> Iterator[Flow]:
    """Yield the other end of what a workload reaches by a destination in the project's own namespace."""
    if flow.peer.pod_labels.items() <= stated.facts.pod_labels.items():
        selector = meta.workload_selector(plan.project, other.workload.section, other.workload.name)
        yield Flow(Peer(None, selector), flow.ports, flow.because)


def _to_others(plan: Plan, stated: Stated) -> Iterator[Flow]:
    yield DNS
    if plan.target.node_local_dns:
        yield NODE_LOCAL_DNS
    yield from stated.facts.egress
    yield from stated.workload.egress


def _run(plan: Plan, stated: Stated) -> dict[str, str]:
    return {meta.PROJECT: plan.project, meta.RUN: stated.workload.object_name}


def _of_run(plan: Plan, stated: Stated, spec: Body) -> Body:
    """Return the policy of a run: it stays where the run stays, which may go on when Git has the next one.

    It is no part of the run's file: that is written once, and pipelines do not self-heal.
    """
    workload = stated.workload
    annotations = meta.run_annotations(meta.FOUNDATION_WAVE, keep=workload.run.keep)
    del annotations[meta.IGNORE_HEALTH]  # policies have none
    name = names.peers(workload.object_name)
    metadata = meta.metadata(name, plan.target.namespace, workload.labels, annotations)
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def _policy(plan: Plan, name: str, spec: Body) -> Body:
    labels, annotations = meta.project_labels(plan.project), meta.wave(meta.FOUNDATION_WAVE)
    metadata = meta.metadata(name, plan.target.namespace, labels, annotations)
    return {"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": metadata, "spec": spec}


def _spec(selector: dict[str, str], from_flows: list[Flow], to_flows: list[Flow]) -> Body:
    rules = compact(
        {
            "ingress": [_rule(flow, "from") for flow in from_flows],
            "egress": [_rule(flow, "to") for flow in to_flows],
        }
    )
    # A direction without rules is left to the default-deny: listed here without a rule, it could be opened by hand
    # unseen.
    return {"podSelector": {"matchLabels": selector}, "policyTypes": [way.capitalize() for way in rules], **rules}


def _rule(flow: Flow, direction: str) -> Body:
    ports = [{"protocol": port.protocol, "port": port.number} for port in flow.ports]
    return compact({direction: list(_peers(flow.peer)), "ports": ports})


def _peers(peer: Peer) -> Iterator[Body]:
    for cidr in peer.cidrs:
        whole = network(cidr)
        yield {"ipBlock": compact({"cidr": str(whole), "except": [str(service) for service in left_out(whole)]})}
    if not peer.cidrs:
        selector: Body = {}
        if peer.namespace is not None:
            selector["namespaceSelector"] = {"matchLabels": {"kubernetes.io/metadata.name": peer.namespace}}
        yield {**selector, "podSelector": {"matchLabels": dict(sorted(peer.pod_labels.items()))}}
