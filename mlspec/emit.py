"""A plan in, its objects out: the kinds' own, then the concerns'."""

from __future__ import annotations

from typing import Final

from mlspec.all_kinds import KINDS
from mlspec.concerns import argocd, monitoring, namespace, network, rbac, storage
from mlspec.ir import Plan
from mlspec.k8s.resource import Body, Resource, in_order

CONCERNS: Final = (namespace, storage, rbac, network, monitoring)
EMITTED: Final = frozenset(
    [
        *((kind.GVK.group, kind.GVK.kind) for kind in KINDS.values()),
        *(kind for concern in CONCERNS for kind in concern.KINDS),
    ]
)
"""(group, kind) of everything that may ever be in a project's namespace, whatever this plan has of it."""


def emit(plan: Plan) -> list[Resource]:
    """Return every object of the project's namespace, in the order in which they are written."""
    own = [
        Resource(
            KINDS[stated.workload.kind].emit(stated.workload, plan.target),
            stated.facts.place,
            (stated.workload.section, stated.workload.name),
            stated.workload.is_run,
        )
        for stated in plan.workloads
    ]
    return in_order([*own, *(resource for concern in CONCERNS for resource in concern.emit(plan))])


def emit_argocd(plan: Plan, resources: list[Resource]) -> list[Body]:
    """Return the AppProject and the Applications that sync these objects."""
    return list(argocd.emit(plan, resources, EMITTED))
