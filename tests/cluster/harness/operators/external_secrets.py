"""A stand-in for the controller of external-secrets: it makes Secrets, and says so, as the controller does.

The controller itself needs the clients of two dozen clouds to build, and would have no store to read. What it does to
an ExternalSecret and to its Secret is from v0.16.2, pkg/controllers/externalsecret: the condition Ready with its
reason, the Secret that it owns, and the labels and annotations that it copies there.
"""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import httpx

from tests.cluster.harness.client import Answer, Api, Body, Watch
from tests.cluster.harness.errors import HarnessError

API_VERSION: Final = "external-secrets.io/v1"
KIND: Final = "ExternalSecret"
SILENT: Final = "silent"
"""A store that does not answer."""
_TIME: Final = "2026-01-01T00:00:00Z"
_DONE: Final = frozenset({httpx.codes.OK, httpx.codes.CREATED, httpx.codes.CONFLICT, httpx.codes.NOT_FOUND})
"""An object may change or go while it is read: the next change tells."""


@contextmanager
def external_secrets(api: Api) -> Iterator[None]:
    """Answer for every ExternalSecret until the end of the block; its definition is there already."""
    with _Controller(api):
        yield


class _Controller(Watch):
    """Watches ExternalSecrets, makes the Secret of each, and writes what came of it into its status."""

    def __init__(self, api: Api) -> None:
        super().__init__(api, API_VERSION, KIND)

    def _see(self, change: Body) -> None:
        super()._see(change)
        external = change["object"]
        if change["type"] not in {"ADDED", "MODIFIED"} or "deletionTimestamp" in external["metadata"]:
            return
        status = _status(external)
        if external.get("status") == status:
            return
        if external["spec"]["secretStoreRef"]["name"] != SILENT:
            self._done(self._api.apply(_secret(external), manager="external-secrets"))
        self._done(self._api.patch({**external, **self._kind}, {"status": status}, part="/status"))

    def _done(self, answer: Answer) -> None:
        if answer.status not in _DONE:
            raise HarnessError("external-secrets", f"{answer.status}: {answer.message}")


def _status(external: Body) -> Body:
    silent = external["spec"]["secretStoreRef"]["name"] == SILENT
    condition = {
        "type": "Ready",
        "status": "False" if silent else "True",
        "reason": "SecretSyncedError" if silent else "SecretSynced",
        "message": "could not get secret data from provider" if silent else "secret synced",
        "lastTransitionTime": _TIME,
    }
    generation = f"{external['metadata']['generation']}-of-what-was-applied"
    return {"conditions": [condition], "refreshTime": _TIME, "syncedResourceVersion": generation}


def _secret(external: Body) -> Body:
    about = external["metadata"]
    owner = {"apiVersion": API_VERSION, "kind": KIND, "name": about["name"], "uid": about["uid"]}
    value = base64.b64encode(b"a value of the store").decode()
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {
            "name": about["name"],
            "namespace": about["namespace"],
            "labels": about.get("labels", {}),
            "annotations": about.get("annotations", {}),
            "ownerReferences": [{**owner, "controller": True, "blockOwnerDeletion": True}],
        },
        "data": {row["secretKey"]: value for row in external["spec"]["data"]},
    }
