"""The reachability model is right: pitfalls by hand, and 10,000 random cases judged as kube-network-policies does."""

from __future__ import annotations

from collections.abc import Callable
from ipaddress import ip_address
from typing import Any

import pytest

from mlspec import reachability
from mlspec.reachability import ContainerPort, Endpoint, allows, parse, pod
from mlspec.reachability.networks import is_metadata, is_world, left_out, network
from tests import packets
from tests.tools.build import NETWORK_POLICIES

_SEED = 20261130
_NUMBER = 10_000


@pytest.fixture(scope="module", autouse=True)
def _built() -> None:
    if not NETWORK_POLICIES.path.is_file():
        pytest.fail(f"{NETWORK_POLICIES.label} is not built; run `make tools`")


def test_ten_thousand_cases_are_judged_alike() -> None:
    found = list(packets.cases(_SEED, _NUMBER))
    there = packets.judge_there(found)
    wrong = [case for case, said in zip(found, there, strict=True) if packets.judge_here(case) != said]
    assert not wrong, packets.shrunk(wrong[0])
    verdicts = "".join(there)
    allowed, denied = verdicts.count("1"), verdicts.count("0")
    print(f"{_NUMBER} cases: {allowed} packets allowed, {denied} denied")  # noqa: T201  # shown by pytest -s
    assert min(allowed, denied) > len(verdicts) / 4


def test_the_cases_hold_every_feature() -> None:
    text = str(list(packets.cases(_SEED, 500)))
    words = ["In", "NotIn", "Exists", "DoesNotExist", "endPort", "except", "SCTP", "'from': []", "'ports': []", "::"]
    words += ["'podSelector': {}", "'namespaceSelector': {}", "'policyTypes': []", "'ingress': []", "'port': 'http'"]
    assert [word for word in words if word not in text] == []


def _not_in(self: Any, labels: Any) -> bool:
    return self.operator != "NotIn" and labels.get(self.key) is not None


def _or(peer: Any, other: Endpoint, own: str) -> bool:
    namespaces = peer.namespaces is not None and peer.namespaces.matches(other.namespace_labels)
    return other.namespace is not None and (namespaces or (peer.pods is not None and peer.pods.matches(other.labels)))


def _no_names(item: Any, destination: Endpoint, port: int, protocol: str) -> bool:
    return item.protocol == protocol and item.first in (None, port)


def _whole_block(block: Any, address: Any) -> bool:
    return address in block.network


@pytest.mark.parametrize(
    ("place", "wrong"),
    [
        ("mlspec.reachability.policies.Requirement.holds", _not_in),
        ("mlspec.reachability.evaluate._is", _or),
        ("mlspec.reachability.evaluate._on", _no_names),
        ("mlspec.reachability.evaluate._inside", _whole_block),
    ],
)
def test_a_wrong_model_is_caught_and_the_case_shrinks(
    place: str, wrong: Callable[..., bool], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(place, wrong)
    found = packets.differing(list(packets.cases(_SEED, 300)))
    assert found
    smallest = packets.shrunk(found[0])
    assert len(smallest["packets"]) == 1
    rules = [
        rule for body in smallest["policies"] for way in ("ingress", "egress") for rule in body["spec"].get(way, ())
    ]
    assert len(smallest["policies"]) <= 2
    assert len(rules) <= 2


def _policy(**spec: Any) -> Any:
    return {"metadata": {"name": "one", "namespace": "a"}, "spec": {"podSelector": {}, **spec}}


def _pod(namespace: str, address: str, *ports: Any, **labels: str) -> Any:
    return {
        "metadata": {"name": address, "namespace": namespace, "labels": labels},
        "spec": {"containers": [{"name": "main", "ports": list(ports)}]},
        "status": {"podIPs": [{"ip": address}]},
    }


_HTTP = {"name": "http", "containerPort": 8080, "protocol": "TCP"}
_OTHER_HTTP = {"name": "http", "containerPort": 9090, "protocol": "TCP"}
_PODS = {
    "a/x": _pod("a", "10.0.0.1", _HTTP, app="x"),
    "a/y": _pod("a", "10.0.0.2", _OTHER_HTTP, app="y"),
    "b/x": _pod("b", "10.0.0.3", _HTTP, app="x"),
    "b/y": _pod("b", "10.0.0.4", app="y"),
    "outside": None,
    "metadata": None,
}
_ADDRESSES = {"outside": "192.0.2.7", "metadata": "169.254.169.254"}
_X = {"podSelector": {"matchLabels": {"app": "x"}}}
_B = {"namespaceSelector": {"matchLabels": {packets.NAME: "b"}}}
_WORLD = {"ipBlock": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]}}

