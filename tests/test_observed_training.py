"""What real controllers made of the runs (`tests/cluster/observed/`) is what mlspec's policies and names count on.

The fixtures are recorded by `make cluster-test`; here they are held against what mlspec generates now, without a
cluster.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

import pytest

from mlspec import names
from mlspec.ir import Stated
from mlspec.ir_safety import PlannedSecurity
from mlspec.k8s import meta, pod
from mlspec.k8s.projected import Projection
from mlspec.names import LABEL_LIMIT, is_name
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.harness.operators import observe

Body = dict[str, Any]
_RUNS: Final = [(golden, stated) for golden in goldens() for stated in golden.plan.steps]
_PORTS: Final = {"PyTorchJob": 23456, "TFJob": 2222}
_ENDS: Final = {"Complete", "Succeeded", "Failed"}
_OTHER: Final = "pod-security"
"""A fixture of all goldens together."""

runs = pytest.mark.parametrize(
    ("golden", "stated"), _RUNS, ids=[f"{golden.name}-{stated.workload.name}" for golden, stated in _RUNS]
)


def _path(golden: Golden, stated: Stated) -> Any:
    return observe.fixture(observe.CONTROLLERS[stated.facts.gvk.kind], golden.name)


def _projection(golden: Golden, stated: Stated) -> Projection:
    (found,) = (r.projection for r in golden.resources if r.run == stated.workload.object_name and r.projection)
    return found


def _made(golden: Golden, stated: Stated, kind: str) -> list[Body]:
    """Return the recorded objects of one run."""
    return [
        body
        for body in observe.recorded(_path(golden, stated))
        if body["kind"] == kind and body["metadata"]["ownerReferences"][0]["name"] == stated.workload.object_name
    ]


def _containers(body: Body) -> Iterator[Body]:
    yield from body["spec"].get("initContainers", [])
    yield from body["spec"]["containers"]


def _labels(body: Body) -> dict[str, str]:
    labels: dict[str, str] = body["metadata"]["labels"]
    return labels


def _policies(golden: Golden, body: Body) -> list[Body]:
    """Return the generated NetworkPolicies that select a pod."""
    policies = [resource.body for resource in golden.resources if resource.body["kind"] == "NetworkPolicy"]
    return [one for one in policies if one["spec"]["podSelector"]["matchLabels"].items() <= _labels(body).items()]


def test_every_fixture_has_a_golden() -> None:
    wanted = {_path(golden, stated) for golden, stated in _RUNS}
    found = {path for name in set(observe.CONTROLLERS.values()) for path in (observe.FOLDER / name).glob("*.yaml")}
    assert {path for path in found if path.stem != _OTHER} == wanted


@runs
def test_as_many_pods_as_promised(golden: Golden, stated: Stated) -> None:
    pods = _made(golden, stated, "Pod")
    assert len(pods) == stated.facts.pods
    for body in pods:
        assert stated.facts.pod_labels.items() <= _labels(body).items()


@runs
def test_policies_select_the_pods(golden: Golden, stated: Stated) -> None:
    """The default-deny, the policy of the step and that among the run's own pods, and no other step's."""
    wanted = {names.default_deny(golden.project), stated.workload.name}
    wanted |= {names.peers(stated.workload.object_name)} if stated.facts.pods > 1 else set()
    for body in _made(golden, stated, "Pod"):
        assert {policy["metadata"]["name"] for policy in _policies(golden, body)} == wanted


@runs
def test_pods_of_a_run_reach_one_another(golden: Golden, stated: Stated) -> None:
    """Where there are several, on all ports and both ways; the operator's Service only gives them a name."""
    pods = _made(golden, stated, "Pod")
    for body in pods:
        policies = _policies(golden, body)
        for direction, peer in (("ingress", "from"), ("egress", "to")):
            open_to = [
                other
                for policy in policies
                for rule in policy["spec"].get(direction, [])
                for one in rule.get(peer, [])
                for other in pods
                if "ports" not in rule
                and "namespaceSelector" not in one
                and one.get("podSelector", {}).get("matchLabels", {"": ""}).items() <= _labels(other).items()
            ]
            assert open_to == (pods if stated.facts.pods > 1 else [])


@runs
def test_a_headless_service_a_pod(golden: Golden, stated: Stated) -> None:
    """Of the pod's name, on the port that mlspec names in the container."""
    pods, services = _made(golden, stated, "Pod"), _made(golden, stated, "Service")
    port = _PORTS.get(stated.facts.gvk.kind)
    assert len(services) == (len(pods) if port else 0)
    for service in services:
        selected = [body for body in pods if service["spec"]["selector"].items() <= _labels(body).items()]
        assert [body["metadata"]["name"] for body in selected] == [service["metadata"]["name"]]
        assert service["spec"]["clusterIP"] == "None"
        (offered,) = service["spec"]["ports"]
        (container,) = selected[0]["spec"]["containers"]
        named = {(one["name"], one["containerPort"]) for one in container["ports"]}
        assert (offered["name"], offered["targetPort"]) in named
        assert offered["port"] == port


