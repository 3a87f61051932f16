"""Takes objects out of a cluster at once, whatever their finalizers wait for: goldens share namespaces and names."""

from __future__ import annotations

from collections.abc import Iterable

from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.process import poll


def remove(api: Api, bodies: Iterable[Body], seconds: float = 20) -> None:
    """Delete objects, Namespaces excepted, and wait until they are gone.

    Raises:
        HarnessError: one stays.
    """
    waiting = [body for body in bodies if body["kind"] != "Namespace" and api.kind(body["apiVersion"], body["kind"])]
    for body in waiting:
        api.request("DELETE", api.path_of(body), propagationPolicy="Background", gracePeriodSeconds=0)
    for body in waiting:
        poll(f"removal of {body['kind']} {body['metadata']['name']}", lambda body=body: _gone(api, body), seconds)  # type: ignore[misc]


def _gone(api: Api, body: Body) -> bool:
    stored = api.request("GET", api.path_of(body))
    if not stored.accepted:
        return True
    if stored.body["metadata"].get("finalizers"):
        api.patch(body, {"metadata": {"finalizers": None}})
    return False
