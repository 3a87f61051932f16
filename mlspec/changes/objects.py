"""What is of no subject of its own: Argo CD's objects, images, what leaves, and all that is left: nothing is hidden."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mlspec.changes import access, data, exposure, security, services
from mlspec.changes.fields import differences, same
from mlspec.changes.sides import Side
from mlspec.changes.values import Change, Deletion, Image, Object
from mlspec.ir import Stated
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Key, Resource

_PROTECTED: Final = "Prune=false"


def argocd(before: Side | None, after: Side | None) -> Iterator[Object]:
    """Yield the AppProject and Applications that differ."""
    old, new = (
        {(body["kind"], body["metadata"]["name"]): body for body in side.argocd} if side is not None else {}
        for side in (before, after)
    )
    for kind, name in sorted(old.keys() | new.keys()):
        found = _object(kind, name, old.get((kind, name)), new.get((kind, name)))
        if found is not None:
            yield found


def images(before: Side | None, after: Side | None) -> Iterator[Image]:
    """Yield the workloads that stay and whose images are others than before."""
    if before is None or after is None:
        return
    for section in ("steps", "services"):
        old, new = _workloads(before, section), _workloads(after, section)
        for name in sorted(old.keys() & new.keys()):
            was, now = (_images(side, section, name) for side in (before, after))
            if was != now:
                yield Image(name, tuple(i for i in was if i not in now), tuple(i for i in now if i not in was))


def deletions(before: Side | None, after: Side | None) -> Iterator[Deletion]:
    """Yield the objects that leave, runs left out: what becomes of those is told where they are."""
    if before is None:
        return
    kept = after.objects if after is not None else {}
    for key, resource in sorted(before.objects.items()):
        if key not in kept and not exposure.of_run(resource.body):
            yield Deletion(key.kind, key.name, _protected(resource.body))


def others(before: Side | None, after: Side | None) -> Iterator[Object]:
    """Yield objects that come or change, and that no other subject tells."""
    if after is None:
        return
    old = before.objects if before is not None else {}
    openings = exposure.told(before, after)
    for key, resource in sorted(after.objects.items()):
        was = old.get(key)
        found = _object(key.kind, key.name, was.body if was else None, resource.body)
        if found is not None and not _told(key, was, resource, before, after, openings):
            yield found


def _told(
    key: Key, was: Resource | None, now: Resource, before: Side | None, after: Side, openings: frozenset[str]
) -> bool:
    """Say whether another subject tells the difference of an object."""
    if services.is_service(after, key) or services.tells_gate(before, after, was, now):
        return True
    if key.kind == exposure.KIND:
        return key.name in openings
    if key.kind == data.KIND:
        return was is None or not same(was.body["spec"], now.body["spec"])
    if security.tells(key, was.body if was is not None else None, now.body):
        return True
    return key.kind in access.KINDS and (was is not None or key.kind != "ServiceAccount")


def _object(kind: str, name: str, was: Body | None, now: Body | None) -> Object | None:
    if was is not None and now is not None:
        return None if same(was, now) else Object(kind, name, Change.CHANGED, differences(was, now))
    return Object(kind, name, Change.ADDED if now is not None else Change.REMOVED)


def _protected(body: Body) -> bool:
    options = body["metadata"].get("annotations", {}).get(meta.SYNC_OPTIONS, "")
    return _PROTECTED in options.split(",")


def _workloads(side: Side, section: str) -> Mapping[str, Stated]:
    return side.steps if section == "steps" else side.services


def _images(side: Side, section: str, name: str) -> list[str]:
    bodies = [resource.body for resource in side.resources if resource.origin == (section, name)]
    return sorted({image for body in bodies for image in _inside(body)})


def _inside(value: Any) -> Iterator[str]:
    """Yield every image inside a manifest."""
    if isinstance(value, list):
        for item in value:
            yield from _inside(item)
    elif isinstance(value, dict):
        if isinstance(value.get("image"), str):
            yield value["image"]
        for item in value.values():
            yield from _inside(item)
