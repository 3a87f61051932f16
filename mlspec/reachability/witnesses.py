"""Policies in, the ends and ports out on which they could differ from what was meant.

Selectors by label are alike or differ on the pod that carries exactly the labels that one of them asks for, on one that
lacks a label of these, or carries another value; networks on an address at one of their borders; ports likewise. So
whatever is wider or narrower than it should be is seen on some of these.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mlspec.reachability.endpoints import NAMESPACE_NAME, ContainerPort, Endpoint
from mlspec.reachability.networks import METADATA, Address, Network
from mlspec.reachability.policies import Block, Peer, Policy, PortRange, Selector

PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
HIGHEST_PORT: Final = 65535
_OTHER: Final = "another"
_NOWHERE: Final = "somewhere-else"


def in_order(found: Iterable[Peer]) -> list[Peer]:
    """Return peers in an order that is always the same, networks last."""
    return sorted(found, key=_key)


def _key(peer: Peer) -> tuple[bool, str, str, str]:
    block = peer.block
    networks = [] if block is None else [str(block.network), *sorted(map(str, block.excepted))]
    return block is not None, _text(peer.namespaces), _text(peer.pods), str(networks)


def _text(selector: Selector | None) -> str:
    if selector is None:
        return ""
    expressions = sorted((each.key, each.operator, sorted(each.values)) for each in selector.expressions)
    return str((sorted(selector.labels), expressions))


def peers(policies: Iterable[Policy]) -> set[Peer]:
    """Return the peers of all rules."""
    rules = [rule for policy in policies for rule in (*(policy.ingress or ()), *(policy.egress or ()))]
    return {peer for rule in rules for peer in rule.peers}


def ranges(policies: Iterable[Policy]) -> set[PortRange]:
    """Return the ports of all rules."""
    rules = [rule for policy in policies for rule in (*(policy.ingress or ()), *(policy.egress or ()))]
    return {item for rule in rules for item in rule.ports}


def pods(found: Iterable[Peer], own_namespace: str) -> Iterator[Endpoint]:
    """Yield pods that the selectors of peers take in, and pods that they only just leave out."""
    yield _pod({}, {NAMESPACE_NAME: own_namespace})
    yield _pod({}, {NAMESPACE_NAME: _NOWHERE})
    for peer in found:
        if peer.block is not None:
            continue
        labels = list(_labels(peer.pods or Selector()))
        own = [{NAMESPACE_NAME: own_namespace}]
        places = list(_labels(peer.namespaces)) if peer.namespaces is not None else own
        for place in (*places, *own, {NAMESPACE_NAME: _NOWHERE}):
            yield from (_pod(each, place) for each in labels)
            yield _pod({}, place)


def _pod(labels: dict[str, str], place: dict[str, str]) -> Endpoint:
    return Endpoint(place.get(NAMESPACE_NAME, _NOWHERE), labels, place)


def _labels(selector: Selector) -> Iterator[dict[str, str]]:
    """Yield the labels that a selector asks for, and these with one of them missing, or of another value."""
    meant = dict(selector.labels)
    for requirement in selector.expressions:
        if requirement.operator == "In":
            meant[requirement.key] = min(requirement.values)
        elif requirement.operator == "Exists":
            meant.setdefault(requirement.key, _OTHER)
    yield meant
    for key in sorted({*meant, *(requirement.key for requirement in selector.expressions)}):
        yield {name: value for name, value in meant.items() if name != key}
        values = {
            value for requirement in selector.expressions if requirement.key == key for value in requirement.values
        }
        for value in (_OTHER, *sorted(values)):
            yield {**meant, key: value}


def addresses(blocks: Iterable[Block]) -> list[Address]:
    """Return the addresses at the borders of networks, and those of the metadata services."""
    networks: set[Network] = {*METADATA}
    for block in blocks:
        networks |= {block.network, *block.excepted}
    found: set[Address] = set()
    for each in networks:
        first, last = each.network_address, each.broadcast_address
        found |= {first, last}
        found |= {first - 1} if int(first) else set()
        found |= {last + 1} if int(last) + 1 < 1 << each.max_prefixlen else set()
    return sorted(found, key=lambda address: (address.version, int(address)))


def ports(found: Iterable[PortRange], named: Iterable[ContainerPort]) -> list[int]:
    """Return the ports at the borders of ranges, those that pods name, the lowest and the highest."""
    borders = {1, HIGHEST_PORT, *(port.number for port in named)}
    for item in found:
        for number in (item.first, item.last):
            borders |= {number - 1, number, number + 1} if isinstance(number, int) else set()
    return sorted(number for number in borders if 1 <= number <= HIGHEST_PORT)
