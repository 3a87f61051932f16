"""Rules about pods: every security field that is taken away is found, and whatever a patch leaves can be judged."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec.compiled import Compilation
from mlspec.diagnostics import Diagnostic, Severity
from mlspec.emit import emit
from mlspec.k8s.projected import ProjectedPods, Projection
from mlspec.k8s.resource import Resource
from mlspec.pipeline import compile_workspace
from mlspec.plan.history import History
from mlspec.policy import pods
from mlspec.policy.subject import Subject, Violation
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, make_root, mlspec
from tests.weakened import weakened

Body = dict[str, Any]
_PROJECT: Final = """\
volumes:
  models: {size: 10Gi, access: ReadWriteMany}
steps:
  prepare: {kind: job, image: "python:3.12-slim", command: [python, -m, prepare], mounts: {models: /models}}
  train: {kind: pytorch, image: "ghcr.io/acme/train:1.0", script: /opt/train.py, nodes: 2, mounts: {models: /models}}
  table: {kind: tensorflow, image: "tensorflow/tensorflow:2.19.0", script: /opt/t.py, roles: {worker: {replicas: 2}}}
services:
  served: {kind: kserve, model: {format: onnx, from: prepare, path: export}}
  copied: {kind: kserve, model: {format: sklearn, uri: "s3://models/chat"}}
  packed: {kind: kserve, model: {format: sklearn, uri: "oci://ghcr.io/acme/model:1"}}
  own: {kind: kserve, image: "ghcr.io/acme/serve:1.0"}
  old: {kind: seldon, model: {implementation: SKLEARN_SERVER, uri: "s3://models/iris"}}
