"""Provenance: every field of every manifest leads to the line that made it, and no field of the spec is forgotten."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from mlspec.check.objects import Fault
from mlspec.concerns import network
from mlspec.diagnostics import Diagnostic, Span
from mlspec.emit import EMITTED
from mlspec.k8s.resource import Body, Resource
from mlspec.locating import located
from mlspec.pipeline import compile_workspace
from mlspec.provenance import Path as Field
from mlspec.provenance import Source, View, find, origin, span
from mlspec.provenance.origins import TABLES
from mlspec.provenance.view import is_written
from mlspec.reference.fields import pairs
from mlspec.spec.load import load
from tests.perturbed import Emitted, Place, Root, differences, emitted, leaves, matched
from tests.support import PROJECT, make_root

_HERE = Path(__file__).parent
_CASES = [
    *(path.parent for folder in ("kinds", "concerns") for path in sorted((_HERE / folder).glob("*/*/mlproject.yaml"))),
    *(path for folder in ("projects", "provenance") for path in sorted((_HERE / folder).iterdir()) if path.is_dir()),
]
_NAMES = [path.relative_to(_HERE).as_posix() for path in _CASES]
_PINS: Final = "decides whether there is a service at all, and with it what only a service brings"
_EXCEPTIONS: Final = {
    ("Role", "rules", "promotion"): _PINS,
    ("Role", "rules", "run"): _PINS,
    ("AppProject", "namespaceResourceWhitelist", "promotion"): _PINS,
    ("AppProject", "namespaceResourceWhitelist", "run"): _PINS,
    ("Namespace", "pod-security.kubernetes.io/enforce", "promotion"): _PINS,
    ("Namespace", "pod-security.kubernetes.io/enforce", "run"): _PINS,
}
"""By kind of object, field of it and last key of the changed field: what the tables do not tell, and why."""


def _changed(place: Place) -> Source:
    """Return the field that a scalar is, as its tree has it: an override is the field that it overrides."""
    of_environment = place.file.startswith("environments/")
    overrides = not of_environment and place.path[:1] == ("environments",)
    return Source(place.path[2:] if overrides else place.path, of_environment)


def _tells(view: View, path: Field, wanted: Source) -> bool:
    """Say whether the tables name a changed field, or the block that it stands in, for a field of a manifest."""
    return any(_covers(source, wanted) for chain in origin(view, path) for source in chain)


def _covers(source: Source, wanted: Source) -> bool:
    if source.of_environment != wanted.of_environment:
        return False
    shorter, longer = sorted((source.path, wanted.path), key=len)
    if longer[: len(shorter)] != shorter:
        return False
    # A whole step or service would cover everything that it says.
    return shorter == wanted.path or not (shorter[0] in ("steps", "services") and len(shorter) <= 2)


def _untold(before: Emitted, after: Emitted, wanted: Source) -> Iterator[str]:
    """Yield the fields that changed although nothing says that they depend on what was changed."""
    for key in before.views.keys() & after.views.keys():
        for old, new in matched(before.views[key], after.views[key]):
            for fields in differences(before.masked(old.body), after.masked(new.body)):
                for view, path in zip((old, new), fields, strict=True):
                    if path is None or _tells(view, path, wanted):
                        continue
                    if not any((view.body["kind"], str(key), wanted.path[-1]) in _EXCEPTIONS for key in path):
                        yield f"{view.body['kind']} {'.'.join(map(str, path))} <- {'.'.join(wanted.path)}"


@pytest.mark.parametrize("folder", _CASES, ids=_NAMES)
def test_whatever_changes_is_told_to_depend_on_what_was_changed(folder: Path, tmp_path: Path) -> None:
    root = Root(folder, tmp_path / "root")
    before = emitted(root.folder)
    assert before is not None
    untold: set[str] = set()
    tried = 0
    for place in root.places():
        for after in root.changes(place):
            tried += 1
            untold |= set(_untold(before, after, _changed(place)))
    assert tried > 5
    assert not untold, "\n".join(sorted(untold))


@pytest.mark.parametrize("folder", _CASES, ids=_NAMES)
def test_every_field_of_every_object_leads_to_a_line_that_is_written(folder: Path, tmp_path: Path) -> None:
    root = Path(shutil.copytree(folder, tmp_path / "root", symlinks=True))
    before = emitted(root)
    assert before is not None
    asked = 0
    for views in before.views.values():
        for view in views:
            for path in leaves(view.body):
                found = find(view, path)
                for source in (found.source, *found.others):
                    tree = view.environment.tree if source.of_environment else view.variant.tree
                    assert is_written(tree, source.path), (view.body["kind"], path, source)
                _is_in(root, span(view, found.source))
                asked += 1
    assert asked > 50


def _is_in(root: Path, place: Span) -> None:
    lines = (root / place.file).read_text().splitlines()
    assert 1 <= place.line <= len(lines)
    assert 1 <= place.column <= len(lines[place.line - 1]) + 1


_NOWHERE: Final = ("no object", "nowhere", "the overlay of that", "the whole overlay")
_ELSEWHERE: Final = {
    "rerun": "is part of a run's name alone",
    "patch": "is located by its operations",
    "run": "a pin needs runs that were written before",
}
"""Last keys of fields that no root here changes, and why."""
_ROLES: Final = {"chief", "worker", "ps", "evaluator"}
"""What one of them may say, each of them may: they have one model."""


def test_every_field_that_goes_into_a_manifest_was_changed(tmp_path: Path) -> None:
    """A field that no root writes would escape the first test."""
    paths: set[tuple[str, ...]] = set()
    for index, folder in enumerate(_CASES):
        for place in Root(folder, tmp_path / str(index)).places():
            source = _changed(place)
            paths.add((("environment",) if source.of_environment else ()) + source.path)
    missing = {
        use.dotted
        for definition, use in pairs()
        if not definition.goes.startswith(_NOWHERE)
        and _ELSEWHERE.keys().isdisjoint(use.path)
        and not any(_is_of(path, use.path) for path in paths)
    }
    assert not missing, "\n".join(sorted(missing))


def _is_of(path: tuple[str, ...], pattern: tuple[str, ...]) -> bool:
    """Say whether a scalar is one of a field, or in it; a shorthand stands for what it is short for."""
    same = zip(pattern, path, strict=False)
    return len(path) >= min(2, len(pattern)) and all(
        part == key or part.startswith("<") or {part, key} <= _ROLES for part, key in same
    )


_PROJECT = """\
runs: {onSupersede: delete}
volumes:
  data: {size: 10Gi, access: ReadWriteMany}
