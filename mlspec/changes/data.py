"""Claims: what is added, grows, is left behind, or would change in a way that Kubernetes refuses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.changes.fields import differences
from mlspec.changes.sides import Side
from mlspec.changes.values import Change, Data, Field
from mlspec.k8s.resource import Body
from mlspec.model.quantity import amount

KIND: Final = "PersistentVolumeClaim"


def data(before: Side | None, after: Side | None) -> Iterator[Data]:
    """Yield the claims that differ, but for their labels and annotations."""
    old = before.bodies(KIND) if before is not None else {}
    new = after.bodies(KIND) if after is not None else {}
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        if was is not None and now is not None:
            fields = tuple(_fields(was, now))
            if fields:
                yield Data(name, Change.CHANGED, *_words(now), fields, tuple(_refused(was, now)))
            continue
        body = now or was or {}
        yield Data(name, Change.ADDED if now else Change.REMOVED, *_words(body))


def _words(body: Body) -> tuple[str, str, str]:
    spec = body["spec"]
    return _size(body), ", ".join(spec["accessModes"]), str(spec.get("storageClassName", ""))


def _size(body: Body) -> str:
    return str(body["spec"]["resources"]["requests"]["storage"])


_NAMES: Final = {"accessModes": "access", "resources.requests.storage": "size", "storageClassName": "class"}


def _fields(was: Body, now: Body) -> Iterator[Field]:
    """Yield what differs, by the names that the spec has for it."""
    for field in differences(was["spec"], now["spec"]):
        yield Field(_NAMES.get(field.path, field.path), field.before, field.after)


def _refused(was: Body, now: Body) -> Iterator[str]:
    """Yield what a claim cannot do: only its size may change, and only grow (Kubernetes' API validation)."""
    if amount(_size(now)) < amount(_size(was)):
        yield "a claim cannot shrink"
    for field in _fields(was, now):
        if field.path != "size":
            yield f"the {field.path} of a claim cannot change"
