"""NetworkPolicies of a project, changed in every way that the tests know."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from ipaddress import ip_network
from typing import Any, Final, NamedTuple

from mlspec.k8s import meta
from mlspec.k8s.resource import Body
from mlspec.reachability.endpoints import NAMESPACE_NAME

Path = tuple[str | int, ...]
_WAYS: Final = (("ingress", "from"), ("egress", "to"))
_GUARD: Final = [{"podSelector": {"matchLabels": dict(meta.NOBODY)}}]
_GONE: Final = object()


class Mutation(NamedTuple):
    """What was done to a policy; None for one that is gone."""

    words: str
    body: Body | None


def mutations(body: Body) -> Iterator[Mutation]:
    """Yield a policy changed in one place, in every way."""
    yield Mutation("gone", None)
    yield from _of_spec(body)
    for way, word in _WAYS:
        for at in range(len(body["spec"].get(way, ()))):
            yield from _of_rule(body, way, word, at)


def _set(body: Body, words: str, path: Path, value: Any = _GONE) -> Mutation:
    """Return a policy with another value in its spec, or without one."""
    changed = copy.deepcopy(body)
    place: Any = changed["spec"]
    for key in path[:-1]:
        place = place[key]
    if value is _GONE:
        del place[path[-1]]
    else:
        place[path[-1]] = value
    return Mutation(words, changed)


def _of_spec(body: Body) -> Iterator[Mutation]:
    labels, types = body["spec"]["podSelector"]["matchLabels"], body["spec"]["policyTypes"]
    yield _set(body, "selects everything", ("podSelector",), {})
    yield _set(body, "selects nothing", ("podSelector", "matchLabels", "other"), "x")
    for key in labels if len(labels) > 1 else ():
        yield _set(body, f"selects without {key}", ("podSelector", "matchLabels", key))
    yield _set(body, "policyTypes left out", ("policyTypes",))
    for kind in types:
        yield _set(body, f"not of type {kind}", ("policyTypes",), [each for each in types if each != kind])
    for way, word in _WAYS:
        rules: dict[str, Body] = {
            "everyone": {},
            "an empty list": {word: []},
            "the cluster": {word: [{"namespaceSelector": {}}]},
            "the own namespace": {word: [{"podSelector": {}}]},
            "the metadata service": {word: [{"ipBlock": {"cidr": "169.254.169.254/32"}}], "ports": [{"port": 80}]},
        }
        typed = {**body, "spec": {**body["spec"], "policyTypes": sorted({*types, way.capitalize()})}}
        for words, rule in rules.items():
            yield _set(typed, f"{way}: {words}", (way,), [*body["spec"].get(way, ()), rule])


def _of_rule(body: Body, way: str, word: str, at: int) -> Iterator[Mutation]:
    rule, name = body["spec"][way][at], f"{way} {at}"
    if rule[word] != _GUARD:
        yield _set(body, f"{name}: gone", (way, at))
    yield _set(body, f"{name}: everyone", (way, at, word))
    if "ports" in rule:
        yield _set(body, f"{name}: all ports", (way, at, "ports"))
        for index in range(len(rule["ports"])):
            yield from _of_port(body, (way, at, "ports", index))
    elif rule[word] != _GUARD:
        yield _set(body, f"{name}: TCP alone", (way, at, "ports"), [{"protocol": "TCP"}])
        most = [{"protocol": each, "port": 1, "endPort": 65534} for each in ("TCP", "UDP", "SCTP")]
        yield _set(body, f"{name}: all ports but one", (way, at, "ports"), most)
    for index in range(len(rule[word])):
        yield from _of_peer(body, (way, at, word), index)


def _of_port(body: Body, path: Path) -> Iterator[Mutation]:
    ports = _value(body, path[:-1])
    port, name = ports[path[-1]], " ".join(map(str, path))
    if len(ports) > 1:
        yield _set(body, f"{name}: gone", path)
    number = port["port"]
    yield _set(body, f"{name}: one more above", path, {**port, "endPort": number + 1})
    yield _set(body, f"{name}: one more below", path, {**port, "port": number - 1, "endPort": number})
    yield _set(body, f"{name}: another", path, {**port, "port": number + 10})
    yield _set(body, f"{name}: SCTP", path, {**port, "protocol": "SCTP"})
    yield _set(body, f"{name}: no number", (*path, "port"))


def _value(body: Body, path: Path) -> Any:
    found: Any = body["spec"]
    for key in path:
        found = found[key]
    return found


def _of_peer(body: Body, path: Path, index: int) -> Iterator[Mutation]:
    peers, name = _value(body, path), " ".join(map(str, (*path, index)))
    others = dict(_of_block(peers[index]["ipBlock"]) if "ipBlock" in peers[index] else _of_pods(peers[index]))
    if len(peers) > 1:
        others["gone"] = []
    for words, instead in others.items():
        yield _set(body, f"{name}: {words}", path, [*peers[:index], *instead, *peers[index + 1 :]])


def _of_pods(peer: Body) -> Iterator[tuple[str, list[Body]]]:
    """Yield what may stand in the place of pods."""
    labels = peer["podSelector"]["matchLabels"]
    rest = {key: value for key, value in peer.items() if key != "podSelector"}
    yield "any pod", [{**rest, "podSelector": {}}]
    yield "in every namespace", [{**peer, "namespaceSelector": {}}]
    yield "in another namespace", [{**peer, "namespaceSelector": {"matchLabels": {NAMESPACE_NAME: "x"}}}]
    yield "one label more", [{**rest, "podSelector": {"matchLabels": {**labels, "more": "x"}}}]
    for key in labels:
        less = {other: value for other, value in labels.items() if other != key}
        yield f"without {key}", [{**rest, "podSelector": {"matchLabels": less} if less else {}}]
        yield f"another {key}", [{**rest, "podSelector": {"matchLabels": {**less, key: "x"}}}]
        for words, expression in (
            (f"any {key}", {"operator": "Exists"}),
            (f"one more {key}", {"operator": "In", "values": [labels[key], "x"]}),
            (f"all but one {key}", {"operator": "NotIn", "values": ["x"]}),
        ):
            yield (
                words,
                [{**rest, "podSelector": {"matchLabels": less, "matchExpressions": [{"key": key, **expression}]}}],
            )
    if "namespaceSelector" in peer:
        yield "AND is OR", [{"namespaceSelector": peer["namespaceSelector"]}, {"podSelector": peer["podSelector"]}]
        yield "here", [{"podSelector": peer["podSelector"]}]
        yield "the whole namespace", [{"namespaceSelector": peer["namespaceSelector"]}]


def _of_block(block: Body) -> Iterator[tuple[str, list[Body]]]:
    """Yield what may stand in the place of a network."""
    network = ip_network(block["cidr"])
    if "except" in block:
        yield "nothing left out", [{"ipBlock": {"cidr": block["cidr"]}}]
    if network.prefixlen < network.max_prefixlen:
        first = str(next(iter(network.subnets(new_prefix=network.max_prefixlen))))
        yield "more left out", [{"ipBlock": {**block, "except": [*block.get("except", ()), first]}}]
        yield "half of it", [{"ipBlock": {"cidr": str(next(network.subnets()))}}]
    if network.prefixlen:
        yield "twice of it", [{"ipBlock": {"cidr": str(network.supernet())}}]
