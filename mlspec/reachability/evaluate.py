"""Policies and the two ends of a connection in, a verdict out."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from mlspec.reachability.endpoints import Endpoint
from mlspec.reachability.networks import Address
from mlspec.reachability.policies import Block, Peer, Policy, PortRange, Rule

Ranges = tuple[PortRange | None, ...]
"""Ports; None is all of them."""
_ALL: Final[Ranges] = (None,)


def allows(
    policies: Iterable[Policy], source: Endpoint, destination: Endpoint, port: int, protocol: str = "TCP"
) -> bool:
    """Say whether a connection comes about: the source may send it, and the destination receive it.

    Answers belong to the connection and are never asked about. `policies` are those of the whole cluster, or of as
    much of it as the ends live in.
    """
    known = tuple(policies)
    return lets_out(known, source, destination, port, protocol) and lets_in(known, source, destination, port, protocol)


def lets_out(
    policies: Iterable[Policy], source: Endpoint, destination: Endpoint, port: int, protocol: str = "TCP"
) -> bool:
    """Say whether the policies of the source let a connection out."""
    return is_on(ports_out(policies, source, destination), destination, port, protocol)


def lets_in(
    policies: Iterable[Policy], source: Endpoint, destination: Endpoint, port: int, protocol: str = "TCP"
) -> bool:
    """Say whether the policies of the destination let a connection in."""
    return is_on(ports_in(policies, source, destination), destination, port, protocol)


def ports_out(policies: Iterable[Policy], source: Endpoint, destination: Endpoint) -> Ranges:
    """Return the ports on which the policies of the source let connections out to the destination."""
    applying = [(each, each.egress) for each in policies if each.egress is not None and _selects(each, source)]
    return _ranges(applying, destination)


def ports_in(policies: Iterable[Policy], source: Endpoint, destination: Endpoint) -> Ranges:
    """Return the ports on which the policies of the destination let connections in from the source."""
    applying = [(each, each.ingress) for each in policies if each.ingress is not None and _selects(each, destination)]
    return _ranges(applying, source)


def is_on(ranges: Ranges, destination: Endpoint, port: int, protocol: str) -> bool:
    """Say whether a port is one of those; names are those of the destination's ports."""
    return any(item is None or _on(item, destination, port, protocol) for item in ranges)


def _ranges(applying: Sequence[tuple[Policy, Sequence[Rule]]], other: Endpoint) -> Ranges:
    """Return the ports of all rules about the other end; nobody's rules let everything through."""
    if not applying:
        return _ALL
    found: list[PortRange | None] = []
    for policy, rules in applying:
        for rule in rules:
            if not rule.peers or any(_is(peer, other, policy.namespace) for peer in rule.peers):
                found += rule.ports or _ALL
    return tuple(found)


def _selects(policy: Policy, endpoint: Endpoint) -> bool:
    return policy.namespace == endpoint.namespace and policy.selector.matches(endpoint.labels)


def _on(item: PortRange, destination: Endpoint, port: int, protocol: str) -> bool:
    if item.protocol != protocol:
        return False
    if isinstance(item.first, str):
        return any(known == (item.first, port, protocol) for known in destination.ports)
    return item.first is None or item.first <= port <= (item.first if item.last is None else item.last)


def _is(peer: Peer, other: Endpoint, own_namespace: str) -> bool:
    if peer.block is not None:
        return other.address is not None and _inside(peer.block, other.address)
    if other.namespace is None or (peer.namespaces is None and peer.pods is None):
        return False
    if peer.namespaces is None:
        if other.namespace != own_namespace:
            return False
    elif not peer.namespaces.matches(other.namespace_labels):
        return False
    return peer.pods is None or peer.pods.matches(other.labels)


def _inside(block: Block, address: Address) -> bool:
    if address not in block.network:  # of the other version, too
        return False
    return not any(address in excepted for excepted in block.excepted)
