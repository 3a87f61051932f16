"""Random NetworkPolicies, pods and packets as manifests, judged by mlspec and by kube-network-policies."""

from __future__ import annotations

import copy
import json
import random
import subprocess
from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from typing import Any, Final

from mlspec.reachability import Endpoint, allows, parse, pod
from tests.tools.build import NETWORK_POLICIES

Case = dict[str, Any]
"""`namespaces`, `pods` and `policies` as manifests, and `packets` with their ends as addresses."""
NAME: Final = "kubernetes.io/metadata.name"
_LABELS: Final = {"app": ("x", "y", "z"), "tier": ("x", "y")}
_PORT_NAMES: Final = ("http", "metrics", "dns")
_NUMBERS: Final = (1, 53, 79, 80, 81, 443, 8080, 8999, 9000, 9001, 65535)
_PROTOCOLS: Final = ("TCP", "UDP", "SCTP")
_OUTSIDE: Final = {
    4: ("10.0.1.200", "10.1.0.1", "192.0.2.1", "192.0.2.255", "169.254.169.254"),
    6: ("fd00:1::ffff", "fd00:ec2::254", "2001:db8::1"),
}
_BLOCKS: Final = (
    ("0.0.0.0/0", ("10.0.0.0/8", "169.254.169.254/32", "10.0.1.0/24")),
    ("10.0.0.0/8", ("10.0.1.0/24", "10.0.1.1/32", "10.0.2.0/30")),
    ("10.0.1.0/24", ("10.0.1.0/31", "10.0.1.200/32")),
    ("10.0.2.2/32", ()),
    ("192.0.2.0/25", ("192.0.2.1/32",)),
    ("::/0", ("fd00::/8", "fd00:ec2::254/128")),
    ("fd00:1::/64", ("fd00:1::1/128",)),
    ("fd00::/8", ("fd00:ec2::/32",)),
)


def judge_there(cases: Sequence[Case]) -> list[str]:
    """Return what kube-network-policies says of every packet, a text of 0 and 1 a case."""
    lines = "".join(json.dumps(case) + "\n" for case in cases)
    result = subprocess.run([str(NETWORK_POLICIES.path)], input=lines, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr[-2000:]
    return result.stdout.splitlines()


def judge_here(case: Case) -> str:
    """Return what mlspec says of every packet of a case."""
    labels = {body["metadata"]["name"]: body["metadata"].get("labels", {}) for body in case["namespaces"]}
    policies = [parse(body) for body in case["policies"]]
    ends: dict[str, Endpoint] = {}
    for body in case["pods"]:
        namespace = body["metadata"]["namespace"]
        for each in body["status"]["podIPs"]:
            ends[each["ip"]] = pod(body, namespace, ip_address(each["ip"]), labels[namespace])
    said = []
    for packet in case["packets"]:
        source, destination = (
            ends.get(packet[end]) or Endpoint(address=ip_address(packet[end])) for end in ("source", "destination")
        )
        said.append("01"[allows(policies, source, destination, packet["port"], packet["protocol"])])
    return "".join(said)


def cases(seed: int, number: int) -> Iterator[Case]:
    """Yield random cases, the same ones for the same seed."""
    chance = random.Random(seed)  # noqa: S311  # the same every time is what is wanted
    return (_case(chance) for _ in range(number))


def _case(chance: random.Random) -> Case:
    namespaces = [_namespace(chance, name) for name in ("a", "b", "c")]
    pods = [_pod(chance, index) for index in range(chance.randint(2, 5))]
    policies = [_policy(chance, index) for index in range(chance.randint(1, 4))]
    packets = [_packet(chance, pods) for _ in range(6)]
    return {"namespaces": namespaces, "pods": pods, "policies": policies, "packets": packets}


def _namespace(chance: random.Random, name: str) -> Any:
    more = {"team": chance.choice("xy")} if chance.random() < 0.7 else {}
    return {"metadata": {"name": name, "labels": {NAME: name, **more}}}


def _some_labels(chance: random.Random) -> dict[str, str]:
    return {key: chance.choice(values) for key, values in _LABELS.items() if chance.random() < 0.7}


def _pod(chance: random.Random, index: int) -> Any:
    names = [name for name in _PORT_NAMES if chance.random() < 0.6]
    ports = [
        {"name": name, "containerPort": chance.choice(_NUMBERS), "protocol": chance.choice(_PROTOCOLS)}
        for name in names
    ]
    middle = chance.randint(0, len(ports))
    containers = [{"name": "one", "ports": ports[:middle]}, {"name": "two", "ports": ports[middle:]}]
    place = chance.choice(["a", "a", "b", "c"])
    metadata = {"name": f"p{index}", "namespace": place, "labels": _some_labels(chance)}
    addresses = [{"ip": f"10.0.{1 + index % 2}.{1 + index // 2}"}, {"ip": f"fd00:1::{1 + index}"}]
    return {"metadata": metadata, "spec": {"containers": containers}, "status": {"podIPs": addresses}}


def _selector(chance: random.Random, labels: dict[str, tuple[str, ...]]) -> Any:
    found: dict[str, Any] = {}
    if chance.random() < 0.5:
        key = chance.choice(sorted(labels))
        found["matchLabels"] = {key: chance.choice(labels[key])}
    if chance.random() < 0.35:
        found["matchExpressions"] = [_expression(chance, labels) for _ in range(chance.randint(0, 2))]
    return found


def _expression(chance: random.Random, labels: dict[str, tuple[str, ...]]) -> Any:
    key, operator = chance.choice(sorted(labels)), chance.choice(["In", "NotIn", "Exists", "DoesNotExist"])
    values = chance.sample(labels[key], chance.randint(1, len(labels[key])))
    return {"key": key, "operator": operator, **({"values": values} if operator.endswith("In") else {})}


def _policy(chance: random.Random, index: int) -> Any:
    spec: dict[str, Any] = {"podSelector": _selector(chance, _LABELS) if chance.random() < 0.6 else {}}
    types = chance.choice([None, None, [], ["Ingress"], ["Egress"], ["Ingress", "Egress"], ["Ingress", "Egress"]])
    spec |= {"policyTypes": types} if types is not None else {}
    for way, word in (("ingress", "from"), ("egress", "to")):
        if chance.random() < 0.8:
            spec[way] = [_rule(chance, word) for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))]
    return {"metadata": {"name": f"n{index}", "namespace": chance.choice(["a", "a", "b", "c"])}, "spec": spec}


