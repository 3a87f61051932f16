"""Defaults that depend on the environment: one function each; a missing answer is a finding and None."""

from __future__ import annotations

from mlspec.diagnostics import suggestion
from mlspec.ir import Flow, Peer, Placement, Port
from mlspec.ir_sources import Source
from mlspec.model.blocks import Gpu
from mlspec.plan.scope import Path, Scope
from mlspec.spec.cluster import GpuType, Toleration
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Volume
from mlspec.spec.surroundings import Destination


def gpu_name(gpu: Gpu, environment: EnvironmentFields) -> str | None:
    """Return the name of a type: the one written, else `defaults.gpu`, else the only one."""
    only = next(iter(environment.gpus)) if len(environment.gpus) == 1 else None
    return gpu.type or environment.defaults.gpu or only


def gpu_type(gpu: Gpu | None, environment: EnvironmentFields, scope: Scope, path: Path) -> GpuType | None:
    """Return the catalogue's entry: the type written, else `defaults.gpu`, else the only one."""
    if gpu is None or gpu.count == 0:
        return None
    catalogue = environment.gpus
    name = gpu_name(gpu, environment)
    found = catalogue.get(name) if name is not None else None
    where = f"environments/{scope.environment_name}.yaml"
    if found is None and gpu.type is None and environment.defaults.gpu is not None:
        help = suggestion(environment.defaults.gpu, catalogue, "types there") or "add it to `gpus`"
        message = f"there is no GPU type `{environment.defaults.gpu}`"
        scope.report_environment("MLS205", message, ("defaults", "gpu"), help)
    elif found is None and name is not None:
        help = suggestion(name, catalogue, "types there") or f"add it to `gpus` in {where}"
        scope.report("MLS205", f"{scope.place} has no GPU type `{name}`", path, help)
    elif found is None and not catalogue:
        scope.report("MLS205", f"{scope.place} has no GPUs", path, f"add a type to `gpus` in {where}")
    elif found is None:
        help = f"write the type, one of {', '.join(catalogue)}, or set `defaults.gpu` in {where}"
        scope.report("MLS205", f"{scope.place} has several GPU types and no default", path, help)
    elif found.per_node is not None and gpu.count > found.per_node:
        message = f"{gpu.count} GPUs a pod, but a node of {name} in {scope.place} has {found.per_node}"
        scope.report("MLS217", message, path, f"write at most {found.per_node}, and more pods")
    return found


def placement(gpu: GpuType | None, environment: EnvironmentFields) -> Placement:
    """Return where a pod may run: by its GPU type, else as the environment places pods without GPU."""
    rules = gpu or environment.placement
    return Placement(dict(rules.node_selector), tuple(_toleration(toleration) for toleration in rules.tolerations))


def _toleration(toleration: Toleration) -> dict[str, object]:
    written = toleration.model_dump(by_alias=True, exclude_none=True)
    return {key: written[key] for key in ("key", "operator", "value", "effect", "tolerationSeconds") if key in written}


def storage_class(name: str, volume: Volume, environment: EnvironmentFields, scope: Scope) -> str | None:
    """Return the class written, else the first that offers the access mode."""
    classes = environment.storage
    path = ("volumes", name)
    where = f"environments/{scope.environment_name}.yaml"
    if volume.storage_class is not None:
        found = classes.get(volume.storage_class)
        if found is None:
            help = suggestion(volume.storage_class, classes, "classes there") or f"add it to `storage` in {where}"
            scope.report(
                "MLS206", f"{scope.place} has no storage class `{volume.storage_class}`", (*path, "class"), help
            )
            return None
        if volume.access not in found.access:
            message = f"storage class `{volume.storage_class}` of {scope.place} does not offer {volume.access}"
            scope.report("MLS206", message, (*path, "class"), f"it offers {', '.join(found.access)}")
        return volume.storage_class
    offering = next((key for key, found in classes.items() if volume.access in found.access), None)
    if offering is None:
        help = f"add a class to `storage` in {where}, or use another access mode"
        scope.report("MLS206", f"no storage class of {scope.place} offers {volume.access}", path, help, at_key=True)
    return offering


def destination(name: str, environment: EnvironmentFields, scope: Scope, path: Path) -> Destination | None:
    """Return a destination of the environment."""
    found = environment.network.destinations.get(name)
    if found is None:
        where = f"environments/{scope.environment_name}.yaml"
        help = (
            suggestion(name, environment.network.destinations, "destinations there")
            or f"add it to `network.destinations` in {where}"
        )
        scope.report("MLS204", f"{scope.place} has no destination `{name}`", path, help)
    return found


def flow(found: Destination, name: str, *fields: tuple[str, ...]) -> Flow:
    """Return the traffic that a destination of a name stands for, because of fields of the project."""
    ports = tuple(Port(number) for number in found.ports)
    destination = Source(("network", "destinations", name), of_environment=True)
    because = (*(Source(path) for path in fields), destination)
    if found.namespace is not None:
        return Flow(Peer(found.namespace, dict(found.pod_labels)), ports, because)
    return Flow(Peer(cidrs=tuple(found.cidrs)), ports, because)
