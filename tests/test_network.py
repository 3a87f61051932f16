"""NetworkPolicies open what the plan declares and nothing else, and whatever weakens one is found (law 7)."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from ipaddress import ip_address
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

from mlspec.changes.compare import compare
from mlspec.check import reachable
from mlspec.check.flows import WAYS, openings, pods
from mlspec.check.objects import Fault
from mlspec.commands.comparing import projects
from mlspec.compiled import Compiled
from mlspec.ir import Plan
from mlspec.ir_sources import Source
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource
from mlspec.pipeline import compile_workspace
from mlspec.reachability import Endpoint, allows, parse, witnesses
from mlspec.reachability.endpoints import NAMESPACE_NAME
from mlspec.spec.load import load
from tests import packets, policies
from tests.network_roots import flowing_roots
from tests.samples import compiled
from tests.strategies import Root
from tests.support import ENVIRONMENT, make_root

Emitted = tuple[Plan, Sequence[Resource]]
_CASES = Path(__file__).parent / "concerns"
_GOLDENS = ("network/destinations", "network/serving-knative", "network/serving-seldon", "gate/follow")
_SAMPLE = 3000


def _compiled(folder: Path) -> Compiled:
    return compile_workspace(load(folder)).projects[0]


def _dev(folder: Path) -> Emitted:
    found = _compiled(folder)
    return found.plans["dev"], found.resources["dev"]


def _faults(found: Emitted, elsewhere: Sequence[str] = ()) -> list[tuple[str, Fault]]:
    return [(".".join(resource.origin), fault) for resource, fault in reachable.check(*found, elsewhere)]


def _differences(found: Emitted) -> Iterator[reachable.Difference]:
    """Yield what is otherwise than the plan says it, all ends and ports tried."""
    ours = pods(*found)
    known = [parse(body) for body in _policies(found[1])]
    for each in ours:
        for way in WAYS:
            yield from reachable.differences(known, ours, each, way)


def _policies(resources: Sequence[Resource]) -> list[Body]:
    return [resource.body for resource in resources if resource.body["kind"] == "NetworkPolicy"]


def test_the_goldens_open_what_they_declare() -> None:
    for name in _GOLDENS:
        found = _dev(_CASES / name)
        assert _faults(found) == []
        assert list(_differences(found)) == []


@given(root=flowing_roots())
@settings(max_examples=20)
def test_open_is_what_is_declared(root: Root) -> None:
    """What is compared word for word, and what is tried packet by packet, both say so."""
    for project in compiled(root).projects:
        for name, resources in project.resources.items():
            assert _faults((project.plans[name], resources)) == []
            assert list(_differences((project.plans[name], resources))) == []


def _means_the_same(words: str, name: str) -> bool:
    """Say whether a mutation changes nothing: defaults that were written out, or what is open or closed anyway."""
    defaults = words == "policyTypes left out" or (
        words == "not of type Egress" and not name.endswith(("deny", ".peers"))
    )
    still_nobody = name.endswith("-default-deny") and words.endswith("one label more")
    neighbouring = words.endswith(("0: one more above", "1: one more below"))
    own_namespace = words.endswith(": here")
    return defaults or still_nobody or neighbouring or own_namespace


@pytest.mark.parametrize("name", _GOLDENS)
def test_whatever_weakens_a_policy_is_found(name: str) -> None:
    plan, resources = _dev(_CASES / name)
    found, unseen = 0, []
    for index, resource in enumerate(resources):
        for words, body in policies.mutations(resource.body) if resource.body["kind"] == "NetworkPolicy" else ():
            changed = [*resources[:index], *([replace(resource, body=body)] if body else []), *resources[index + 1 :]]
            if _faults((plan, changed)):
                found += 1
            else:
                assert _means_the_same(words, resource.key.name), f"{resource.key.name}: {words}"
                unseen.append(_policies(changed))
    assert found > 100
    cases = [_case((plan, resources), changed) for changed in (_policies(resources), *unseen)]
    there = packets.judge_there(cases)
    assert "1" in there[0]
    assert set(there) == {there[0]}, "what is not found, another implementation does not see either"


def _case(found: Emitted, changed: list[Body]) -> packets.Case:
    """Return packets between our pods and every end that is tried, with these policies."""
    ours = pods(*found)
    known = [parse(body) for body in _policies(found[1])]
    ends = [end for each in ours for _, end in reachable._ends(known, ours, each, openings(each.egress))]
    inside = list({(end.namespace, *sorted(end.labels.items())): end for end in ends if end.namespace}.values())
    inside = [end for end in inside if not meta.NOBODY.items() <= end.labels.items()]
    outside = sorted({str(end.address) for end in ends if end.address})
    addresses = {f"10.200.{at // 250}.{at % 250 + 1}": end for at, end in enumerate(inside)}
    places = {str(end.namespace): dict(end.namespace_labels) for end in inside}
    numbers = witnesses.ports(witnesses.ranges(known), ())
    chosen = random.Random(1)  # noqa: S311  # the same every time is what is wanted
    own = list(addresses)[: len(ours)]
    pairs = [(a, b) for a, b in product(own, [*addresses, *(each for each in outside if "." in each)]) if a != b]
    asked = []
    for _ in range(_SAMPLE):
        ends_of = chosen.choice(pairs)
        source, destination = ends_of if chosen.random() < 0.5 else ends_of[::-1]
        protocol = chosen.choice(witnesses.PROTOCOLS[:2])
        asked.append(
            {"source": source, "destination": destination, "protocol": protocol, "port": chosen.choice(numbers)}
        )
    return {
        "namespaces": [{"metadata": {"name": name, "labels": labels}} for name, labels in places.items()],
        "pods": [_manifest(address, end) for address, end in addresses.items()],
        "policies": [{"metadata": body["metadata"], "spec": body["spec"]} for body in changed],
        "packets": asked,
    }


def _manifest(address: str, end: Endpoint) -> Any:
    metadata = {"name": address, "namespace": end.namespace, "labels": dict(end.labels)}
    return {"metadata": metadata, "spec": {"containers": []}, "status": {"podIPs": [{"ip": address}]}}


def test_what_is_wrong_is_told_at_the_workload_in_one_sentence_a_direction() -> None:
    plan, resources = _dev(_CASES / "network/destinations")
    index = next(
        at for at, each in enumerate(resources) if each.key.name == "fetch" and each.key.kind == "NetworkPolicy"
    )
    body = next(policies.mutations(resources[index].body)).body
    assert body is None
    without = [*resources[:index], *resources[index + 1 :]]
    assert _faults((plan, without)) == [
        (
            "steps.fetch",
            Fault(
                "MLS311",
                "its pods cannot reach pods with k8s-app=kube-dns in namespace kube-system on TCP 53, UDP 53, and 20 "
                "more, though the plan declares it",
                "mlspec writes plan and policies both, so this is a fault of its own: please report it",
                because=(Source(("network", "dns"), of_environment=True),),
            ),
        )
    ]


_PROJECT = """\
volumes: {models: {size: 1Gi, access: ReadWriteMany}}
steps:
  train: {kind: pytorch, nodes: 2, image: "i:1", script: /t.py, mounts: {models: /models}, egress: [there]}
