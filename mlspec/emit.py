"""A plan in, its objects out: the kinds' own, then the concerns'."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from mlspec import levels, pod_security
from mlspec.all_kinds import KINDS
from mlspec.concerns import argocd, files, gate, monitoring, namespace, network, queue, rbac, secrets, storage
from mlspec.ir import Plan, Stated, Target
from mlspec.k8s import patch
from mlspec.k8s.resource import Body, Patched, Resource, in_order
from mlspec.kind_base import spec_of
from mlspec.kind_specs import WorkloadSpec
from mlspec.plan.history import History

CONCERNS: Final = (namespace, storage, secrets, queue, rbac, network, files, gate, monitoring)
EMITTED: Final = frozenset(
    [
        *((kind.GVK.group, kind.GVK.kind) for kind in KINDS.values()),
        *(kind for concern in CONCERNS for kind in concern.KINDS),
    ]
)
"""(group, kind) of everything that may ever be in a project's namespace, whatever this plan has of it."""


_NO_HISTORY: Final = History()


def emit(plan: Plan, kubernetes: str | None = None, history: History = _NO_HISTORY) -> list[Resource]:
    """Return every object of the project's namespace, in the order in which they are written.

    The namespace comes last: what will run decides what it may refuse, as the version of Kubernetes judges it. Without
    a version (the base, which has no namespace) that stays open.
    """
    minor = pod_security.minor_of(kubernetes) if kubernetes is not None else None
    found = [_own(stated, plan.target, minor) for stated in plan.workloads]
    found += (resource for concern in CONCERNS if concern is not namespace for resource in concern.emit(plan))
    if minor is not None:
        plan = replace(plan, pod_security=levels.enforced(plan.target, found, minor, history))
    return in_order([*found, *namespace.emit(plan)])


def _own(stated: Stated, target: Target, minor: int | None) -> Resource:
    """Return the object of a workload; what stands beside it is not patched."""
    workload = stated.workload
    kind = KINDS[workload.kind]
    body = kind.emit(workload, target)
    origin, run = (workload.section, workload.name), workload.object_name if workload.is_run else None
    written = spec_of(workload, WorkloadSpec).patch
    changed, patched = body, None
    if written:
        operations = tuple(operation.model_dump(exclude_unset=True) for operation in written)
        changed, refusal = patch.apply(body, operations)
        patched = Patched(body, operations, refusal)
    # Nothing runs of the base.
    projection = kind.project(changed, target, workload.storage_secrets) if minor is not None else None
    if run is not None and minor is not None and projection is not None:
        reached = levels.reached(projection, minor)
        changed = levels.telling(changed, reached)
        patched = replace(patched, before=levels.telling(body, reached)) if patched is not None else None
    return Resource(changed, stated.facts.place, origin, run, patched, projection)


def emit_argocd(plan: Plan, resources: list[Resource]) -> list[Body]:
    """Return the AppProject and the Applications that sync these objects."""
    return list(argocd.emit(plan, resources, EMITTED))