PITFALLS: dict[str, tuple[list[Any], str]] = {
    # Without a policy everything passes; each line: source, destination, port, verdict.
    "nothing": ([], "b/x>a/x:80 yes, a/x>outside:80 yes, outside>a/x:80 yes"),
    "types left out, no egress rule: egress stays open": (
        [_policy(ingress=[{"from": [_X]}])],
        "b/y>a/x:80 no, a/y>outside:80 yes, a/x>a/y:80 yes",
    ),
    "types left out, an egress rule: both closed": (
        [_policy(egress=[{"to": [_X]}])],
        "b/x>a/x:80 no, a/y>outside:80 no, a/y>a/x:80 no",
    ),
    "only Egress: ingress stays open": ([_policy(policyTypes=["Egress"])], "b/x>a/x:80 yes, a/x>b/x:80 no"),
    "rules of a direction that is no type are no rules": (
        [_policy(policyTypes=["Egress"], ingress=[{"from": [_X]}])],
        "b/y>a/x:80 yes",
    ),
    "one item with both selectors is AND": (
        [_policy(ingress=[{"from": [{**_B, **_X}]}])],
        "b/x>a/y:80 yes, b/y>a/y:80 no, a/x>a/y:80 no",
    ),
    "two items are OR": ([_policy(ingress=[{"from": [_B, _X]}])], "b/x>a/y:80 yes, b/y>a/y:80 yes, a/x>a/y:80 yes"),
    "an empty pod selector is the whole own namespace": (
        [_policy(ingress=[{"from": [{"podSelector": {}}]}])],
        "a/y>a/x:80 yes, b/x>a/x:80 no, outside>a/x:80 no",
    ),
    "an empty namespace selector is every pod of the cluster": (
        [_policy(ingress=[{"from": [{"namespaceSelector": {}}]}])],
        "a/y>a/x:80 yes, b/x>a/x:80 yes, outside>a/x:80 no",
    ),
    "an empty list of peers is everyone": ([_policy(ingress=[{"from": []}])], "b/x>a/x:80 yes, outside>a/x:80 yes"),
    "an empty rule is everyone": ([_policy(ingress=[{}])], "b/x>a/x:80 yes, outside>a/x:80 yes"),
    "an empty list of rules is nobody": ([_policy(ingress=[])], "b/x>a/x:80 no, outside>a/x:80 no"),
    "an empty list of ports is all": (
        [_policy(ingress=[{"from": [_B], "ports": []}])],
        "b/x>a/x:1 yes, b/x>a/x:65535 yes",
    ),
    "a port without a protocol is TCP": (
        [_policy(ingress=[{"ports": [{"port": 53}]}])],
        "b/x>a/x:53 yes, b/x>a/x:53/UDP no",
    ),
    "a protocol without a port is all its ports": (
        [_policy(ingress=[{"ports": [{"protocol": "UDP"}]}])],
        "b/x>a/x:1/UDP yes, b/x>a/x:65535/UDP yes, b/x>a/x:1 no",
    ),
    "endPort is inclusive": (
        [_policy(ingress=[{"ports": [{"port": 100, "endPort": 102}]}])],
        "b/x>a/x:99 no, b/x>a/x:100 yes, b/x>a/x:102 yes, b/x>a/x:103 no",
    ),
    "names of ports are each pod's own": (
        [_policy(ingress=[{"ports": [{"port": "http"}]}])],
        "b/x>a/x:8080 yes, b/x>a/y:8080 no, b/x>a/y:9090 yes",
    ),
    "names of ports going out are the other pod's": (
        [_policy(policyTypes=["Egress"], egress=[{"ports": [{"port": "http"}]}])],
        "a/y>b/x:8080 yes, a/y>b/y:8080 no, a/x>a/y:9090 yes, a/x>outside:8080 no",
    ),
    "except is closed": (
        [_policy(egress=[{"to": [_WORLD]}])],
        "a/x>outside:80 yes, a/x>metadata:80 no, a/x>b/x:80 yes",
    ),
    "another policy opens what an except closes": (
        [
            _policy(egress=[{"to": [_WORLD]}]),
            {
                **_policy(egress=[{"to": [{"ipBlock": {"cidr": "169.254.0.0/16"}}]}]),
                "metadata": {"name": "two", "namespace": "a"},
            },
        ],
        "a/x>metadata:80 yes",
    ),
    "both ends must agree": (
        [
            _policy(policyTypes=["Egress"], egress=[{"to": [{**_B, "podSelector": {}}]}]),
            {"metadata": {"name": "deny", "namespace": "b"}, "spec": {"podSelector": {"matchLabels": {"app": "x"}}}},
        ],
        "a/x>b/y:80 yes, a/x>b/x:80 no, a/x>a/y:80 no",
    ),
    "a policy that selects nothing does nothing": (
        [_policy(podSelector={"matchLabels": {"app": "none"}}, ingress=[])],
        "b/x>a/x:80 yes",
    ),
    "an expression on an empty key's value matches nothing": (
        [_policy(ingress=[{"from": [{"podSelector": {"matchLabels": {"app": ""}}}]}])],
        "a/y>a/x:80 no, a/x>a/y:80 no",
    ),
    "NotIn matches what has no such label": (
        [
            _policy(
                ingress=[
                    {
                        "from": [
                            {"podSelector": {"matchExpressions": [{"key": "no", "operator": "NotIn", "values": ["x"]}]}}
                        ]
                    }
                ]
            )
        ],
        "a/y>a/x:80 yes, b/y>a/x:80 no",
    ),
}


