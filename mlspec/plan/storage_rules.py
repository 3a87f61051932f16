"""Rules about volumes: what is mounted where, who may write one node's volume, and claims that nobody declares."""

from __future__ import annotations

from typing import Final

from mlspec.diagnostics import Severity
from mlspec.ir import Plan, PlannedMount, Stated
from mlspec.plan.scope import Path, Scope
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project


def _mounts(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    for stated in plan.steps:
        workload = stated.workload
        shared = any(part.resources.shared_memory for part in workload.parts.values())
        seen = {"/dev/shm": "shared memory"} if shared else {}  # noqa: S108  # in the container
        for mount in workload.mounts:
            path = ("steps", workload.name, "mounts", mount.volume)
            where = mount.path.rstrip("/") or "/"
            if where in seen:
                scope.report("MLS227", f"{seen[where]} is mounted at {where} too", path, "choose another path")
            seen.setdefault(where, f"volume `{mount.volume}`")
            volume = project.volumes[mount.volume]
            if volume.claim is None and volume.access == "ReadOnlyMany" and not mount.read_only:
                message = f"volume `{mount.volume}` is ReadOnlyMany, but is mounted for writing"
                scope.report("MLS214", message, path, f"write `{{path: {mount.path}, readOnly: true}}`")


def _files(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    for stated in plan.steps:
        workload = stated.workload
        seen = {mount.path.rstrip("/") or "/": f"volume `{mount.volume}`" for mount in workload.mounts}
        for source, path in project.steps[workload.name].files.items():
            where = path.rstrip("/") or "/"
            if where in seen:
                message, at = f"{seen[where]} is mounted at {where} too", ("steps", workload.name, "files", source)
                scope.report("MLS227", message, at, "choose another path")
            seen.setdefault(where, f"file `{source}`")


def _one_node(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """ReadWriteOnce attaches to one node, so pods on other nodes wait for ever."""
    once = {name for name, volume in project.volumes.items() if not volume.claim and volume.access == "ReadWriteOnce"}
    readers = {claim.name: stated for stated in plan.services for claim in stated.facts.claims if claim.name in once}
    for stated in plan.steps:
        for mount in stated.workload.mounts:
            if mount.volume in once:
                path = ("steps", stated.workload.name, "mounts", mount.volume)
                _one_node_mount(stated, mount, readers.get(mount.claim), scope, path)
    for name, stated in readers.items():
        if stated.facts.pods > 1:
            claim = next(claim for claim in stated.facts.claims if claim.name == name)
            _several_readers(name, stated.facts.pods, scope, ("services", stated.workload.name, *claim.path))


def _one_node_mount(stated: Stated, mount: PlannedMount, reader: Stated | None, scope: Scope, path: Path) -> None:
    name, pods = mount.volume, stated.facts.pods
    help = f"set `access: ReadWriteMany` on volume `{name}`"
    if mount.read_only:
        if pods > 1:
            _several_readers(name, pods, scope, path)
        return
    if pods > 1:
        scope.report("MLS214", f"`{name}` is ReadWriteOnce, one node, but a run of {pods} pods writes it", path, help)
    if reader is not None:
        message = f"`{name}` is ReadWriteOnce, one node, but service `{reader.workload.name}` uses it too"
        scope.report("MLS214", message, path, help)


def _several_readers(name: str, pods: int, scope: Scope, path: Path) -> None:
    message = f"`{name}` is ReadWriteOnce, one node, but up to {pods} pods read it"
    help = f"set `access: ReadWriteMany` or `ReadOnlyMany` on volume `{name}`, or use one pod"
    scope.report("MLS230", message, path, help, severity=Severity.WARNING)


def _claims(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    declared = {volume.claim or name for name, volume in project.volumes.items()}
    for stated in plan.workloads:
        for reference in stated.facts.claims:
            name = reference.name
            volume = project.volumes.get(name)
            if name in declared or (volume is None and scope.written("volumes", name)):
                continue
            path = (stated.workload.section, stated.workload.name, *reference.path)
            help = f"add `{name}: {{claim: {name}}}` to `volumes`"
            if volume is not None:
                help = f"volume `{name}` is the claim `{volume.claim}`: write `pvc://{volume.claim}/…`"
            scope.report("MLS202", f"there is no claim `{name}`", path, help)


RULES: Final = (_mounts, _files, _one_node, _claims)
