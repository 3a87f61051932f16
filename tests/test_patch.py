"""Patches, computed and written: an interpreter of JSON6902 makes of them the new object, and never the wrong one."""

from __future__ import annotations

import copy
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mlspec import yamltext
from mlspec.check import kustomize
from mlspec.k8s import guard, kept_fields, patch
from mlspec.k8s.resource import Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, make_root, mlspec
from tests.test_laws_build import build

_keys = st.sampled_from(["a", "b", "name", "x/y", "m~n", "~1", "", "0", "-"])
_leaves = st.sampled_from(["", "1", "true", "x"]) | st.integers(0, 2) | st.booleans()
_values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3), max_leaves=8
)
_named = st.lists(st.dictionaries(_keys, _values, max_size=3).map(lambda item: {"name": "n", **item}), max_size=3)
bodies = st.dictionaries(_keys, _values | _named, max_size=4).map(lambda body: {"metadata": {"name": "n"}, **body})


class PatchTestError(Exception):
    """A `test` operation that does not hold."""


def same(left: Any, right: Any) -> bool:
    """Say whether two values are equal in JSON, where `true` is no number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def apply(body: Body, operations: list[Body]) -> Body:
    """Apply a patch as RFC 6902 says."""
    found = copy.deepcopy(body)
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        node: Any = found
        for part in way:
            node = node[int(part)] if isinstance(node, list) else node[part]
        key: Any = int(last) if isinstance(node, list) else last
        if operation["op"] == "add":
            assert isinstance(node, dict), "only maps grow"
            node[key] = copy.deepcopy(operation["value"])
            continue
        try:
            present = node[key]
        except (KeyError, IndexError):
            raise PatchTestError(operation["path"]) from None
        if operation["op"] == "test":
            if not same(present, operation["value"]):
                raise PatchTestError(operation["path"])
        elif operation["op"] == "remove":
            del node[key]
        else:
            assert operation["op"] == "replace"
            node[key] = copy.deepcopy(operation["value"])
    return found


@given(bodies, bodies)
def test_a_patch_turns_the_old_into_the_new(old: Body, new: Body) -> None:
    before = copy.deepcopy((old, new))
    assert same(apply(old, patch.diff(old, new)), new)
    assert same(list(before), [old, new]), "the arguments are left alone"


@given(bodies)
def test_equal_objects_need_no_patch(body: Body) -> None:
    assert patch.diff(body, copy.deepcopy(body)) == []


@given(bodies, bodies)
def test_every_change_is_guarded(old: Body, new: Body) -> None:
    operations = patch.diff(old, new)
    assume(operations)
    assert any(operation["op"] == "test" for operation in operations), "one guard stops the whole patch"
    for before, operation in pairwise(operations):
        if operation["op"] in ("replace", "remove"):
            assert (before["op"], before["path"]) == ("test", operation["path"])
    assert all(operation["op"] in ("test", "add", "remove", "replace") for operation in operations)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": True}, {"a": 1}, [("test", "/a", True), ("replace", "/a", 1)]),
        ({"a": {"b": [True]}}, {"a": {"b": [1]}}, [("test", "/a/b", [True]), ("replace", "/a/b", [1])]),
        ({"a": 1}, {}, [("test", "/a", 1), ("remove", "/a", None)]),
        ({}, {"a": {}}, [("test", "/metadata/name", "n"), ("add", "/a", {})]),
        ({"a": {"b": 1}}, {"a": {}}, [("test", "/a", {"b": 1}), ("replace", "/a", {})]),
        ({"x/y": {"~": 1}}, {"x/y": {"~": 2}}, [("test", "/x~1y/~0", 1), ("replace", "/x~1y/~0", 2)]),
        (
            {"c": [{"name": "a", "v": 1}, {"name": "b", "v": 1}]},
            {"c": [{"name": "a", "v": 1}, {"name": "b", "v": 2}]},
            [("test", "/c/1/name", "b"), ("test", "/c/1/v", 1), ("replace", "/c/1/v", 2)],
        ),
        (
            {"c": [{"name": "a"}, {"name": "b"}]},
            {"c": [{"name": "b"}, {"name": "a"}]},
            [("test", "/c", [{"name": "a"}, {"name": "b"}]), ("replace", "/c", [{"name": "b"}, {"name": "a"}])],
        ),
        ({"c": ["a"]}, {"c": ["a", "b"]}, [("test", "/c", ["a"]), ("replace", "/c", ["a", "b"])]),
    ],
)
def test_operations(old: Body, new: Body, expected: list[tuple[str, str, Any]]) -> None:
    frame = {"metadata": {"name": "n"}}
    found = [(o["op"], o["path"], o.get("value")) for o in patch.diff({**frame, **old}, {**frame, **new})]
    assert same([list(item) for item in found], [list(item) for item in expected])


@given(bodies, bodies)
def test_the_library_reads_a_patch_as_we_do(old: Body, new: Body) -> None:
    before = copy.deepcopy(old)
    *_, last = patch.stages(old, patch.diff(old, new))
    assert same(last, new)
    assert same(old, before), "the argument is left alone"


# What is written under `patch`

_GOLDENS = {
    "Job": "job/everything",
    "PyTorchJob": "pytorch/distributed",
    "TFJob": "tensorflow/parameter-servers",
    "InferenceService": "kserve/fixed",
    "SeldonDeployment": "seldon/canary",
}
_MASTER = "/spec/pytorchReplicaSpecs/Master/template"
_CHIEF = "/spec/tfReplicaSpecs/Chief/template"
_UNIT = "/spec/predictors/0/componentSpecs/0"
_MAIN = "/spec/template/spec/containers/0"
_CLAIM = "/spec/template/spec/volumes/0/persistentVolumeClaim"
_NOTE = "/metadata/annotations/mlspec.dev~1note"
_QUEUE = "/metadata/labels/kueue.x-k8s.io~1queue-name"


@cache
def of_kind(kind: str) -> Body:
    """Return the first golden object of a kind, with an annotation so that more can be added."""
    text = (Path(__file__).parent / "kinds" / _GOLDENS[kind] / "expected.yaml").read_text()
    found = next(body for body in yamltext.load_all(text) if body["kind"] == kind)
    found["metadata"].setdefault("annotations", {})["example.com/a"] = "b"
    return dict(found)


def _operation(op: str, path: str, value: Any) -> Body:
    return {"op": op, "path": path} | ({} if op == "remove" else {"value": value})


@pytest.mark.parametrize(
    ("kind", "op", "path", "value", "words"),
    [
        ("Job", "replace", "/apiVersion", "batch/v2", "`apiVersion` identifies"),
        ("Job", "replace", "/kind", "CronJob", "`kind` identifies"),
        ("Job", "remove", "/metadata/name", None, "`metadata.name` identifies"),
        ("Job", "replace", "/metadata/namespace", "other", "`metadata.namespace` identifies"),
        ("Job", "replace", "/metadata", {"name": "x"}, "`metadata.name` identifies"),
        ("Job", "replace", "/metadata", "x", "`metadata.name` identifies"),
        ("Job", "add", "/status", {"active": 1}, "`status` is written by controllers"),
        ("Job", "remove", "/metadata/labels", None, "label `app.kubernetes.io/managed-by`"),
        ("Job", "replace", "/metadata/labels/mlspec.dev~1run", "x", "label `mlspec.dev/run`"),
        ("Job", "add", "/metadata/labels/mlspec.dev~1gate", "x", "labels below `mlspec.dev/`"),
        ("Job", "add", _QUEUE, "x", "Kueue would hold back"),
        ("Job", "remove", "/spec/template/metadata", None, "label `app.kubernetes.io/managed-by`"),
        ("Job", "add", f"/spec/template{_QUEUE}", "x", "Kueue would hold back"),
        ("Job", "add", "/spec/template/metadata/labels/mlspec.dev~1step", "x", "label `mlspec.dev/step`"),
        ("Job", "add", _NOTE, "x", "annotation `mlspec.dev/note`"),
        ("Job", "add", "/metadata/annotations/argocd.argoproj.io~1sync-wave", "-5", "orders the objects"),
        ("Job", "remove", "/metadata/annotations/argocd.argoproj.io~1ignore-healthcheck", None, "old failed run"),
        ("Job", "remove", "/metadata/annotations/argocd.argoproj.io~1compare-options", None, "whether Argo CD deletes"),
        ("Job", "replace", "/metadata/annotations/argocd.argoproj.io~1sync-options", "Prune=true", "Argo CD deletes"),
        ("Job", "remove", "/spec", None, "takes pods away"),
        ("Job", "replace", "/spec", "x", "takes pods away"),
        ("Job", "add", "/spec/parallelism", 2, "`spec.parallelism` decides"),
        ("Job", "add", "/spec/completions", 2, "`spec.completions` decides"),
        ("Job", "replace", "/spec/template/spec/serviceAccountName", "default", "ServiceAccount of their own"),
        ("Job", "add", "/spec/template/spec/hostNetwork", True, "NetworkPolicies do not hold"),
        ("Job", "replace", "/spec/template/spec/containers", [], "container `main`"),
        ("Job", "replace", "/spec/template/spec/containers/0/command", ["sh"], "the command of container `main`"),
        ("Job", "add", "/spec/completionMode", "Indexed", "`spec.completionMode` makes indexed pods"),
        ("Job", "add", "/spec/backoffLimitPerIndex", 1, "`spec.backoffLimitPerIndex` makes indexed pods"),
        ("Job", "add", "/spec/managedBy", "example.com/x", "`spec.managedBy` hands the object to another"),
        ("Job", "replace", "/spec/template/spec/restartPolicy", "OnFailure", "restartPolicy` decides what a retry is"),
        ("Job", "remove", f"{_MAIN}/volumeMounts", None, "container `main` has mounted at /data"),
        ("Job", "remove", f"{_MAIN}/volumeMounts/0", None, "container `main` has mounted at /data"),
        ("Job", "replace", f"{_MAIN}/volumeMounts/0/mountPath", "/elsewhere", "has mounted at /data"),
        ("Job", "add", f"{_MAIN}/volumeMounts/0/subPath", "x", "has mounted at /data"),
        ("Job", "add", f"{_MAIN}/volumeMounts/0/readOnly", True, "has mounted at /data"),
        ("Job", "add", f"{_MAIN}/volumeMounts/-", {"name": "x", "mountPath": "//data/."}, "has mounted at /data"),
        ("Job", "replace", "/spec/template/spec/volumes", "x", "volume `data` is the spec's"),
        ("Job", "replace", f"{_CLAIM}/claimName", "x", "volume `data` is the spec's"),
        ("Job", "add", f"{_CLAIM}/readOnly", True, "volume `data` is the spec's"),
        (
            "Job",
            "add",
            "/spec/template/spec/volumes/-",
            {"name": "data", "emptyDir": {}},
            "volume `data` is the spec's",
        ),
        ("PyTorchJob", "add", "/spec/runPolicy/managedBy", "example.com/x", "managedBy` hands the object to another"),
        (
            "PyTorchJob",
            "replace",
            f"{_MASTER[:-9]}/restartPolicy",
            "ExitCode",
            "restartPolicy` decides what a retry is",
        ),
        ("PyTorchJob", "add", f"{_MASTER}/spec/containers/0/readinessProbe", {}, "readinessProbe` keeps the pod"),
        ("TFJob", "add", f"{_CHIEF}/spec/containers/0/readinessProbe", {}, "readinessProbe` keeps the pod"),
        ("TFJob", "add", "/spec/runPolicy/managedBy", "example.com/x", "managedBy` hands the object to another"),
        ("TFJob", "replace", f"{_CHIEF[:-9]}/restartPolicy", "ExitCode", "restartPolicy` decides what a retry is"),
        ("PyTorchJob", "replace", "/spec/pytorchReplicaSpecs/Master/replicas", 2, "Master.replicas` decides"),
        ("PyTorchJob", "remove", "/spec/pytorchReplicaSpecs/Worker", None, "takes pods away"),
        ("PyTorchJob", "add", "/spec/elasticPolicy", {"metrics": [{"type": "Resource"}]}, "lets an autoscaler decide"),
        ("PyTorchJob", "replace", f"{_MASTER}/spec/containers/0/name", "main", "container `pytorch`"),
        ("PyTorchJob", "replace", f"{_MASTER}/spec/containers/0/ports/0/name", "x", "ports of container `pytorch`"),
        ("PyTorchJob", "remove", f"{_MASTER}/spec/containers/0/ports", None, "ports of container `pytorch`"),
        ("PyTorchJob", "remove", f"{_MASTER}/metadata/labels/mlspec.dev~1project", None, "label `mlspec.dev/project`"),
        ("TFJob", "replace", "/spec/tfReplicaSpecs/Worker/replicas", 9, "Worker.replicas` decides"),
        ("TFJob", "add", "/spec/tfReplicaSpecs/Evaluator", {"template": {"spec": {}}}, "adds pods"),
        ("TFJob", "replace", f"{_CHIEF}/spec/containers/0/ports/0/containerPort", 1, "ports of container"),
        ("InferenceService", "replace", "/spec/predictor/maxReplicas", 9, "maxReplicas` decides"),
        ("InferenceService", "add", "/spec/predictor/minReplicas", 0, "minReplicas` decides"),
        ("InferenceService", "add", "/spec/transformer", {"containers": [{"name": "x"}]}, "adds pods"),
        ("InferenceService", "add", "/spec/predictor/workerSpec", {"size": 2}, "workerSpec` decides"),
        ("InferenceService", "add", "/spec/predictor/batcher", {"maxLatency": 5}, "container with a port"),
        ("InferenceService", "add", "/spec/predictor/logger", {"mode": "all"}, "container with a port"),
        ("InferenceService", "add", "/spec/predictor/model/runtime", "x", "where metrics are read"),
        ("InferenceService", "replace", "/spec/predictor/model/modelFormat/name", "x", "where metrics are read"),
        ("InferenceService", "add", "/spec/predictor/model/ports", [{"containerPort": 1}], "which port answers"),
        ("InferenceService", "add", "/spec/predictor/model/storageUri", "gs://other/x", "`gs://other/x`: models"),
        ("InferenceService", "add", "/spec/predictor/serviceAccountName", "x", "ServiceAccount of their own"),
        ("InferenceService", "add", f"/spec/predictor/{_QUEUE[10:]}", "x", "there is no `labels`"),
        ("InferenceService", "add", "/spec/predictor/labels", {"mlspec.dev/step": "x"}, "labels below `mlspec.dev/`"),
        (
            "InferenceService",
            "add",
            "/metadata/annotations/serving.kserve.io~1deploymentMode",
            "Knative",
            "decides which ports",
        ),
        ("SeldonDeployment", "replace", "/spec/predictors/0/replicas", 9, "0.replicas` decides"),
        ("SeldonDeployment", "replace", "/spec/predictors/0/name", "x", "names of its pods"),
        ("SeldonDeployment", "add", f"{_UNIT}/hpaSpec", {"maxReplicas": 9}, "lets an autoscaler decide"),
        ("SeldonDeployment", "replace", f"{_UNIT}/spec/serviceAccountName", "x", "ServiceAccount of their own"),
        ("SeldonDeployment", "add", "/spec/predictors/0/graph/modelUri", "gs://other/x", "`gs://other/x`: models"),
        (
            "SeldonDeployment",
            "add",
            "/spec/predictors/0/componentSpecs/-",
            {"spec": {"containers": [{"name": "router"}]}},
            "label `app.kubernetes.io/",
        ),
    ],
)
def test_what_a_patch_must_leave(kind: str, op: str, path: str, value: Any, words: str) -> None:
    body = of_kind(kind)
    before = copy.deepcopy(body)
    first = {"op": "test", "path": "/kind", "value": kind}
    found, refusal = patch.apply(body, [first, _operation(op, path, value)])
    assert refusal is not None
    assert refusal.operation == 1
    assert words in refusal.message
    assert refusal.help
    assert found is body
    assert same(body, before)


@pytest.mark.parametrize(
    ("kind", "op", "path", "value"),
    [
        ("Job", "add", "/metadata/labels/team", "vision"),
        ("Job", "add", "/spec/template/metadata/labels/team", "vision"),
        ("Job", "add", "/spec/podFailurePolicy", {"rules": [{"action": "Ignore"}]}),
        ("Job", "add", "/spec/template/spec/containers/-", {"name": "sidecar", "image": "x"}),
        ("Job", "add", "/spec/template/spec/containers/0", {"name": "sidecar", "image": "x"}),
        ("Job", "add", "/spec/template/spec/volumes/-", {"name": "cache", "emptyDir": {}}),
        ("Job", "add", "/spec/template/spec/volumes/0", {"name": "cache", "emptyDir": {}}),
        ("Job", "add", f"{_MAIN}/volumeMounts/-", {"name": "cache", "mountPath": "/cache"}),
        ("Job", "add", "/metadata/annotations/argocd.argoproj.io~1sync-options", "Prune=false,Validate=false"),
        ("PyTorchJob", "add", f"{_MASTER}/spec/containers/0/ports/-", {"containerPort": 1, "protocol": "TCP"}),
        ("PyTorchJob", "add", "/spec/elasticPolicy", {"rdzvBackend": "c10d", "maxRestarts": 3}),
        ("TFJob", "add", f"{_CHIEF}/spec/priorityClassName", "low"),
        ("InferenceService", "add", "/spec/predictor/timeout", 60),
        ("InferenceService", "add", "/spec/predictor/containers", [{"name": "sidecar", "image": "x"}]),
        ("SeldonDeployment", "add", "/spec/predictors/0/graph/children", [{"name": "next"}]),
    ],
)
def test_what_a_patch_may_change(kind: str, op: str, path: str, value: Any) -> None:
    operation = _operation(op, path, value)
    found, refusal = patch.apply(of_kind(kind), [operation])
    assert refusal is None
    assert found != of_kind(kind)
    where = operation["path"].removesuffix("/-")
    assert same(patch._at(found, where), value) or value in patch._at(found, where)


@pytest.mark.parametrize(("kind", "path"), [(kind, row[0]) for kind, rows in kept_fields.KEPT.items() for row in rows])
def test_every_field_that_is_kept_is_compared(kind: str, path: kept_fields.Path) -> None:
    changed = copy.deepcopy(of_kind(kind))
    node: Any = changed
    for part in path[:-1]:
        key = next(iter(node)) if part == "*" and isinstance(node, dict) else 0 if part == "*" else part
        node = node.setdefault(key, {}) if isinstance(node, dict) else node[key]
    node[path[-1]] = "changed"
    found = guard.objection(of_kind(kind), changed)
    assert found is not None
    assert found.message.startswith(f"`{path[0]}.")
    assert path[-1] in found.message


@pytest.mark.parametrize(
    ("op", "path", "words", "help"),
    [
        ("replace", "/spec/backofflimit", "no `backofflimit` in `/spec`, only `", "did you mean `backoffLimit`?"),
        ("remove", "/Spec", "no `Spec` in the object, only `apiVersion`", "did you mean `spec`?"),
        ("add", "/spec/a/b", "no `a` in `/spec`", "add its parents first"),
        ("replace", "/spec/template/spec/containers/9/image", "no item `9` in `/spec/template/spec/containers`", "`-`"),
        (
            "add",
            "/spec/template/spec/containers/9",
            "no item `9` in `/spec/template/spec/containers`, only 0 (`main`)",
            "",
        ),
        ("remove", "/spec/template/spec/containers/-", "no item `-`", "counted from 0"),
        ("test", "/spec/template/spec/containers/01", "no item `01`", "counted from 0"),
        ("test", "/spec/template/spec/containers/" + "9" * 5000, "no item `999", "counted from 0"),
        ("add", "/kind/x", "`/kind` is `Job`, with nothing inside", "shorten"),
        ("test", "/kind", "`/kind` is `Job`, not `x`", "look at it"),
        ("test", "/spec", "`/spec` is a map of ", "look at it"),
        ("add", "/a" * 65, "deeper than 64 levels", "shorten"),
    ],
)
def test_a_path_that_leads_nowhere(op: str, path: str, words: str, help: str) -> None:
    found, refusal = patch.apply(of_kind("Job"), [_operation(op, path, "x")])
    assert refusal is not None
    assert words in refusal.message
    assert len(refusal.message) < 600
    assert help in refusal.help
    assert found is of_kind("Job")


def test_a_patch_has_an_end() -> None:
    test = {"op": "test", "path": "/kind", "value": "Job"}
    assert patch.apply(of_kind("Job"), [test] * patch.MOST_OPERATIONS)[1] is None
    many = patch.apply(of_kind("Job"), [test] * (patch.MOST_OPERATIONS + 1))[1]
    assert many is not None
    assert many[:2] == (100, "a patch has at most 100 operations, not 101")
    value = {"op": "add", "path": "/spec/x", "value": ["x"] * patch.MOST_VALUES}
    large = patch.apply(of_kind("Job"), [test, value])[1]
    assert large is not None
    assert "at most 2000 values" in large.message


def test_roles_share_nothing() -> None:
    body = of_kind("PyTorchJob")
    shared = {"x": ["y"]}
    twice = {**body, "spec": {**body["spec"], "a": shared, "b": shared}}
    found, refusal = patch.apply(twice, [{"op": "add", "path": "/spec/a/x/-", "value": "z"}])
    assert refusal is None
    assert (found["spec"]["a"], found["spec"]["b"]) == ({"x": ["y", "z"]}, {"x": ["y"]})
    assert shared == {"x": ["y"]}


# From the spec to the overlay

_PATCH = "patch: [{op: add, path: /spec/template/spec/priorityClassName, value: low}]"
_STEP = "steps: {{a: {{kind: job, image: i, {}}}, b: {{kind: job, image: i, needs: [a]}}}}\n"
_SERVICE = """\
services:
  serve:
    kind: kserve
    model: {format: onnx, uri: "s3://b/m"}
    patch:
      - {op: add, path: /spec/predictor/timeout, value: 60}
      - {op: add, path: /metadata/annotations/example.com~1rate, value: "1e-4"}
      - {op: add, path: /metadata/annotations/example.com~1mode, value: "08"}
