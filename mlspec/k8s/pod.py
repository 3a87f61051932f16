"""Pod templates from a planned workload, written for the restricted Pod Security Standard."""

from __future__ import annotations

from typing import Any, Final

from mlspec import names
from mlspec.ir import (
    Labels,
    Placement,
    PlannedResources,
    PlannedVariable,
    PlannedWorkload,
    Port,
)
from mlspec.ir_runs import ShippedFile
from mlspec.ir_safety import PlannedSecurity
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, compact
from mlspec.model.handover import mount_point

SHARED_MEMORY: Final = "/dev/shm"  # noqa: S108  # in the container
SHARED_MEMORY_VOLUME: Final = "mlspec-shared-memory"
FILES_VOLUME: Final = "mlspec-files"
SCRATCH: Final = "/tmp"  # noqa: S108  # in the container
SCRATCH_VOLUME: Final = "mlspec-scratch"
# The user has no entry in the image's passwd, so Python's getpass and torch's caches need a name (pytorch before 2.13
# fails at import without), and everything that caches below HOME (Hugging Face, Triton, Numba, CUDA, Matplotlib) needs
# one that can be written.
_IDENTITY: Final = {"HOME": SCRATCH, "LOGNAME": "mlspec", "USER": "mlspec"}


def resources(planned: PlannedResources) -> Body:
    """Return requests and limits, equal, as quoted canonical quantities."""
    amounts = {"cpu": planned.cpu, "memory": planned.memory}
    amounts |= {name: str(count) for name, count in planned.devices}
    return {"requests": amounts, "limits": dict(amounts)}


def environment(variables: tuple[PlannedVariable, ...]) -> list[Body]:
    """Return env entries in the order written; an empty value is left out, as it means the same.

    In front stand HOME and the user's name, unless they are written.
    """
    written = {variable.name for variable in variables}
    entries: list[Body] = [{"name": name, "value": value} for name, value in _IDENTITY.items() if name not in written]
    for variable in variables:
        if variable.secret is not None:
            reference = {"name": variable.secret, "key": variable.key}
            entries.append({"name": variable.name, "valueFrom": {"secretKeyRef": reference}})
        else:
            entries.append({"name": variable.name, **({"value": variable.value} if variable.value else {})})
    return entries


def volume_mounts(workload: PlannedWorkload) -> list[Body]:
    """Return the mounts of a container: claims, shared memory, and where it may write beside them."""
    found: list[Body] = [
        {"name": mount.volume, "mountPath": mount.path, **({"readOnly": True} if mount.read_only else {})}
        for mount in workload.mounts
    ]
    if _has_scratch(workload):
        found.append({"name": SCRATCH_VOLUME, "mountPath": SCRATCH})
    if workload.resources.shared_memory:
        found.append({"name": SHARED_MEMORY_VOLUME, "mountPath": SHARED_MEMORY})
    return found


def volumes(workload: PlannedWorkload) -> list[Body]:
    """Return the volumes of a pod, shared memory included; it counts against the memory limit."""
    found: list[Body] = [
        {"name": mount.volume, "persistentVolumeClaim": {"claimName": mount.claim}} for mount in workload.mounts
    ]
    if _has_scratch(workload):
        found.append({"name": SCRATCH_VOLUME, "emptyDir": {}})
    if size := workload.resources.shared_memory:
        found.append({"name": SHARED_MEMORY_VOLUME, "emptyDir": {"medium": "Memory", "sizeLimit": size}})
    return found


def _has_scratch(workload: PlannedWorkload) -> bool:
    """Say whether /tmp needs a volume: the image's own cannot be written, and no claim is mounted there."""
    return not workload.security.writable_root and all(mount_point(m.path) != SCRATCH for m in workload.mounts)


def file_mounts(files: tuple[ShippedFile, ...]) -> list[Body]:
    """Return the mounts of shipped files, one a path: a subPath is never updated, and neither is an immutable map."""
    return [
        {"name": FILES_VOLUME, "mountPath": path, "subPath": file.key, "readOnly": True}
        for file in files
        for path in file.paths
    ]


def container_security(security: PlannedSecurity) -> Body:
    """Return a container's security context: no privilege can be gained, and the image's files not be changed."""
    return {
        "allowPrivilegeEscalation": False,
        "capabilities": compact({"add": list(security.capabilities), "drop": ["ALL"]}),
        "readOnlyRootFilesystem": not security.writable_root,
        "runAsNonRoot": security.user != 0,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def user(security: PlannedSecurity) -> Body:
    """Return the user and group of a container whose pod does not say them."""
    return {"runAsGroup": security.user, "runAsUser": security.user}


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
            "volumeMounts": volume_mounts(workload) + file_mounts(workload.run.files),
            "securityContext": container_security(workload.security),
        }
    )


def pod_security(security: PlannedSecurity) -> Body:
    """Return a pod's security context: a numeric user, whose group may write to volumes."""
    return {
        "fsGroup": security.user,
        "fsGroupChangePolicy": "OnRootMismatch",
        "runAsGroup": security.user,
        "runAsNonRoot": security.user != 0,
        "runAsUser": security.user,
        "seccompProfile": {"type": "RuntimeDefault"},
    }


def template(workload: PlannedWorkload, main: Body, restart_policy: str | None) -> Body:
    """Return the pod template of a run: own ServiceAccount, no token, unprivileged numeric user."""
    spec: dict[str, Any] = {
        "restartPolicy": restart_policy,
        "serviceAccountName": workload.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod_security(workload.security),
        **placement_fields(workload.placement),
        "containers": [main],
        "volumes": volumes(workload),
    }
    if workload.run.files:
        spec["volumes"].append({"name": FILES_VOLUME, "configMap": {"name": names.files(workload.object_name)}})
    return {"metadata": template_metadata(workload.labels), "spec": compact(spec)}


def template_metadata(labels: Labels) -> Body:
    """Return the metadata of pods that run to completion: no sidecar, which would outlive and so keep them.

    It would also stand between ranks that connect on random ports (kubeflow/trainer issue 2794). Istio goes by the
    label, older versions of it by the annotation.
    """
    return {"annotations": dict(meta.NO_SIDECAR), "labels": dict(sorted({**labels, **meta.NO_SIDECAR}.items()))}