@runs
def test_names_fit(golden: Golden, stated: Stated) -> None:
    for kind in ("Pod", "Service"):
        for body in _made(golden, stated, kind):
            name = body["metadata"]["name"].replace("(random)", "xxxxx")
            assert is_name(name)
            assert len(name) <= LABEL_LIMIT
            assert all(len(value) <= LABEL_LIMIT for value in _labels(body).values())


@runs
def test_own_account_without_a_token(golden: Golden, stated: Stated) -> None:
    for body in _made(golden, stated, "Pod"):
        assert body["spec"]["serviceAccountName"] == stated.workload.name
        assert body["spec"]["automountServiceAccountToken"] is False
        assert body["spec"]["enableServiceLinks"] is False
        assert not [one for one in body["spec"].get("volumes", []) if {"projected", "secret"} & one.keys()]


@runs
def test_unprivileged(golden: Golden, stated: Stated) -> None:
    """Our container stays restricted; one that an operator adds is stated, and holds nothing but the pod's user."""
    pods = _made(golden, stated, "Pod")
    added = [
        one
        for body in pods
        for one in _containers(body)
        if one.get("securityContext") != pod.container_security(PlannedSecurity())
    ]
    for body in pods:
        assert body["spec"]["securityContext"]["runAsUser"] == PlannedSecurity().user
        assert body["spec"]["securityContext"]["runAsNonRoot"] is True
        assert len(body["spec"]["containers"]) == 1
    assert bool(added) == any(group.added for group in _projection(golden, stated).pods)
    for one in added:
        assert one["name"] == "init-pytorch"
        assert not {"securityContext", "volumeMounts", "env"} & one.keys()


@runs
def test_rendezvous(golden: Golden, stated: Stated) -> None:
    """What the operator tells the pods of one another is true of the pods and Services that it makes."""
    pods = _made(golden, stated, "Pod")
    services = {body["metadata"]["name"] for body in _made(golden, stated, "Service")}
    environments = [body["spec"]["containers"][0].get("env", []) for body in pods]
    for environment in environments:
        assert len({one["name"] for one in environment}) == len(environment)
    told = [{one["name"]: one.get("value", "") for one in environment} for environment in environments]
    if stated.facts.fewest is not None:
        assert {one["PET_NNODES"] for one in told} == {f"{stated.facts.fewest}:{stated.facts.pods}"}
        assert {one["PET_RDZV_ENDPOINT"].split(":")[0] for one in told} <= services
        assert not any({"RANK", "PET_NODE_RANK", "MASTER_ADDR"} & one.keys() for one in told)
    elif stated.facts.gvk.kind == "PyTorchJob":
        assert {one["PET_NNODES"] for one in told} == {str(stated.facts.pods)}
        assert sorted(int(one["PET_NODE_RANK"]) for one in told) == list(range(stated.facts.pods))
        assert {one["MASTER_ADDR"] for one in told} | {one["PET_MASTER_ADDR"] for one in told} <= services
    elif stated.facts.gvk.kind == "TFJob":
        clusters = [json.loads(one["TF_CONFIG"])["cluster"] for one in told if "TF_CONFIG" in one]
        assert len(clusters) == (len(pods) if len(pods) > 1 else 0)
        hosts = {f"{name}.{golden.namespace}.svc:2222" for name in services}
        for cluster in clusters:
            assert {host for group in cluster.values() for host in group} == hosts


@pytest.mark.parametrize("controller", sorted(set(observe.CONTROLLERS.values())))
def test_conditions_end_once(controller: str) -> None:
    """Health checks can count on it: at most one end, and nothing but an end after it."""
    paths = sorted((observe.FOLDER / controller / "conditions").glob("*.yaml"))
    assert paths
    for path in paths:
        ends = []
        for status in observe.recorded(path):
            true = {row["type"] for row in status.get("conditions", []) if row["status"] == "True"}
            ends.append(_ENDS & true)
            assert not (ends[-1] and "Running" in true), path
        assert all(len(end) <= 1 for end in ends), path
        assert [bool(end) for end in ends] == sorted(bool(end) for end in ends), path


def test_labels_of_selectors_are_those_of_the_pods() -> None:
    """The comparison can fail: a pod of another step is not selected."""
    golden, stated = _RUNS[0]
    (body,) = _made(golden, stated, "Pod")
    other = {**body, "metadata": {**body["metadata"], "labels": {**_labels(body), meta.STEP: "another"}}}
    assert {policy["metadata"]["name"] for policy in _policies(golden, other)} == {f"{golden.project}-default-deny"}
