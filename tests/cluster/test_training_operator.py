"""The training operator and the Job controller make of every golden's runs exactly the pods that mlspec promises.

All goldens run side by side, each in a namespace of its own with the labels that were generated; their pods are kept
running until they are recorded, then they succeed.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Final

import pytest

from mlspec.ir import Stated
from tests.cluster.harness import crds
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import namespace
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators import observe, trial
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.harness.operators.trial import Trial
from tests.cluster.report import Report

pytestmark = pytest.mark.operators

_TABLE: Final = "Pods that operators made"
_WITH_RUNS: Final = [golden for golden in goldens() if golden.plan.steps]
_RANDOM: Final = "[a-z0-9]{5}"
_RESTRICTED: Final = "restricted"
_OF_A_POD: Final = re.compile(r"pods \"(?P<pod>[^\"]+)\" is forbidden: violates PodSecurity \"[^\"]*\": (?P<reason>.*)")
_LONG: Final = re.compile(r"\(((?:container|containers) (?:\"[^\"]+\"(?:, )?)+) must set [^)]*\)")


@dataclass
class Seen:
    """What was there while the pods ran, and what had been there when all was over."""

    trials: dict[str, Trial]
    made: dict[tuple[str, str], list[Body]]
    """By golden and step, as stored."""
    pods: dict[tuple[str, str], set[str]]
    """By golden and step, the uids of all pods that there ever were."""
    ends: dict[tuple[str, str], set[str]]


@pytest.fixture(scope="module")
def seen(operators_plane: Operators, report: Report) -> Seen:
    """Run everything once."""
    api, nodes = operators_plane.api, operators_plane.nodes
    # Nothing reads what goldens declare of these, but the server must know the kind.
    for release in sorted({name for golden in _WITH_RUNS for name in golden.releases if "external-secrets" in name}):
        crds.establish(api, crds.definitions(release))
    nodes.fate(fates.run())
    with report.timed("operators: runs of all goldens"):
        trials = trial.apply_all(api, _WITH_RUNS)
        trial.wait_for_pods(api, trials)
        steps = [(found, stated) for found in trials for stated in found.runs]
        around = observe.around(api)
        made = {_key(found, stated): observe.belonging([found.run(stated)], around) for found, stated in steps}
        nodes.fate(fates.succeed(after=0))
        trial.wait_for_end(api, trials)
        ends = {_key(found, stated): set(trial.conditions(found.run(stated))) for found, stated in steps}
        pods = {
            _key(found, stated): {
                event.body["metadata"]["uid"]
                for event in list(nodes.watch.events)
                if event.body["metadata"]["namespace"] == found.namespace
                and event.body["metadata"]["labels"].get("mlspec.dev/run") == stated.workload.object_name
            }
            for found, stated in steps
        }
    nodes.forget()
    return Seen({found.golden.name: found for found in trials}, made, pods, ends)


def _key(found: Trial, stated: Stated) -> tuple[str, str]:
    return found.golden.name, stated.workload.name


def _of(seen: Seen, golden: Golden, stated: Stated, kind: str) -> list[Body]:
    return [body for body in seen.made[golden.name, stated.workload.name] if body["kind"] == kind]


@pytest.mark.parametrize("golden", _WITH_RUNS, ids=lambda golden: golden.name)
def test_promised_pods(golden: Golden, seen: Seen, report: Report) -> None:
    """Admitted, as many pods as promised and not one more until the end, with the promised names and labels.

    Public report: case 16.
    """
    assert seen.trials[golden.name].refused == {}
    table = report.counter(_TABLE, ("operator", "kind"), ("runs", "promised", "made", "refused"))
    for stated in golden.plan.steps:
        key, facts = (golden.name, stated.workload.name), stated.facts
        refused = trial.refusals(seen.trials[golden.name].api, seen.trials[golden.name].namespace)
        pods = _of(seen, golden, stated, "Pod")
        table.add(
            (observe.CONTROLLERS[facts.gvk.kind], facts.gvk.kind), (1, facts.pods, len(seen.pods[key]), len(refused))
        )
        assert len(pods) == facts.pods
        assert seen.pods[key] == {pod["metadata"]["uid"] for pod in pods}
        assert seen.ends[key] & {"Complete", "Succeeded"}
        assert {("", body["kind"]) for body in seen.made[key]} == set(facts.children)
        for pod in pods:
            assert facts.pod_labels.items() <= pod["metadata"]["labels"].items()
        for derived in facts.derived:
            pattern = re.escape(derived.name).replace("xxxxx", _RANDOM)
            assert any(re.fullmatch(pattern, body["metadata"]["name"]) for body in pods), derived


@pytest.mark.parametrize("golden", _WITH_RUNS, ids=lambda golden: golden.name)
def test_templates_are_kept(golden: Golden, seen: Seen) -> None:
    """Nothing of a generated pod template is lost or changed; what controllers add is recorded, not forbidden.

    Public report: case 2.
    """
    for stated in golden.plan.steps:
        written = next(r.body for r in golden.resources if r.body["metadata"]["name"] == stated.workload.object_name)
        for pod in _of(seen, golden, stated, "Pod"):
            template = _template(written, pod)
            assert _covers(pod["spec"], template["spec"], "restartPolicy"), (template["spec"], pod["spec"])
            assert _covers(pod["metadata"]["labels"], template["metadata"]["labels"])


def _template(run: Body, pod: Body) -> Body:
    if run["kind"] == "Job":
        return dict(run["spec"]["template"])
    role = pod["metadata"]["labels"][fates.REPLICA_TYPE]
    replicas = run["spec"].get("pytorchReplicaSpecs") or run["spec"]["tfReplicaSpecs"]
    return dict(next(spec["template"] for name, spec in replicas.items() if name.lower() == role))


def _covers(stored: Any, written: Any, *but: str) -> bool:
    """Say whether everything that was written is stored; lists of named things may have grown."""
    if isinstance(written, dict):
        return isinstance(stored, dict) and all(_covers(stored.get(k), v) for k, v in written.items() if k not in but)
    if isinstance(written, list):
        return isinstance(stored, list) and all(any(_covers(item, value) for item in stored) for value in written)
    return bool(stored == written)


def test_covers_can_fail() -> None:
    """A lost field, a changed value and a lost item are seen."""
    stored = {"a": 1, "b": [{"name": "x", "c": True}, {"name": "y"}]}
    assert _covers(stored, {"a": 1, "b": [{"name": "x"}]})
    assert not _covers(stored, {"a": 2})
    assert not _covers(stored, {"z": 1})
    assert not _covers(stored, {"b": [{"name": "x", "c": False}]})


@pytest.mark.parametrize("golden", _WITH_RUNS, ids=lambda golden: golden.name)
def test_as_recorded(golden: Golden, seen: Seen, update_observed: bool) -> None:
    """What is made is what the fixtures hold, which the rest of the suite reads."""
    for controller in sorted({observe.CONTROLLERS[stated.facts.gvk.kind] for stated in golden.plan.steps}):
        steps = [stated for stated in golden.plan.steps if observe.CONTROLLERS[stated.facts.gvk.kind] == controller]
        made = [body for stated in steps for body in seen.made[golden.name, stated.workload.name]]
        path = observe.fixture(controller, golden.name)
        title = f"What {controller} makes of {golden.name}"
        observe.compare(path, title, seen.trials[golden.name].as_generated(made), update=update_observed)


def test_pod_security(operators_plane: Operators, seen: Seen, report: Report, update_observed: bool) -> None:
    """Which pods the namespace's own level refuses, and which `restricted` would: those to which something is added."""
    api = operators_plane.api
    assert api.apply(namespace(_RESTRICTED, {"pod-security.kubernetes.io/enforce": _RESTRICTED})).accepted
    table = report.table("Pods of runs that Pod Security refuses", "golden", "level", "pods", "reason")
    found: list[Body] = []
    for golden in _WITH_RUNS:
        events = trial.refusals(api, seen.trials[golden.name].namespace)
        refused = sorted(_OF_A_POD.search(event["message"])["pod"] for event in events)  # type: ignore[index]
        would = {
            pod["metadata"]["name"]: reason
            for stated in golden.plan.steps
            for pod in _of(seen, golden, stated, "Pod")
            if (reason := _refusal(api, pod))
        }
        level = golden.enforced or "none"
        found.append({"case": golden.name, "enforced": level, "refused": refused, _RESTRICTED: would})
        assert bool(would) == _adds(golden), (golden.name, would)
        for reason in sorted(set(would.values())):
            table.add(golden.name, _RESTRICTED, ", ".join(pod for pod, why in would.items() if why == reason), reason)
        if refused:
            table.add(golden.name, level, ", ".join(refused), "see the events of its run")
    title = "What Pod Security admission says: `refused` at the level enforced, `restricted` why it would be there."
    path = observe.fixture(observe.CONTROLLERS["PyTorchJob"], "pod-security")
    observe.compare(path, title, found, update=update_observed)


def _adds(golden: Golden) -> bool:
    """Say whether the operator puts containers into pods of a golden's runs."""
    projections = [resource.projection for resource in golden.resources if resource.is_run and resource.projection]
    return any(pods.added for projection in projections for pods in projection.pods)


def _refusal(api: Api, pod: Body) -> str:
    """Return why a namespace with the restricted level refuses a pod, or nothing."""
    meta = {"name": pod["metadata"]["name"], "namespace": _RESTRICTED, "labels": pod["metadata"]["labels"]}
    spec = {key: value for key, value in pod["spec"].items() if key not in {"nodeName", "serviceAccount"}}
    body = {"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": {**spec, "serviceAccountName": "default"}}
    answer = api.create(body, dry_run=True)
    match = _OF_A_POD.search(answer.message)
    assert answer.accepted or match, answer.message
    return _LONG.sub(r"(\1)", match["reason"]) if match else ""
