"""The reference check can fail: each kind of reference, broken in the objects of the example, is found."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec.check.objects import Fault
from mlspec.check.references import check_argocd, check_references, field, matches
from mlspec.compiled import Compiled
from mlspec.k8s.resource import Resource
from mlspec.locating import located
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, REPOSITORY, make_root

Body = dict[str, Any]
_ALL: Final = "environments/common.yaml"
_PROD: Final = "environments/prod.yaml"


@pytest.fixture(scope="module")
def compiled() -> Compiled:
    return compile_workspace(load(REPOSITORY)).projects[0]


def _edited(resources: list[Resource], kind: str, edit: Callable[[Body], None], name: str = "") -> list[Resource]:
    found = []
    for resource in resources:
        body = copy.deepcopy(resource.body)
        if body["kind"] == kind and name in body["metadata"]["name"]:
            edit(body)
        found.append(replace(resource, body=body))
    return found


def _without(resources: list[Resource], kind: str) -> list[Resource]:
    return [resource for resource in resources if resource.body["kind"] != kind]


def _set(*path: str | int, value: Any) -> Callable[[Body], None]:
    def edit(body: Any) -> None:
        for key in path[:-1]:
            body = body[key]
        body[path[-1]] = value

    return edit


def test_the_example_refers_to_what_exists(compiled: Compiled) -> None:
    for environment, resources in compiled.resources.items():
        assert list(check_references(compiled.plans[environment], resources)) == []
        found = check_argocd(resources, compiled.argocd[environment], compiled.layout.builds)
        assert list(found) == []


@pytest.mark.parametrize("path", ["generated", "teams/generated/models"])
def test_a_root_may_lie_in_a_folder_that_is_called_generated(path: str, tmp_path: Path) -> None:
    environment = ENVIRONMENT.replace('models.git"}', f'models.git", path: {path}}}')
    project = 'steps: {a: {kind: job, image: "i:1"}}\n'
    found = compile_workspace(load(make_root(tmp_path, project, {"dev": environment}))).diagnostics
    assert [finding for finding in found if finding.code == "MLS303"] == []


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("ServiceAccount", "refers to ServiceAccount `preprocess`"),
        ("PersistentVolumeClaim", "refers to PersistentVolumeClaim `models`"),
        ("Role", "refers to Role `image-classifier-viewer`"),
        ("Service", "matches 0 Services"),
    ],
)
def test_a_missing_object_is_found(compiled: Compiled, kind: str, words: str) -> None:
    found = check_references(compiled.plans["prod"], _without(compiled.resources["prod"], kind))
    assert words in "\n".join(message for _, message in found)


@pytest.mark.parametrize(
    ("kind", "name", "edit", "words"),
    [
        (
            "NetworkPolicy",
            "train",
            _set("spec", "podSelector", "matchLabels", "mlspec.dev/step", value="trian"),
            "matches no pod",
        ),
        (
            "NetworkPolicy",
            ".peers",
            _set("spec", "ingress", 0, "from", 0, "podSelector", "matchLabels", "mlspec.dev/run", value="train-0"),
            "matches no pod",
        ),
        ("Service", "metrics", _set("spec", "selector", "mlspec.dev/service", value="x"), "matches no pod"),
        ("ServiceMonitor", "", _set("spec", "endpoints", 0, "port", value="metric"), "port `metric` is not a port"),
        (
            "InferenceService",
            "",
            _set("spec", "predictor", "model", "storageUri", value="pvc://gone/x"),
            "Claim `gone`",
        ),
        ("RoleBinding", "viewer", _set("roleRef", "name", value="reader"), "refers to Role `reader`"),
    ],
)
def test_a_broken_reference_is_found(
    compiled: Compiled, kind: str, name: str, edit: Callable[[Body], None], words: str
) -> None:
    resources = _edited(compiled.resources["prod"], kind, edit, name)
    messages = [message for _, message in check_references(compiled.plans["prod"], resources)]
    assert len(messages) >= 1
    assert words in "\n".join(messages)


@pytest.mark.parametrize(
    ("kind", "edit", "words", "field"),
    [
        ("Application", _set("spec", "project", value="other"), "`other`, which is not generated", "name"),
        (
            "Application",
            _set("spec", "source", "repoURL", value="https://x"),
            "a repository",
            f"{_ALL} argocd.repoURL",
        ),
        (
            "Application",
            _set("spec", "source", "path", value="generated/x"),
            "reads `x`, which",
            f"{_PROD} argocd",
        ),
        ("Application", _set("spec", "destination", "server", value="x"), "a destination", f"{_PROD} argocd"),
        ("AppProject", _set("spec", "namespaceResourceWhitelist", value=[]), "allow PyTorchJob", "steps.train"),
        ("AppProject", _set("spec", "clusterResourceWhitelist", value=[]), "does not allow Namespace", "name"),
    ],
)
def test_a_broken_application_is_found(
    compiled: Compiled, kind: str, edit: Callable[[Body], None], words: str, field: str
) -> None:
    argocd = copy.deepcopy(compiled.argocd["prod"])
    for body in argocd:
        if body["kind"] == kind:
            edit(body)
    found = list(check_argocd(compiled.resources["prod"], argocd, compiled.layout.builds))
    assert words in "\n".join(lost.message for lost in found)
    environment = load(REPOSITORY).environments["prod"]
    told = [located(compiled, environment, of, Fault("MLS303", said, path=path)) for of, said, path in found]
    assert field in {f"{finding.span.file} {finding.path}".removeprefix("mlproject.yaml ") for finding in told}


def test_labels_match_as_kubernetes_matches() -> None:
    assert matches({}, {"a": "1"})
    assert matches({"a": "1"}, {"a": "1", "b": "2"})
    assert not matches({"a": "1", "c": "3"}, {"a": "1"})


def test_only_the_guard_of_default_deny_matches_nothing(compiled: Compiled) -> None:
    """Law 7: every other selector of the example matches a pod that will exist."""
    policies = [r.body for r in compiled.resources["prod"] if r.body["kind"] == "NetworkPolicy"]
    guarded = [p["metadata"]["name"] for p in policies if "mlspec.dev/none" in str(p)]
    assert guarded == ["image-classifier-default-deny"]
    for policy in policies:
        assert policy["spec"]["policyTypes"] == [way for way in ("Ingress", "Egress") if way.lower() in policy["spec"]]


@pytest.mark.parametrize(
    ("kind", "name", "edit", "path"),
    [
        ("Service", "metrics", _set("spec", "selector", "mlspec.dev/service", value="x"), ("spec", "selector")),
        ("ServiceMonitor", "", _set("spec", "endpoints", 0, "port", value="metric"), ("spec", "endpoints")),
        ("RoleBinding", "viewer", _set("roleRef", "name", value="reader"), ("roleRef", "name")),
        (
            "InferenceService",
            "",
            _set("spec", "predictor", "model", "storageUri", value="pvc://gone/x"),
            ("spec", "predictor", "model", "storageUri"),
        ),
        (
            "NetworkPolicy",
            "train",
            _set("spec", "podSelector", "matchLabels", "mlspec.dev/step", value="trian"),
            ("spec", "podSelector"),
        ),
    ],
)
def test_a_broken_reference_names_its_field(
    compiled: Compiled, kind: str, name: str, edit: Callable[[Body], None], path: tuple[str, ...]
) -> None:
    resources = _edited(compiled.resources["prod"], kind, edit, name)
    found = [(resource.body, message) for resource, message in check_references(compiled.plans["prod"], resources)]
    assert path in [field(body, message) for body, message in found if body["kind"] == kind]
