"""KServe's own webhooks take every generated InferenceService, and its controller makes of it what mlspec promises.

What is made is recorded in `observed/`; `tests/test_observed_kserve.py` holds mlspec's promises against that record
without a cluster.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.cluster.harness.client import Answer, Api, Body
from tests.cluster.harness.control_plane import namespace
from tests.cluster.harness.goldens import Golden
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.kserve import API_VERSION, KServe
from tests.cluster.harness.operators.served import OPERATOR, Served, cases, inference_services, stated
from tests.cluster.harness.process import poll
from tests.cluster.report import Report
from tests.cluster.test_accepted import differences

pytestmark = pytest.mark.operators

_KINDS: Final = (*observe.KINDS, ("networking.k8s.io/v1", "Ingress"))
_KNATIVE: Final = (*_KINDS, ("serving.knative.dev/v1", "Service"))
_JUDGE: Final = "pod-security-restricted"
_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
_TABLE: Final = "What KServe 0.16.0 made of InferenceServices"
_COLUMNS: Final = ("project", "mode", "admitted", "objects made", "pods at most", "pods made", "restricted", "note")
_SECONDS: Final = 40
Answers = dict[str, list[tuple[Body, Answer]]]


def _name(golden: Golden) -> str:
    return golden.name


@pytest.fixture(scope="module")
def served(kserve_manager: KServe) -> dict[str, Served]:
    """Make what every golden for this KServe stands on, each in a namespace of its own."""
    found = {golden.name: Served(golden, f"kserve-{number}") for number, golden in enumerate(cases())}
    for item in found.values():
        item.prepare(kserve_manager.plane.api)
    return found


@pytest.fixture(scope="module")
def answers(served: dict[str, Served], kserve_manager: KServe) -> Answers:
    """Apply every InferenceService, all at once: they become ready side by side; returns what was answered to each."""
    api = kserve_manager.plane.api
    return {name: [(body, api.apply(body)) for body in item.inference_services] for name, item in served.items()}


@pytest.mark.parametrize("golden", cases(), ids=_name)
def test_admitted(golden: Golden, answers: Answers, kserve_manager: KServe) -> None:
    """Both webhooks take it, now and again; the defaulter changes no field of ours, and nobody warns.

    Public report: case 8.
    """
    for body, answer in answers[golden.name]:
        for said in (answer, kserve_manager.plane.api.apply(body)):
            assert said.accepted, said.message
            assert not said.warnings
            assert not list(differences(body, said.body))


def _status(api: Api, item: Served, name: str) -> dict[str, Any]:
    found = api.get(API_VERSION, "InferenceService", item.namespace, name)
    assert found is not None
    status: dict[str, Any] = found.get("status", {})
    return status


def _is_ready(api: Api, item: Served, name: str) -> bool:
    conditions = _status(api, item, name).get("conditions", [])
    return any(row["type"] == "Ready" and row["status"] == "True" for row in conditions)


def _made(api: Api, item: Served, kinds: tuple[tuple[str, str], ...] = _KINDS) -> list[Body]:
    """Return what was made of a golden's services; ReplicaSets only repeat their Deployment."""
    roots = api.list(API_VERSION, "InferenceService", item.namespace)
    return [body for body in observe.made(api, roots, kinds) if body["kind"] != "ReplicaSet"]


def _pods(bodies: list[Body]) -> list[Body]:
    return [body for body in bodies if body["kind"] == "Pod"]


def _all_there(api: Api, item: Served) -> bool:
    """Say whether each service is ready with as many pods as it asks for at least."""
    least = sum(body["spec"]["predictor"]["minReplicas"] for body in inference_services(item.golden))
    ready = all(_is_ready(api, item, body["metadata"]["name"]) for body in item.inference_services)
    return ready and len(_pods(_made(api, item))) == least


@pytest.mark.parametrize("golden", cases(mode="Standard"), ids=_name)
def test_becomes(
    golden: Golden,
    served: dict[str, Served],
    answers: Answers,
    kserve_manager: KServe,
    update_observed: bool,
    report: Report,
) -> None:
    """It becomes ready, with as many pods as it asks for; every object made for it is as recorded."""
    api, item = kserve_manager.plane.api, served[golden.name]
    poll(f"{golden.name}: pods", lambda: _all_there(api, item), _SECONDS, every=0.2)
    made = _made(api, item)
    bodies = item.as_generated(made)
    title = f"What KServe 0.16.0 makes of the services of {golden.name}, in Standard mode."
    observe.compare(observe.fixture(OPERATOR, golden.name), title, bodies, update=update_observed)
    most = sum(each.facts.pods for each in golden.plan.services if each.facts.gvk.kind == "InferenceService")
    verdict = "refused" if _restricted(api, _pods(made)[0]) else "admitted"
    assert all(answer.accepted for _, answer in answers[golden.name])
    row = (golden.name, "Standard", "yes", len(made), most, len(_pods(made)), verdict)
    report.table(_TABLE, *_COLUMNS).add(*row, "")


