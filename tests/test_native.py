"""What the API server checks in its own code: one pass and one fail case a rule, and where a finding points.

tests/cluster/test_native_pods.py asks a real server about the same cases.
"""

from __future__ import annotations

import copy
from collections import Counter
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec.check import projected
from mlspec.check.objects import Fault
from mlspec.codes.native import NATIVE
from mlspec.ir import Place
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Patched, Resource
from mlspec.projection import kserve, seldon
from mlspec.schemas import kubernetes_folder
from mlspec.validation import native
from mlspec.validation.declared import Declared
from mlspec.validation.native import forms, pods
from mlspec.validation.native.found import Found
from mlspec.validation.objection import Objection
from tests import jobs
from tests.cluster.harness.goldens import Golden, goldens
from tests.native_cases import BASES, CASES, Case, changed

_NEWEST = Declared((1, 37))


def _objections(case: Case, value: Any, declared: Declared = _NEWEST) -> list[Objection]:
    return list(native.judge(changed(BASES[case.kind], case.path, value), declared))


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case) -> None:
    """Nothing is said of what is fine; of what is not, the code of the topic."""
    assert _objections(case, case.good) == []
    assert case.code in {objection.code for objection in _objections(case, case.bad)}


@pytest.mark.parametrize("case", [case for case in CASES if case.since > (1, 31)], ids=lambda case: case.name)
def test_before_a_release(case: Case) -> None:
    """A rule that a release brought is not that of the one before."""
    major, minor = case.since
    assert _objections(case, case.bad, Declared((major, minor))) != []
    assert _objections(case, case.bad, Declared((major, minor - 1))) == []


@pytest.mark.parametrize(
    ("kind", "path", "value", "since"),
    [
        ("Pod", "spec.dnsConfig", {"searches": ["a_b", "."]}, (1, 33)),
        ("Pod", "spec.containers.0.lifecycle", {"preStop": {"sleep": {"seconds": 0}}}, (1, 33)),
        ("Service", "metadata.name", "1-a", (1, 36)),
        ("Service", "spec.trafficDistribution", "PreferSameNode", (1, 34)),
        ("Pod", "spec.containers.0.restartPolicy", "Never", (1, 34)),
    ],
)
def test_since_a_release(kind: str, path: str, value: Any, since: tuple[int, int]) -> None:
    """What a release began to take, the one before refuses."""
    body = changed(BASES[kind], path, value)
    assert list(native.judge(body, Declared(since))) == []
    assert list(native.judge(body, Declared((since[0], since[1] - 1)))) != []


def test_every_code_has_cases() -> None:
    """And each topic more than one."""
    counts = Counter(case.code for case in CASES)
    assert NATIVE.keys() <= counts.keys()
    assert min(counts[code] for code in NATIVE) >= 5


@pytest.mark.parametrize("kind", BASES)
def test_bases_are_fine(kind: str) -> None:
    """On every release."""
    for minor in range(31, 38):
        assert list(native.judge(BASES[kind], Declared((1, minor)))) == []


@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
def test_goldens_are_accepted(golden: Golden) -> None:
    """What mlspec writes, and what operators make of it."""
    for resource in golden.resources:
        assert list(native.judge(resource.body, _NEWEST)) == []
        assert list(projected.judge((kubernetes_folder("1.37"),), resource)) == []


def _faults(body: dict[str, Any], projection: Projection) -> list[Fault]:
    resource = Resource(body, Place.SERVING, ("services", "x"), projection=projection)
    return list(projected.judge((kubernetes_folder("1.34"),), resource))


def test_field_of_a_training_job() -> None:
    """A field of the template of the role; what the operator makes up has none."""
    body = jobs.job("PyTorchJob", "train", {"Master": 1, "Worker": 2})
    jobs.template(body, "Worker")["spec"]["containers"][0]["env"] = [{"name": "A=B"}]
    (fault,) = jobs.faults(jobs.resource(body))
    where = ("spec", "pytorchReplicaSpecs", "Worker", "template", "spec", "containers", 0, "env", 0, "name")
    assert (fault.code, fault.path) == ("MLS322", where)
    assert fault.message.startswith("the pod of the worker: spec.containers[0].env[0].name: `A=B` ")
    body = jobs.job("PyTorchJob", "train", {"Master": 1, "Worker": 2})
    jobs.template(body, "Worker")["spec"]["containers"].append({"name": "init-pytorch", "image": "a"})
    (fault,) = jobs.faults(jobs.resource(body))
    assert (fault.code, fault.path) == ("MLS322", ())


