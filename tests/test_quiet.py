"""Law 8, rule by rule: an object that breaks it, and one like it that does not."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any

import pytest

from mlspec import yamltext
from mlspec.check import quiet
from mlspec.k8s import patch
from mlspec.k8s.resource import Body
from mlspec.k8s.values import copied
from tests.samples import bodies, sample

_HERE = Path(__file__).parent
_GOLDENS = sorted(
    [
        *_HERE.glob("kinds/*/*/expected.yaml"),
        *_HERE.glob("concerns/*/*/expected.yaml"),
        *_HERE.glob("projects/*/*.yaml"),
    ]
)
_JOB_POD = "/spec/template/spec"
_POD = "/spec/pytorchReplicaSpecs/Master/template/spec"
_OPTIONS = "/metadata/annotations/argocd.argoproj.io~1sync-options"
_COMPARE = "/metadata/annotations/argocd.argoproj.io~1compare-options"
_HOOK = "/metadata/annotations/argocd.argoproj.io~1hook"


@cache
def of_kind(kind: str) -> Body:
    """Return an object of the sample."""
    found = (body for compilation in sample() for body in bodies(compilation) if body["kind"] == kind)
    return next(body for body in found if kind != "Job" or "mlspec.dev/run" in body["metadata"]["labels"])


def with_field(kind: str, path: str, value: Any) -> Body:
    """Return an object with one more field, or another value in it."""
    found: Body = copied(of_kind(kind))
    patch._done(found, {"op": "add", "path": path, "value": value})
    return found


def found_in(body: Body) -> list[tuple[str, str]]:
    """Return the findings by code and field."""
    return [(finding.code, quiet.words(finding.path)) for finding in quiet.check(body)]


_FIGHTS = [
    ("Job", "/spec/ttlSecondsAfterFinished", 60, "spec.ttlSecondsAfterFinished"),
    ("PyTorchJob", "/spec/runPolicy/ttlSecondsAfterFinished", 60, "spec.runPolicy.ttlSecondsAfterFinished"),
    ("Job", "/spec/suspend", False, "spec.suspend"),
    ("PyTorchJob", "/spec/runPolicy/suspend", True, "spec.runPolicy.suspend"),
    ("Job", "/metadata/generateName", "a-", "metadata.generateName"),
    ("Job", "/status", {"succeeded": 1}, "status"),
    ("Job", "/metadata/uid", "x", "metadata.uid"),
    ("Job", "/metadata/resourceVersion", "1", "metadata.resourceVersion"),
    ("Job", "/metadata/generation", 1, "metadata.generation"),
    ("Job", "/metadata/creationTimestamp", "2026-01-01T00:00:00Z", "metadata.creationTimestamp"),
    ("Job", "/metadata/deletionTimestamp", "2026-01-01T00:00:00Z", "metadata.deletionTimestamp"),
    ("Job", "/metadata/selfLink", "/x", "metadata.selfLink"),
    ("Job", "/metadata/managedFields", [{"manager": "x"}], "metadata.managedFields"),
    ("Job", "/metadata/ownerReferences", [{"name": "x"}], "metadata.ownerReferences"),
    ("Job", "/metadata/finalizers", ["example.com/x"], "metadata.finalizers"),
    ("Job", "/spec/manualSelector", True, "spec.manualSelector"),
    ("Job", "/spec/selector", {"matchLabels": {"a": "b"}}, "spec.selector"),
    (
        "Job",
        "/spec/template/metadata/labels/controller-uid",
        "x",
        "spec.template.metadata.labels.controller-uid",
    ),
    ("Job", "/metadata/labels/app.kubernetes.io~1instance", "x", "metadata.labels.app.kubernetes.io/instance"),
    ("Job", _OPTIONS, "Prune=false,Replace=true", "metadata.annotations.argocd.argoproj.io/sync-options"),
    ("Job", _OPTIONS, " Force = True ", "metadata.annotations.argocd.argoproj.io/sync-options"),
    ("Job", _OPTIONS, "Prune=confirm", "metadata.annotations.argocd.argoproj.io/sync-options"),
    ("Job", _COMPARE, "ServerSideDiff=true", "metadata.annotations.argocd.argoproj.io/compare-options"),
    ("Job", _COMPARE, "IncludeMutationWebhook=true", "metadata.annotations.argocd.argoproj.io/compare-options"),
    ("Job", _HOOK, "PreSync", "metadata.annotations.argocd.argoproj.io/hook"),
    ("Job", "/metadata/annotations/helm.sh~1hook", "pre-install", "metadata.annotations.helm.sh/hook"),
    (
        "Job",
        "/metadata/annotations/kubectl.kubernetes.io~1last-applied-configuration",
        "x",
        "metadata.annotations.kubectl.kubernetes.io/last-applied-configuration",
    ),
    (
        "InferenceService",
        "/metadata/annotations/argocd.argoproj.io~1tracking-id",
        "x",
        "metadata.annotations.argocd.argoproj.io/tracking-id",
    ),
    ("Application", "/spec/syncPolicy/syncOptions/-", "Replace=true", "spec.syncPolicy.syncOptions"),
    (
        "Application",
        "/spec/syncPolicy/managedNamespaceMetadata",
        {"labels": {"a": "b"}},
        "spec.syncPolicy.managedNamespaceMetadata",
    ),
]
_DRIFTS = [
    ("Job", "/spec/backoffLimit", None, "spec.backoffLimit"),
    ("Job", f"{_JOB_POD}/containers/0/args", ["a", None], "spec.template.spec.containers[0].args[1]"),
    ("Job", f"{_JOB_POD}/nodeSelector", {}, "spec.template.spec.nodeSelector"),
    ("Job", f"{_JOB_POD}/tolerations", [], "spec.template.spec.tolerations"),
    ("Job", "/metadata/annotations", {}, "metadata.annotations"),
    ("NetworkPolicy", "/spec/egress", [], "spec.egress"),
    ("NetworkPolicy", "/spec/podSelector/matchLabels", {}, "spec.podSelector.matchLabels"),
    (
        "Job",
        f"{_JOB_POD}/containers/0/resources/limits/cpu",
        "1000m",
        "spec.template.spec.containers[0].resources.limits.cpu",
    ),
    (
        "Job",
        f"{_JOB_POD}/containers/0/resources/requests/memory",
        "1024Mi",
        "spec.template.spec.containers[0].resources.requests.memory",
    ),
    (
        "Job",
        f"{_JOB_POD}/containers/0/resources/limits/nvidia.com~1gpu",
        1,
        "spec.template.spec.containers[0].resources.limits.nvidia.com/gpu",
    ),
    (
        "Job",
        f"{_JOB_POD}/containers/0/resources/limits/memory",
        "8GB",
        "spec.template.spec.containers[0].resources.limits.memory",
    ),
    ("Job", f"{_JOB_POD}/overhead", {"cpu": "1.5"}, "spec.template.spec.overhead.cpu"),
    (
        "InferenceService",
        "/spec/predictor/volumes",
        [{"name": "a", "emptyDir": {"sizeLimit": "1024Mi"}}],
        "spec.predictor.volumes[0].emptyDir.sizeLimit",
    ),
    (
        "InferenceService",
        "/spec/predictor/model/env",
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1000m"}}}],
        "spec.predictor.model.env[0].valueFrom.resourceFieldRef.divisor",
    ),
    ("ResourceQuota", "/spec/hard/requests.cpu", "64000m", "spec.hard.requests.cpu"),
    ("LimitRange", "/spec/limits/0/default/memory", "1024Mi", "spec.limits[0].default.memory"),
    ("LimitRange", "/spec/limits/0/defaultRequest/memory", "1024Mi", "spec.limits[0].defaultRequest.memory"),
    (
        "PersistentVolumeClaim",
        "/spec/resources/requests/storage",
        "1024Gi",
        "spec.resources.requests.storage",
    ),
    (
        "Job",
        f"{_JOB_POD}/containers/0/env",
        [{"name": "A", "value": ""}],
        "spec.template.spec.containers[0].env[0].value",
    ),
    (
        "Job",
        f"{_JOB_POD}/containers/0/env",
        [{"name": "A", "value": "1"}, {"name": "B"}, {"name": "A"}],
        "spec.template.spec.containers[0].env[2]",
    ),
    (
        "PyTorchJob",
        f"{_POD}/containers/0/ports/-",
        {"containerPort": 9000, "name": "x"},
        "spec.pytorchReplicaSpecs.Master.template.spec.containers[0].ports[1]",
    ),
    (
        "Application",
        "/spec/ignoreDifferences",
        [{"kind": "Job", "jsonPointers": ["/spec/replicas", "/spec/containers/0/image"]}],
        "spec.ignoreDifferences[0]",
    ),
    (
        "Application",
        "/spec/ignoreDifferences",
        [{"kind": "Job", "jqPathExpressions": [".spec.containers[].image"]}],
        "spec.ignoreDifferences[0]",
    ),
]
_FINE = [
    ("Job", "/metadata/labels/suspend", "x"),
    ("Job", "/metadata/annotations/generateName", "x"),
    ("Job", "/spec/template/metadata/annotations", {"argocd.argoproj.io/hook": "Sync"}),
    ("Job", _OPTIONS, "Prune=false,SkipDryRunOnMissingResource=true"),
    ("Job", f"{_JOB_POD}/nodeSelector", {"suspend": "no"}),
    ("Job", f"{_JOB_POD}/volumes", [{"name": "a", "emptyDir": {}}]),
    ("Job", f"{_JOB_POD}/containers/0/args", ["", "a", ""]),
    ("Job", f"{_JOB_POD}/containers/0/env", [{"name": "A"}, {"name": "a", "value": "0"}, {"name": "status"}]),
    ("Job", f"{_JOB_POD}/containers/0/ports", [{"containerPort": 9000}]),  # Argo CD knows the defaults of Kubernetes
    ("Job", f"{_JOB_POD}/containers/0/resources/limits/memory", "1536Mi"),
    ("Job", f"{_JOB_POD}/containers/0/resources/limits/cpu", "1500m"),
    ("PyTorchJob", f"{_POD}/containers/0/ports/-", {"containerPort": 9000, "protocol": "UDP"}),
    ("NetworkPolicy", "/spec/podSelector", {}),
    ("NetworkPolicy", "/spec/egress", [{}]),
    ("Service", "/spec/selector", {"app": "x"}),
    ("AppProject", "/metadata/finalizers", ["resources-finalizer.argocd.argoproj.io"]),
    (
        "Application",
        "/spec/ignoreDifferences",
        [{"kind": "Job", "jsonPointers": ["/spec/replicas", "/spec/containers"]}],
    ),
    ("Application", "/spec/syncPolicy/syncOptions/-", "RespectIgnoreDifferences=true"),
]


@pytest.mark.parametrize(("kind", "path", "value", "where"), _FIGHTS, ids=lambda value: str(value)[-40:])
def test_what_others_write_or_what_starts_a_run_again(kind: str, path: str, value: Any, where: str) -> None:
    assert found_in(with_field(kind, path, value)) == [("MLS308", where)]


@pytest.mark.parametrize(("kind", "path", "value", "where"), _DRIFTS, ids=lambda value: str(value)[-40:])
def test_what_is_stored_otherwise(kind: str, path: str, value: Any, where: str) -> None:
    assert found_in(with_field(kind, path, value)) == [("MLS309", where)]


@pytest.mark.parametrize(("kind", "path", "value"), _FINE, ids=lambda value: str(value)[-40:])
def test_what_only_looks_like_it(kind: str, path: str, value: Any) -> None:
    assert found_in(with_field(kind, path, value)) == []


def test_every_rule_has_an_object_that_breaks_it() -> None:
    shown = "\n".join([where for *_, where in [*_FIGHTS, *_DRIFTS]])
    assert [key for key in quiet._RULES if str(key) not in shown] == []


@pytest.mark.parametrize("golden", _GOLDENS, ids=lambda path: path.parent.relative_to(_HERE).as_posix())
def test_goldens_are_quiet(golden: Path) -> None:
    objects = [body for body in yamltext.load_all(golden.read_text()) if "metadata" in body]
    assert [(body["kind"], found) for body in objects for found in found_in(body)] == []


def test_the_gate_is_the_one_hook() -> None:
    annotations = {"argocd.argoproj.io/hook": "PreSync", "argocd.argoproj.io/hook-delete-policy": "BeforeHookCreation"}
    metadata = {"name": "a-gate", "labels": {"mlspec.dev/gate": "a"}, "annotations": annotations}
    gate = {"apiVersion": "batch/v1", "kind": "Job", "metadata": metadata, "spec": {"backoffLimit": 0}}
    assert found_in(gate) == []
    other = {**gate, "metadata": {**metadata, "labels": {"mlspec.dev/run": "a"}}}
    assert [code for code, _ in found_in(other)] == ["MLS308", "MLS308"]
    late = {**gate, "metadata": {**metadata, "annotations": annotations | {"argocd.argoproj.io/hook": "PostSync"}}}
    assert [code for code, _ in found_in(late)] == ["MLS308", "MLS308"]
