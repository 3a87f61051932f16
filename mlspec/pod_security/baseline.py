"""The baseline level: what every known way out of a container needs is refused.

Source: the Pod Security Standards, https://kubernetes.io/docs/concepts/security/pod-security-standards/, and for what
holds since which version k8s.io/pod-security-admission v0.37.2, policy/.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mlspec.k8s.values import at, items, numbered, words
from mlspec.pod_security.control import Control, Fault, of_context
from mlspec.pod_security.reading import Reading

_DEFAULT_CAPABILITIES: Final = frozenset(
    (
        *("AUDIT_WRITE", "CHOWN", "DAC_OVERRIDE", "FOWNER", "FSETID", "KILL", "MKNOD"),
        *("NET_BIND_SERVICE", "SETFCAP", "SETGID", "SETPCAP", "SETUID", "SYS_CHROOT"),
    )
)
"""What container runtimes give without being asked; NET_RAW was taken out of it."""
_PROFILES: Final = ("RuntimeDefault", "Localhost")
_SELINUX_TYPES: Final = {
    "container_t": 0,
    "container_init_t": 0,
    "container_kvm_t": 0,
    "container_engine_t": 31,
}
"""SELinux types for containers, with the minor version since which each is allowed."""
_SYSCTLS: Final = {
    "kernel.shm_rmid_forced": 0,
    "net.ipv4.ip_local_port_range": 0,
    "net.ipv4.tcp_syncookies": 0,
    "net.ipv4.ping_group_range": 0,
    "net.ipv4.ip_unprivileged_port_start": 0,
    "net.ipv4.ip_local_reserved_ports": 27,
    "net.ipv4.tcp_keepalive_time": 29,
    "net.ipv4.tcp_fin_timeout": 29,
    "net.ipv4.tcp_keepalive_intvl": 29,
    "net.ipv4.tcp_keepalive_probes": 29,
    "net.ipv4.tcp_rmem": 32,
    "net.ipv4.tcp_wmem": 32,
    "net.ipv4.tcp_slow_start_after_idle": 37,
    "net.ipv4.tcp_notsent_lowat": 37,
}
"""Sysctls that stay inside the pod, with the minor version since which each is allowed."""
_HANDLERS: Final = (
    *(("livenessProbe",), ("readinessProbe",), ("startupProbe",)),
    *(("lifecycle", "postStart"), ("lifecycle", "preStop")),
)
"""What of a container the node sends requests for."""
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_SECCOMP_POD: Final = "seccomp.security.alpha.kubernetes.io/pod"
_SECCOMP_CONTAINER: Final = "container.seccomp.security.alpha.kubernetes.io/"
_SECCOMP_FIELDS: Final = 19
"""The minor version since which seccomp profiles are fields; before, they were annotations."""


def host_process(pod: Reading) -> Iterator[Fault]:
    """Windows pods must not run as processes of the node."""
    for name, context in pod.contexts():
        if at(context, "windowsOptions", "hostProcess") not in (None, False):
            yield of_context(name, "windowsOptions.hostProcess", "must not be true")


def host_namespaces(pod: Reading) -> Iterator[Fault]:
    """Network, processes and shared memory of the node stay the node's."""
    for field in ("hostNetwork", "hostPID", "hostIPC"):
        if pod.spec.get(field) not in (None, False):
            yield Fault("", f"{field} must not be true", ("spec", field))


def privileged(pod: Reading) -> Iterator[Fault]:
    """A privileged container is root on the node."""
    for name, _, context in pod.containers:
        if at(context, "privileged") not in (None, False):
            yield of_context(name, "privileged", "must not be true")


def capabilities(pod: Reading) -> Iterator[Fault]:
    """No capability is added beyond those that runtimes give anyway."""
    for name, _, context in pod.containers:
        beyond = sorted(set(words(context, "capabilities", "add")) - _DEFAULT_CAPABILITIES)
        if beyond:
            yield of_context(name, "capabilities.add", f"must not have {', '.join(beyond)}")


def host_path_volumes(pod: Reading) -> Iterator[Fault]:
    """Folders of the node stay the node's."""
    for number, volume in numbered(pod.spec, "volumes"):
        if volume.get("hostPath") is not None:
            field = ("spec", "volumes", number, "hostPath")
            yield Fault("", f"volume {volume.get('name')} must not be a hostPath", field)


def host_ports(pod: Reading) -> Iterator[Fault]:
    """Ports of the node stay the node's; in its network every port is one, which the API server fills in."""
    filled_in = pod.spec.get("hostNetwork") is True
    for name, container, _ in pod.containers:
        found = {
            index: number
            for index, port in numbered(container, "ports")
            if (number := port.get("hostPort") or (filled_in and port.get("containerPort")))
        }
        if found:
            field = ("ports", next(iter(found)), "hostPort")
            yield Fault(name, f"ports[].hostPort must not be set ({', '.join(map(str, found.values()))})", field)


