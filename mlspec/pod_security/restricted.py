"""The restricted level: what is known to be good practice for pods is asked for, on top of baseline.

Source: as in `baseline`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.k8s.values import at, numbered, words
from mlspec.pod_security.baseline import any_proc_mount, is_filtered
from mlspec.pod_security.control import Control, Fault, of_context
from mlspec.pod_security.reading import Reading

_VOLUMES: Final = frozenset(
    (
        *("configMap", "csi", "downwardAPI", "emptyDir", "ephemeral"),
        *("image", "persistentVolumeClaim", "projected", "secret"),
    )
)
_WINDOWS: Final = 25
"""The minor version since which pods that say that they are for Windows need not set what Windows does not have."""
_USER_NAMESPACES: Final = 35
"""The minor version since which pods with users of their own may be root inside."""


def escalation(pod: Reading) -> Iterator[Fault]:
    """No process gets more rights than its parent."""
    if _is_exempt_windows(pod):
        return
    for name, _, context in pod.containers:
        if at(context, "allowPrivilegeEscalation") is not False:
            yield of_context(name, "allowPrivilegeEscalation", "must be false")


def all_capabilities(pod: Reading) -> Iterator[Fault]:
    """All capabilities are dropped; the one to bind low ports may be added."""
    if _is_exempt_windows(pod):
        return
    for name, _, context in pod.containers:
        if "ALL" not in words(context, "capabilities", "drop"):
            yield of_context(name, "capabilities.drop", "must have ALL")
        beyond = sorted(set(words(context, "capabilities", "add")) - {"NET_BIND_SERVICE"})
        if beyond:
            yield of_context(name, "capabilities.add", f"must not have {', '.join(beyond)}")


def volume_types(pod: Reading) -> Iterator[Fault]:
    """Volumes are those that a claim, the cluster's API or the pod itself gives, never a server named in the pod."""
    for number, volume in numbered(pod.spec, "volumes"):
        kinds = {key for key, value in volume.items() if key != "name" and value is not None}
        if kinds and not kinds & _VOLUMES:  # without any it is an emptyDir: the API server's default
            field = ("spec", "volumes", number, min(kinds))
            yield Fault("", f"volume {volume.get('name')} must not be a {', '.join(sorted(kinds))}", field)


def non_root(pod: Reading) -> Iterator[Fault]:
    """Every container must not start as root, by its own context or the pod's."""
    if _may_be_root(pod):
        return
    inherited = at(pod.context, "runAsNonRoot")
    if inherited is False:
        yield of_context("", "runAsNonRoot", "must not be false")
    for name, _, context in pod.containers:
        own = at(context, "runAsNonRoot")
        if own is False or (own is None and inherited is not True):
            yield of_context(name, "runAsNonRoot", "must be true")


def not_user_zero(pod: Reading) -> Iterator[Fault]:
    """The user is not root by number."""
    if _may_be_root(pod):
        return
    for name, context in pod.contexts():
        if at(context, "runAsUser") == 0:
            yield of_context(name, "runAsUser", "must not be 0")


def seccomp(pod: Reading) -> Iterator[Fault]:
    """Every container's system calls are filtered, by its own context or the pod's."""
    if _is_exempt_windows(pod):
        return
    inherited = is_filtered(pod.context)
    if at(pod.context, "seccompProfile") is not None and not inherited:
        yield of_context("", "seccompProfile.type", "must be RuntimeDefault or Localhost")
    for name, _, context in pod.containers:
        if not is_filtered(context) and (at(context, "seccompProfile") is not None or not inherited):
            yield of_context(name, "seccompProfile.type", "must be RuntimeDefault or Localhost")


def _is_exempt_windows(pod: Reading) -> bool:
    return pod.is_windows and pod.minor >= _WINDOWS


def _may_be_root(pod: Reading) -> bool:
    return pod.has_user_namespace and pod.minor >= _USER_NAMESPACES


RESTRICTED: Final = (
    Control("allowPrivilegeEscalation != false", escalation, since=8),
    Control("unrestricted capabilities", all_capabilities, since=22, replaces="non-default capabilities"),
    Control("procMount", any_proc_mount, since=35, replaces="procMount"),
    Control("restricted volume types", volume_types, replaces="hostPath volumes"),
    Control("runAsNonRoot != true", non_root),
    Control("runAsUser=0", not_user_zero, since=23),
    Control("seccompProfile", seccomp, since=19, replaces="seccompProfile"),
)
