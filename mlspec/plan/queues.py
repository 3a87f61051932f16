"""Kueue: which queue a step stands in, which queues an environment needs, and who places queued pods."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Final

from mlspec.ir import Gvk, Placement, Plan, Stated, Target
from mlspec.kind_specs import StepSpec, WorkloadSpec
from mlspec.plan import defaults
from mlspec.plan.history import History
from mlspec.plan.scope import Scope
from mlspec.spec.cluster import GpuType
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project

_KUBEFLOW: Final = "kubeflow.org"
_KUBEFLOW_IS_OFF: Final = (0, 19)
"""The first Kueue whose shipped configuration does not enable kubeflow.org/v1 (controller_manager_config.yaml)."""


def name_of(spec: StepSpec, environment: EnvironmentFields) -> str | None:
    """Return the queue of a step: its own, else the environment's."""
    if environment.kueue is None:
        return None
    return spec.queue or environment.kueue.queue


def of_step(name: str, spec: StepSpec, environment: EnvironmentFields, scope: Scope) -> str | None:
    """Return the queue of a step, and report one that nobody would admit."""
    if spec.queue is not None and environment.kueue is None:
        removed = f"`queue: null` under `environments.{scope.environment_name}.steps.{name}`"
        help = f"add `kueue: {{version: 0.17}}` to {_file(scope)}, or write {removed}"
        scope.report("MLS247", f"{scope.place} has no Kueue, which `queue` needs", ("steps", name, "queue"), help)
    return name_of(spec, environment)


def check(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """Report queued steps of a kind that the environment's Kueue does not look at."""
    kueue = environment.kueue
    if kueue is None or kueue.release < _KUBEFLOW_IS_OFF:
        return
    for stated in plan.steps:
        name, framework = stated.workload.name, _framework(stated.facts.gvk)
        if stated.workload.run.queue is None or stated.facts.gvk.group != _KUBEFLOW or framework in kueue.frameworks:
            continue
        field = "queue" if project.steps[name].queue is not None else "kind"
        message = f"Kueue {kueue.version} does not queue a {stated.facts.gvk.kind} unless its configuration enables it"
        listed = ", ".join((*kueue.frameworks, framework))
        help = f"add `frameworks: [{listed}]` to `kueue` in {_file(scope)}, and enable it in Kueue's configuration"
        scope.report("MLS247", message, ("steps", name, field), help)


def _framework(gvk: Gvk) -> str:
    """Return Kueue's name of what queues a kind."""
    return f"{gvk.group}/{gvk.kind.lower()}"


def _file(scope: Scope) -> str:
    return f"environments/{scope.environment_name}.yaml"


def placement(spec: WorkloadSpec, gpu: GpuType | None, environment: EnvironmentFields) -> Placement:
    """Return where pods may run: of a queued run nothing is said, as the queue's flavor places its pods.

    Kueue merges the flavor's tolerations into the list, which Argo CD would see as drift if it were ours.
    """
    if isinstance(spec, StepSpec) and name_of(spec, environment) is not None:
        return Placement()
    return defaults.placement(gpu, environment)


def with_queues(target: Target, steps: Iterable[Stated], history: History) -> Target:
    """Return the environment with the LocalQueues that runs name; a namespace of others has its own.

    A run keeps the queue that it was written with: without its LocalQueue it would wait for ever.
    """
    if not target.manage_namespace or target.kueue is None:
        return target
    found = {stated.workload.run.queue for stated in steps} | history.queues(target.environment or "")
    return replace(target, queues=tuple(sorted(name for name in found if name is not None)))
