"""Claims as they were generated before, against the plan: what Kubernetes would refuse, and data that would be lost.

A claim may grow; its class and access mode are for ever, and it never shrinks. It is found by its namespace and its
name, so a change of either would leave the data behind.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from mlspec.files.before import Before
from mlspec.k8s.resource import Body, Resource
from mlspec.model.quantity import amount

KIND = "PersistentVolumeClaim"


def check_claims(before: Before, resources: Sequence[Resource]) -> Iterator[tuple[Resource, str, str, str]]:
    """Yield (claim, field of the volume, what is wrong, help) for every change that a claim cannot make."""
    claims = before.named(KIND)
    for resource in resources:
        if resource.body["kind"] != KIND or resource.key.name not in claims:
            continue
        old, new = claims[resource.key.name]["spec"], resource.body["spec"]
        for field, was, now in (
            ("class", old.get("storageClassName"), new.get("storageClassName")),
            ("access", *(spec["accessModes"][0] for spec in (old, new))),
        ):
            if was != now:
                message = f"the {field} of a claim cannot change, from {was} to {now}"
                yield resource, field, message, "use a new volume, and copy the data"
        was, now = (spec["resources"]["requests"]["storage"] for spec in (old, new))
        if amount(now) < amount(was):
            yield resource, "size", f"a claim cannot shrink, from {was} to {now}", f"write `{was}` or more"


def renamed(before: Before, resources: Sequence[Resource], existing: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Yield (old, new) for every claim that is gone while another of the same kind is new: a volume that was renamed.

    A claim that another volume now names as existing is not left behind.
    """
    now = {resource.key.name: resource.body["spec"] for resource in resources if resource.body["kind"] == KIND}
    was = before.named(KIND)
    gone = sorted(was.keys() - now.keys() - set(existing))
    for new in sorted(now.keys() - was.keys()):
        old = next((name for name in gone if _alike(was[name]["spec"], now[new])), None)
        if old is not None:
            gone.remove(old)
            yield old, new


def _alike(old: Mapping[str, Body], new: Mapping[str, Body]) -> bool:
    return old["accessModes"] == new["accessModes"] and old.get("storageClassName") == new.get("storageClassName")