def test_field_of_an_inference_service() -> None:
    """Of the model it is a field of `model`, of the pod one of the predictor."""
    model = {"modelFormat": {"name": "onnx"}, "storageUri": "pvc://a/b", "env": [{"name": "A=B"}]}
    body: dict[str, Any] = {
        "apiVersion": "serving.kserve.io/v1beta1",
        "kind": "InferenceService",
        "metadata": {
            "name": "chat",
            "namespace": "demo",
            "annotations": {"serving.kserve.io/deploymentMode": "Standard"},
        },
        "spec": {"predictor": {"model": model, "nodeSelector": {"a": "b c"}}},
    }
    paths = {fault.path for fault in _faults(body, kserve.inference_service(body, (0, 16)))}
    assert paths == {("spec", "predictor", "model", "env", 0, "name"), ("spec", "predictor", "nodeSelector", "a")}


def test_field_of_a_seldon_deployment() -> None:
    """A field of the component that describes the container."""
    container = {"name": "model", "image": "ghcr.io/acme/model:1", "env": [{"name": "A=B"}]}
    predictor = {"name": "main", "graph": {"name": "model"}, "componentSpecs": [{"spec": {"containers": [container]}}]}
    body: dict[str, Any] = {
        "apiVersion": "machinelearning.seldon.io/v1",
        "kind": "SeldonDeployment",
        "metadata": {"name": "iris", "namespace": "demo"},
        "spec": {"predictors": [predictor]},
    }
    (fault,) = _faults(body, seldon.seldon_deployment(body))
    where = ("spec", "predictors", 0, "componentSpecs", 0, "spec", "containers", 0, "env", 0, "name")
    assert fault.path == where


def test_the_operation_that_wrote_it() -> None:
    """The last one that leads to the field, to what holds it or into it; one that only tests wrote nothing."""
    body = jobs.job("PyTorchJob", "train", {"Master": 1})
    before = copy.deepcopy(body)
    spec = "/spec/pytorchReplicaSpecs/Master/template/spec"
    operations = (
        {"op": "add", "path": f"{spec}/hostname", "value": "a"},
        {"op": "replace", "path": f"{spec}/hostname", "value": "A"},
        {"op": "test", "path": f"{spec}/hostname", "value": "A"},
        {"op": "add", "path": f"{spec}/subdomain", "value": "a"},
    )
    jobs.template(body, "Master")["spec"] |= {"hostname": "A", "subdomain": "a"}
    resource = replace(jobs.resource(body), patched=Patched(before, operations))
    (fault,) = jobs.faults(resource)
    assert fault.operation == 1


def test_a_service_that_an_operator_makes() -> None:
    """Of two ports of one number the training operator makes a Service that the server refuses."""
    body = jobs.job("PyTorchJob", "train", {"Master": 1})
    ports = [
        {"name": name, "containerPort": 80, "protocol": protocol} for name, protocol in (("a", "TCP"), ("b", "UDP"))
    ]
    jobs.template(body, "Master")["spec"]["containers"][0]["ports"] = ports
    (fault,) = jobs.faults(jobs.resource(body))
    assert fault.code == "MLS328"
    assert fault.message == "Service `train-master-0`: spec.ports[1].port: 80 stands there twice"


_SHAPES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=4), inner, max_size=2),
    max_leaves=4,
)


@given(st.data())
def test_no_shape_of_a_pod_is_a_traceback(data: st.DataObject) -> None:
    """What is projected of a custom resource may hold anything."""
    case = data.draw(st.sampled_from([case for case in CASES if case.kind == "Pod"]))
    body = changed(BASES["Pod"], case.path, case.bad)
    at: Any = body
    while True:
        keys = list(at) if isinstance(at, dict) else list(range(len(at)))
        if not keys:
            break
        key = data.draw(st.sampled_from(keys))
        if not isinstance(at[key], dict | list) or data.draw(st.booleans()):
            if at is not body:
                at[key] = data.draw(_SHAPES)
            break
        at = at[key]
    found = Found((1, 37))
    pods.judge(found, body)
    assert all(objection.message for objection in found.objections)


@pytest.mark.parametrize(("name", "before"), [("A-b.c_1", True), ("1A", False), ("..a", False), ("A b", False)])
def test_names_of_variables_before_and_since_1_32(name: str, before: bool) -> None:
    assert forms.relaxed_variable(name) == ""
    assert (forms.variable(name) == "") is before
    assert forms.relaxed_variable("A=b")
    assert forms.relaxed_variable("\u00e4")
