"""Pod templates from a planned workload, written for the restricted Pod Security Standard."""

from __future__ import annotations

from typing import Any, Final

from mlspec import names
from mlspec.ir import Placement, PlannedMount, PlannedResources, PlannedVariable, PlannedWorkload, Port
from mlspec.ir_runs import ShippedFile
from mlspec.k8s.resource import Body, compact

# An unprivileged user that no distribution assigns; high enough for every policy tool's UID rule.
USER: Final = 65532
SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  # in the container
SHARED_MEMORY_VOLUME: Final = "mlspec-shared-memory"
FILES_VOLUME: Final = "mlspec-files"


def resources(planned: PlannedResources) -> Body:
    """Return requests and limits, equal, as quoted canonical quantities."""
    amounts = {"cpu": planned.cpu, "memory": planned.memory}
    amounts |= {name: str(count) for name, count in planned.devices}
    return {"requests": amounts, "limits": dict(amounts)}


def environment(variables: tuple[PlannedVariable, ...]) -> list[Body]:
    """Return env entries in the order written; an empty value is left out, as it means the same."""
    entries: list[Body] = []
    for variable in variables:
        if variable.secret is not None:
            reference = {"name": variable.secret, "key": variable.key}
            entries.append({"name": variable.name, "valueFrom": {"secretKeyRef": reference}})
        else:
            entries.append({"name": variable.name, **({"value": variable.value} if variable.value else {})})
    return entries


def volume_mounts(mounts: tuple[PlannedMount, ...], planned: PlannedResources) -> list[Body]:
    """Return the mounts of a container, shared memory included."""
    found: list[Body] = [
        {"name": mount.volume, "mountPath": mount.path, **({"readOnly": True} if mount.read_only else {})}
        for mount in mounts
    ]
    if planned.shared_memory:
        found.append({"name": SHARED_MEMORY_VOLUME, "mountPath": SHARED_MEMORY})
    return found


def volumes(mounts: tuple[PlannedMount, ...], planned: PlannedResources) -> list[Body]:
    """Return the volumes of a pod, shared memory included; it counts against the memory limit."""
    found: list[Body] = [
        {"name": mount.volume, "persistentVolumeClaim": {"claimName": mount.claim}} for mount in mounts
    ]
    if planned.shared_memory:
        found.append(
            {"name": SHARED_MEMORY_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": planned.shared_memory}}
        )
    return found


def file_mounts(files: tuple[ShippedFile, ...]) -> list[Body]:
    """Return the mounts of shipped files, one a path: a subPath is never updated, and neither is an immutable map."""
    return [
        {"name": FILES_VOLUME, "mountPath": path, "subPath": file.key, "readOnly": True}
        for file in files
        for path in file.paths
    ]


def container_security() -> Body:
    """Return a container's security context: no privilege can be gained."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def placement_fields(placement: Placement) -> Body:
    """Return where a pod may run."""
    return compact(
        {
            "nodeSelector": dict(sorted(placement.node_selector.items())),
            "tolerations": [dict(toleration) for toleration in placement.tolerations],
        }
    )


def container(
    workload: PlannedWorkload,
    name: str,
    image: str,
    command: tuple[str, ...],
    args: tuple[str, ...],
    ports: tuple[Port, ...] = (),
) -> Body:
    """Return the one container of a run."""
    return compact(
        {
            "name": name,
            "image": image,
            "command": list(command),
            "args": list(args),
            "env": environment(workload.env),
            "ports": [
                compact({"name": port.name, "containerPort": port.number, "protocol": port.protocol}) for port in ports
            ],
            "resources": resources(workload.resources),
            "volumeMounts": volume_mounts(workload.mounts, workload.resources) + file_mounts(workload.run.files),
            "securityContext": container_security(),
        }
    )


def pod_security() -> Body:
    """Return a pod's security context: an unprivileged numeric user."""
    return {
        "fsGroup": USER,
        "fsGroupChangePolicy": "OnRootMismatch",
        "runAsGroup": USER,
        "runAsNonRoot": True,
        "runAsUser": USER,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def template(workload: PlannedWorkload, main: Body, restart_policy: str | None) -> Body:
    """Return the pod template of a run: own ServiceAccount, no token, unprivileged numeric user."""
    spec: dict[str, Any] = {
        "restartPolicy": restart_policy,
        "serviceAccountName": workload.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(),
        **placement_fields(workload.placement),
        "containers": [main],
        "volumes": volumes(workload.mounts, workload.resources),
    }
    if workload.run.files:
        spec["volumes"].append({"name": FILES_VOLUME, "configMap": {"name": names.files(workload.object_name)}})
    return {"metadata": {"labels": dict(sorted(workload.labels.items()))}, "spec": compact(spec)}