def _restricted(api: Api, pod: Body) -> str:
    """Return why a pod, as it was made, would be refused where the restricted level is enforced; "" where it is not.

    The label keeps KServe's pod mutator away, which would otherwise change the pod once more.
    """
    labels = {_ENFORCE: "restricted", "control-plane": "none"}
    assert api.apply(namespace(_JUDGE, labels)).accepted
    account = {"name": pod["spec"]["serviceAccountName"], "namespace": _JUDGE}
    assert api.apply({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": account}).accepted
    spec = {key: value for key, value in pod["spec"].items() if key != "nodeName"}
    meta = {"name": "judged", "namespace": _JUDGE, "labels": pod["metadata"]["labels"]}
    answer = api.create({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, dry_run=True)
    assert answer.accepted or "violates PodSecurity" in answer.message, answer.message
    return answer.message


def _levels(api: Api, item: Served) -> Body:
    """Return what Pod Security admission says about the pods of a golden's service: where they are, and beyond."""
    stored = api.get("v1", "Namespace", "", item.namespace)
    assert stored is not None
    pods = _pods(_made(api, item))
    events = api.list("v1", "Event", item.namespace)
    refused = sorted({event["message"] for event in events if "violates PodSecurity" in event.get("message", "")})
    _, _, reason = _restricted(api, pods[0]).partition('violates PodSecurity "restricted:latest": ')
    enforced = stored["metadata"]["labels"].get(_ENFORCE, "")
    return {"case": item.golden.name, "enforced": enforced, "refused": refused, "restricted": reason}


@pytest.mark.usefixtures("answers")
def test_pod_security(served: dict[str, Served], kserve_manager: KServe, update_observed: bool) -> None:
    """Which pods are refused, at the level of their namespace and at the restricted one, and why, is as recorded."""
    api = kserve_manager.plane.api
    items = [served[golden.name] for golden in cases(mode="Standard")]
    poll("pods", lambda: all(api.list("v1", "Pod", item.namespace) for item in items), _SECONDS, every=0.2)
    levels = [_levels(api, item) for item in items]
    title = "What Pod Security admission says: `refused` at the level enforced, `restricted` why it would be there."
    observe.compare(observe.fixture(OPERATOR, "pod-security"), title, levels, update=update_observed)
    assert not [item for item in levels if item["refused"]]


@pytest.mark.usefixtures("answers")
def test_knative(kserve_manager: KServe, served: dict[str, Served], update_observed: bool, report: Report) -> None:
    """Without Knative nothing is made, and an event says so; with its definition each becomes a Knative Service.

    Knative itself does not run: revisions, and so pods, are not judged.
    """
    api = kserve_manager.plane.api
    items = [served[golden.name] for golden in cases(mode="Knative")]
    poll("events", lambda: all(_rejected(api, item) for item in items), _SECONDS)
    assert not [body for item in items for body in _made(api, item)]
    kserve_manager.allow_knative()
    poll("Knative Services", lambda: all(_made(api, item, _KNATIVE) for item in items), _SECONDS, every=0.2)
    for item in items:
        made = _made(api, item, _KNATIVE)
        title = f"What KServe 0.16.0 makes of the services of {item.golden.name}, in Knative mode."
        bodies = item.as_generated(made)
        observe.compare(observe.fixture(OPERATOR, item.golden.name), title, bodies, update=update_observed)
        most = sum(each.facts.pods for each in item.golden.plan.services)
        row = (item.golden.name, "Knative", "yes", len(made), most, "-", "-")
        report.table(_TABLE, *_COLUMNS).add(*row, "no Knative: its Service is recorded, its pods were not judged")


def _rejected(api: Api, item: Served) -> bool:
    return any(event["reason"] == "ServerlessModeRejected" for event in api.list("v1", "Event", item.namespace))


def test_other_versions_are_named(report: Report) -> None:
    """A golden for another KServe is in the table, so that nobody takes it for judged."""
    others = cases("0.15")
    assert others
    for golden in others:
        (service,) = inference_services(golden)
        most = stated(golden, service["metadata"]["name"]).facts.pods
        note = "declares KServe 0.15, which is not started here; the api tier judges it by its schema"
        report.table(_TABLE, *_COLUMNS).add(golden.name, "Standard", "not asked", "-", most, "-", "-", note)
