"""Concern storage: a PersistentVolumeClaim for every volume that is not an existing claim."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.ir import Place, Plan, PlannedVolume
from mlspec.k8s import meta
from mlspec.k8s.resource import Resource, compact

KINDS: Final = (("", "PersistentVolumeClaim"),)
"""(group, kind) of everything that this concern may emit."""


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield the claims; data outlives every sync, prune and deletion of the application."""
    for volume in plan.volumes:
        body = {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "metadata": meta.metadata(
                volume.name, plan.target.namespace, meta.project_labels(plan.project), _annotations(volume)
            ),
            # Class, mode and access are written out: left to a default they would be drift after an adoption.
            "spec": compact(
                {
                    "accessModes": [volume.access],
                    "resources": {"requests": {"storage": volume.size}},
                    "storageClassName": volume.storage_class,
                    "volumeMode": "Filesystem",
                }
            ),
        }
        yield Resource(body, Place.FOUNDATION, ("volumes", volume.name))


def _annotations(volume: PlannedVolume) -> dict[str, str]:
    """Return what protects a claim; the last wave is never waited for, so an unbound claim blocks nothing.

    A claim that waits for its consumer is Pending until the first run: its health says nothing. One that binds
    at once and does not is a fault that the Application should show.
    """
    annotations = {
        **meta.wave(0),
        meta.SYNC_OPTIONS: "Prune=false,Delete=false",
        meta.COMPARE_OPTIONS: "IgnoreExtraneous",
    }
    return annotations | ({meta.IGNORE_HEALTH: "true"} if volume.waits_for_consumer else {})
