"""Pods with one security field weaker each, for tests that somebody notices."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

from mlspec.k8s.projected import ProjectedPods

Body = dict[str, Any]
_OF_A_POD: Final = (
    *("automountServiceAccountToken", "enableServiceLinks"),
    *(f"securityContext.{name}" for name in ("fsGroup", "runAsGroup", "runAsNonRoot", "runAsUser", "seccompProfile")),
)
_OF_A_CONTAINER: Final = (
    "resources.limits.cpu",
    "resources.limits.memory",
    *(
        f"securityContext.{name}"
        for name in (
            *("allowPrivilegeEscalation", "capabilities", "readOnlyRootFilesystem", "runAsGroup", "runAsNonRoot"),
            *("runAsUser", "seccompProfile"),
        )
    ),
)


_WEAK_POD: Final[dict[str, Any]] = {
    "automountServiceAccountToken": True,
    "enableServiceLinks": True,
    "hostNetwork": True,
    "hostPID": True,
    "shareProcessNamespace": True,
    "securityContext.supplementalGroups": [0],
    "securityContext.sysctls": [{"name": "kernel.msgmax", "value": "1"}],
    "securityContext.fsGroup": 0,
    "securityContext.runAsUser": 0,
    "securityContext.runAsNonRoot": False,
    "securityContext.seccompProfile": {"type": "Unconfined"},
    "volumes": [{"name": "host", "hostPath": {"path": "/"}}],
}
_WEAK_CONTAINER: Final[dict[str, Any]] = {
    "securityContext.allowPrivilegeEscalation": True,
    "securityContext.capabilities": {"add": ["NET_ADMIN"], "drop": ["ALL"]},
    "securityContext.privileged": True,
    "securityContext.procMount": "Unmasked",
    "securityContext.readOnlyRootFilesystem": False,
    "securityContext.runAsGroup": 0,
    "securityContext.runAsNonRoot": False,
    "securityContext.runAsUser": 1000,
    "securityContext.seccompProfile": {"type": "Unconfined"},
    "ports": [{"containerPort": 80, "hostPort": 80}],
    "livenessProbe": {"httpGet": {"host": "10.0.0.1", "port": 80}},
}


def weakened(kind: str, group: ProjectedPods) -> Iterator[tuple[str, Body]]:
    """Yield the first pod with one security field weaker each: taken away, where it has it, or with a bad value."""
    pod, added = group.first, group.added
    own = [number for number, item in enumerate(pod["spec"]["containers"]) if item["name"] not in added]
    # The context of Seldon's pods is the operator's: 8888 for all that says no user. And KServe's modelcar lets the
    # server see its processes.
    whole = [path for path in _OF_A_POD if kind != "SeldonDeployment" or not path.startswith("securityContext")]
    weak = {key: value for key, value in _WEAK_POD.items() if key != "shareProcessNamespace" or "modelcar" not in added}
    if kind == "SeldonDeployment":
        weak = {key: value for key, value in weak.items() if not key.startswith("securityContext.run")}
        del weak["securityContext.fsGroup"]
    for start, gone, changed in (
        ((), whole, weak),
        *((("containers", number), _OF_A_CONTAINER, _WEAK_CONTAINER) for number in own),
    ):
        for path in gone:
            yield from _without(pod, start, path)
        for path, value in changed.items():
            yield _changed(pod, start, path, value)


def _at(pod: Body, start: tuple[Any, ...], path: str) -> tuple[Body, str]:
    """Return the map that holds a field, made where it is missing, and the field's last key."""
    found: Any = pod["spec"]
    for key in start:
        found = found[key]
    *before, last = path.split(".")
    for name in before:
        found = found.setdefault(name, {})
    return found, last


def _without(pod: Body, start: tuple[Any, ...], path: str) -> Iterator[tuple[str, Body]]:
    changed = copy.deepcopy(pod)
    found, last = _at(changed, start, path)
    if found.pop(last, None) is not None:
        yield f"{start} {path} is gone", changed


def _changed(pod: Body, start: tuple[Any, ...], path: str, value: Any) -> tuple[str, Body]:
    changed = copy.deepcopy(pod)
    found, last = _at(changed, start, path)
    found[last] = [*found.get(last, []), *value] if isinstance(value, list) else value
    return f"{start} {path} is {value}", changed
