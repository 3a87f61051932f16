"""NetworkPolicies.

From k8s.io/kubernetes v1.34.4 pkg/apis/networking/validation/validation.go (ValidateNetworkPolicySpec,
ValidateNetworkPolicyPeer, ValidateNetworkPolicyPort, ValidateIPBlock).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import addresses, forms, metadata
from mlspec.validation.native.found import Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS328"
_PORTS: Final = 65535
_PROTOCOLS: Final = frozenset({"TCP", "UDP", "SCTP"})
_TYPES: Final = frozenset({"Ingress", "Egress"})


def judge(found: Found, body: Body) -> None:
    """Judge a NetworkPolicy."""
    spec = below(body, "spec")
    metadata.selector(found, child(spec, "podSelector"), ("spec", "podSelector"), CODE)
    for direction, peers in (("ingress", "from"), ("egress", "to")):
        for index, rule in enumerate(children(spec, direction)):
            path = ("spec", direction, index)
            for other, port in enumerate(children(rule, "ports")):
                _port(found, port, (*path, "ports", other))
            for other, peer in enumerate(children(rule, peers)):
                _peer(found, peer, (*path, peers, other))
    types = strings(spec, "policyTypes")
    if len(types) > len(_TYPES):
        found.add(CODE, ("spec", "policyTypes"), f"are {len(types)}, and there are two")
    for index, sort in enumerate(types):
        found.one_of(CODE, ("spec", "policyTypes", index), sort, _TYPES)


def _port(found: Found, item: Body, path: Path) -> None:
    port, last = item.get("port"), number(item, "endPort")
    if item.get("protocol") is not None:
        found.one_of(CODE, (*path, "protocol"), item["protocol"], _PROTOCOLS)
    if isinstance(port, int):
        found.between(CODE, (*path, "port"), port, 1, _PORTS)
        found.between(CODE, (*path, "endPort"), last, max(port, 1), _PORTS)
        return
    if isinstance(port, str):
        found.form(CODE, (*path, "port"), port, forms.port_name)
    if last is not None:
        found.add(CODE, (*path, "endPort"), "needs a `port` that is a number")


def _peer(found: Found, peer: Body, path: Path) -> None:
    block = child(peer, "ipBlock")
    selectors = [field for field in ("podSelector", "namespaceSelector") if child(peer, field) is not None]
    for field in selectors:
        metadata.selector(found, child(peer, field), (*path, field), CODE)
    if block is None:
        if not selectors:
            found.add(CODE, path, "says nobody", "write `podSelector`, `namespaceSelector` or `ipBlock`")
        return
    if selectors:
        found.add(CODE, path, f"is `ipBlock` and `{selectors[0]}`", "write two peers")
    network = text(block, "cidr")
    found.needed(CODE, (*path, "ipBlock", "cidr"), network, lambda value: addresses.network(value, found.kubernetes))
    for index, item in enumerate(strings(block, "except")):
        place = (*path, "ipBlock", "except", index)
        found.form(CODE, place, item, lambda value: addresses.network(value, found.kubernetes))
        if not addresses.is_strictly_inside(item, network):
            found.add(CODE, place, f"`{item}` is no smaller part of {network}")
