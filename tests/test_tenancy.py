"""Who may do what: rights in the cluster, what Argo CD may apply, and what must never be in Git (docs/security.md)."""

from __future__ import annotations

import copy
import fnmatch
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import PurePosixPath
from typing import Any

import pytest

from mlspec import yamltext
from mlspec.compiled import Compilation
from mlspec.k8s.resource import Body
from mlspec.pipeline import compile_workspace
from mlspec.policy import tenancy
from mlspec.policy.subject import Subject
from mlspec.spec.load import load
from tests.cluster.harness.goldens import goldens, roots
from tests.support import REPOSITORY

_PLAIN = {"apiVersion", "kind", "namespace", "resources", "patches"}
_HOOKS = re.compile(r"argocd\.argoproj\.io/hook(-delete-policy)?: *\"?(\w+)")


@cache
def _compilations() -> tuple[Compilation, ...]:
    return tuple(compile_workspace(load(root)) for root in roots())


def _files() -> Iterator[tuple[str, bytes]]:
    for compilation in _compilations():
        for item in compilation.projects:
            yield from item.layout.files.items()


def test_overlays_are_plain() -> None:
    """Nothing that Argo CD's kustomize would fetch, generate or run, and nothing outside of what is generated."""
    seen = 0
    for path, content in _files():
        assert PurePosixPath(path).suffix == ".yaml", path
        if not path.endswith("/kustomization.yaml"):
            continue
        seen += 1
        (body,) = yamltext.load_all(content.decode())
        assert body.keys() <= _PLAIN, path
        for entry in body["resources"]:
            assert re.fullmatch(r"(\.\./)*[a-z0-9][-a-z0-9./]*", entry), (path, entry)
            inside = _resolved(PurePosixPath(path).parent, entry)
            assert inside.split("/")[0] == path.split("/")[0], (path, entry)
        for patch in body.get("patches", ()):
            assert patch.keys() == {"target", "patch"}, path
    assert seen > 100


def _resolved(folder: PurePosixPath, entry: str) -> str:
    parts = list(folder.parts)
    for part in PurePosixPath(entry).parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def test_the_only_hook_is_the_gate() -> None:
    found = {match.group(2) for _, content in _files() for match in _HOOKS.finditer(content.decode())}
    assert found == {"PreSync", "BeforeHookCreation"}


def test_no_secret_and_no_right_of_the_cluster_is_emitted() -> None:
    kinds = {body["kind"] for golden in goldens() for body in golden.bodies}
    assert "Job" in kinds
    assert not {
        kind for kind in kinds if kind == "Secret" or kind.startswith(("Cluster", "Custom", "Mutating", "Validat"))
    }


def _subjects() -> list[Subject]:
    return [
        Subject(
            plan,
            item.project.variants[name].model,
            compilation.workspace.environments[name].model,
            {},
            item.resources[name],
            item.argocd[name],
        )
        for compilation in _compilations()
        for item in compilation.projects
        for name, plan in item.plans.items()
    ]


def test_what_is_emitted_has_nothing_against_it() -> None:
    subjects = _subjects()
    assert len(subjects) > 50
    for subject in subjects:
        for rule in tenancy.RULES:
            assert not list(rule.judge(subject))


def _copied(subject: Subject) -> Subject:
    """Return a subject whose objects are copies that may be changed."""
    resources = [replace(resource, body=copy.deepcopy(resource.body)) for resource in subject.resources]
    return replace(subject, resources=resources, argocd=copy.deepcopy(list(subject.argocd)))


Change = Callable[[Body], Any]
_RIGHTS: list[tuple[str, str, Change]] = [
    (
        "a workload's account",
        "RoleBinding",
        lambda body: body["subjects"].append({"kind": "ServiceAccount", "name": "a"}),
    ),
    ("a person", "RoleBinding", lambda body: body["subjects"].append({"kind": "User", "name": "a"})),
    ("all verbs", "Role", lambda body: body["rules"][0]["verbs"].append("*")),
    ("all resources", "Role", lambda body: body["rules"][0]["resources"].append("*")),
    ("all groups", "Role", lambda body: body["rules"][0]["apiGroups"].append("*")),
    ("Secrets", "Role", lambda body: body["rules"][0]["resources"].append("secrets")),
    ("tokens", "Role", lambda body: body["rules"][0]["resources"].append("serviceaccounts/token")),
    ("create", "Role", lambda body: body["rules"][0]["verbs"].append("create")),
    (
        "exec",
        "Role",
        lambda body: body["rules"].append({"apiGroups": [""], "resources": ["pods/exec"], "verbs": ["create"]}),
    ),
    (
        "delete claims",
        "Role",
        lambda body: body["rules"].append(
            {"apiGroups": [""], "resources": ["persistentvolumeclaims"], "verbs": ["delete"]}
        ),
    ),
]