def probe_hosts(pod: Reading) -> Iterator[Fault]:
    """Probes and lifecycle handlers are sent by the node, so they go to the pod and to no other host."""
    for name, container, _ in pod.containers:
        fields = [(*handler, way, "host") for handler in _HANDLERS for way in ("httpGet", "tcpSocket")]
        hosts = {field: str(host) for field in fields if (host := at(container, *field))}
        if hosts:
            found = ", ".join(sorted(set(hosts.values())))
            yield Fault(name, f"probes and lifecycle handlers must not name a host ({found})", next(iter(hosts)))


def app_armor(pod: Reading) -> Iterator[Fault]:
    """The runtime's AppArmor profile is not switched off, by field or by annotation."""
    for name, context in pod.contexts():
        profile = at(context, "appArmorProfile")
        if profile is not None and at(profile, "type") not in _PROFILES:
            yield of_context(name, "appArmorProfile.type", f"must not be {at(profile, 'type')}")
    for key, value in pod.annotations.items():
        if str(key).startswith(_APPARMOR) and not _is_profile(value, ("", "runtime/default")):
            name, field = str(key).removeprefix(_APPARMOR), ("metadata", "annotations", str(key))
            yield Fault(name, f"annotation {key} must not be {value}", field)


def selinux(pod: Reading) -> Iterator[Fault]:
    """SELinux types are those of containers; user and role are the node's to choose."""
    for name, context in pod.contexts():
        options = at(context, "seLinuxOptions")
        kind = at(options, "type")
        if kind and pod.minor < _SELINUX_TYPES.get(str(kind), pod.minor + 1):
            yield of_context(name, "seLinuxOptions.type", f"must not be {kind}")
        for field in ("user", "role"):
            if at(options, field):
                yield of_context(name, f"seLinuxOptions.{field}", "must not be set")


def proc_mount(pod: Reading) -> Iterator[Fault]:
    """What the runtime hides of /proc stays hidden; since 1.35 a pod with users of its own may see it."""
    if pod.minor < 35 or not pod.has_user_namespace:
        yield from any_proc_mount(pod)


def any_proc_mount(pod: Reading) -> Iterator[Fault]:
    """What the runtime hides of /proc stays hidden."""
    for name, _, context in pod.containers:
        mount = at(context, "procMount")
        if mount not in (None, "Default"):
            yield of_context(name, "procMount", f"must not be {mount}")


def seccomp(pod: Reading) -> Iterator[Fault]:
    """The runtime's filter of system calls is not switched off; before 1.19 annotations said so."""
    if pod.minor < _SECCOMP_FIELDS:
        for name, key in [("", _SECCOMP_POD), *((name, _SECCOMP_CONTAINER + name) for name, _, _ in pod.containers)]:
            if key in pod.annotations and not _is_profile(pod.annotations[key], ("runtime/default", "docker/default")):
                field = ("metadata", "annotations", key)
                yield Fault(name, f"annotation {key} must not be {pod.annotations[key]}", field)
        return
    for name, context in pod.contexts():
        profile = at(context, "seccompProfile")
        if profile is not None and not is_filtered(context):
            yield of_context(name, "seccompProfile.type", f"must not be {at(profile, 'type')}")


def is_filtered(context: Any) -> bool:
    """Say whether a security context names a seccomp profile that filters."""
    return at(context, "seccompProfile", "type") in _PROFILES


def sysctls(pod: Reading) -> Iterator[Fault]:
    """Kernel parameters are set only where they stay inside the pod."""
    for item in items(pod.context, "sysctls"):
        name = str(item.get("name"))
        if pod.minor < _SYSCTLS.get(name, pod.minor + 1):
            yield of_context("", "sysctls", f"must not have {name}")


def _is_profile(value: Any, known: tuple[str, ...]) -> bool:
    return value in known or str(value).startswith("localhost/")


BASELINE: Final = (
    Control("hostProcess", host_process),
    Control("host namespaces", host_namespaces),
    Control("privileged", privileged),
    Control("non-default capabilities", capabilities),
    Control("hostPath volumes", host_path_volumes),
    Control("hostPort", host_ports),
    Control("probe or lifecycle host", probe_hosts, since=34),
    Control("forbidden AppArmor profile", app_armor),
    Control("seLinuxOptions", selinux),
    Control("procMount", proc_mount),
    Control("seccompProfile", seccomp),
    Control("forbidden sysctls", sysctls),
)
