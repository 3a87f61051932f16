"""NetworkPolicies against the plan: what it declares is open both ways, and nothing else is (law 7).

Policies that say word for word what the plan says need no trial. Where the two differ, pods and addresses at the
borders of everything that either names are tried, and what comes out otherwise is told.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Final, NamedTuple

from mlspec.check.flows import WAYS, Opening, Pods, Way, declares, openings, pods, with_end
from mlspec.check.objects import Fault
from mlspec.concerns import network
from mlspec.ir import Flow, Plan
from mlspec.ir_sources import Source, mended
from mlspec.k8s import meta
from mlspec.k8s.resource import Resource
from mlspec.reachability import (
    Endpoint,
    Peer,
    Policy,
    Selector,
    is_on,
    parse,
    ports_in,
    ports_out,
    witnesses,
)
from mlspec.reachability.endpoints import NAMESPACE_NAME
from mlspec.reachability.networks import METADATA
from mlspec.reachability.networks import network as parsed

_CLOSED: Final = "MLS311"
_OPEN: Final = "MLS312"
_ELSEWHERE: Final = "MLS313"
_NOTHING: Final = "MLS303"
_POLICY: Final = network.KINDS[0][1]
_NOBODY: Final = Opening(Peer(pods=Selector(frozenset(meta.NOBODY.items()))), None)
_EVERYTHING: Final = frozenset({Opening(None, None)})
_OURS: Final = "mlspec writes plan and policies both, so this is a fault of its own: please report it"
_SHOWN: Final = 4
_OTHER_PROJECT: Final = "another-project"

Found = tuple[Resource, Fault]


class Difference(NamedTuple):
    """A connection that is open although nothing declares it, or closed although something does."""

    words: str
    """The other end."""
    port: int
    protocol: str
    opened: bool
    because: tuple[Source, ...] = ()
    """The fields that open it, where it should be open."""


def check(plan: Plan, resources: Sequence[Resource], elsewhere: Collection[str] = ()) -> Iterator[Found]:
    """Yield the faults of one project in one environment, each with the workload whose pods it is about.

    `elsewhere` are the namespaces of the project's other environments in the same cluster.
    """
    ours = pods(plan, resources)
    policies = [parse(each.body, plan.target.namespace) for each in resources if each.body["kind"] == _POLICY]
    for each in ours:
        for way in WAYS:
            if _says(policies, each, way) != openings(each.flows(way)):
                yield from _told(each, way, list(differences(policies, ours, each, way)))
        if meta.NOBODY.items() <= each.endpoint.labels.items():
            yield each.resource, Fault(_OPEN, "its pods carry the label that is nobody's, which is let through", _OURS)
    yield from _of_others(policies, ours)
    yield from _one_sided(ours)
    if plan.target.manage_namespace:
        yield from _at_nobody(ours, plan.target.namespace)
    yield from _other_environments(ours, elsewhere)


def _says(policies: Sequence[Policy], each: Pods, way: Way) -> frozenset[Opening]:
    """Return what policies open for pods, without the guard of the default-deny, which is nobody's."""
    endpoint = each.endpoint
    applying = [
        rules
        for policy in policies
        if (rules := policy.ingress if way == "ingress" else policy.egress) is not None
        and policy.namespace == endpoint.namespace
        and policy.selector.matches(endpoint.labels)
    ]
    if not applying:
        return _EVERYTHING
    said = {
        Opening(peer, ports)
        for rules in applying
        for rule in rules
        for peer in rule.peers or (None,)
        for ports in rule.ports or (None,)
    }
    return frozenset(said - {_NOBODY})