"""
_FOLLOW: Final = ENVIRONMENT + "seldon: {version: 1.16}\npromotion: follow\n"
_KNATIVE: Final = _FOLLOW.replace("mode: Standard", "mode: Knative")


def _compiled(folder: Path, project: str = _PROJECT, environment: str = _FOLLOW) -> Compilation:
    return compile_workspace(load(make_root(folder, project, {"dev": environment})))


def _subject(compilation: Compilation) -> Subject:
    (item,) = compilation.projects
    variant, environment = item.project.variants["dev"], compilation.workspace.environments["dev"]
    resources, argocd = item.resources["dev"], item.argocd["dev"]
    return Subject(item.plans["dev"], variant.model, environment.model, variant.contents, resources, argocd)


def _found(compilation: Compilation, code: str) -> list[Diagnostic]:
    return [finding for finding in compilation.diagnostics if finding.code == code]


def _with(subject: Subject, resource: Resource, group: ProjectedPods, pod: Body) -> Subject:
    """Return a subject that has nothing to judge but one pod."""
    changed = ProjectedPods(group.role, 1, lambda _: pod, group.added, group.path)
    others = [item for item in subject.resources if item.projection is None]
    return replace(subject, resources=[*others, replace(resource, projection=Projection((changed,)))])


def _all(subject: Subject) -> list[tuple[str, Violation]]:
    return [(rule.code, violation) for rule in pods.RULES for violation in rule.judge(subject)]


@pytest.mark.parametrize("mode", ["Standard", "Knative"])
def test_no_security_field_can_be_weakened(mode: str, tmp_path: Path) -> None:
    """One field less of what mlspec writes, or one that is loosened, in any pod of any kind, is a finding."""
    subject = _subject(_compiled(tmp_path, environment=_FOLLOW if mode == "Standard" else _KNATIVE))
    groups = 0
    for resource in subject.resources:
        for group in resource.projection.pods if resource.projection is not None else ():
            before = {violation.message for _, violation in _all(_with(subject, resource, group, group.first))}
            mutants = dict(weakened(resource.key.kind, group))
            unseen = [
                name
                for name, pod in mutants.items()
                if {violation.message for _, violation in _all(_with(subject, resource, group, pod))} <= before
            ]
            assert unseen == [], (resource.key, group.role)
            assert len(mutants) >= 10
            groups += 1
    assert groups == 10


def test_nothing_of_our_own_is_weak(tmp_path: Path) -> None:
    """Pods that are written without loosening have no finding but notes about what operators add."""
    compilation = _compiled(tmp_path)
    found = [finding for finding in compilation.diagnostics if finding.code in {rule.code for rule in pods.RULES}]
    assert {finding.severity for finding in found} == {Severity.NOTE}
    assert {(finding.code, finding.path) for finding in found} == {
        ("MLS410", "steps.train"),
        ("MLS410", "services.copied"),
        ("MLS410", "services.packed"),
        ("MLS410", "services.old"),
    }


_LEVELS: Final = {
    "steps: {a: {kind: job, image: 'r/a:1'}}": "restricted",
    "steps: {a: {kind: pytorch, image: 'r/a:1', script: /a.py}}": "restricted",
    "steps: {a: {kind: pytorch, image: 'r/a:1', script: /a.py, nodes: 2}}": "baseline",
    "services: {a: {kind: kserve, image: 'r/a:1'}}": "restricted",
    "services: {a: {kind: kserve, model: {format: onnx, uri: 's3://m/a'}}}": "baseline",
    "steps: {a: {kind: job, image: 'r/a:1', security: {user: 0}, allow: {MLS405: why}}}": "baseline",
}


@pytest.mark.parametrize("project", _LEVELS)
def test_namespace_enforces_what_all_pods_reach(project: str, tmp_path: Path) -> None:
    compilation = _compiled(tmp_path, project + "\n")
    assert _label(compilation) == _LEVELS[project]
    assert bool(_found(compilation, "MLS410")) == (_LEVELS[project] != "restricted")
    assert _found(compilation, "MLS409") == []


def _label(compilation: Compilation) -> str | None:
    (item,) = compilation.projects
    labels = [body.body["metadata"]["labels"] for body in item.resources["dev"] if body.key.kind == "Namespace"]
    return labels[0]["pod-security.kubernetes.io/enforce"] if labels else None


_CAPABLE: Final = (
    "steps: {a: {kind: job, image: 'r/a:1', security: {capabilities: [IPC_LOCK]}, allow: {MLS408: why}}}\n"
)


@pytest.mark.parametrize(
    ("floor", "label", "is_refused"),
    [("restricted", "restricted", True), ("baseline", "baseline", True), ("privileged", "privileged", False)],
)
def test_namespace_enforces_no_less_than_the_environment_allows(
    floor: str, label: str, is_refused: bool, tmp_path: Path
) -> None:
    compilation = _compiled(tmp_path, _CAPABLE, _FOLLOW + f"namespace: {{podSecurity: {floor}}}\n")
    assert _label(compilation) == label
    assert bool(_found(compilation, "MLS409")) == is_refused
    assert bool(_found(compilation, "MLS410")) != is_refused


def test_what_the_cluster_refuses_is_an_error_whatever_policy_says(tmp_path: Path) -> None:
    """Where others manage the namespace it can be switched off: they may have exempted the pods."""
    for weight in ("off", "warn", "error"):
        environment = _FOLLOW + f"policy: {{MLS409: {weight}}}\nnamespace: {{podSecurity: restricted"
        (found,) = _found(_compiled(tmp_path / weight, _CAPABLE, environment + "}\n"), "MLS409")
        assert found.severity is Severity.ERROR
        others = _compiled(tmp_path / f"{weight}-shared", _CAPABLE, environment + ", manage: false, pattern: shared}\n")
        assert len(_found(others, "MLS409")) == (weight != "off")


def test_namespace_of_others_has_no_label_but_its_level_holds(tmp_path: Path) -> None:
    compilation = _compiled(tmp_path, _CAPABLE, _FOLLOW + "namespace: {manage: false, pattern: shared}\n")
    assert _label(compilation) is None
    assert len(_found(compilation, "MLS409")) == 1
    assert _found(compilation, "MLS410") == []


def test_standard_of_the_environments_kubernetes_holds(tmp_path: Path) -> None:
    """A sysctl that is safe since 1.32 is none before."""
    project = (
        "steps:\n  a:\n    kind: job\n    image: r/a:1\n    patch:\n"
        "      - {op: add, path: /spec/template/spec/securityContext/sysctls, "
        "value: [{name: net.ipv4.tcp_rmem, value: '4096 1 2'}]}\n"
    )
    assert _found(_compiled(tmp_path / "new", project), "MLS409") == []
    older = _FOLLOW.replace("kubernetes: 1.34", "kubernetes: 1.31")
    (found,) = _found(_compiled(tmp_path / "old", project, older), "MLS409")
    assert "net.ipv4.tcp_rmem" in found.message


def test_quota_limits_what_operators_add(tmp_path: Path) -> None:
    project = "services: {a: {kind: kserve, image: 'r/a:1'}}\n"
    assert [finding.severity for finding in _found(_compiled(tmp_path / "a", project, _KNATIVE), "MLS413")] == [
        Severity.NOTE
    ]
    assert _found(_compiled(tmp_path / "b", project, _KNATIVE + "quota: {cpu: 10, memory: 10Gi}\n"), "MLS413") == []


_ONE: Final = "steps: {a: {kind: job, image: 'r/a:1'}}\n"
_FILE: Final = """\
apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata:
  name: b-00000000
  namespace: demo-dev
  annotations:
    argocd.argoproj.io/sync-options: "Prune=false"
    mlspec.dev/pod-security: baseline
spec:
  pytorchReplicaSpecs:
    Master: {replicas: 1, template: POD}
    Worker: {replicas: 1, template: POD}
