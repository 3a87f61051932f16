"""Rules about who may do what: people through Roles, workloads through accounts, Argo CD through its AppProject."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.k8s.resource import CLUSTER_SCOPED
from mlspec.model.scalars import expand
from mlspec.policy.subject import Path, Rule, Subject, Violation

_EVERYBODY: Final = ("system:authenticated", "system:unauthenticated", "system:serviceaccounts")
_MASTERS: Final = "system:masters"
_READ: Final = frozenset(("get", "list", "watch"))
_HIDDEN: Final = frozenset(("secrets", "serviceaccounts/token"))
"""What nobody reads through a Role of ours: a Secret is for the pods that name it."""
_SOURCE: Final = frozenset(("repoURL", "targetRevision", "path"))


def everybody(subject: Subject) -> Iterator[Violation]:
    """A Role of the project is bound to a group that is not a group of people: `system:authenticated` and
    `system:unauthenticated` are everyone who reaches the API server, `system:serviceaccounts` every pod with a token,
    and `system:masters` may do everything already. Name a group of the identity provider in `access`, or in `owner`.
    """
    groups = subject.environment.access
    for field, patterns in (("viewers", groups.viewers), ("operators", groups.operators)):
        for index, pattern in enumerate(patterns):
            group = expand(pattern, project=subject.project.name, environment=subject.name, owner=subject.project.owner)
            if not (group.startswith(_EVERYBODY) or group == _MASTERS):
                continue
            message = f"{field} of {subject.project.name} in {subject.name} would be `{group}`"
            help = "name a group of people, as the identity provider calls it"
            of_owner = subject.project.owner.startswith("system:") and "{owner}" in pattern
            path: Path = ("owner",) if of_owner else ("access", field, index)
            yield Violation(message, path, help, of_environment=not of_owner)


def argocd(subject: Subject) -> Iterator[Violation]:
    """The AppProject is the wall between projects: it names one repository, one namespace of one cluster, and kinds.
    A wildcard in one of them lets a commit to this project change what is another's, and Secrets, roles of the cluster
    or webhooks among the kinds let it take more rights than it was given. An Application reads plain kustomize
    overlays: with Helm, plugins, Jsonnet or kustomize options of its own, Argo CD would run what is in Git
    (CVE-2026-113708 and -113709, fixed in 3.3.15 and 3.4.10).
    """
    for body in subject.argocd:
        name, spec = body["metadata"]["name"], body["spec"]
        for problem, path in (
            _of_project(subject, spec) if body["kind"] == "AppProject" else _of_application(subject, spec)
        ):
            yield Violation(f"{body['kind']} {name}: {problem}", path, "name exactly one", of_environment=True)


def _of_project(subject: Subject, spec: Body) -> Iterator[tuple[str, Path]]:
    for repository in spec["sourceRepos"]:
        if _is_glob(repository):
            yield f"source `{repository}` is a pattern", ("argocd", "repoURL")
    if spec["sourceRepos"] != [subject.environment.argocd.repo_url]:
        yield "its sources are not the one repository that is declared", ("argocd", "repoURL")
    wanted = {"server": subject.environment.cluster.server, "namespace": subject.plan.target.namespace}
    for destination in spec["destinations"]:
        if any(_is_glob(str(value)) for value in destination.values()):
            yield f"destination {_shown(destination)} is a pattern", ("cluster", "server")
    if spec["destinations"] != [wanted]:
        yield "its destinations are not the one namespace of the project", ("cluster", "server")
    yield from _of_kinds(subject, spec)


def _of_kinds(subject: Subject, spec: Body) -> Iterator[tuple[str, Path]]:
    own = subject.plan.target.namespace
    for entry in spec.get("clusterResourceWhitelist", ()):
        named = entry.get("name", own) == own
        if (entry["group"], entry["kind"]) != ("", "Namespace") or not named:
            yield f"it may change {_shown(entry)} of the cluster", ("argocd",)
    for entry in spec.get("namespaceResourceWhitelist", ({"group": "*", "kind": "*"},)):
        kind = str(entry["kind"])
        if "*" in (entry["group"], kind) or kind in ("Secret", *CLUSTER_SCOPED) or kind.startswith("Cluster"):
            yield f"it may change {_shown(entry)} of the namespace", ("argocd",)


def _of_application(subject: Subject, spec: Body) -> Iterator[tuple[str, Path]]:
    more = sorted(spec.get("source", {}).keys() - _SOURCE) + (["sources"] if "sources" in spec else [])
    if more:
        yield f"its source has {', '.join(more)}, so that Argo CD runs more than kustomize", ("argocd",)
    if spec["project"] in ("", "default"):
        yield "it belongs to the project that may do everything", ("argocd",)
    if spec["destination"].get("namespace") != subject.plan.target.namespace:
        yield "it writes to another namespace", ("argocd",)


def rights(subject: Subject) -> Iterator[Violation]:
    """A pod that trains or serves needs nothing of the Kubernetes API, so whoever takes it over must find nothing
    there either: no Role is bound to a ServiceAccount. People get to read, and operators to delete pods and runs; no
    Role of a project has a wildcard, creates, changes, or reads Secrets: changes go through Git.
    """
    runs = {stated.facts.gvk.kind.lower() + "s" for stated in subject.plan.steps}
    for resource in subject.resources:
        body = resource.body
        if body["kind"] in ("RoleBinding", "ClusterRoleBinding"):
            for one in body["subjects"]:
                if one["kind"] != "Group":
                    yield Violation(f"{resource.key} gives rights to {one['kind']} {one['name']}", ("name",))
        if body["kind"] == "Role":
            for rule in body["rules"]:
                for problem in _of_rule(rule, runs):
                    yield Violation(f"{resource.key} {problem}", ("name",))


def _of_rule(rule: Mapping[str, Any], runs: set[str]) -> Iterator[str]:
    words = {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
    if any("*" in word for word in words):
        yield "has a wildcard"
    if hidden := sorted(_HIDDEN & set(rule["resources"])):
        yield f"may read {', '.join(hidden)}"
    if more := sorted(set(rule["verbs"]) - _READ - {"delete"}):
        yield f"may {', '.join(more)}"
    if "delete" in rule["verbs"] and (others := sorted(set(rule["resources"]) - {"pods"} - runs)):
        yield f"may delete {', '.join(others)}"


def _is_glob(text: str) -> bool:
    return any(character in text for character in "*?[") or text.startswith("!")


def _shown(entry: Mapping[str, Any]) -> str:
    return ", ".join(f"{key} `{value}`" for key, value in entry.items())


RULES: Final = (
    Rule("MLS440", everybody),
    Rule("MLS441", argocd),
    Rule("MLS442", rights),
)
