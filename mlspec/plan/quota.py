"""Runs that a namespace's own quota can never hold: pods beyond it are refused, and the run waits for ever."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from fractions import Fraction

from mlspec.diagnostics import Severity
from mlspec.ir import PartPath, Plan, Stated
from mlspec.ir_environment import PlannedQuota
from mlspec.kind_specs import WorkloadSpec
from mlspec.model.quantity import amount, format_quantity
from mlspec.plan.graph import order
from mlspec.plan.scope import Path, Scope
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project


def check(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """Warn of each run that asks for more than the whole quota; Kueue, which looks at its own alone, would admit it."""
    quota = plan.target.quota
    if quota is None or not plan.target.manage_namespace:
        return
    for stated in plan.steps:
        for what, wanted, limit in _beyond(_asked(stated), quota):
            pods = "its pod asks" if stated.facts.pods == 1 else f"its {stated.facts.pods} pods together ask"
            message = f"{pods} for {wanted} {what}, and the whole quota of {scope.place} is {limit}"
            help = f"ask for less, or raise `quota` in environments/{scope.environment_name}.yaml"
            scope.report("MLS217", message, _field(stated, what, scope), help, severity=Severity.WARNING)
    _together(plan, quota, scope)


def _together(plan: Plan, quota: PlannedQuota, scope: Scope) -> None:
    """Warn of runs that have no room beside those that wait for them at the same time: neither would ever end."""
    steps = plan.steps
    waited = _waited(steps)
    for stated in steps:
        waiting = [other for other in steps if stated.workload.name in waited[other.workload.name]]
        if not waiting or any(True for _ in _beyond(_asked(stated), quota)):
            continue
        total = _asked(stated)
        for other in waiting:
            for what, more in _asked(other).items():
                total[what] = total.get(what, Fraction(0)) + more
        for what, wanted, limit in _beyond(total, quota):
            shown = ", ".join(f"`{other.workload.name}`" for other in waiting)
            message = (
                f"with {shown}, which may wait for it, it asks for {wanted} {what}, and the quota of {scope.place} "
            )
            message += f"is {limit}: what waits may keep out what it waits for"
            help = f"ask for less, or raise `quota` in environments/{scope.environment_name}.yaml"
            scope.report("MLS217", message, _field(stated, what, scope), help, severity=Severity.WARNING)


def _waited(steps: Iterable[Stated]) -> dict[str, frozenset[str]]:
    """Return for each run the steps whose runs it waits for, directly or not, while they may be running."""
    runs = {stated.workload.name: stated.workload for stated in steps}
    near = {
        name: {item.step for item in run.run.upstream if item.together and run.run.wrapped and item.step in runs}
        for name, run in runs.items()
    }
    near = {name: {step for step in found if runs[step].wave == runs[name].wave} for name, found in near.items()}
    waited: dict[str, frozenset[str]] = dict.fromkeys(runs, frozenset())
    for name in order({name: sorted(found) for name, found in near.items()}):
        waited[name] = frozenset(near[name]).union(*(waited[step] for step in near[name]))
    return waited


def _beyond(asked: Mapping[str, Fraction], quota: PlannedQuota) -> Iterator[tuple[str, str, str]]:
    """Yield what is asked for in vain, how much of it, and how much there is."""
    limits = {"cpu": quota.cpu, "memory": quota.memory}
    if quota.gpu is not None:
        limits |= {device: str(quota.gpu) for device in quota.devices}
    for what, limit in limits.items():
        wanted = asked.get(what, Fraction(0))
        if limit is not None and wanted > amount(limit):
            yield what, format_quantity(wanted, binary=what == "memory"), limit


def _asked(stated: Stated) -> dict[str, Fraction]:
    """Return what all pods of a run ask for at the same time."""
    total: dict[str, Fraction] = {}
    for _, asked in _by_part(stated):
        for name, count in asked.items():
            total[name] = total.get(name, Fraction(0)) + count
    return total


def _by_part(stated: Stated) -> Iterator[tuple[PartPath, dict[str, Fraction]]]:
    """Yield what all pods of each part of a run ask for at the same time."""
    spec = stated.workload.spec
    if not isinstance(spec, WorkloadSpec):
        raise TypeError(f"{stated.workload.name} is not a step")
    for path, written in spec.parts().items():
        resources = stated.workload.parts[path].resources
        pods = int(getattr(written, "replicas", 1)) if path else stated.facts.pods
        each = {"cpu": amount(resources.cpu), "memory": amount(resources.memory)}
        each |= {name: Fraction(count) for name, count in resources.devices}
        yield path, {name: count * pods for name, count in each.items()}


def _field(stated: Stated, what: str, scope: Scope) -> Path:
    """Return the field that asks for the most of something: of the part whose pods do, or of the step."""
    part, _ = max(_by_part(stated), key=lambda found: found[1].get(what, Fraction(0)))
    step, field = ("steps", stated.workload.name), ("resources", what) if what in ("cpu", "memory") else ("gpu",)
    return scope.written_field((*step, *part, *field), (*step, *field), step)
