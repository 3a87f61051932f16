"""Network openings: what NetworkPolicies let through, flow by flow, before and after."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final, NamedTuple

from mlspec.changes.fields import same
from mlspec.changes.sides import Side
from mlspec.changes.values import Opening
from mlspec.k8s import meta
from mlspec.k8s.resource import Body
from mlspec.model.labels import LabelMap
from mlspec.reachability.networks import METADATA, holds
from mlspec.reachability.networks import network as parsed
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.surroundings import Destination

KIND: Final = "NetworkPolicy"
_ANYTHING: Final[tuple[Body, ...]] = ({},)
_DNS: Final = ("k8s-app=kube-dns", "kube-system")
_WAYS: Final = (("egress", "to"), ("ingress", "from"))


class _Flow(NamedTuple):
    """One peer on one port, in words that say all of it."""

    direction: str
    peer: str
    port: str
    destination: str


def exposure(before: Side | None, after: Side | None) -> Iterator[Opening]:
    """Yield what is opened and closed for workloads that stay or come; one that leaves has no pods to reach."""
    if after is None:
        return
    old = _by_workload(before) if before is not None else {}
    for name, bodies in sorted(_by_workload(after).items()):
        was = old.get(name, [])
        if len(was) == len(bodies) and all(map(same, was, bodies)):
            continue
        flows = {flow for body in was for flow in _flows(body, before)} if before is not None else set()
        now = {flow for body in bodies for flow in _flows(body, after)}
        yield from _openings(name, now - flows, opened=True)
        yield from _openings(name, flows - now, opened=False)


def told(before: Side | None, after: Side | None) -> frozenset[str]:
    """Return the policies whose difference is told: as openings, or by the run that they come with."""
    old = before.bodies(KIND) if before is not None else {}
    new = after.bodies(KIND) if after is not None else {}
    started = {name for name, body in new.items() if of_run(body) and name not in old}
    return frozenset(opening.workload for opening in exposure(before, after)) | started


def of_run(body: Body) -> bool:
    """Say whether a policy comes and goes with a run."""
    return body["kind"] == KIND and meta.RUN in body["metadata"].get("labels", {})


def _by_workload(side: Side) -> dict[str, list[Body]]:
    """Return the policies by the workload that they are for: one of a run is for its step."""
    found: dict[str, list[Body]] = {}
    for name, body in sorted(side.bodies(KIND).items()):
        found.setdefault(body["metadata"]["labels"][meta.STEP] if of_run(body) else name, []).append(body)
    return found


def _openings(workload: str, flows: set[_Flow], *, opened: bool) -> Iterator[Opening]:
    """Yield an opening a peer, with all of its ports."""
    ports: dict[tuple[str, str], list[str]] = {}
    destinations: dict[tuple[str, str], set[str]] = {}
    for flow in sorted(flows, key=lambda flow: (*flow[:2], _order(flow.port))):
        ports.setdefault(flow[:2], []).append(flow.port)
        destinations.setdefault(flow[:2], set()).update({flow.destination} - {""})
    for (direction, peer), numbers in sorted(ports.items()):
        shown = ", ".join(number for number in dict.fromkeys(numbers) if number)
        names = tuple(sorted(destinations[direction, peer]))
        yield Opening(workload, opened, direction, peer, shown, names)


def _order(port: str) -> tuple[int, str]:
    number, _, protocol = port.partition("/")
    return (int(number) if number.isdecimal() else 0), protocol


def _flows(policy: Body, side: Side) -> Iterator[_Flow]:
    spec = policy.get("spec", {})
    for direction, word in _WAYS:
        for rule in spec.get(direction, ()):
            for peer in rule.get(word) or _ANYTHING:
                if peer.get("podSelector", {}).get("matchLabels") == meta.NOBODY:
                    continue
                for port in rule.get("ports") or _ANYTHING:
                    destination = _destination(peer, port, side.environment) if direction == "egress" else ""
                    yield _Flow(direction, _peer(peer, spec), _port(port), destination)


def _port(port: Mapping[str, Any]) -> str:
    number, protocol = port.get("port", ""), port.get("protocol", "TCP")
    end = f"-{port['endPort']}" if "endPort" in port else ""
    return f"{number}{end}" + (f"/{protocol}" if protocol != "TCP" else "")


def _peer(peer: Mapping[str, Any], spec: Mapping[str, Any]) -> str:
    if not peer:
        return "everything"
    block = peer.get("ipBlock")
    if block is not None:
        return _network(str(block["cidr"]), [str(cidr) for cidr in block.get("except", ())])
    if "namespaceSelector" not in peer and peer.get("podSelector") == spec.get("podSelector"):
        return "its own pods"
    labels = _labels(peer.get("podSelector", {}))
    namespace = peer.get("namespaceSelector")
    name = (namespace or {}).get("matchLabels", {}).get("kubernetes.io/metadata.name")
    where = "" if namespace is None else f" in namespace {name}" if name else f" in namespaces {_labels(namespace)}"
    return "the cluster's DNS" if (labels, name) == _DNS else f"pods {labels}{where}"


def _network(cidr: str, excepted: list[str]) -> str:
    """Return a network; that the cloud's metadata address is left out of it goes without saying, the contrary not."""
    known = [str(service) for service in METADATA if holds(parsed(cidr), service)]
    others = [item for item in excepted if item not in known]
    words = cidr + (f" without {', '.join(others)}" if others else "")
    return words + ("" if set(known) <= set(excepted) else " with the metadata address")


def _labels(selector: Mapping[str, Any]) -> str:
    labels: LabelMap = selector.get("matchLabels", {})
    more = selector.get("matchExpressions", ())
    words = [f"{key}={value}" for key, value in sorted(labels.items())] + [str(expression) for expression in more]
    return ", ".join(words) or "of any label"


def _destination(peer: Mapping[str, Any], port: Mapping[str, Any], environment: EnvironmentFields) -> str:
    """Return the first of the environment's destinations that a flow is part of."""
    found = environment.network.destinations.items()
    return next((name for name, destination in found if _is(peer, port, destination)), "")


def _is(peer: Mapping[str, Any], port: Mapping[str, Any], destination: Destination) -> bool:
    if port.get("port") not in destination.ports:
        return False
    if "ipBlock" in peer:
        return peer["ipBlock"].get("cidr") in destination.cidrs
    namespace = peer.get("namespaceSelector", {}).get("matchLabels", {}).get("kubernetes.io/metadata.name")
    labels = peer.get("podSelector", {}).get("matchLabels", {})
    return destination.namespace is not None and (namespace, labels) == (
        destination.namespace,
        dict(destination.pod_labels),
    )