@pytest.mark.parametrize("name", PITFALLS)
def test_pitfall(name: str) -> None:
    policies, said = PITFALLS[name]
    lines = [line.strip().split(" ") for line in said.split(",")]
    asked, verdicts = [], ""
    for words, verdict in lines:
        source, _, rest = words.partition(">")
        destination, _, port = rest.partition(":")
        number, _, protocol = port.partition("/")
        ends = [
            _PODS[end]["status"]["podIPs"][0]["ip"] if _PODS[end] else _ADDRESSES[end] for end in (source, destination)
        ]
        asked.append({"source": ends[0], "destination": ends[1], "port": int(number), "protocol": protocol or "TCP"})
        verdicts += "1" if verdict == "yes" else "0"
    namespaces = [{"metadata": {"name": each, "labels": {packets.NAME: each}}} for each in "ab"]
    pods = [body for body in _PODS.values() if body]
    case = {"namespaces": namespaces, "pods": pods, "policies": policies, "packets": asked}
    assert packets.judge_here(case) == verdicts
    assert packets.judge_there([case]) == [verdicts]


def test_a_pod_whose_address_is_unknown_is_no_part_of_a_network() -> None:
    policy = parse(_policy(egress=[{"to": [_WORLD]}]))
    source, other = pod(_PODS["a/x"], "a"), pod(_PODS["b/x"], "b")
    assert not allows([policy], source, other, 80)
    assert allows([policy], source, pod(_PODS["b/x"], "b", ip_address("10.0.0.3")), 80)


def test_ports_that_a_pod_names() -> None:
    sidecar = {"name": "s", "restartPolicy": "Always", "ports": [{"name": "side", "containerPort": 1}]}
    init = {"name": "i", "ports": [{"name": "init", "containerPort": 2}]}
    odd: list[Any] = [3, {"ports": 4}, {"ports": [5, {"name": 6, "containerPort": 7}, {"containerPort": 8}]}]
    body = {"metadata": {"labels": {"a": "b", "c": 1}}, "spec": {"containers": odd, "initContainers": [init, sidecar]}}
    found = pod(body, "a")
    assert found.ports == (ContainerPort("side", 1),)
    assert found.labels == {"a": "b"}


def test_an_operator_that_there_is_not() -> None:
    expression = {"key": "app", "operator": "Near", "values": ["x"]}
    policy = parse(_policy(podSelector={"matchExpressions": [expression]}))
    with pytest.raises(ValueError, match="`Near` is no operator"):
        allows([policy], Endpoint("a", {}), Endpoint("a", {}), 80)


def test_where_a_manifest_does_not_tell_its_namespace() -> None:
    body = _policy()
    del body["metadata"]["namespace"]
    assert parse(body, "b").namespace == "b"
    assert parse(body).namespace == ""


@pytest.mark.parametrize(
    ("cidrs", "world"),
    [
        (["0.0.0.0/0"], True),
        (["::/0"], True),
        (["0.0.0.0/1", "128.0.0.0/1"], True),
        (["0.0.0.0/2", "64.0.0.0/2", "128.0.0.0/1"], True),
        (["::/1", "8000::/1", "10.0.0.0/8"], True),
        (["::ffff:0:0/96"], True),
        (["0.0.0.0/1", "8000::/1"], False),
        (["10.0.0.0/8", "172.16.0.0/12"], False),
        ([], False),
    ],
)
def test_the_world_however_it_is_cut(cidrs: list[str], world: bool) -> None:
    assert is_world(map(network, cidrs)) is world


@pytest.mark.parametrize(
    ("cidr", "excepted"),
    [
        ("0.0.0.0/0", ["169.254.169.254/32"]),
        ("169.254.0.0/16", ["169.254.169.254/32"]),
        ("169.254.169.254/32", []),
        ("169.254.20.10/32", []),
        ("10.0.0.0/8", []),
        ("::/0", ["fd00:ec2::254/128"]),
        ("fd00::/8", ["fd00:ec2::254/128"]),
        ("2001:db8::/32", []),
        ("::ffff:169.254.0.0/112", ["169.254.169.254/32"]),
    ],
)
def test_what_an_opening_leaves_out(cidr: str, excepted: list[str]) -> None:
    assert [str(each) for each in left_out(network(cidr))] == excepted


def test_what_is_a_metadata_service() -> None:
    meant = [
        *("169.254.169.254/32", "fd00:ec2::254/128", "::ffff:169.254.169.254/128", "169.254.0.0/16", "fe80::1/128"),
        *("169.254.170.2/32", "fd00:ec2::23/128", "100.100.100.200/32", "168.63.129.16/32", "192.0.0.192/32"),
    ]
    others = ("169.254.20.10/32", "169.253.0.0/16", "100.100.100.201/32", "168.63.0.0/16", "0.0.0.0/0", "::/0")
    assert [cidr for cidr in (*meant, *others) if is_metadata(network(cidr))] == meant


def test_what_the_package_offers() -> None:
    assert sorted(reachability.__all__) == list(reachability.__all__)
    assert all(hasattr(reachability, name) for name in reachability.__all__)
