"""What operators' webhooks refuse, mlspec refuses by the same rule: the cases of each rule, and many faulty objects.

The real webhooks judge: training-operator 1.9.3 and KServe 0.16.0. Other releases, and Seldon, were read, not run.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

import pytest

from mlspec.check.objects import judge_accepted, judge_body
from mlspec.k8s.patch import diff
from mlspec.schemas import kubernetes_folder, operator_folder
from mlspec.validation.webhooks.kserve.defaults import defaulted
from tests.cluster.harness.client import MANAGER, Api, Body
from tests.cluster.harness.control_plane import KUBERNETES, namespace
from tests.cluster.harness.operators.kserve import KServe
from tests.cluster.harness.operators.served import cases, inference_services
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.mutants import mutants_of, samples
from tests.cluster.report import Report
from tests.webhook_cases import (
    CASES,
    KEDA,
    KNATIVE,
    KSERVE,
    OWN,
    PYTORCH,
    STANDARD,
    TF,
    TRAINING,
    Case,
    Changes,
    changed,
)

pytestmark = pytest.mark.operators

_SERVED: Final = "InferenceService"
_KINDS: Final = ("PyTorchJob", "TFJob", _SERVED)
_SCHEMAS: Final = (kubernetes_folder(KUBERNETES), *map(operator_folder, (TRAINING, KSERVE)))
_RELEASE: Final = (0, 16)
_TABLE: Final = "Objects with one fault each, by who refuses them: the operators' webhooks beside the server"
_COLUMNS: Final = ("objects", "both refuse", "both accept", "server only refuses", "mlspec only refuses")
_LISTED: Final[tuple[tuple[str, str, str], ...]] = (
    (
        "mlspec",
        r"InferenceService missing field spec\.predictor\..*\.(name|type|mountPath|containerPort)",
        "KServe's defaulting webhook writes the object anew before the schema is asked, with an empty text or 0 for "
        "what is missing: nobody means that, no pod can come of it, and Argo CD would show it as a difference (law 8).",
    ),
)
"""Faults on which mlspec and the server differ: who alone refuses, an expression for the fault, and the reason."""
_RUN: Final = [case for case in CASES if case.declared in (TRAINING, KSERVE)]
_Choices = dict[tuple[str | int, ...], tuple[Any, ...]]

Named = tuple[str, Body, Body | None]
"""What is wrong with an object, the object, and one like it that says where both belong."""

_PREDICTOR: Final = ("spec", "predictor")
_ANNOTATIONS: Final = ("metadata", "annotations")


@pytest.fixture(scope="module")
def api(operators_plane: Operators, kserve_manager: KServe) -> Api:
    """Return the server, both operators beside it, with the namespaces of the goldens."""
    kserve_manager.wait()
    found = operators_plane.api
    for name in sorted({sample.golden.namespace for kind in _KINDS for sample in samples()[kind]}):
        assert found.apply(namespace(name)).accepted
    return found


def _created(api: Api, body: Body, like: Body | None = None, *, brief: bool = True) -> tuple[str, Body]:
    """Return the server's objection to a new object in a strict dry run, empty if it has none, and its answer.

    `like` says where it belongs, if it cannot itself.
    """
    place = api.path_of(like or body).rpartition("/")[0]
    options = {"fieldManager": MANAGER, "fieldValidation": "Strict", "dryRun": "All"}
    answer = api.request("POST", place, body, brief=brief, **options)
    return answer.message, answer.body


def _ours(body: Body) -> str:
    return "; ".join(f"{found.code} {found.message}" for found in judge_accepted(_SCHEMAS, body))


@pytest.mark.parametrize("case", _RUN, ids=str)
def test_each_rule(case: Case, api: Api) -> None:
    """The server takes the one and refuses the other, by its webhook; what a controller refuses later, it takes."""
    assert _created(api, case.accepted)[0] == ""
    message, _ = _created(api, case.refused)
    if case.by == "controller":
        assert message == ""
    elif case.by == "schema":
        assert "is invalid" in message
    else:
        assert re.search(r'admission webhook "[a-z.-]+" denied the request', message)


def _compared(report: Report, kind: str, api: Api, objects: Iterable[Named]) -> None:
    """Compare verdicts, and count them; a difference is listed with its reason, or the test fails."""
    counts, unlisted = [0] * len(_COLUMNS), []
    for words, body, like in objects:
        server, ours = _created(api, body, like)[0], _ours(body)
        if bool(server) != bool(ours):
            who = "server" if server else "mlspec"
            if not any(only == who and re.fullmatch(pattern, words) for only, pattern, _ in _LISTED):
                unlisted.append(f"{words}: {who}: {server[-200:]}{ours}")
        verdicts = (True, server and ours, not server and not ours, server and not ours, ours and not server)
        counts = [count + bool(found) for count, found in zip(counts, verdicts, strict=True)]
    report.counter(_TABLE, ("kind",), _COLUMNS).add((kind,), tuple(counts))
    assert counts[1], "some are refused"
    assert counts[2], "some are taken"
    assert not unlisted, "\n".join(unlisted)


def _mutants(kind: str) -> Iterator[Named]:
    for sample, mutant in mutants_of(kind):
        yield str(mutant), mutant.body, sample.body


@pytest.mark.parametrize("kind", _KINDS)
def test_mutants_of_the_goldens(kind: str, api: Api, report: Report) -> None:
    """Each fault of each field of a golden object."""
    _compared(report, kind, api, _mutants(kind))


_SCALED: Final[_Choices] = {
    (*_ANNOTATIONS, "serving.kserve.io/deploymentMode"): ("Standard", "Knative", "RawDeployment", "Other"),
    (*_ANNOTATIONS, "serving.kserve.io/autoscalerClass"): ("hpa", "keda", "none", "external", "kpa", "Other"),
    (*_PREDICTOR, "scaleMetric"): ("cpu", "memory", "concurrency", "rps"),
    (*_PREDICTOR, "scaleTarget"): (-1, 0, 1, 100, 101),
}


def _every(choices: _Choices) -> Iterator[Changes]:
    """Yield every combination of values."""
    for values in itertools.product(*choices.values()):
        yield dict(zip(choices, values, strict=True))


def test_scaling(api: Api, report: Report) -> None:
    """Every mode with every autoscaler, metric and target; the mode of old is taken, and a trap."""
    found = ((str(list(changes.values())), changed(STANDARD, changes), None) for changes in _every(_SCALED))
    trap = re.compile(r"MLS359 [^;]*")

    def untrapped() -> Iterator[Named]:
        for words, body, like in found:
            if trap.sub("", _ours(body)).strip("; ") or "RawDeployment" not in words:
                yield words, body, like

    _compared(report, _SERVED, api, untrapped())


_NODES: Final[_Choices] = {
    (*_ANNOTATIONS, "serving.kserve.io/autoscalerClass"): ("none", "hpa"),
    (*_PREDICTOR, "model", "storageUri"): ("pvc://a/b", "oci://a/b:c", "s3://a/b", None),
    (*_PREDICTOR, "workerSpec", "pipelineParallelSize"): (0, 2),
    (*_PREDICTOR, "model", "resources"): tuple(
        {"limits": {name: "1"}} for name in ("cpu", "nvidia.com/gpu", "example.com/gpu")
    ),
}
_REPLICAS: Final[_Choices] = {(*_PREDICTOR, name): (-1, 0, 1, 2) for name in ("minReplicas", "maxReplicas")}
_CONTAINERS: Final[_Choices] = {
    (*_PREDICTOR, "containers"): tuple(
        [{"name": name, "image": "a"} for name in names]
        for names in (("a",), ("a", "b"), ("a", "kserve-container"), ("kserve-container",))
    ),
    (*_PREDICTOR, "onnx"): ({}, {"storageUri": "gs://a/b.txt"}, {"name": "it"}),
    (*_PREDICTOR, "paddle"): ({}, {"storageUri": "gs://a"}),
}


def _targets() -> Iterator[Body]:
    for kind, value in itertools.product((None, "Utilization", "AverageValue", "Value"), (None, "1Ki", "2Mi", 50)):
        named = {} if kind is None else {"type": kind}
        if value is None:
            yield named
        elif isinstance(value, int):
            yield named | {"averageUtilization": value}
        else:
            yield from (named | {name: value} for name in ("value", "averageValue"))


def _metrics() -> Iterator[Body]:
    metric = {"backend": "prometheus", "serverAddress": "http://prometheus", "query": "up"}
    for target in _targets():
        yield from ({"type": "Resource", "resource": {"name": name, "target": target}} for name in ("cpu", "memory"))
        yield {"type": "External", "external": {"metric": metric, "target": target}}
        pods = {"backend": "opentelemetry", "metricNames": ["a"], "query": "up"}
        yield {"type": "PodMetric", "podmetric": {"metric": pods, "target": target}}
    yield from ({"type": name} for name in ("Resource", "External", "PodMetric"))


def _services() -> Iterator[Named]:
    """Yield InferenceServices that combine what a rule looks at."""
    with_metrics: Iterator[Changes] = ({(*_PREDICTOR, "autoScaling"): {"metrics": [metric]}} for metric in _metrics())
    for base, combinations in (
        (STANDARD, _every(_REPLICAS)),
        (OWN, _every(_CONTAINERS)),
        (STANDARD, _every(_CONTAINERS)),
        (STANDARD, _every(_NODES)),
        (KEDA, with_metrics),
    ):
        for changes in combinations:
            yield str(changes), changed(base, changes), None
    for base, metric in itertools.product((STANDARD, KNATIVE), _metrics()):
        yield str(metric), changed(base, {(*_PREDICTOR, "autoScaling"): {"metrics": [metric]}}), None
    paths = ("/", "//", "/a", "/a/b", "/b", "/a/../b")
    for first, second, scheme in itertools.product(paths, paths, ("gs", "pvc")):
        listed = [{"uri": "gs://a", "mountPath": first}, {"uri": f"{scheme}://b", "mountPath": second}]
        stored: Changes = {(*_PREDICTOR, "model", "storageUri"): None, (*_PREDICTOR, "storageUris"): listed}
        yield str(listed), changed(STANDARD, stored), None


def test_services(api: Api, report: Report) -> None:
    """Replicas, servers, nodes, metrics and models, in every combination."""
    _compared(report, _SERVED, api, _services())


def _jobs() -> Iterator[Named]:
    """Yield PyTorchJobs and TFJobs that combine what a rule looks at."""
    roles = ("Master", "Worker", "Chief", "PS", "master", "Other")
    for base, field in ((PYTORCH, "pytorchReplicaSpecs"), (TF, "tfReplicaSpecs")):
        replica = base["spec"][field]["Worker"]
        for names, count in itertools.product(itertools.combinations(roles, 2), (None, 0, 1, 2)):
            counted = {name: changed(replica, {("replicas",): 0} | {("replicas",): count}) for name in names}
            yield f"{names} {count}", changed(base, {("spec", field): counted}), None
        for name in ("pytorch", "tensorflow", "it"):
            sidecar = [{"name": "a", "image": "b"}, {"name": name, "image": "c"}]
            path = ("spec", field, "Worker", "template", "spec", "containers")
            yield name, changed(base, {path: sidecar}), None
    for policy in ({}, {"minReplicas": 1}, {"nProcPerNode": 1}, {"maxReplicas": 2, "nProcPerNode": 1}):
        elastic = changed(PYTORCH, {("spec", "elasticPolicy"): policy})
        yield str(policy), elastic, None
        yield f"{policy} alone", changed(elastic, {("spec", "pytorchReplicaSpecs", "Worker"): None}), None
        yield f"{policy} uncounted", changed(elastic, {("spec", "nprocPerNode"): None}), None
    for manager in ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue", "other", ""):
        yield manager, changed(TF, {("spec", "runPolicy"): {"managedBy": manager}}), None


def test_jobs(api: Api, report: Report) -> None:
    """Roles, replicas, containers, elasticity and managers, in every combination."""
    _compared(report, "PyTorchJob, TFJob", api, _jobs())


def _normal(value: Any) -> Any:
    """Return an object without what is empty, which Go writes and YAML leaves out, and without what the server adds."""
    if isinstance(value, list):
        return [_normal(item) for item in value]
    if not isinstance(value, dict):
        return value
    found = {key: _normal(item) for key, item in value.items()}
    return {key: item for key, item in found.items() if item not in ({}, [], "", None)}


def _stored(body: Body) -> Body:
    """Return what webhooks may change of an object."""
    metadata = {key: body["metadata"].get(key) for key in ("name", "labels", "annotations")}
    found = _normal({"metadata": metadata, "spec": body["spec"]})
    assert isinstance(found, dict)
    return found


def test_defaults(api: Api, report: Report) -> None:
    """What KServe's defaulting webhook makes of a golden, a mutant or a case, mlspec makes of it.

    But for objects of which mlspec says that the server would store them otherwise (law 8).
    """
    goldens = [body for golden in cases() for body in inference_services(golden)]
    made = [case.accepted for case in _RUN if case.base["kind"] == _SERVED]
    mutants = [(body, like) for _, body, like in _mutants(_SERVED)]
    for body in goldens:
        assert api.apply(namespace(body["metadata"]["namespace"])).accepted
    different, taken = [], 0
    others = [(body, None) for body in (*goldens, *made, *(body for _, body, _ in _services()))]
    for body, like in (*others, *mutants):
        message, answer = _created(api, body, like, brief=False)
        if message or any(judge_body(_SCHEMAS, body)):
            continue
        taken += 1
        ours, stored = _stored(defaulted(body, _RELEASE, default_mode="Standard").body), _stored(answer)
        if ours != stored:
            different.append(str(diff(ours, stored)))
    report.table("KServe's defaults", "objects", "stored as computed").add(taken, taken - len(different))
    assert taken > len(goldens) + len(made)
    assert not different, "\n".join(different)
