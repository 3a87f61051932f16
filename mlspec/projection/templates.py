"""A pod template in, a Pod out: what every controller does alike.

Objects may have been patched into any shape when they come here, before their schema is judged; so what is read of
them is read with `k8s.values`, and nothing here fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import mapping

RANDOM: Final = "00000"
"""Stands for the five random characters behind a generated name."""
# Longer ones are cut, so that the name stays a label (k8s.io/apiserver pkg/storage/names/generate.go).
_LONGEST_BASE: Final = 58


def generated(base: str) -> str:
    """Return the name that the API server makes of a `generateName`; never longer than 63 characters."""
    return base[:_LONGEST_BASE] + RANDOM


def pod(name: str, namespace: str | None, template: Body, labels: Mapping[str, str]) -> Body:
    """Return the Pod that a controller makes of a template, with labels of its own.

    Left out are its owner, its finalizers and uids: they say who manages it in a cluster, not what it may do there.
    """
    written = mapping(mapping(template).get("metadata"))
    metadata: Body = {"name": name}
    if namespace is not None:
        metadata["namespace"] = namespace
    together = {**mapping(written.get("labels")), **labels}
    metadata["labels"] = {key: together[key] for key in sorted(together, key=str)}
    if annotations := mapping(written.get("annotations")):
        metadata["annotations"] = dict(annotations)
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": _specified(mapping(mapping(template).get("spec"))),
    }


def _specified(spec: Body) -> Body:
    """Return a spec whose own fields and whose containers' fields may be set; what is inside these is shared."""
    found = dict(spec)
    for sort in ("initContainers", "containers"):
        if isinstance(spec.get(sort), list):
            found[sort] = [dict(item) if isinstance(item, dict) else item for item in spec[sort]]
    return found