@pytest.mark.parametrize(("kind", "change"), [row[1:] for row in _RIGHTS], ids=[row[0] for row in _RIGHTS])
def test_a_right_too_much_is_found(kind: str, change: Change) -> None:
    subject = _copied(next(subject for subject in _subjects() if subject.plan.target.viewers))
    change(next(resource.body for resource in subject.resources if resource.body["kind"] == kind))
    assert list(tenancy.rights(subject))


_WALLS: list[tuple[str, str, Change]] = [
    ("any repository", "AppProject", lambda spec: spec.update(sourceRepos=["*"])),
    ("another repository", "AppProject", lambda spec: spec["sourceRepos"].append("https://git.example.com/other.git")),
    ("any namespace", "AppProject", lambda spec: spec["destinations"][0].update(namespace="*")),
    ("any cluster", "AppProject", lambda spec: spec["destinations"][0].update(server="*")),
    (
        "all but one namespace",
        "AppProject",
        lambda spec: spec["destinations"].append({"namespace": "!kube-system", "server": "x"}),
    ),
    (
        "any kind of the cluster",
        "AppProject",
        lambda spec: spec.update(clusterResourceWhitelist=[{"group": "*", "kind": "*"}]),
    ),
    (
        "another namespace object",
        "AppProject",
        lambda spec: spec.update(clusterResourceWhitelist=[{"group": "", "kind": "Namespace", "name": "kube-system"}]),
    ),
    (
        "any kind of the namespace",
        "AppProject",
        lambda spec: spec["namespaceResourceWhitelist"].append({"group": "*", "kind": "*"}),
    ),
    ("no list of kinds", "AppProject", lambda spec: spec.pop("namespaceResourceWhitelist")),
    ("Secrets", "AppProject", lambda spec: spec["namespaceResourceWhitelist"].append({"group": "", "kind": "Secret"})),
    ("helm", "Application", lambda spec: spec["source"].update(helm={"values": "a: 1"})),
    ("a plugin", "Application", lambda spec: spec["source"].update(plugin={"name": "x"})),
    ("kustomize options", "Application", lambda spec: spec["source"].update(kustomize={"components": ["x"]})),
    ("several sources", "Application", lambda spec: spec.update(sources=[spec["source"]])),
    ("project default", "Application", lambda spec: spec.update(project="default")),
    ("another namespace", "Application", lambda spec: spec["destination"].update(namespace="kube-system")),
]


@pytest.mark.parametrize(("kind", "change"), [row[1:] for row in _WALLS], ids=[row[0] for row in _WALLS])
def test_a_hole_in_the_wall_is_found(kind: str, change: Change) -> None:
    subject = _copied(_subjects()[0])
    change(next(body["spec"] for body in subject.argocd if body["kind"] == kind))
    assert list(tenancy.argocd(subject))


def test_the_example_of_owners_covers_what_it_is_about() -> None:
    """Each line of the CODEOWNERS in docs/security.md matches files of this repository, or of one laid out like it."""
    text = (REPOSITORY / "docs" / "security.md").read_text()
    block = text.partition("# .github/CODEOWNERS\n")[2].partition("```")[0]
    patterns = [line.split()[0] for line in block.splitlines()]
    assert len(patterns) > 5
    files = [
        path.relative_to(REPOSITORY).as_posix()
        for top in ("generated", "environments", ".github")
        for path in (REPOSITORY / top).rglob("*")
        if path.is_file()
    ]
    files += ["mlproject.yaml", "teams/vision/mlproject.yaml"]
    for pattern in patterns:
        wanted = pattern.strip("/") + ("/*" if pattern.endswith("/") else "")
        assert any(fnmatch.fnmatch(f"x/{name}" if wanted.startswith("**") else name, wanted) for name in files), pattern
