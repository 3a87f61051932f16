"""The runs of one project in one environment, in the order in which this computer does them; pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Final

from mlspec.compiled import Compiled
from mlspec.emit import emit
from mlspec.ir import Plan, PlannedWorkload
from mlspec.k8s.projected import Body
from mlspec.k8s.resource import Resource
from mlspec.k8s.values import mapping
from mlspec.kind_specs import ServiceSpec
from mlspec.local.errors import CannotRunError
from mlspec.plan import graph
from mlspec.plan.resolve import build_plan
from mlspec.spec.workspace import LoadedEnvironment

_LEADS: Final = "training.kubeflow.org/job-role"
"""The operator's label of the pod that speaks for a job."""


@dataclass(frozen=True, slots=True)
class LocalRun:
    """A run, with the pods that stand for it on this computer: the first of a PyTorchJob, all of a TFJob."""

    workload: PlannedWorkload
    kind: str
    """Of the object, such as `PyTorchJob`."""
    pods: tuple[Body, ...]
    wanted: int
    """Processes that the spec asks for, all pods together."""
    replicas: int
    """Pods that the spec asks for."""

    @property
    def step(self) -> str:
        """The step's name."""
        return self.workload.name

    @property
    def name(self) -> str:
        """The run's name, which names its directory and its logs."""
        return self.workload.object_name

    @property
    def gpus(self) -> bool:
        """Say whether its pods ask for devices."""
        return any(part.resources.devices for part in self.workload.parts.values())

    @property
    def distributed(self) -> bool:
        """Say whether one launcher starts several processes."""
        return self.kind in {"PyTorchJob", "TrainJob"}

    def leads(self, pod: Body) -> bool:
        """Say whether a run succeeds when this pod does."""
        return len(self.pods) == 1 or mapping(pod["metadata"].get("labels")).get(_LEADS) == "master"


def follow(compiled: Compiled, environment: LoadedEnvironment) -> tuple[Plan, list[Resource]]:
    """Return a project's plan and objects as if every service followed the newest run.

    What is pinned, or waits for its first pin, was made elsewhere; here the model that was just trained is judged. The
    names of runs are the same: what is served is no input of theirs.
    """
    variant = compiled.project.variants[environment.name]
    services = {name: _unpinned(spec) for name, spec in variant.model.services.items()}
    model = variant.model.model_copy(update={"services": services})
    fields = environment.model.model_copy(update={"promotion": "follow"})
    plan, _ = build_plan(replace(variant, model=model), replace(environment, model=fields), compiled.project.base)
    return plan, emit(plan, environment.model.kubernetes)


def _unpinned(spec: ServiceSpec) -> ServiceSpec:
    models = spec.models()
    return spec.with_models({path: model.model_copy(update={"run": None}) for path, model in models.items()})


def chosen(plan: Plan, steps: Sequence[str]) -> list[str]:
    """Return the steps that are asked for with all that they need, or all, each behind what it needs."""
    needs = {stated.workload.name: stated.workload.needs for stated in plan.steps}
    wanted, waiting = set[str](), list(steps or needs)
    while waiting:
        step = waiting.pop()
        if step not in wanted:
            wanted.add(step)
            waiting += needs[step]
    return [step for step in graph.order(needs) if step in wanted]


def runs(plan: Plan, resources: Iterable[Resource], steps: Sequence[str]) -> list[LocalRun]:
    """Return the runs of steps; raises CannotRunError for one without pods."""
    projected = {resource.run: resource for resource in resources if resource.projection is not None}
    by_name = {stated.workload.name: stated.workload for stated in plan.steps}
    return [_run(by_name[step], projected[by_name[step].object_name]) for step in steps]


def _run(workload: PlannedWorkload, resource: Resource) -> LocalRun:
    kind = str(resource.body["kind"])
    groups = resource.projection.pods if resource.projection is not None else ()
    count = sum(group.count for group in groups)
    if not count:
        raise CannotRunError(f"step `{workload.name}` has no pods, or too many to be told; mend its `patch`")
    if kind == "TFJob":
        pods = tuple(group.make(number) for group in groups for number in range(group.count))
        return LocalRun(workload, kind, pods, count, count)
    there = [group for group in groups if group.count]
    first = next((group for group in there if group.role == "master"), there[0]).first
    processes = resource.body["spec"].get("nprocPerNode")
    each = int(processes) if str(processes).isdecimal() else 1
    return LocalRun(workload, kind, (first,), count * each, count)