"""
_PROD = """\
environments:
  prod:
    services:
      serve:
        replicas: 2
        patch: [{op: add, path: /spec/predictor/timeout, value: 90}]
"""


def _names(root: Path) -> set[str]:
    plan = compile_workspace(load(root)).projects[0].plans["dev"]
    return {stated.workload.object_name for stated in plan.steps}


def test_a_patch_names_the_run_and_its_dependants(tmp_path: Path) -> None:
    plain = _names(make_root(tmp_path / "plain", _STEP.format("retries: 1")))
    patched = _names(make_root(tmp_path / "patched", _STEP.format(_PATCH)))
    other = _names(make_root(tmp_path / "other", _STEP.format(_PATCH.replace("low", "high"))))
    assert len(plain | patched | other) == 6


def test_a_patched_run_is_written_as_patched(tmp_path: Path) -> None:
    root = make_root(tmp_path, _STEP.format(_PATCH))
    assert mlspec(root, "generate").code == 0
    texts = [path.read_text() for path in root.glob("generated/demo/overlays/dev/pipeline/a-*.yaml")]
    assert ["priorityClassName: low" in text for text in texts] == [True]
    assert mlspec(root, "check").code == 0


def test_a_patched_service_is_built_as_planned(tmp_path: Path) -> None:
    """The base has the spec's patch, the overlay the difference to that of an override."""
    environments = {"common": ENVIRONMENT, "dev": ENVIRONMENT, "prod": ENVIRONMENT}
    root = make_root(tmp_path, _SERVICE + _PROD, environments)
    assert mlspec(root, "generate").code == 0
    base = yamltext.load_all((root / "generated/demo/base/serving/resources.yaml").read_text())
    assert base[0]["spec"]["predictor"]["timeout"] == 60
    compiled = compile_workspace(load(root)).projects[0]
    expected = {"dev": (60, "1e-4", "08"), "prod": (90, None, None)}
    for environment, (timeout, rate, mode) in expected.items():
        built = yamltext.load_all(build(root / f"generated/demo/overlays/{environment}").stdout)
        planned = compiled.layout.builds[f"demo/overlays/{environment}"]
        assert list(kustomize.compare(planned, built)) == []
        service = next(body for body in built if body["kind"] == "InferenceService")
        assert service["spec"]["predictor"]["timeout"] == timeout
        annotations = service["metadata"]["annotations"]
        assert (annotations.get("example.com/rate"), annotations.get("example.com/mode")) == (rate, mode)
    assert mlspec(root, "check").code == 0


