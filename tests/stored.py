"""A projected object as an API server would store it, to be equal, field by field, to what was recorded.

Nothing is left out of a comparison but what is named here with its reason.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from mlspec.projection.templates import RANDOM
from tests.cluster.harness.operators import observe

Body = dict[str, Any]

LEFT_OUT: Final[Mapping[tuple[str, ...], str]] = {
    ("metadata", "ownerReferences"): "holds a uid, which only a cluster gives; tools skip pods that have an owner",
    ("metadata", "finalizers"): "the Job controller counts ended pods by it; nobody would remove it from a plain Pod",
    ("metadata", "generateName"): "the name stands for it, with random characters of ours",
    ("metadata", "labels", "controller-uid"): "the uid of the Job, given by the API server",
    ("metadata", "labels", "batch.kubernetes.io/controller-uid"): "the uid of the Job, given by the API server",
}
"""Fields of recorded objects that projected ones lack."""


def recorded(body: Body) -> Body:
    """Return a recorded object without what is left out."""
    found = body
    for path in LEFT_OUT:
        found = _without(found, path)
    return found


def stored(bodies: Sequence[Body], accounts: Mapping[str, Body] = MappingProxyType({})) -> list[Body]:
    """Return projected objects with the API server's defaults, normalised as the records are, and in their order.

    `accounts` are the ServiceAccounts by name: admission gives their pull secrets to pods that have none.
    """
    defaulted = [_admitted(_defaulted(body), accounts) for body in bodies]
    with_uid = [{**body, "metadata": {**body["metadata"], "uid": "(uid)"}} for body in defaulted]
    return observe.normal([_renamed(body) for body in with_uid])


def differences(projected: Any, made: Any, where: str = "") -> list[str]:
    """Return every field in which two values differ, with what each says; an empty list where they are equal."""
    if isinstance(projected, dict) and isinstance(made, dict):
        pairs = [(key, projected.get(key), made.get(key)) for key in sorted(projected.keys() | made.keys())]
    elif isinstance(projected, list) and isinstance(made, list) and len(projected) == len(made):
        pairs = [(str(index), *pair) for index, pair in enumerate(zip(projected, made, strict=True))]
    else:
        return [] if projected == made else [f"{where}: projected {projected!r}, made {made!r}"]
    return [text for key, left, right in pairs for text in differences(left, right, f"{where}.{key}")]


def _without(body: Body, path: tuple[str, ...]) -> Body:
    head, *rest = path
    if head not in body:
        return body
    if not rest:
        return {key: value for key, value in body.items() if key != head}
    return {**body, head: _without(body[head], tuple(rest))}


def _renamed(body: Body) -> Body:
    """Return an object with the record's word for random characters at the end of its name."""
    name = body["metadata"]["name"]
    if not name.endswith(RANDOM):
        return body
    return {**body, "metadata": {**body["metadata"], "name": f"{name.removesuffix(RANDOM)}(random)"}}


def _defaulted(body: Body) -> Body:
    """Return what the API server stores (pkg/apis/core/v1/defaults.go and pkg/registry/core/service)."""
    if body["kind"] == "Service":
        return {**body, "spec": {"type": "ClusterIP", "clusterIPs": [body["spec"]["clusterIP"]], **body["spec"]}}
    spec = {"enableServiceLinks": True, "securityContext": {}, **body["spec"]}
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [_container(container) for container in spec[field]]
    if "volumes" in spec:
        spec["volumes"] = [_volume(volume) for volume in spec["volumes"]]
    return {**body, "spec": spec}


def _container(container: Body) -> Body:
    ports = {"ports": [{"protocol": "TCP", **port} for port in container["ports"]]} if "ports" in container else {}
    return {"imagePullPolicy": _pull_policy(container["image"]), "resources": {}, **container, **ports}


def _admitted(body: Body, accounts: Mapping[str, Body]) -> Body:
    account = accounts.get(body["spec"].get("serviceAccountName", ""), {})
    secrets = {field: account[field] for field in ("imagePullSecrets",) if field in account}
    return {**body, "spec": {**secrets, **body["spec"]}}


def _pull_policy(image: str) -> str:
    tag = re.search(r":(?P<tag>[^/:@]+)(@.*)?$", image)
    return "Always" if "@" not in image and (tag is None or tag["tag"] == "latest") else "IfNotPresent"


def _volume(volume: Body) -> Body:
    """Return a volume with the mode of its files: 0644."""
    return {
        key: {"defaultMode": 0o644, **value} if key in ("configMap", "secret", "projected") else value
        for key, value in volume.items()
    }
