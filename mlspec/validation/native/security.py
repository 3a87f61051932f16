"""Security contexts of pods and containers.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validatePodSpecSecurityContext,
ValidateSecurityContext, validateSeccompProfileField, ValidateAppArmorProfileField, validateSysctls, validateHostUsers,
validateOS, validateLinux, validateWindows). Options of Windows are not looked into.
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import forms
from mlspec.validation.native.found import Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS326"
_MOST: Final = 2**31 - 1
"""The highest number of a user or group."""
_PROFILES: Final = frozenset({"Localhost", "RuntimeDefault", "Unconfined"})
_PROC_SINCE: Final = (1, 33)
"""Since when the server keeps `procMount` and `hostUsers` (features ProcMountType, UserNamespacesSupport)."""
_WINDOWS_POD: Final = frozenset(
    {"appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy", "sysctls", "runAsUser"}
    | {"runAsGroup", "supplementalGroups", "supplementalGroupsPolicy", "seLinuxChangePolicy"}
)
_WINDOWS_CONTAINER: Final = frozenset(
    {"appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities", "readOnlyRootFilesystem", "privileged"}
    | {"allowPrivilegeEscalation", "procMount", "runAsUser", "runAsGroup"}
)
_WINDOWS_SPEC: Final = frozenset({"hostUsers", "hostPID", "hostIPC", "shareProcessNamespace"})


def pod(found: Found, spec: Body, path: Path) -> None:
    """Judge the context of a pod, and what it shares with its node."""
    context, where = child(spec, "securityContext"), (*path, "securityContext")
    if context:
        _users(found, context, where)
        found.between(CODE, (*where, "fsGroup"), number(context, "fsGroup"), 0, _MOST)
        groups = context.get("supplementalGroups")
        for index, group in enumerate(groups if isinstance(groups, list) else ()):
            if isinstance(group, int):
                found.between(CODE, (*where, "supplementalGroups", index), group, 0, _MOST)
        for field, allowed in (
            ("fsGroupChangePolicy", ("OnRootMismatch", "Always")),
            ("supplementalGroupsPolicy", ("Merge", "Strict")),
            ("seLinuxChangePolicy", ("Recursive", "MountOption")),
        ):
            since = (1, 31) if field == "fsGroupChangePolicy" else _PROC_SINCE
            if context.get(field) is not None and found.kubernetes >= since:
                found.one_of(CODE, (*where, field), context[field], allowed)
        if "sysctls" in context:
            _sysctls(found, spec, children(context, "sysctls"), (*where, "sysctls"))
        _profiles(found, context, where)
    _shared(found, spec, path)
    if "os" in spec:
        _system(found, spec, path)


def container(found: Found, context: Body, path: Path, spec: Body) -> None:
    """Judge the context of a container."""
    _users(found, context, path)
    process_mount = text(context, "procMount")
    if process_mount and found.kubernetes >= _PROC_SINCE:
        found.one_of(CODE, (*path, "procMount"), process_mount, ("Default", "Unmasked"))
        if process_mount == "Unmasked" and spec.get("hostUsers") is not False:
            found.add(CODE, (*path, "procMount"), "`Unmasked` needs `hostUsers: false`")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged") is True:
            found.add(CODE, (*path, "privileged"), "excludes `allowPrivilegeEscalation: false`")
        if "CAP_SYS_ADMIN" in strings(below(context, "capabilities"), "add"):
            found.add(CODE, (*path, "capabilities"), "`CAP_SYS_ADMIN` excludes `allowPrivilegeEscalation: false`")
    _profiles(found, context, path)


def _users(found: Found, context: Body, path: Path) -> None:
    for field in ("runAsUser", "runAsGroup"):
        if field in context:
            found.between(CODE, (*path, field), number(context, field), 0, _MOST)


def _profiles(found: Found, context: Body, path: Path) -> None:
    for field in ("seccompProfile", "appArmorProfile"):
        profile = child(context, field)
        if profile is None:
            continue
        where, sort, file = (*path, field), text(profile, "type"), profile.get("localhostProfile")
        found.one_of(CODE, (*where, "type"), sort, _PROFILES)
        if sort != "Localhost":
            if file is not None:
                found.add(CODE, (*where, "localhostProfile"), "is said only with the type `Localhost`")
        elif not isinstance(file, str):
            found.add(CODE, (*where, "localhostProfile"), "is missing, which the type `Localhost` needs")
        elif field == "seccompProfile":
            found.form(CODE, (*where, "localhostProfile"), file, forms.descending)
        elif not file or file != file.strip():
            found.add(CODE, (*where, "localhostProfile"), "is empty, or has spaces around it")


def _sysctls(found: Found, spec: Body, sysctls: list[Body], path: Path) -> None:
    seen = set()
    for index, item in enumerate(sysctls):
        name, where = text(item, "name"), (*path, index, "name")
        if name in seen:
            found.add(CODE, where, f"`{name}` stands there twice")
        seen.add(name)
        found.needed(CODE, where, name, forms.sysctl)
        dotted = name.replace("/", ".")
        of_messages = dotted.startswith(("kernel.shm", "kernel.msg", "fs.mqueue.")) or dotted == "kernel.sem"
        if spec.get("hostNetwork") is True and dotted.startswith("net."):
            found.add(CODE, where, f"`{name}` is that of the node with `hostNetwork`")
        if spec.get("hostIPC") is True and of_messages:
            found.add(CODE, where, f"`{name}` is that of the node with `hostIPC`")


def _shared(found: Found, spec: Body, path: Path) -> None:
    if spec.get("hostPID") is True and spec.get("shareProcessNamespace") is True:
        found.add(CODE, (*path, "shareProcessNamespace"), "excludes `hostPID`")
    if spec.get("hostUsers") is not False or found.kubernetes < _PROC_SINCE:
        return
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if spec.get(field) is True:
            found.add(CODE, (*path, field), "excludes `hostUsers: false`")
    for sort in ("initContainers", "containers"):
        for index, item in enumerate(children(spec, sort)):
            if item.get("volumeDevices") and found.kubernetes < (1, 35):
                found.add(CODE, (*path, sort, index, "volumeDevices"), "excludes `hostUsers: false`")


def _system(found: Found, spec: Body, path: Path) -> None:
    system = text(below(spec, "os"), "name")
    found.one_of(CODE, (*path, "os", "name"), system, ("linux", "windows"))
    contexts = [(below(spec, "securityContext"), (*path, "securityContext"), _WINDOWS_POD)]
    for sort in ("initContainers", "containers"):
        for index, item in enumerate(children(spec, sort)):
            context = below(item, "securityContext")
            contexts.append((context, (*path, sort, index, "securityContext"), _WINDOWS_CONTAINER))
    if system == "windows":
        for field in sorted(_WINDOWS_SPEC & spec.keys()):
            found.add(CODE, (*path, field), "cannot be said of a pod on Windows")
    for context, where, excluded in contexts:
        for field in sorted((excluded if system == "windows" else {"windowsOptions"}) & context.keys()):
            found.add(CODE, (*where, field), f"cannot be said of a pod on {system.capitalize()}")
