"""Rules about volumes: what is mounted where, who may write one node's volume, and claims that nobody declares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mlspec.diagnostics import Severity
from mlspec.ir import Plan, PlannedMount, PlannedWorkload, Stated
from mlspec.k8s import pod
from mlspec.kind_specs import StepSpec
from mlspec.model.handover import SCRIPTS, in_container, mount_point, ships
from mlspec.plan.scope import Path, Scope
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project


def _mounts(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    for stated in plan.steps:
        workload = stated.workload
        seen = _shared_memory(workload)
        scripts = _scripts(workload)
        _nested(workload, scope)
        for mount in workload.mounts:
            path = ("steps", workload.name, "mounts", mount.volume)
            where = mount_point(mount.path)
            if where in seen:
                scope.report("MLS227", f"{seen[where]} is mounted at {where} too", path, "choose another path")
            seen.setdefault(where, f"volume `{mount.volume}`")
            _hiding(where, path, scope)
            hidden = next((script for script in scripts if _overlap(script, where)), None)
            if hidden is not None:
                message = f"the script is mounted at {hidden}, and the volume at {where}: one would stand in the other"
                scope.report("MLS227", message, path, f"choose a path outside of {SCRIPTS}")
            volume = project.volumes[mount.volume]
            if volume.claim is None and volume.access == "ReadOnlyMany" and not mount.read_only:
                message = f"volume `{mount.volume}` is ReadOnlyMany, but is mounted for writing"
                scope.report("MLS214", message, path, f"write `{{path: {mount.path}, readOnly: true}}`")


# What every image has there is needed to start anything: the loader, the shell of the wrapper, accounts, devices.
_OF_THE_IMAGE: Final = frozenset(
    {"/", "/bin", "/dev", "/etc", "/lib", "/lib64", "/sbin", "/usr", "/usr/bin", "/usr/lib"}
)
_OF_THE_KERNEL: Final = ("/proc", "/sys")
"""Nothing is mounted inside of them: runc refuses it (libcontainer/rootfs_linux.go), or cannot make the folder."""


def _hiding(where: str, path: Path, scope: Scope) -> None:
    """Report a mount that takes away what the container needs to start."""
    kernel = next((root for root in _OF_THE_KERNEL if where == root or where.startswith(f"{root}/")), None)
    if kernel is not None:
        message = f"{kernel} is the kernel's: no volume can be mounted at {where}"
    elif where in _OF_THE_IMAGE:
        message = f"a volume at {where} hides the image's own files, and the container does not start"
    else:
        return
    scope.report("MLS253", message, path, "choose a folder of its own, such as /data")


def _nested(workload: PlannedWorkload, scope: Scope) -> None:
    """Report mounts inside a volume that is read only: the folder cannot be made there."""
    for mount in workload.mounts:
        where = mount_point(mount.path)
        for outer in workload.mounts:
            around = mount_point(outer.path)
            if outer.read_only and where.startswith(f"{around}/"):
                message = f"{where} is inside volume `{outer.volume}` at {around}, which is mounted read-only"
                help = f"have the folder in the volume, or choose a path outside of {around}"
                path = ("steps", workload.name, "mounts", mount.volume)
                scope.report("MLS253", message, path, help, severity=Severity.WARNING)


def _shared_memory(workload: PlannedWorkload) -> dict[str, str]:
    """Return shared memory by where it is mounted, if any pod has it."""
    shared = any(part.resources.shared_memory for part in workload.parts.values())
    return {pod.SHARED_MEMORY: "shared memory"} if shared else {}


def _scripts(workload: PlannedWorkload) -> dict[str, str]:
    """Return the shipped scripts of all parts by where they are mounted: every container has them all."""
    programs = workload.spec.programs().values() if isinstance(workload.spec, StepSpec) else ()
    found = [program.script for program in programs if program.script is not None and ships(program.script)]
    return {in_container(script): script for script in found}


def _overlap(one: str, other: str) -> bool:
    """Say whether two paths are one, or one stands in the other."""
    return one == other or one.startswith(f"{other.rstrip('/')}/") or other.startswith(f"{one.rstrip('/')}/")


def _files(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """Shipped files are mounted one by one: no path twice, nothing below a file, no file in a volume."""
    for stated in plan.steps:
        workload = stated.workload
        volumes = _shared_memory(workload)
        for mount in workload.mounts:
            volumes.setdefault(mount_point(mount.path), f"volume `{mount.volume}`")
        scripts = _scripts(workload)
        files = {where: f"script `{source}`" for where, source in scripts.items()}
        for source, path in project.steps[workload.name].files.items():
            where = mount_point(path)
            if scripts.get(where) == source:
                continue  # the script itself, where it is mounted anyway
            problem = _file_problem(where, volumes, files)
            if problem is not None:
                scope.report("MLS227", problem[0], ("steps", workload.name, "files", source), problem[1])
            files.setdefault(where, f"file `{source}`")


def _file_problem(where: str, volumes: Mapping[str, str], files: Mapping[str, str]) -> tuple[str, str] | None:
    """Return what is wrong with where a file is mounted, and what to do."""
    if where == "/":
        return "a file cannot be mounted at /, the root of the image", "write the path of the file itself"
    for other, what in ({**volumes, **files}).items():
        if where == other:
            return f"{what} is mounted at {where} too", "choose another path"
        if where.startswith(f"{other.rstrip('/')}/"):
            if other in volumes:
                message = f"{where} is in {what}, mounted at {other}: an empty file would be made there to mount it on"
                return message, f"choose a path outside of {other}"
            return f"{what} is mounted at {other}, so nothing can be below it", "choose another path"
        if other.startswith(f"{where}/"):
            return f"{what} is mounted at {other}, so {where} is a folder", "write the path of the file itself"
    return None


def _one_node(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """ReadWriteOnce attaches to one node, so pods on other nodes wait for ever."""
    once = {name for name, volume in project.volumes.items() if not volume.claim and volume.access == "ReadWriteOnce"}
    readers = {claim.name: stated for stated in plan.services for claim in stated.facts.claims if claim.name in once}
    gates = {claim: stated for stated in plan.services if (gate := stated.workload.gate) for claim in gate.claims}
    for stated in plan.steps:
        for mount in stated.workload.mounts:
            if mount.volume in once:
                path = ("steps", stated.workload.name, "mounts", mount.volume)
                _one_node_mount(stated, mount, readers.get(mount.claim), scope, path)
                gated = gates.get(mount.claim) if mount.claim not in readers and not mount.read_only else None
                if gated is not None:
                    message = f"`{mount.volume}` is ReadWriteOnce, one node, but the gate of service "
                    message += f"`{gated.workload.name}` reads it too, and would wait for this run"
                    scope.report("MLS214", message, path, f"set `access: ReadWriteMany` on volume `{mount.volume}`")
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
