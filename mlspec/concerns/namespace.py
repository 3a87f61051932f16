"""Concern namespace: a managed namespace with its Pod Security label, quota and container defaults."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec import names
from mlspec.ir import Place, Plan
from mlspec.ir_environment import PlannedQuota
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource, compact

KINDS: Final = (("", "LimitRange"), ("", "Namespace"), ("", "ResourceQuota"))
"""(group, kind) of everything that this concern may emit."""


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield nothing for a namespace that others manage."""
    target = plan.target
    if not target.manage_namespace:
        return
    if target.namespace is not None:
        yield Resource(_namespace(plan, target.namespace), Place.FOUNDATION, ("name",))
    if target.quota is not None:
        for kind, spec in (("ResourceQuota", _quota(target.quota)), ("LimitRange", _limits(target.quota))):
            if spec:
                yield Resource(_object(plan, kind, spec), Place.FOUNDATION, ("name",))


def _namespace(plan: Plan, name: str) -> Body:
    labels = {
        **meta.project_labels(plan.project),
        meta.POD_SECURITY_ENFORCE: plan.pod_security or plan.target.pod_security,
        # Where something keeps the namespace from enforcing restricted, each pod that falls short says so.
        meta.POD_SECURITY_WARN: "restricted",
    }
    annotations = {**meta.wave(meta.NAMESPACE_WAVE), meta.SYNC_OPTIONS: "Prune=false,Delete=false"}
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta.metadata(name, None, labels, annotations)}


def _object(plan: Plan, kind: str, spec: Body) -> Body:
    labels, annotations = meta.project_labels(plan.project), meta.wave(meta.FOUNDATION_WAVE)
    metadata = meta.metadata(names.quota(plan.project), plan.target.namespace, labels, annotations)
    return {"apiVersion": "v1", "kind": kind, "metadata": metadata, "spec": spec}


def _quota(quota: PlannedQuota) -> Body:
    hard = compact(
        {
            "limits.cpu": quota.cpu,
            "limits.memory": quota.memory,
            "requests.cpu": quota.cpu,
            "requests.memory": quota.memory,
            "requests.storage": quota.storage,
        }
    )
    if quota.gpu is not None:
        hard |= {f"requests.{device}": str(quota.gpu) for device in quota.devices}
    return {"hard": hard} if hard else {}


def _limits(quota: PlannedQuota) -> Body:
    """Containers that an operator adds may come without resources, and a quota refuses those without defaults."""
    amounts = {"cpu": quota.default_cpu, "memory": quota.default_memory}
    return {"limits": [{"type": "Container", "default": amounts, "defaultRequest": dict(amounts)}]}