services:
  chat: {kind: kserve, model: {format: onnx, from: train, path: export}}
"""


def _root(folder: Path, there: str) -> Emitted:
    environment = ENVIRONMENT.replace("    s3: {", f"    there: {there}\n    s3: {{") + "promotion: follow\n"
    return _dev(make_root(folder, _PROJECT, {"dev": environment}))


def test_a_destination_in_our_own_namespace_is_open_at_both_ends(tmp_path: Path) -> None:
    found = _root(tmp_path, "{namespace: demo-dev, podLabels: {mlspec.dev/service: chat}, ports: [8080]}")
    assert _faults(found) == []
    ours = {each.words: each.endpoint for each in pods(*found)}
    known = [parse(body) for body in _policies(found[1])]
    worker, predictor = ours["the worker pods of `train`"], ours["the predictor pods of `chat`"]
    assert allows(known, worker, predictor, 8080)
    assert not allows(known, worker, predictor, 8081)
    assert not allows(known, predictor, worker, 8080)


def test_a_destination_by_a_label_of_the_operator_is_refused_with_the_label_to_write(tmp_path: Path) -> None:
    found = _root(tmp_path, "{namespace: demo-dev, podLabels: {app: isvc.chat-predictor}, ports: [8080]}")
    (first, *_) = _faults(found)
    message = "its pods may reach the predictor pods of `chat`, which let in nothing from them"
    help = "select them in the destination's `podLabels` by mlspec's own label, `mlspec.dev/service: chat`"
    labels = Source(("network", "destinations", "there", "podLabels"), of_environment=True)
    because = (labels, Source(("steps", "train", "egress", "0")))
    assert first == ("steps.train", Fault("MLS311", message, help, because=because))


def test_a_destination_in_another_environment_is_refused(tmp_path: Path) -> None:
    found = _root(tmp_path, "{namespace: demo-prod, podLabels: {mlspec.dev/service: chat}, ports: [8080]}")
    assert _faults(found) == []
    assert _faults(found, ["demo-staging"]) == []
    ((origin, fault),) = _faults(found, ["demo-prod", "demo-staging"])
    assert (origin, fault.code) == ("steps.train", "MLS313")
    assert "namespace demo-prod, which is another environment of the project" in fault.message


def test_pods_of_one_run_reach_one_another_and_those_of_no_other(tmp_path: Path) -> None:
    plan, resources = _root(tmp_path, "{cidrs: [10.0.0.0/8]}")
    known = [parse(body) for body in _policies(resources)]
    ours = {each.words: each.endpoint for each in pods(plan, resources)}
    master, worker = ours["the master pods of `train`"], ours["the worker pods of `train`"]
    for protocol, port in product(("TCP", "UDP", "SCTP"), (1, 23456, 65535)):
        assert allows(known, master, worker, port, protocol)
        assert allows(known, worker, master, port, protocol)
    older = replace(worker, labels={**worker.labels, meta.RUN: "train-00000000"})
    assert not allows(known, older, worker, 23456)
    assert not allows(known, worker, older, 23456)
    # The policy that the older run came with is still there, and lets it train on.
    written = next(body for body in _policies(resources) if body["metadata"]["name"].endswith(".peers"))
    text = str(written).replace(master.labels[meta.RUN], "train-00000000")
    both = [*known, parse(eval(text))]  # noqa: S307  # a manifest that was printed here
    assert allows(both, older, replace(older), 23456)
    assert not allows(both, older, worker, 23456)
    assert not allows(both, worker, older, 23456)


@pytest.mark.parametrize(("supersede", "stays"), [("keep", True), ("delete", False)])
def test_the_policy_of_a_run_stays_as_long_as_the_run(tmp_path: Path, supersede: str, stays: bool) -> None:
    environment = ENVIRONMENT + f"runs: {{onSupersede: {supersede}}}\npromotion: follow\n"
    plan, resources = _dev(make_root(tmp_path, _PROJECT.replace("there", "s3"), {"dev": environment}))
    (run,) = (each.workload.object_name for each in plan.steps)
    (body,) = (body for body in _policies(resources) if body["metadata"]["name"] == f"{run}.peers")
    kept = {meta.SYNC_OPTIONS: "Prune=false", meta.COMPARE_OPTIONS: "IgnoreExtraneous"} if stays else {}
    assert body["metadata"]["annotations"] == {meta.SYNC_WAVE: "-20", **kept}


def test_a_gate_reaches_nothing_and_nobody_reaches_it() -> None:
    plan, resources = _dev(_CASES / "gate/follow")
    known = [parse(body) for body in _policies(resources)]
    (gate,) = (each.endpoint for each in pods(plan, resources) if each.words == "the pod of Job chat-gate")
    dns = Endpoint("kube-system", {"k8s-app": "kube-dns"}, {NAMESPACE_NAME: "kube-system"})
    others = [each.endpoint for each in pods(plan, resources) if each.endpoint is not gate]
    for other in (dns, Endpoint(address=ip_address("192.0.2.1")), *others):
        assert not any(allows(known, gate, other, port, way) for port in (53, 443) for way in ("TCP", "UDP"))
        assert not any(allows(known, other, gate, port) for port in (80, 8080))


def test_the_guard_selects_nobody(tmp_path: Path) -> None:
    """A pod that carries its label would be let through by every default-deny."""
    operation = '{op: add, path: /spec/template/metadata/labels/mlspec.dev~1none, value: "true"}'
    project = f'steps: {{a: {{kind: job, image: "i:1", patch: [{operation}]}}}}\n'
    found = _dev(make_root(tmp_path, project))
    (index,) = (at for at, each in enumerate(found[1]) if each.projection is not None)
    patched = found[1][index]
    assert patched.patched is not None
    assert patched.patched.refusal is not None
    assert patched.projection is not None
    (alike,) = patched.projection.pods
    alike.first["metadata"]["labels"] |= meta.NOBODY
    assert [fault.code for _, fault in _faults(found)] == ["MLS312"]


def test_a_project_of_nothing_has_nothing_to_judge(tmp_path: Path) -> None:
    assert _faults(_dev(make_root(tmp_path, ""))) == []


def test_a_new_run_opens_nothing_and_deletes_nothing(tmp_path: Path) -> None:
    """Its policy comes and goes with it: a reviewer is told of the run, not of a policy of another name."""
    environment = {"dev": ENVIRONMENT + "promotion: follow\n"}
    project = _PROJECT.replace("there", "s3")
    before, after, alone = (
        projects(compile_workspace(load(make_root(tmp_path / name, text, environment))))["demo"].sides["dev"]
        for name, text in (
            ("before", project),
            ("after", project.replace("i:1", "i:2")),
            ("alone", project.replace("nodes: 2", "nodes: 1")),
        )
    )
    assert before.steps["train"].workload.object_name != after.steps["train"].workload.object_name
    found = compare(before, after)
    assert found.exposure == ()
    assert [item.name for item in found.deletions if item.kind == "NetworkPolicy"] == []
    assert [item.name for item in found.others if item.kind == "NetworkPolicy"] == []
    words = {(item.workload, item.direction, item.peer) for item in compare(alone, before).exposure}
    assert words == {("train", "ingress", "its own pods"), ("train", "egress", "its own pods")}
