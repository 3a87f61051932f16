"""Concern rbac: a ServiceAccount without token for every workload, and Roles for the people of a project."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec import names
from mlspec.ir import Place, Plan, Stated
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource, compact

_RBAC = "rbac.authorization.k8s.io"
KINDS: Final = (("", "ServiceAccount"), (_RBAC, "Role"), (_RBAC, "RoleBinding"))
"""(group, kind) of everything that this concern may emit."""
_READ = ["get", "list", "watch"]
# Kinds that concerns and Kubernetes itself add to a project's namespace; Secrets are left out on purpose.
_CORE = [
    "configmaps",
    "events",
    "limitranges",
    "persistentvolumeclaims",
    "pods",
    "pods/log",
    "resourcequotas",
    "serviceaccounts",
    "services",
]


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield accounts, and two Roles with their bindings."""
    for stated in plan.workloads:
        workload = stated.workload
        yield Resource(_account(plan, stated), Place.FOUNDATION, (workload.section, workload.name))
    roles = (
        (names.viewer(plan.project), _viewer_rules(plan), plan.target.viewers),
        (names.operator(plan.project), _viewer_rules(plan) + _operator_rules(plan), plan.target.operators_groups),
    )
    for name, rules, groups in roles:
        yield Resource(_object(plan, "Role", name, {"rules": rules}), Place.FOUNDATION, ("name",))
        if groups:
            yield Resource(_object(plan, "RoleBinding", name, _binding(name, groups)), Place.FOUNDATION, ("owner",))


def _account(plan: Plan, stated: Stated) -> Body:
    workload, target = stated.workload, plan.target
    labels = {**meta.project_labels(plan.project), "app.kubernetes.io/name": workload.name}
    annotations = {**meta.wave(meta.FOUNDATION_WAVE), **target.account_annotations}
    return compact(
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": meta.metadata(workload.name, target.namespace, labels, annotations),
            "automountServiceAccountToken": False,
            "imagePullSecrets": [{"name": name} for name in target.pull_secrets],
            # The storage initializers of KServe and Seldon look for credentials in the Secrets of the ServiceAccount.
            "secrets": [{"name": name} for name in sorted(set(workload.storage_secrets.values()))],
        }
    )


def _object(plan: Plan, kind: str, name: str, fields: Body) -> Body:
    labels, annotations = meta.project_labels(plan.project), meta.wave(meta.FOUNDATION_WAVE)
    metadata = meta.metadata(name, plan.target.namespace, labels, annotations)
    return {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": metadata, **fields}


def _viewer_rules(plan: Plan) -> list[Body]:
    rules: list[Body] = [
        {"apiGroups": [""], "resources": list(_CORE), "verbs": list(_READ)},
        {"apiGroups": ["networking.k8s.io"], "resources": ["networkpolicies"], "verbs": list(_READ)},
    ]
    return rules + [
        {"apiGroups": [group], "resources": resources, "verbs": list(_READ)}
        for group, resources in _kinds(plan, runs_only=False)
    ]


def _operator_rules(plan: Plan) -> list[Body]:
    rules: list[Body] = [{"apiGroups": [""], "resources": ["pods"], "verbs": ["delete"]}]
    return rules + [
        {"apiGroups": [group], "resources": resources, "verbs": ["delete"]}
        for group, resources in _kinds(plan, runs_only=True)
    ]


def _kinds(plan: Plan, *, runs_only: bool) -> list[tuple[str, list[str]]]:
    groups: dict[str, set[str]] = {}
    for stated in plan.workloads:
        if stated.workload.is_run or not runs_only:
            groups.setdefault(stated.facts.gvk.group, set()).add(stated.facts.gvk.kind.lower() + "s")
    if not runs_only:
        # Why a model is not served (its gate is a Job), and why a run waits, is for its people to see.
        if plan.services:
            groups.setdefault("batch", set()).add("jobs")
        if any(stated.workload.run.queue is not None for stated in plan.steps):
            groups.setdefault("kueue.x-k8s.io", set()).update(("localqueues", "workloads"))
        # Why a Secret is not there; its values are not in it.
        if plan.external_secrets:
            groups.setdefault("external-secrets.io", set()).add("externalsecrets")
    return [(group, sorted(resources)) for group, resources in sorted(groups.items())]


def _binding(role: str, groups: tuple[str, ...]) -> Body:
    return {
        "roleRef": {"apiGroup": _RBAC, "kind": "Role", "name": role},
        "subjects": [{"apiGroup": _RBAC, "kind": "Group", "name": group} for group in sorted(set(groups))],
    }
