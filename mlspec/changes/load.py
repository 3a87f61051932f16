"""What a workload takes: pods, GPUs by the catalogue's types with their prices, and hours."""

from __future__ import annotations

from decimal import Decimal

from mlspec.changes.sides import Side
from mlspec.changes.values import Gpus, Load
from mlspec.ir import PartPath, Stated
from mlspec.kind_specs import PodFields, StepSpec, WorkloadSpec
from mlspec.model.scalars import seconds
from mlspec.plan import defaults
from mlspec.spec.environment import EnvironmentFields


def load(stated: Stated, side: Side) -> Load:
    """Return what a workload takes while all of its pods are there."""
    spec = stated.workload.spec
    if not isinstance(spec, WorkloadSpec):
        raise TypeError(f"{stated.workload.name} is neither a step nor a service")
    counts: dict[str, int] = {}
    for path, part in spec.parts().items():
        gpu = part.gpu or spec.gpu
        name = defaults.gpu_name(gpu, side.environment) if gpu is not None else None
        if gpu is not None and name is not None and gpu.count:
            counts[name] = counts.get(name, 0) + gpu.count * _pods(stated, path, part)
    gpus = tuple(Gpus(name, count, _price(name, side.environment)) for name, count in sorted(counts.items()) if count)
    return Load(stated.facts.pods, gpus, _hours(spec))


def _pods(stated: Stated, path: PartPath, part: PodFields) -> int:
    """Return the pods of one part: all of the workload's, or as many as the part says."""
    return int(getattr(part, "replicas", 1)) if path else stated.facts.pods


def _price(name: str, environment: EnvironmentFields) -> Decimal | None:
    found = environment.gpus.get(name)
    return Decimal(found.price_per_hour) if found is not None and found.price_per_hour is not None else None


def _hours(spec: WorkloadSpec) -> Decimal | None:
    """Return the hours of a deadline, which ends a run with all of its retries."""
    if not isinstance(spec, StepSpec) or spec.deadline is None:
        return None
    return Decimal(str(seconds(spec.deadline))) / 3600
