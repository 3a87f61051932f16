"""A strategic merge, as KServe uses it for containers and pod specs (k8s.io/apimachinery, util/strategicpatch)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import copied

# Which field tells the items of a list apart (`patchMergeKey` in k8s.io/api/core/v1/types.go); other lists replace.
_KEYS: Final = {
    "containers": "name",
    "env": "name",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ports": "containerPort",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}


def merged(base: Body, patch: Body) -> Body:
    """Return `base` with the fields of `patch`, neither of them changed: maps are merged, and lists that have a key."""
    found: Body = copied(base)
    for key, value in patch.items():
        old = found.get(key)
        if isinstance(value, dict) and isinstance(old, dict):
            found[key] = merged(old, value)
        elif isinstance(value, list) and isinstance(old, list) and key in _KEYS:
            found[key] = _merged_list(old, value, _KEYS[key])
        elif value is not None:
            found[key] = copied(value)
        else:
            found.pop(key, None)
    return found


def _merged_list(base: Sequence[Any], patch: Sequence[Any], key: str) -> list[Any]:
    """Return both lists as one, in the order that the server gives them (normalizeElementOrder).

    Items of the patch keep theirs; before each of them stand those of the base alone that were in front of it there.
    Items that are only in the patch thus come before those that are only in the base.
    """
    before = {item.get(key): item for item in base}
    places = {item.get(key): place for place, item in enumerate(base)}
    ours = [merged(before.get(item.get(key), {}), item) for item in patch]
    named = {item.get(key) for item in patch}
    theirs = [copied(item) for item in base if item.get(key) not in named]
    found: list[Any] = []
    for item in ours:
        place = places.get(item.get(key))
        while place is not None and theirs and places[theirs[0].get(key)] < place:
            found.append(theirs.pop(0))
        found.append(item)
    return found + theirs