def test_a_patch_that_fits_one_environment_only_is_refused_in_the_other(tmp_path: Path) -> None:
    guarded = "patch: [{op: test, path: /spec/predictor/minReplicas, value: 1}]\n"
    project = (
        _SERVICE[: _SERVICE.index("patch")] + guarded + "environments: {prod: {services: {serve: {replicas: 2}}}}\n"
    )
    environment = ENVIRONMENT + "policy: {MLS410: off}\n"
    root = make_root(tmp_path, project, {"dev": environment, "prod": environment})
    result = mlspec(root, "check", "--output-format", "concise")
    assert result.stdout == (
        "mlproject.yaml:9:66: error[MLS310] InferenceService serve in prod: "
        "`/spec/predictor/minReplicas` is `2`, not `1`\n"
    )


_TWO: Final = {
    "metadata": {"name": "a"},
    "spec": {"list": [{"name": "main", "args": ["a"]}, {"name": "side", "on": False}], "map": {"key": 1}},
}


@pytest.mark.parametrize(
    ("operations", "field", "wrote"),
    [
        ([("replace", "/spec/list/1/on", True)], ("spec", "list", 1, "on"), (0, ())),
        ([("replace", "/spec/list/1", {"on": True})], ("spec", "list", 1, "on"), (0, ("on",))),
        ([("add", "/spec/list/-", {"on": True})], ("spec", "list", 2, "on"), (0, ("on",))),
        # What stood behind an item that is added, or taken away, is followed.
        ([("replace", "/spec/list/1/on", True), ("add", "/spec/list/0", {})], ("spec", "list", 2, "on"), (0, ())),
        ([("add", "/spec/list/0", {"on": 1}), ("add", "/spec/list/0", {})], ("spec", "list", 1, "on"), (0, ("on",))),
        ([("replace", "/spec/list/1/on", True), ("remove", "/spec/list/0", None)], ("spec", "list", 0, "on"), (0, ())),
        ([("add", "/spec/list/-", {}), ("add", "/spec/list/-", {"on": 1})], ("spec", "list", 2), (0, ())),
        # Around it, in it, and where nothing is any more.
        ([("replace", "/spec", {"map": {"key": 2}})], ("spec", "map", "key"), (0, ("map", "key"))),
        ([("replace", "/spec/map/key", 2)], ("spec", "map"), (0, None)),
        ([("remove", "/spec/map/key", None)], ("spec", "map", "key"), (0, ())),
        ([("replace", "/spec/map/key", 2), ("test", "/spec/map/key", 2)], ("spec", "map", "key"), (0, ())),
        ([("replace", "/spec/map/key", 2), ("replace", "/spec/map/key", 3)], ("spec", "map", "key"), (1, ())),
        ([("replace", "/spec/list/0/args", ["b"])], ("spec", "map", "key"), None),
        ([("add", "/spec/list/0", {})], ("spec", "list", 1, "args"), None),
        ([("replace", "/spec/map/key", 2)], (), None),
    ],
)
def test_the_last_operation_that_wrote_a_field(
    operations: list[tuple[str, str, Any]], field: tuple[str | int, ...], wrote: tuple[int, Any] | None
) -> None:
    bodies = [
        {"op": op, "path": path, **({} if op == "remove" else {"value": value})} for op, path, value in operations
    ]
    assert patch.wrote(_TWO, bodies, field) == wrote
