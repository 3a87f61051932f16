"""A plan in, who may reach whom out as text: each workload with both directions, what is outside included.

It is drawn from the flows that the plan declares; `check` proves that NetworkPolicies open these and nothing else.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from mlspec import names
from mlspec.concerns import network
from mlspec.ir import Flow, Peer, Plan, Port, Stated
from mlspec.k8s import meta
from mlspec.kind_specs import WorkloadSpec
from mlspec.reachability.networks import left_out
from mlspec.reachability.networks import network as parsed
from mlspec.report.graph import describe, safe_lines

Named = Sequence[tuple[Flow, str]]
"""What an environment's destinations open, and their names."""
_ITSELF: Final = "the other pods of its run"
_NOBODY: Final = "nobody"


class End(NamedTuple):
    """The other end of a flow: what it is called, and which pods or networks that is, unless its name says it."""

    name: str
    detail: str = ""

    @property
    def words(self) -> str:
        """What a reader is told."""
        return f"{self.name}: {self.detail}" if self.detail else self.name


class Row(NamedTuple):
    """A flow, as one workload sees it."""

    end: End
    ports: str
    workload: str | None = None
    """The workload that the other end is, where it is one of ours."""


@dataclass(frozen=True, slots=True)
class Reach:
    """A workload, and what may reach it and what it may reach."""

    name: str
    words: str
    sources: tuple[Row, ...] = ()
    destinations: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Network:
    """One project in one environment, or as it is written for all."""

    title: str
    shared: tuple[Row, ...] = ()
    """What every workload may reach; gates are none."""
    workloads: tuple[Reach, ...] = ()
    gates: tuple[Reach, ...] = field(default=())


def draw(plan: Plan, named: Named) -> Network:
    """Return who may reach whom in a plan."""
    where = plan.target.environment
    title = f"{plan.project} in {where}" if where else f"{plan.project} as written, without overrides"
    dns = [network.DNS, *([network.NODE_LOCAL_DNS] if plan.target.node_local_dns else [])]
    gates = [each.workload.name for each in plan.services if each.workload.gate is not None]
    return Network(
        title,
        tuple(_row(plan, flow, named) for flow in dns) if plan.workloads else (),
        tuple(_reach(plan, stated, named, dns) for stated in (*plan.steps, *plan.services)),
        tuple(Reach(names.gate(service), "the gate, 1 pod") for service in gates),
    )


def _reach(plan: Plan, stated: Stated, named: Named, shared: Sequence[Flow]) -> Reach:
    sources = [_row(plan, flow, ()) for flow in network.ingress(plan, stated)]
    asked = _asked(stated)
    theirs = [(flow, name) for flow, name in named if name in asked]
    destinations = [_row(plan, flow, theirs) for flow in network.egress(plan, stated) if flow not in shared]
    return Reach(stated.workload.name, describe(stated), tuple(sources), tuple(destinations))


def _asked(stated: Stated) -> set[str]:
    """Return the destinations that a workload names: another may open the same networks under another name."""
    spec = stated.workload.spec
    written = spec.egress if isinstance(spec, WorkloadSpec) else ()
    return {*written, *(reference.name for reference in stated.facts.destinations)}


def _row(plan: Plan, flow: Flow, named: Named) -> Row:
    ports = _ports(flow.ports)
    for stated in plan.steps:
        if flow.peer.namespace is None and flow.peer.pod_labels.get(meta.RUN) == stated.workload.object_name:
            return Row(End(_ITSELF), ports, stated.workload.name)
    ours = _ours(plan, flow.peer)
    return Row(End(ours), ports, ours) if ours is not None else Row(_end(plan, flow, named), ports)


def _ours(plan: Plan, peer: Peer) -> str | None:
    """Return the one workload of ours that a peer selects, however its namespace is said."""
    if peer.cidrs or peer.namespace not in (None, plan.target.namespace):
        return None
    found = [each for each in plan.workloads if peer.pod_labels.items() <= each.facts.pod_labels.items()]
    return found[0].workload.name if len(found) == 1 else None


def _end(plan: Plan, flow: Flow, named: Named) -> End:
    peer = flow.peer
    if peer.cidrs:
        held = any(left_out(parsed(cidr)) for cidr in peer.cidrs)
        networks = ", ".join(peer.cidrs) + (" without the metadata service" if held else "")
        known = "the node's DNS cache" if flow == network.NODE_LOCAL_DNS else _name(flow, named)
        return End(known, networks) if known else End(networks)
    pods = ", ".join(f"{key}={value}" for key, value in sorted(peer.pod_labels.items()))
    detail = f"pods {pods}" + (f" in {peer.namespace}" if peer.namespace is not None else "")
    outside = {"the gateway": plan.target.gateway, "Prometheus": plan.target.prometheus, "DNS": network.DNS.peer}
    known = _name(flow, named) or next((name for name, known in outside.items() if known == peer), "")
    return End(known, detail) if known else End(detail)


def _name(flow: Flow, named: Named) -> str:
    return " and ".join(name for known, name in named if known == flow)


def _ports(ports: Sequence[Port]) -> str:
    """Return ports by protocol, `TCP 80, 443`."""
    numbers: dict[str, list[str]] = {}
    for port in ports:
        numbers.setdefault(port.protocol, []).append(str(port.number))
    return ", ".join(f"{protocol} {', '.join(found)}" for protocol, found in numbers.items()) or "all ports"


def render(found: Iterable[Network]) -> str:
    """Return the networks as text for a terminal."""
    return "\n".join(safe_lines(_lines(each)) for each in found)


def _lines(found: Network) -> Iterator[str]:
    reaches = (*found.workloads, *found.gates)
    rows = [*found.shared, *(row for each in reaches for row in (*each.sources, *each.destinations))]
    width = max((len(row.end.words) for row in rows), default=0)
    yield found.title
    if found.shared:
        yield "  every step and service"
        yield from _rows("to", found.shared, width)
    for each in reaches:
        yield f"  {each.name}  {each.words}"
        yield from _rows("from", each.sources, width)
        nothing = _NOBODY if each in found.gates else "nobody else"
        yield from _rows("to", each.destinations, width, nothing)


def _rows(way: str, rows: Sequence[Row], width: int, nothing: str = _NOBODY) -> Iterator[str]:
    if not rows:
        yield f"    {way:<4}  {nothing}"
    for number, row in enumerate(rows):
        yield f"    {'' if number else way:<4}  {row.end.words:<{width}}  {row.ports}"
