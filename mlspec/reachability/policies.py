"""A NetworkPolicy's manifest in, what it says out: defaults filled in, as the API server does.

Values can be compared: two rules that say the same are equal.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from mlspec.k8s.projected import Body
from mlspec.reachability.endpoints import Labels
from mlspec.reachability.networks import Network, network


class Requirement(NamedTuple):
    """An item of `matchExpressions`."""

    key: str
    operator: str
    values: frozenset[str] = frozenset()

    def holds(self, labels: Labels) -> bool:
        """Say whether labels meet it; raises ValueError for an operator that there is not."""
        value = labels.get(self.key)
        if self.operator == "In":
            return value is not None and value in self.values
        if self.operator == "NotIn":  # so does what has no such label
            return value is None or value not in self.values
        if self.operator == "Exists":
            return value is not None
        if self.operator == "DoesNotExist":
            return value is None
        raise ValueError(f"`{self.operator}` is no operator of a label selector")


class Selector(NamedTuple):
    """A label selector; one that says nothing matches everything."""

    labels: frozenset[tuple[str, str]] = frozenset()
    expressions: frozenset[Requirement] = frozenset()

    def matches(self, labels: Labels) -> bool:
        """Say whether something with these labels is selected."""
        if not self.labels <= labels.items():
            return False
        return not self.expressions or all(requirement.holds(labels) for requirement in self.expressions)


class Block(NamedTuple):
    """An `ipBlock`: a network without some networks inside."""

    network: Network
    excepted: frozenset[Network] = frozenset()


class Peer(NamedTuple):
    """An item of `from` or `to`: networks, or pods, of the policy's own namespace where none is selected."""

    namespaces: Selector | None = None
    pods: Selector | None = None
    block: Block | None = None


class PortRange(NamedTuple):
    """An item of `ports`: from `first` to `last`; a name that each pod resolves; or, without either, all."""

    protocol: str = "TCP"
    first: int | str | None = None
    last: int | None = None


class Rule(NamedTuple):
    """An item of `ingress` or `egress`: any of the peers on any of the ports; an empty list means all there are."""

    peers: tuple[Peer, ...] = ()
    ports: tuple[PortRange, ...] = ()


class Policy(NamedTuple):
    """What a policy says of the pods that it selects; None for a direction in which it leaves them as they are."""

    name: str
    namespace: str
    selector: Selector
    ingress: tuple[Rule, ...] | None
    egress: tuple[Rule, ...] | None


_ALL_PODS: Final = Selector()


def parse(body: Body, namespace: str | None = None) -> Policy:
    """Return what a manifest says; `namespace` is where it stands if the manifest itself does not tell.

    Without `policyTypes` it is for ingress, and also for egress if it has such rules.
    """
    spec, metadata = body["spec"], body["metadata"]
    types = spec.get("policyTypes") or ["Ingress", *(["Egress"] if spec.get("egress") else [])]
    return Policy(
        metadata["name"],
        metadata.get("namespace", namespace) or "",
        selector(spec.get("podSelector") or {}),
        _rules(spec.get("ingress"), "from") if "Ingress" in types else None,
        _rules(spec.get("egress"), "to") if "Egress" in types else None,
    )


def selector(body: Mapping[str, Any]) -> Selector:
    """Return a label selector."""
    if not body:
        return _ALL_PODS
    expressions = body.get("matchExpressions") or ()
    return Selector(
        frozenset((body.get("matchLabels") or {}).items()),
        frozenset(Requirement(e["key"], e["operator"], frozenset(e.get("values") or ())) for e in expressions),
    )


def _rules(bodies: list[Body] | None, word: str) -> tuple[Rule, ...]:
    return tuple(
        Rule(
            tuple(_peer(peer) for peer in body.get(word) or ()),
            tuple(_port(port) for port in body.get("ports") or ()),
        )
        for body in bodies or ()
    )


def _peer(body: Body) -> Peer:
    block = body.get("ipBlock")
    if block is not None:
        return Peer(block=Block(network(block["cidr"]), frozenset(network(cidr) for cidr in block.get("except") or ())))
    namespaces, pods = body.get("namespaceSelector"), body.get("podSelector")
    return Peer(selector(namespaces) if namespaces is not None else None, selector(pods) if pods is not None else None)


def _port(body: Body) -> PortRange:
    first = body.get("port")
    last = body.get("endPort", first if isinstance(first, int) else None)
    return PortRange(body.get("protocol") or "TCP", first, last)
