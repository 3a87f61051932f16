"""A plan in, its objects out: the kinds' own, then the concerns'."""

from __future__ import annotations

from typing import Final

from mlspec.all_kinds import KINDS
from mlspec.concerns import argocd, files, gate, monitoring, namespace, network, queue, rbac, storage
from mlspec.ir import Plan, Stated, Target
from mlspec.k8s import patch
from mlspec.k8s.resource import Body, Patched, Resource, in_order
from mlspec.kind_base import spec_of
from mlspec.kind_specs import WorkloadSpec

CONCERNS: Final = (namespace, storage, queue, rbac, network, files, gate, monitoring)
EMITTED: Final = frozenset(
    [
        *((kind.GVK.group, kind.GVK.kind) for kind in KINDS.values()),
        *(kind for concern in CONCERNS for kind in concern.KINDS),
    ]
)
"""(group, kind) of everything that may ever be in a project's namespace, whatever this plan has of it."""


def emit(plan: Plan) -> list[Resource]:
    """Return every object of the project's namespace, in the order in which they are written."""
    own = [_own(stated, plan.target) for stated in plan.workloads]
    return in_order([*own, *(resource for concern in CONCERNS for resource in concern.emit(plan))])


def _own(stated: Stated, target: Target) -> Resource:
    """Return the object of a workload; what stands beside it is not patched."""
    workload = stated.workload
    body = KINDS[workload.kind].emit(workload, target)
    origin, run = (workload.section, workload.name), workload.object_name if workload.is_run else None
    written = spec_of(workload, WorkloadSpec).patch
    if not written:
        return Resource(body, stated.facts.place, origin, run)
    operations = tuple(operation.model_dump(exclude_unset=True) for operation in written)
    changed, refusal = patch.apply(body, operations)
    return Resource(changed, stated.facts.place, origin, run, Patched(body, operations, refusal))


def emit_argocd(plan: Plan, resources: list[Resource]) -> list[Body]:
    """Return the AppProject and the Applications that sync these objects."""
    return list(argocd.emit(plan, resources, EMITTED))