def _rule(chance: random.Random, word: str) -> Any:
    rule: dict[str, Any] = {}
    if chance.random() < 0.85:
        rule[word] = [_peer(chance) for _ in range(chance.choice([0, 1, 1, 1, 2, 3]))]
    if chance.random() < 0.6:
        rule["ports"] = [_port(chance) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
    return rule


def _peer(chance: random.Random) -> Any:
    kind = chance.choice(["pods", "namespaces", "both", "block", "block"])
    if kind == "block":
        cidr, inside = chance.choice(_BLOCKS)
        excepted = chance.sample(inside, chance.randint(0, len(inside)))
        return {"ipBlock": {"cidr": cidr, **({"except": excepted} if excepted or chance.random() < 0.2 else {})}}
    places: dict[str, tuple[str, ...]] = {NAME: ("a", "b", "c"), "team": ("x", "y")}
    peer = {"namespaceSelector": _selector(chance, places)} if kind != "pods" else {}
    return {**peer, **({"podSelector": _selector(chance, _LABELS)} if kind != "namespaces" else {})}


def _port(chance: random.Random) -> Any:
    port: dict[str, Any] = {"protocol": chance.choice(_PROTOCOLS)} if chance.random() < 0.8 else {}
    kind = chance.choice(["number", "number", "range", "name", "all"])
    if kind == "name":
        port["port"] = chance.choice(_PORT_NAMES)
    elif kind != "all":
        port["port"] = chance.choice(_NUMBERS)
    if kind == "range":
        port["endPort"] = chance.choice([number for number in _NUMBERS if number >= port["port"]])
    return port


def _packet(chance: random.Random, pods: Sequence[Any]) -> Any:
    """Return a packet between two pods, or a pod and an address outside; a pod always reaches itself."""
    family = chance.choice([4, 4, 6])
    inside = [each["status"]["podIPs"][0 if family == 4 else 1]["ip"] for each in pods]
    ends = chance.sample(inside, 2)
    if chance.random() < 0.3:
        ends[chance.randint(0, 1)] = chance.choice(_OUTSIDE[family])
    named = [port for each in pods for container in each["spec"]["containers"] for port in container["ports"]]
    packet = {"port": chance.choice(_NUMBERS), "protocol": chance.choice(["TCP", "TCP", *_PROTOCOLS])}
    if named and chance.random() < 0.4:
        one = chance.choice(named)
        packet = {"port": one["containerPort"], "protocol": one["protocol"]}
    return {"source": ends[0], "destination": ends[1], **packet}


def differing(found: Sequence[Case]) -> list[Case]:
    """Return the cases on which the two do not agree."""
    return [case for case, there in zip(found, judge_there(found), strict=True) if judge_here(case) != there]


def shrunk(case: Case) -> Case:
    """Return the smallest case that still differs, by taking away one thing after the other."""
    while True:
        smaller = differing(list(_smaller(case)))
        if not smaller:
            return case
        case = smaller[0]


# What a policy cannot do without, or a part that would leave something that no API server takes.
_KEPT: Final = frozenset(
    ("metadata", "spec", "podSelector", "namespaceSelector", "ipBlock", "cidr", "key", "operator", "values", "port")
)


def _smaller(case: Case) -> Iterator[Case]:
    """Yield the case with one policy, rule, peer, port, requirement or packet less."""
    for path in _paths(case["policies"], ("policies",)):
        yield _without(case, path)
    for index in range(len(case["packets"])):
        yield _without(case, ("packets", index))


def _paths(value: Any, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if key not in _KEPT:
            yield (*path, key)
        if key != "metadata":
            yield from _paths(item, (*path, key))


def _without(case: Case, path: tuple[str | int, ...]) -> Case:
    found = copy.deepcopy(case)
    place: Any = found
    for key in path[:-1]:
        place = place[key]
    del place[path[-1]]
    return found
