"""The tables by kind of object, and which of the fields that make a value is the one to point at."""

from __future__ import annotations

from typing import Final, NamedTuple

from mlspec.ir_sources import Source
from mlspec.k8s import meta
from mlspec.provenance import argocd, foundation, network, workloads
from mlspec.provenance.rows import Table
from mlspec.provenance.view import Chain, Origin, Path, View, is_written, walk

TABLES: Final[dict[str, Table]] = {
    "Job": workloads.JOB,
    "PyTorchJob": workloads.PYTORCH,
    "TFJob": workloads.TENSORFLOW,
    "InferenceService": workloads.KSERVE,
    "SeldonDeployment": workloads.SELDON,
    "Namespace": foundation.NAMESPACE,
    "ResourceQuota": foundation.QUOTA,
    "LimitRange": foundation.LIMITS,
    "PersistentVolumeClaim": foundation.CLAIM,
    "ServiceAccount": foundation.ACCOUNT,
    "Role": foundation.ROLE,
    "RoleBinding": foundation.BINDING,
    "ConfigMap": foundation.FILES,
    "LocalQueue": foundation.QUEUE,
    "ExternalSecret": foundation.EXTERNAL_SECRET,
    "Service": foundation.METRICS,
    "ServiceMonitor": foundation.MONITOR,
    "NetworkPolicy": network.POLICY,
    "AppProject": argocd.APP_PROJECT,
    "Application": argocd.APPLICATION,
}
"""The table of every kind that is emitted; of a gate's Job see `origin`."""


class Found(NamedTuple):
    """The field to point at, and the others that are written and have a say in the value."""

    source: Source
    others: tuple[Source, ...] = ()


def origin(view: View, path: Path) -> Origin:
    """Return everything that decides on a field of an object, written or not."""
    kind = str(view.body["kind"])
    if kind == "Job" and meta.GATE_OF in (view.body["metadata"].get("labels") or {}):
        return foundation.GATE.origin(view, path)
    table = TABLES.get(kind)
    return table.origin(view, path) if table is not None else ((Source(view.origin),),)


def find(view: View, path: Path) -> Found:
    """Return the field that a value comes from, which is one that is written.

    Of a default of mlspec's own it is the nearest field of the project around where the value would be written.
    """
    return among(view, origin(view, path))


def among(view: View, chains: Origin) -> Found:
    """Return the field to point at of those that decide on something; see `find`."""
    written = [source for chain in chains if (source := _written(view, chain)) is not None]
    if chains and _written(view, chains[0]) is not None:
        return Found(written[0], tuple(dict.fromkeys(one for one in written[1:] if one != written[0])))
    return Found(_nearest(view, chains), tuple(dict.fromkeys(written)))


def _written(view: View, chain: Chain) -> Source | None:
    """Return the first field of a chain that somebody wrote; a shorthand as it is written."""
    trees = {False: view.variant.tree, True: view.environment.tree}
    found = next((source for source in chain if is_written(trees[source.of_environment], source.path)), None)
    return None if found is None else found._replace(path=walk(trees[found.of_environment], found.path))


def _nearest(view: View, chains: Origin) -> Source:
    """Return the nearest field around the first one that a project could write."""
    inside = [source for chain in chains for source in chain if not source.of_environment]
    path = inside[0].path if inside else view.origin
    return Source(walk(view.variant.tree, path) or view.origin)