def differences(policies: Sequence[Policy], ours: Sequence[Pods], each: Pods, way: Way) -> Iterator[Difference]:
    """Try pods in a direction with every other end and port that could tell policies and plan apart."""
    own = each.endpoint.namespace or ""
    declared = openings(each.flows(way))
    named = {*witnesses.ranges(policies), *(item.ports for item in declared if item.ports is not None)}
    tried: set[tuple[object, ...]] = set()
    for words, other in _ends(policies, ours, each, declared):
        alike = (
            other.namespace,
            frozenset(other.labels.items()),
            frozenset(other.namespace_labels.items()),
            other.address,
        )
        if alike in tried:
            continue
        tried.add(alike)
        source, destination = (other, each.endpoint) if way == "ingress" else (each.endpoint, other)
        ranges = (ports_in if way == "ingress" else ports_out)(policies, source, destination)
        flows = with_end(each.flows(way), other, own)
        for port in witnesses.ports(named, destination.ports) if ranges or flows else ():
            for protocol in witnesses.PROTOCOLS:
                opened = is_on(ranges, destination, port, protocol)
                declaring = declares(flows, port, protocol)
                if opened != (declaring is not None):
                    yield Difference(words, port, protocol, opened, declaring.because if declaring else ())


def _ends(
    policies: Sequence[Policy], ours: Sequence[Pods], each: Pods, declared: frozenset[Opening]
) -> Iterator[tuple[str, Endpoint]]:
    """Yield every other end that is tried: ours, what looks nearly like ours, and what rules and flows name."""
    own = each.endpoint.namespace or ""
    for other in ours:
        labels, place = other.endpoint.labels, {NAMESPACE_NAME: "another-environment"}
        yield other.words, other.endpoint
        away = replace(other.endpoint, namespace="another-environment", namespace_labels=place)
        yield f"{other.words} in another environment", away
        neighbour = replace(other.endpoint, labels={**labels, meta.PROJECT: _OTHER_PROJECT})
        yield f"{other.words}, if they were another project's", neighbour
        if meta.RUN in labels:
            older = replace(other.endpoint, labels={**labels, meta.RUN: "another-run"})
            yield f"{other.words} in another run", older
    named = witnesses.peers(policies) | {item.peer for item in declared if item.peer is not None}
    for endpoint in witnesses.pods(witnesses.in_order(named - {_NOBODY.peer}), own):
        if endpoint.namespace != own or not meta.NOBODY.items() <= endpoint.labels.items():
            yield _words(endpoint), endpoint
    for address in witnesses.addresses(peer.block for peer in named if peer.block is not None):
        where = " (the cloud's metadata service)" if parsed(str(address)) in METADATA else ""
        yield f"address {address}{where}", Endpoint(address=address)


def _words(endpoint: Endpoint) -> str:
    labels = ", ".join(f"{key}={value}" for key, value in sorted(endpoint.labels.items()))
    return f"pods {f'with {labels}' if labels else 'without labels'} in namespace {endpoint.namespace}"


def _told(each: Pods, way: Way, found: Sequence[Difference]) -> Iterator[Found]:
    """Yield what is open and what is closed against the plan, each in one sentence with the first end for example."""
    subject = "its pods" if each.endpoint.labels.keys() - {meta.PROJECT} else each.words
    verb = "can be reached by" if way == "ingress" else "can reach"
    negated = "cannot be reached by" if way == "ingress" else "cannot reach"
    for opened in (True, False):
        rows = [item for item in found if item.opened is opened]
        if not rows:
            continue
        first = rows[0].words
        ports = _ports([item for item in rows if item.words == first])
        others = len({item.words for item in rows}) - 1
        more = f", and {others} more" if others else ""
        if opened:
            message = f"{subject} {verb} {first} on {ports}{more}, and nothing declares it"
        else:
            message = f"{subject} {negated} {first} on {ports}{more}, though the plan declares it"
        yield each.resource, Fault(_OPEN if opened else _CLOSED, message, _OURS, because=rows[0].because)


def _ports(rows: Sequence[Difference]) -> str:
    shown = list(dict.fromkeys(f"{item.protocol} {item.port}" for item in rows))
    return ", ".join(shown[:_SHOWN]) + (f" and {len(shown) - _SHOWN} more ports" if len(shown) > _SHOWN else "")


def _of_others(policies: Sequence[Policy], ours: Sequence[Pods]) -> Iterator[Found]:
    """Yield policies that also select pods of another project in the namespace, if it names its own alike."""
    for each in ours:
        labels = {**each.endpoint.labels, meta.PROJECT: _OTHER_PROJECT}
        found = next((policy for policy in policies if policy.selector.matches(labels)), None)
        if found is not None:
            message = f"NetworkPolicy {found.name} holds for its pods, and would for those of another project, too"
            yield each.resource, Fault(_OPEN, message, _OURS)