""".replace(
    "POD",
    "{spec: {containers: [{name: pytorch, image: r/a, securityContext: {allowPrivilegeEscalation: false, "
    "capabilities: {drop: [ALL]}}}], "
    "securityContext: {runAsNonRoot: true, seccompProfile: {type: RuntimeDefault}}}}",
)
_TOLD: Final = "    mlspec.dev/pod-security: baseline\n"
_HISTORIES: Final[dict[str, tuple[str, str, str]]] = {
    "kept": ("dev/pipeline/b-00000000", _FILE, "baseline"),
    "kept, and reaches restricted": (
        "dev/pipeline/b-00000000",
        _FILE.replace(": baseline", ": restricted"),
        "restricted",
    ),
    "kept, written before files told": ("dev/pipeline/b-00000000", _FILE.replace(_TOLD, ""), "baseline"),
    "kept, and reaches privileged": (
        "dev/pipeline/b-00000000",
        _FILE.replace(": baseline", ": privileged"),
        "baseline",
    ),
    "deleted once superseded": ("dev/pipeline/b-00000000", _FILE.replace("Prune=false", "Prune=last"), "restricted"),
    "of the plan, as written before": ("dev/pipeline/{}", _FILE.replace("Prune=false", "Prune=last"), "baseline"),
    "of another environment": ("prod/pipeline/b-00000000", _FILE, "restricted"),
    "no manifest": ("dev/pipeline/b-00000000", "Prune=false\n- {", "restricted"),
    "another kind": ("dev/pipeline/b-00000000", "apiVersion: v1\nkind: Prune=false\n", "restricted"),
}


@pytest.mark.parametrize("case", _HISTORIES)
def test_runs_that_may_run_still_are_let_in(case: str, tmp_path: Path) -> None:
    """The environment allows baseline at least, which is why it is never less."""
    plan = _compiled(tmp_path, _ONE).projects[0].plans["dev"]
    place, content, label = _HISTORIES[case]
    path = f"demo/overlays/{place.format(plan.steps[0].workload.object_name)}.yaml"
    emitted = emit(plan, "1.34", History("demo", {path: content.encode()}, frozenset()))
    (body,) = (resource.body for resource in emitted if resource.key.kind == "Namespace")
    assert body["metadata"]["labels"]["pod-security.kubernetes.io/enforce"] == label


def test_superseded_run_keeps_the_namespace(tmp_path: Path) -> None:
    """From the commit that supersedes it until its file is deleted."""
    two = "steps: {a: {kind: pytorch, image: 'r/a:1', script: /a.py, nodes: 2}}\n"
    root = make_root(tmp_path, two, {"dev": _FOLLOW})
    assert mlspec(root, "generate").code == 0
    (superseded,) = (tmp_path / "generated/demo/overlays/dev/pipeline").glob("a-*.yaml")
    make_root(tmp_path, two.replace("nodes: 2", "nodes: 1"), {"dev": _FOLLOW})
    assert "superseded runs, which may run still, keep the namespace at baseline" in mlspec(root, "generate").output
    assert "[MLS410]" in mlspec(root, "check").stdout
    superseded.unlink()
    assert mlspec(root, "generate").code == 0
    assert "MLS410" not in mlspec(root, "check").output


_SHARED: Final = "services: {{chat: {{kind: kserve, model: {{format: huggingface, uri: 's3://m/a'}}{}}}}}\n"


def test_memory_that_a_runtime_mounts_is_noted(tmp_path: Path) -> None:
    """KServe's runtime mounts a volume in memory of its own, unless the service has one there."""
    (found,) = _found(_compiled(tmp_path / "a", _SHARED.format("")), "MLS412")
    assert (found.severity, found.path) == (Severity.NOTE, "services.chat")
    written = _SHARED.format(", resources: {memory: 8Gi, sharedMemory: 1Gi}")
    assert _found(_compiled(tmp_path / "b", written), "MLS412") == []


_KEYS: Final = (
    *("name", "securityContext", "capabilities", "add", "drop", "seccompProfile", "type", "runAsUser", "runAsGroup"),
    *("supplementalGroups", "resources", "limits", "memory", "cpu", "volumeMounts", "mountPath", "emptyDir", "medium"),
    *("sizeLimit", "projected", "sources", "serviceAccountToken", "audience", "ports", "hostPort"),
)
"""Fields that the rules look at, below those of a pod."""
_JSON: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-1, 70000) | st.sampled_from(["1Gi", "Memory", "main", "cache", ""]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=4),
    max_leaves=20,
)
_SPEC: Final = (
    "containers",
    "initContainers",
    "volumes",
    "securityContext",
    "serviceAccountName",
    "enableServiceLinks",
)


@pytest.fixture(scope="module")
def subject(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    return _subject(_compiled(tmp_path_factory.mktemp("subject"), "steps: {a: {kind: job, image: 'r/a:1'}}\n"))


@given(st.dictionaries(st.sampled_from(_SPEC), _JSON, max_size=5) | _JSON)
def test_whatever_a_patch_leaves_can_be_judged(subject: Subject, spec: Any) -> None:
    """No rule fails on a pod of any shape, and none of these is as mlspec writes it."""
    ((resource, group),) = (
        (item, group) for item in subject.resources if item.projection for group in item.projection.pods
    )
    found = _all(_with(subject, resource, group, {"metadata": {}, "spec": spec}))
    assert "MLS414" in {code for code, _ in found}
