"""Storage without disks: the classes that the goldens ask for, and a provisioner that gives each claim a volume."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx

from tests.cluster.harness.client import Api, Body, Watch
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import goldens

OUTSIDE: Final = "outside"
"""A class for claims that a project uses and others make."""
PROVISIONER: Final = "tests.mlspec.dev/volumes"
_NODE: Final = "volume.kubernetes.io/selected-node"


@contextmanager
def provisioner(api: Api) -> Iterator[None]:
    """Make the storage classes, and bind every claim of one of them as an external provisioner would."""
    for body in classes():
        answer = api.apply(body)
        assert answer.accepted, answer.message
    with _Claims(api):
        yield


def classes() -> list[Body]:
    """Return the storage classes that the goldens' claims name, binding as their environments say, and one more."""
    late = {OUTSIDE: False}
    for golden in goldens():
        for volume in golden.plan.volumes:
            if volume.storage_class and late.setdefault(volume.storage_class, volume.waits_for_consumer) != (
                volume.waits_for_consumer
            ):
                raise HarnessError("volumes", f"goldens disagree on how the class {volume.storage_class} binds")
    return [_class(name, waits) for name, waits in sorted(late.items())]


def _class(name: str, waits: bool) -> Body:
    return {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": name},
        "provisioner": PROVISIONER,
        "allowVolumeExpansion": True,
        "volumeBindingMode": "WaitForFirstConsumer" if waits else "Immediate",
    }


class _Claims(Watch):
    """Watches claims, makes the volume of each when its class allows it, and takes it away with the claim."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, "v1", "PersistentVolumeClaim")
        self._waiting = {body["metadata"]["name"]: body["volumeBindingMode"] != "Immediate" for body in classes()}

    def _see(self, change: Body) -> None:
        super()._see(change)
        claim = change["object"]
        if change["type"] == "DELETED":
            name = claim["spec"].get("volumeName")
            if name:
                self._api.delete({"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {"name": name}})
        elif change["type"] in {"ADDED", "MODIFIED"} and not claim["spec"].get("volumeName"):
            name = claim["spec"].get("storageClassName")
            chosen = _NODE in claim["metadata"].get("annotations", {})
            if name in self._waiting and (chosen or not self._waiting[name]):
                answer = self._api.create(_volume(claim))
                if answer.status not in {httpx.codes.CREATED, httpx.codes.CONFLICT}:  # it changed before it was bound
                    raise HarnessError("volumes", f"no volume for {claim['metadata']['name']}: {answer.message}")


def _volume(claim: Body) -> Body:
    meta = claim["metadata"]
    reference = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "name": meta["name"]}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": f"pvc-{meta['uid']}", "annotations": {"pv.kubernetes.io/provisioned-by": PROVISIONER}},
        "spec": {
            "capacity": {"storage": claim["spec"]["resources"]["requests"]["storage"]},
            "accessModes": claim["spec"]["accessModes"],
            "storageClassName": claim["spec"]["storageClassName"],
            "persistentVolumeReclaimPolicy": "Retain",
            "claimRef": {**reference, "namespace": meta["namespace"], "uid": meta["uid"]},
            "hostPath": {"path": f"/var/lib/volumes/{meta['uid']}"},
        },
    }