def _one_sided(ours: Sequence[Pods]) -> Iterator[Found]:
    """Yield flows among our own pods that only one end declares: such a connection does not come about."""
    said = [_Said(each, _opened(each.ingress), _opened(each.egress)) for each in ours if each.stated is not None]
    for each, ingress, egress in said:
        for other, other_ingress, other_egress in said:
            alone = [flow for flow, one in egress if _is(one.peer, other) and not _covers(other_ingress, one, each)]
            if alone:
                message = f"its pods may reach {other.words}, which let in nothing from them"
                because = mended(alone[0].because, "podLabels")
                yield each.resource, Fault(_CLOSED, message, _by_label(other), because=because)
            reaching = [item for item in ingress if item.opening.is_of_here and _is(item.opening.peer, other)]
            alone = [flow for flow, one in reaching if not _covers(other_egress, one, each)]
            if alone:
                message = f"its pods may be reached by {other.words}, which let nothing out to them"
                yield each.resource, Fault(_CLOSED, message, _OURS, because=alone[0].because)


class _Opened(NamedTuple):
    """What a flow opens, once a range of ports and a peer."""

    flow: Flow
    opening: Opening


class _Said(NamedTuple):
    """Pods, and what the plan opens to them and from them."""

    pods: Pods
    ingress: list[_Opened]
    egress: list[_Opened]


def _opened(flows: Iterable[Flow]) -> list[_Opened]:
    return [_Opened(flow, opening) for flow in flows for opening in openings((flow,))]


def _at_nobody(ours: Sequence[Pods], namespace: str | None) -> Iterator[Found]:
    """Yield flows into the project's own namespace whose labels none of its pods has; nobody else has pods there."""
    for each in ours:
        for flow in each.egress:
            peer, inside = flow.peer, flow.peer.namespace == namespace and not flow.peer.cidrs
            if inside and not any(peer.pod_labels.items() <= other.endpoint.labels.items() for other in ours):
                labels = ", ".join(f"{key}: {value}" for key, value in peer.pod_labels.items())
                message = (
                    f"its pods may reach those of namespace {namespace} with `{labels}`, and none has these labels"
                )
                help = "name a step or service by `mlspec.dev/step` or `mlspec.dev/service`, or the namespace of others"
                yield each.resource, Fault(_NOTHING, message, help, because=mended(flow.because, "podLabels"))


def _is(peer: Peer | None, other: Pods) -> bool:
    """Say whether a peer is pods of ours, here in our own namespace."""
    if peer is None or peer.pods is None:
        return False
    here = peer.namespaces is None or peer.namespaces.matches(other.endpoint.namespace_labels)
    return here and peer.pods.matches(other.endpoint.labels)


def _covers(there: Iterable[_Opened], one: Opening, each: Pods) -> bool:
    return any(opening.ports in (None, one.ports) and _is(opening.peer, each) for _, opening in there)


def _by_label(other: Pods) -> str:
    stated = other.stated
    label = "" if stated is None else f"{meta.STEP if stated.workload.is_run else meta.SERVICE}: {stated.workload.name}"
    return f"select them in the destination's `podLabels` by mlspec's own label, `{label}`"


def _other_environments(ours: Sequence[Pods], elsewhere: Collection[str]) -> Iterator[Found]:
    """Yield flows into, or out of, what the same project is in another environment."""
    told = set()
    for each in ours:
        for flow in (*each.ingress, *each.egress):
            namespace = flow.peer.namespace
            if namespace in elsewhere and (id(each.resource), namespace) not in told:
                told.add((id(each.resource), namespace))
                message = (
                    f"its pods have a flow with namespace {namespace}, which is another environment of the project"
                )
                by_name = "destinations" in flow.because[-1].path if flow.because else False
                crossing = "give each environment a destination of its own; models cross by `model.uri`"
                help = crossing if by_name else "name pods of a namespace that is no environment of the project"
                yield each.resource, Fault(_ELSEWHERE, message, help, because=mended(flow.because, "namespace"))
