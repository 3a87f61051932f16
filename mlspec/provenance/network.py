"""Where the rules of NetworkPolicies come from: each rule is one flow, and a flow is what somebody wrote down."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from mlspec.concerns import network
from mlspec.ir import Flow, Stated
from mlspec.k8s import meta
from mlspec.kind_specs import WorkloadSpec
from mlspec.plan import defaults
from mlspec.provenance.rows import Table, said
from mlspec.provenance.view import At, Chain, Origin, View, environment, own, project
from mlspec.provenance.workloads import METADATA, RUN


def _flow(at: At, way: str) -> Flow | None:
    """Return the flow that a rule stands for: rules stand in the order of the plan's flows."""
    stated, index = at.view.stated, at.stars[-1]
    if stated is None or not isinstance(index, int):
        return None
    plan = at.view.plan
    within = network.neighbours(plan)
    flows = list(network.ingress(plan, stated, within) if way == "ingress" else network.egress(plan, stated))
    flows = flows[1:] if stated.facts.talks_to_itself else flows
    return flows[index] if index < len(flows) else None


def _of_itself(view: View) -> bool:
    """Say whether a policy is that of one run, whose pods reach one another."""
    return meta.RUN in view.body["spec"]["podSelector"].get("matchLabels", {})


def _within(at: At, *place: str) -> Chain:
    """Return the field of a group of pods, or of networks, that a field of a rule is."""
    rest = at.rest
    if rest[:1] == ("ports",):
        return environment(*place, "ports", *(str(rest[1:2][0]),) if rest[1:2] else ())
    if "ipBlock" in rest:
        return environment(*place, "cidrs", str(rest[1]))
    if "namespaceSelector" in rest:
        return environment(*place, "namespace")
    if "podSelector" in rest:
        labels = rest[rest.index("podSelector") + 2 :]
        return environment(*place, "podLabels", *map(str, labels[:1]))
    return environment(*place)


def _ingress(at: At) -> Origin:
    """Return what lets requests in: the gateway, Prometheus, the mode of KServe, or another workload's `egress`."""
    target, flow = at.view.plan.target, _flow(at, "ingress")
    stated = at.view.stated
    if flow is None or stated is None or _of_itself(at.view):
        return _itself(at)
    ports = (own(at, "port"), environment("kserve", "mode"))
    if flow.peer == target.gateway and flow.ports == stated.facts.served_from_gateway:
        return (own(at, "port"), *ports, *_gateway(at)) if at.rest[:1] == ("ports",) else _gateway(at)
    if flow in stated.facts.ingress:
        return (environment("kserve", "mode"), own(at))
    if flow.peer == target.prometheus:
        metrics = (*ports, own(at, "model", "runtime"), own(at, "model", "format"), environment("prometheus"))
        return metrics if at.rest[:1] == ("ports",) else (_within(at, "prometheus"), *metrics)
    return _neighbour(at, flow)


def _gateway(at: At) -> Origin:
    return (_within(at, "network", "gateway"),)


def _neighbour(at: At, flow: Flow) -> Origin:
    """Return what brings a workload of the same namespace here: its `egress`, and the destination that it names."""
    found: list[Chain] = []
    for other in at.view.plan.workloads:
        place = (other.workload.section, other.workload.name)
        if meta.workload_selector(at.view.plan.project, *place) == flow.peer.pod_labels:
            there = _destinations(at, other, lambda one: one.ports == flow.ports)
            found += [*(_within(at, "network", "destinations", name) for name in there), project(*place, "egress")]
    return (*found, project("name"))


def _egress(at: At) -> Origin:
    """Return what opens a way out: DNS, a destination that is named, or one that a model's place needs."""
    flow, stated = _flow(at, "egress"), at.view.stated
    if flow is None or stated is None or _of_itself(at.view):
        return _itself(at)
    if flow in (network.DNS, network.NODE_LOCAL_DNS):
        return (environment("network", "dns"),)
    names = _destinations(at, stated, lambda one: one == flow)
    egress = at.view.spec.egress if at.view.spec is not None else ()
    named = (own(at, "egress", str(egress.index(name))) for name in names if name in egress)
    fields = (_within(at, "network", "destinations", name) for name in names)
    return (*fields, *named, own(at, "model", "uri")) if names else (own(at),)


def _destinations(at: At, stated: Stated, is_it: Callable[[Flow], bool]) -> list[str]:
    """Return the destinations that a workload names, or needs, whose flow is the one."""
    known, spec = at.view.environment.model.network.destinations, stated.workload.spec
    egress = spec.egress if isinstance(spec, WorkloadSpec) else ()
    wanted = dict.fromkeys([*egress, *(one.name for one in stated.facts.destinations)])
    return [name for name in wanted if name in known and is_it(defaults.flow(known[name], name))]


def _itself(at: At) -> Origin:
    """Return what makes the pods of a run reach one another: that there are several."""
    spec = at.view.spec
    parts = spec.parts() if spec is not None else {}
    return (
        own(at),
        project("name"),
        own(at, "nodes"),
        own(at, "elastic", "max"),
        *(own(at, *part, "replicas") for part in parts),
    )


def _whole(at: At) -> Origin:
    """Return everything that a list of rules depends on."""
    others = [(each.workload.section, each.workload.name) for each in at.view.plan.workloads]
    egress = (project(*place, "egress") for place in others if place != at.view.origin[:2])
    return (*said(". + egress + model + @network + @kserve mode + @prometheus + /name", at), *egress)


POLICY: Final = Table(
    {
        **METADATA,
        **{row: maker for row, maker in RUN.items() if "sync-options" in row or "compare-options" in row},
        f"spec podSelector matchLabels {meta.PROJECT}": "/name",
        "spec ingress": _whole,
        "spec egress": _whole,
        "spec ingress *": _ingress,
        "spec egress *": _egress,
    }
)