steps:
  train:
    kind: pytorch
    image: ghcr.io/acme/train:1.0
    script: /opt/train.py
    args: {epochs: 10, bf16: true, lr: 1e-4}
    env: {LEVEL: info}
    mounts: {data: /data}
    gpu: t4:2
    nodes: 2
services:
  classifier:
    kind: kserve
    model: {format: onnx, uri: "s3://models/classifier"}
    resources: {memory: 4Gi}
"""
_ENVIRONMENT = """\
apiVersion: mlspec.dev/v1alpha1
kind: Environment
kubernetes: 1.34
training: kubeflow.org/v1 1.9
kserve: {version: 0.16, mode: Standard}
storage:
  standard: {access: [ReadWriteMany], binding: WaitForFirstConsumer}
gpus:
  t4: {perNode: 4, nodeSelector: {example.com/gpu: t4}}
network:
  gateway: {namespace: istio-system, podLabels: {app: gateway}}
  destinations:
    s3: {cidrs: [10.0.0.0/8, 11.0.0.0/8]}
argocd: {repoURL: "https://git.example.com/ml/models.git"}
serviceAccounts: {annotations: {example.com/role: "{project}"}}
access: {viewers: ["{owner}", auditors]}
quota: {cpu: 100, gpu: 8}
defaults: {cpu: 2}
images: {digests: off, pullSecrets: [registry]}
"""
_MASTER: Final = ("spec", "pytorchReplicaSpecs", "Master", "template", "spec")
_MAIN: Final = (*_MASTER, "containers", 0)
_PREDICTOR: Final = ("spec", "predictor")
_DEV: Final = "environments/dev.yaml"


@pytest.mark.parametrize(
    ("kind", "name", "path", "field"),
    [
        ("PyTorchJob", "train", ("spec", "nprocPerNode"), "steps.train.gpu"),
        ("PyTorchJob", "train", ("spec", "pytorchReplicaSpecs", "Worker", "replicas"), "steps.train.nodes"),
        ("PyTorchJob", "train", (*_MAIN, "image"), "steps.train.image"),
        ("PyTorchJob", "train", (*_MAIN, "args", 1), "steps.train.args.epochs"),
        ("PyTorchJob", "train", (*_MAIN, "args", 2), "steps.train.args.bf16"),
        ("PyTorchJob", "train", (*_MAIN, "args", 4), "steps.train.args.lr"),
        ("PyTorchJob", "train", (*_MAIN, "resources", "limits", "cpu"), f"{_DEV} defaults.cpu"),
        ("PyTorchJob", "train", (*_MAIN, "resources", "limits", "memory"), "steps.train"),
        ("PyTorchJob", "train", (*_MAIN, "resources", "limits", "nvidia.com/gpu"), "steps.train.gpu"),
        ("PyTorchJob", "train", (*_MAIN, "securityContext", "runAsNonRoot"), "steps.train"),
        ("PyTorchJob", "train", (*_MAIN, "unknown"), "steps.train"),
        (
            "PyTorchJob",
            "train",
            (*_MASTER, "nodeSelector", "example.com/gpu"),
            f"{_DEV} gpus.t4.nodeSelector.example.com/gpu",
        ),
        ("PyTorchJob", "train", ("metadata", "annotations", "argocd.argoproj.io/sync-options"), "runs.onSupersede"),
        ("PersistentVolumeClaim", "data", ("spec", "resources", "requests", "storage"), "volumes.data.size"),
        ("PersistentVolumeClaim", "data", ("spec", "storageClassName"), f"{_DEV} storage.standard"),
        ("InferenceService", "classifier", (*_PREDICTOR, "model", "storageUri"), "services.classifier.model.uri"),
        (
            "InferenceService",
            "classifier",
            (*_PREDICTOR, "model", "resources", "requests", "memory"),
            "services.classifier.resources.memory",
        ),
        (
            "InferenceService",
            "classifier",
            ("metadata", "annotations", "serving.kserve.io/deploymentMode"),
            f"{_DEV} kserve.mode",
        ),
        (
            "NetworkPolicy",
            "classifier",
            ("spec", "egress", 1, "to", 1, "ipBlock", "cidr"),
            f"{_DEV} network.destinations.s3.cidrs.1",
        ),
        (
            "NetworkPolicy",
            "classifier",
            ("spec", "ingress", 0, "from", 0, "podSelector", "matchLabels", "app"),
            f"{_DEV} network.gateway.podLabels.app",
        ),
        (
            "ServiceAccount",
            "train",
            ("metadata", "annotations", "example.com/role"),
            f"{_DEV} serviceAccounts.annotations.example.com/role",
        ),
        ("ServiceAccount", "train", ("imagePullSecrets", 0, "name"), f"{_DEV} images.pullSecrets.0"),
        ("ResourceQuota", "demo-quota", ("spec", "hard", "requests.nvidia.com/gpu"), f"{_DEV} quota.gpu"),
        ("LimitRange", "demo-quota", ("spec", "limits", 0, "default", "cpu"), f"{_DEV} defaults.cpu"),
        ("LimitRange", "demo-quota", ("spec", "limits", 0, "default", "memory"), f"{_DEV} quota"),
        ("RoleBinding", "demo-viewer", ("subjects", 0, "name"), f"{_DEV} access.viewers.1"),
        ("RoleBinding", "demo-viewer", ("subjects", 1, "name"), "owner"),
        ("Namespace", "demo-dev", ("metadata", "name"), "name"),
        ("AppProject", "demo-dev", ("spec", "sourceRepos", 0), f"{_DEV} argocd.repoURL"),
        ("Application", "demo-dev-serving", ("spec", "source", "targetRevision"), f"{_DEV} argocd"),
    ],
)
def test_a_finding_is_said_at_the_field_that_made_it(
    kind: str, name: str, path: Field, field: str, tmp_path: Path
) -> None:
    found = _found(tmp_path, kind, name, path)
    file, _, dotted = field.rpartition(" ")
    assert (found.span.file, found.path) == (file or "mlproject.yaml", dotted)
    text = (tmp_path / found.span.file).read_text().splitlines()[found.span.line - 1]
    assert dotted.rpartition(".")[2].split("/")[-1] in text or text[found.span.column - 1 :]


def _found(root: Path, kind: str, name: str, path: Field) -> Diagnostic:
    make_root(root, PROJECT + _PROJECT, {"dev": _ENVIRONMENT})
    compilation = compile_workspace(load(root))
    (compiled,) = compilation.projects
    resources = [each for each in compiled.resources["dev"] if each.body["kind"] == kind]
    bodies = [body for body in compiled.argocd["dev"] if body["kind"] == kind]
    fault = Fault("MLS301", "wrong", path=path)
    objects: list[Resource | Body] = [*resources, *bodies]
    for of in objects:
        body = of.body if isinstance(of, Resource) else of
        if body["metadata"]["name"] in (name, compiled.plans["dev"].workloads[0].workload.object_name):
            return located(compiled, compilation.workspace.environments["dev"], of, fault)
    raise AssertionError(f"there is no {kind} {name}")


def test_a_field_of_both_files_shows_the_other_one_too(tmp_path: Path) -> None:
    path = (*_MAIN, "resources", "limits", "nvidia.com/gpu")
    found = _found(tmp_path / "gpu", "PyTorchJob", "train", path)
    assert found.message.startswith("PyTorchJob train-")
    annotation = ("metadata", "annotations", "example.com/role")
    found = _found(tmp_path / "role", "ServiceAccount", "train", annotation)
    # Nothing in it names the project, so it is said once for all of them.
    assert found.message == "ServiceAccount in dev: wrong"
    assert [one.span.file for one in found.related] == ["mlproject.yaml"]


def test_every_flow_tells_the_fields_that_make_it(tmp_path: Path) -> None:
    """No finding about the network has to look for what it is about."""
    told: set[str] = set()
    for index, folder in enumerate(_CASES):
        compilation = compile_workspace(load(Path(shutil.copytree(folder, tmp_path / str(index), symlinks=True))))
        for compiled in compilation.projects:
            for name, plan in compiled.plans.items():
                trees = (compiled.project.variants[name].tree, compilation.workspace.environments[name].tree)
                for stated in plan.workloads:
                    for flow in (*network.ingress(plan, stated), *network.egress(plan, stated)):
                        assert flow.because
                        for source in flow.because:
                            told.add(source.path[2] if len(source.path) > 2 else source.path[0])
                            has_default = source.path in (("network", "dns"), ("kserve", "mode"))
                            assert has_default or is_written(trees[source.of_environment], source.path), source
    assert {"egress", "model", "network", "prometheus", "kserve", "steps"} <= told


def test_every_kind_has_a_table() -> None:
    assert {kind for _, kind in EMITTED} | {"AppProject", "Application"} == set(TABLES)
