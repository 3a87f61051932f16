"""Concern queue: the LocalQueues of a managed namespace, each a door to the ClusterQueue of its name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.ir import Place, Plan
from mlspec.k8s import meta
from mlspec.k8s.resource import Resource

GROUP: Final = "kueue.x-k8s.io"
KINDS: Final = ((GROUP, "LocalQueue"),)
"""(group, kind) of everything that this concern may emit."""
_STORES_V1BETA2: Final = (0, 16)
"""0.16 is the first to store v1beta2 and to deprecate v1beta1 (its CustomResourceDefinition of LocalQueues)."""


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield nothing where others manage the namespace: its queues are theirs.

    They are in the last wave, behind everything that a run needs: while Kueue's webhook does not answer, nothing but
    them is missing.
    """
    target = plan.target
    if target.kueue is None:
        return
    for name in target.queues:
        body = {
            "apiVersion": f"{GROUP}/{_version(target.kueue)}",
            "kind": "LocalQueue",
            "metadata": meta.metadata(name, target.namespace, meta.project_labels(plan.project)),
            "spec": {"clusterQueue": name},
        }
        yield Resource(body, Place.FOUNDATION, ("name",))


def _version(kueue: str) -> str:
    """Return the API version that a Kueue stores as it is written, and about which it does not warn."""
    release = tuple(map(int, kueue.split(".")[:2]))
    return "v1beta2" if release >= _STORES_V1BETA2 else "v1beta1"
