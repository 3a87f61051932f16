"""Services that follow a run or a pin: `model.from` in, the model's URI and what the gate must judge out."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final

from mlspec import codes, names
from mlspec.diagnostics import suggestion
from mlspec.ir import PartPath, Placement, Stated, Target
from mlspec.ir_runs import Evaluation, KeptRun, PlannedGate, ServedRun
from mlspec.kind_specs import ServiceSpec, StepSpec
from mlspec.model.sources import ModelSource
from mlspec.plan.history import History
from mlspec.plan.scope import Path, Scope

_SCHEME: Final = "pvc://"


@dataclass(frozen=True, slots=True)
class Steps:
    """The runs of one project in one environment, and those that were before."""

    project: str
    planned: Mapping[str, Stated]
    specs: Mapping[str, StepSpec]
    history: History

    def kept(self, environment: str, run: str) -> KeptRun | None:
        """Return a run, current or kept."""
        for stated in self.planned.values():
            if stated.workload.object_name == run:
                return current(stated)
        return self.history.find(environment, run)

    def known(self, environment: str, step: str) -> list[str]:
        """Return the names of all runs of a step."""
        now = [self.planned[step].workload.object_name] if step in self.planned else []
        before = [name for name in self.history.names(environment) if names.is_run_of(name, step)]
        return list(dict.fromkeys([*now, *before]))

    def evaluations(self, environment: str, served: KeptRun) -> Iterator[Evaluation]:
        """Yield the gated steps that need a run, directly or not, or are it, with every run that judged it.

        Each is measured by the thresholds as they are written now: another threshold, or another evaluation of the same
        model, is no other model. What was an evaluation once, and is no step any more, keeps its own.
        """
        now = {stated.workload.object_name: current(stated) for stated in self.planned.values()}
        judges = {run.name: run for run in now.values() if _needs(run, served.name, now)}
        judges |= {run.name: run for run in self.history.needing(environment, served.name)}
        by_step: dict[str, list[KeptRun]] = {served.step: [served]}
        for run in sorted(judges.values(), key=lambda run: run.name):
            by_step.setdefault(run.step, []).append(run)
        for step, runs in sorted(by_step.items()):
            wanted = self.planned[step].workload.run.gate if step in self.planned else None
            judged = [
                replace(run, gate=run.gate if wanted is None else wanted) for run in runs if run.claim is not None
            ]
            gated = tuple(run for run in judged if run.gate)
            if gated:
                yield Evaluation(step, gated)


def current(stated: Stated) -> KeptRun:
    """Return a planned run as its file will tell."""
    run = stated.workload.run
    claim = run.claim if run.marked else None
    inputs = tuple(sorted(item.run for item in run.upstream))
    return KeptRun(stated.workload.object_name, stated.workload.name, inputs, claim, run.gate)


def _needs(run: KeptRun, wanted: str, known: Mapping[str, KeptRun]) -> bool:
    """Say whether a run needs another, directly or not; no way is walked twice, of which there may be very many."""
    waiting, seen = [run], set[str]()
    while waiting:
        inputs = set(waiting.pop().inputs)
        if wanted in inputs:
            return True
        waiting += (known[name] for name in inputs - seen if name in known)
        seen |= inputs
    return False


def left_out(name: str, spec: ServiceSpec, target: Target, scope: Scope) -> bool:
    """Say whether a service has to wait for its first pin; a note says so."""
    if target.promotion != "pinned" or target.environment is None:
        return False
    open_ = [path for path, model in spec.models().items() if model.step is not None and model.run is None]
    if open_:
        message = f"service `{name}` is left out of {scope.place}: no run is pinned there"
        help = f"`mlspec promote {name} --to {target.environment}` pins the newest run"
        place = ("services", name, *open_[0], "model")
        scope.report("MLS238", message, place, help, severity=codes.severity("MLS238"), at_key=True)
    return bool(open_)


def resolve(
    name: str, spec: ServiceSpec, steps: Steps, target: Target, scope: Scope, helper: str, placement: Placement
) -> tuple[ServiceSpec, PlannedGate | None]:
    """Return a service whose models have URIs, and its gate; without an environment the URIs stay open."""
    environment = target.environment or ""
    models: dict[PartPath, ModelSource] = {}
    served: list[ServedRun] = []
    judged: dict[str, Evaluation] = {}
    for path, model in spec.models().items():
        place = ("services", name, *path, "model")
        run = _run(model, steps, environment, place, scope) if target.environment and model.step else None
        if run is None or run.claim is None:
            models[path] = model
            continue
        inside = "/".join(part for part in (steps.project, run.name, model.path) if part)
        models[path] = model.model_copy(update={"uri": f"{_SCHEME}{run.claim}/{inside}"})
        served.append(ServedRun(run.step, run.name, run.claim, inside))
        for evaluation in steps.evaluations(environment, run):
            before = judged.get(evaluation.step)
            together = {item.name: item for item in [*(before.runs if before else ()), *evaluation.runs]}
            judged[evaluation.step] = Evaluation(evaluation.step, tuple(together.values()))
    if not served:
        return spec, None
    gate = PlannedGate(
        tuple(served), tuple(judged.values()), helper, placement.node_selector, tuple(placement.tolerations)
    )
    return spec.with_models(models), gate


def _run(model: ModelSource, steps: Steps, environment: str, place: Path, scope: Scope) -> KeptRun | None:
    """Return the run that a model comes from: the pin, or the current one."""
    step = model.step or ""
    stated = steps.planned.get(step)
    where = (*place, "from")
    if stated is None:
        if not scope.written("steps", step):
            message = f"there is no step `{step}`{scope.taken('steps', step)}"
            scope.report("MLS201", message, where, suggestion(step, steps.specs, "steps"))
        return None
    if model.run is None or names.run(step, model.run) == stated.workload.object_name:
        found = current(stated)
    else:
        kept = steps.history.find(environment, names.run(step, model.run))
        if kept is None or kept.step != step:
            _unknown_run(model.run, step, steps, environment, (*place, "run"), scope)
            return None
        found = kept
    if found.claim is None:
        _no_directory(step, found, stated, where, scope)
        return None
    return found


def _unknown_run(run: str, step: str, steps: Steps, environment: str, path: Path, scope: Scope) -> None:
    known = [name.rpartition("-")[2] for name in steps.known(environment, step)]
    message = f"{scope.place} has no run `{names.run(step, run)}`"
    lost = steps.history.missing(environment, names.run(step, run))
    if lost is not None:
        scope.report("MLS241", f"{message}: its file is missing", path, f"restore it with `git checkout {lost}`")
        return
    shown = ", ".join(f"`{digest}`" for digest in known[:6]) + (", …" if len(known) > 6 else "")
    help = f"runs of `{step}` there: {shown}; `mlspec promote` writes the pin"
    help += (
        "" if steps.history.names(environment) else "; if generated/ is lost, `git checkout generated` brings it back"
    )
    scope.report("MLS241", message, path, help)


def _no_directory(step: str, found: KeptRun, stated: Stated, path: Path, scope: Scope) -> None:
    """Report a run whose success nobody can see, with what the step lacks."""
    run = stated.workload.run
    if found.name != stated.workload.object_name:
        message, help = f"run `{found.name}` was written without a run directory", "pin a newer run"
    elif run.directory is None:
        several = sum(not mount.read_only for mount in stated.workload.mounts) > 1
        message = f"step `{step}` has no output: it mounts {'several volumes' if several else 'no volume'} for writing"
        help = f"say which in `steps.{step}.output`" if several else f"mount one in `steps.{step}.mounts`"
    else:
        message = f"step `{step}` does not mark its success, so nothing tells when its model is whole"
        help = "give it `command:` or `script:` and no `handoff: none`, or write `uri: pvc://…` here"
    scope.report("MLS240", message, path, help)
