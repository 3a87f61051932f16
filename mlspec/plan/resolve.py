"""A valid project and an environment in, a plan and findings out; pure.

The plan is built even where something is missing, so that one run reports everything.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import replace
from typing import Final

from mlspec import codes, names
from mlspec.all_kinds import KINDS
from mlspec.diagnostics import Diagnostic, suggestion
from mlspec.ir import (
    Flow,
    PartPath,
    Plan,
    PlannedPart,
    PlannedResources,
    PlannedVolume,
    PlannedWorkload,
    Stated,
    Target,
)
from mlspec.ir_runs import PlannedRun
from mlspec.ir_safety import PlannedSecret, PlannedSecurity
from mlspec.k8s import meta
from mlspec.kind_base import Kind
from mlspec.kind_specs import PodFields, ServiceSpec, StepSpec, WorkloadSpec
from mlspec.plan import containers, defaults, graph, identity, queues, rules, runs, served
from mlspec.plan.history import History
from mlspec.plan.scope import Path, Scope
from mlspec.plan.target import build_target
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.repair import about_project_alone
from mlspec.spec.workspace import LoadedEnvironment, Variant

_NO_HISTORY: Final = History()


def build_plan(
    variant: Variant, environment: LoadedEnvironment, base: Variant, history: History = _NO_HISTORY
) -> tuple[Plan, list[Diagnostic]]:
    """Return the plan of a project in an environment, and everything that is wrong with it.

    `base` is the project without overrides, for what an override took away; `history` are the runs that were written
    before, which pins may name.
    """
    scope = Scope(variant.tree, environment.tree, environment.name, base.tree)
    plan = _Planner(variant, environment.model, scope, history).plan()
    rules.check(plan, variant.model, environment.model, scope)
    found = scope.diagnostics
    if variant.repaired is not None:
        found = [finding for finding in found if variant.repaired.keeps(finding)]
    if environment.damaged:
        found = [finding for finding in found if about_project_alone(finding)]
    return plan, found


def build_base_plan(variant: Variant, common: EnvironmentFields) -> Plan:
    """Return the plan under common.yaml and built-in defaults; what only environments know stays open."""
    return _Planner(variant, common, Scope(variant.tree, None, None, None), _NO_HISTORY).plan()


class _Planner:
    """The passes over one project in one environment."""

    def __init__(self, variant: Variant, environment: EnvironmentFields, scope: Scope, history: History) -> None:
        self.project = variant.model
        self.contents = variant.contents
        self.environment = environment
        self.scope = scope
        self.history = history
        self.target: Target = build_target(self.project, scope.environment_name, environment)

    def plan(self) -> Plan:
        """Return the plan."""
        volumes = self._volumes()
        steps = self._steps()
        made = [self._service(name, spec, steps) for name, spec in sorted(self.project.services.items())]
        workloads = [*(steps[name] for name in sorted(steps)), *(stated for stated in made if stated is not None)]
        return Plan(
            project=self.project.name,
            owner=self.project.owner,
            target=queues.with_queues(self.target, steps.values(), self.history),
            volumes=volumes,
            secrets=tuple(sorted(self.project.secrets)),
            claims=tuple(sorted(volume.claim for volume in self.project.volumes.values() if volume.claim)),
            monitoring_interval=self.project.monitoring.interval,
            workloads=tuple(workloads),
            external_secrets=self._external_secrets(),
        )

    def _volumes(self) -> tuple[PlannedVolume, ...]:
        found = []
        for name, volume in sorted(self.project.volumes.items()):
            rules.check_volume(name, volume, self.scope)
            if volume.claim is not None or volume.size is None:
                continue
            chosen = defaults.storage_class(name, volume, self.environment, self.scope)
            declared = self.environment.storage.get(chosen) if chosen is not None else None
            waits = declared is not None and declared.binding == "WaitForFirstConsumer"
            found.append(PlannedVolume(name, volume.size, volume.access, chosen, waits))
        return tuple(found)

    def _external_secrets(self) -> tuple[PlannedSecret, ...]:
        found = []
        for name, secret in sorted(self.project.secrets.items()):
            if secret.external is None:
                continue
            if self.environment.secret_store is None:
                help = f"add `secretStore: {{name: …}}` to environments/{self.scope.environment_name}.yaml"
                message = f"{self.scope.place} has no store to make `{name}` from"
                self.scope.report("MLS251", message, ("secrets", name, "external"), help)
            found.append(PlannedSecret(name, secret.keys, secret.external))
        return tuple(found)

    def _steps(self) -> dict[str, Stated]:
        needs = {name: spec.needs for name, spec in self.project.steps.items()}
        for circle in graph.circles(needs):
            shown = circle if len(circle) <= 12 else [*circle[:8], f"… {len(circle) - 10} more …", *circle[-2:]]
            message = f"`needs` goes in a circle: {' → '.join(shown)}"
            self.scope.report("MLS209", message, ("steps", circle[0], "needs"), "remove one of them")
        ordered = graph.order(needs)
        found: dict[str, Stated] = {}
        for name in [*ordered, *sorted(set(needs) - set(ordered))]:
            found[name] = self._step(name, self.project.steps[name], found)
        return found

    def _step(self, name: str, spec: StepSpec, before: Mapping[str, Stated]) -> Stated:
        for index, need in enumerate(spec.needs):
            if need not in self.project.steps and not self.scope.written("steps", need):
                path = ("steps", name, "needs", index)
                self.scope.report(
                    "MLS201",
                    f"there is no step `{need}`{self.scope.taken('steps', need)}",
                    path,
                    self._step_help(name, need),
                )
        run = self._run(name, spec, before)
        digest = identity.digest(run.inputs)
        planned = self._workload("steps", name, spec, names.run(name, digest))
        planned = replace(planned, digest=digest, mounts=containers.mounts(name, spec, self.project, self.scope))
        planned = self._handed_over(replace(planned, run=run, needs=spec.needs), spec, before)
        return self._stated(planned)

    def _run(self, name: str, spec: StepSpec, before: Mapping[str, Stated]) -> PlannedRun:
        """Return what a run computes, and what it ships."""
        volumes = ((name, self.project.volumes.get(name)) for name in spec.mounts)
        claims = {volume_name: volume.claim for volume_name, volume in volumes if volume and volume.claim}
        files = runs.shipped(spec, self.contents)
        runs.check_size(name, files, spec, self.scope)
        inputs = identity.inputs(
            self.scope.environment_name or "",
            KINDS[_tag(spec)],
            spec,
            {need: before[need].workload.digest if need in before else "" for need in spec.needs},
            claims,
            {file.source: hashlib.sha256(file.content).hexdigest() for file in files},
        )
        keep = (self.project.runs.on_supersede or self.environment.runs.on_supersede) == "keep"
        queue = queues.of_step(name, spec, self.environment, self.scope)
        return PlannedRun(inputs, gate=runs.thresholds(spec), files=files, queue=queue, keep=keep)

    def _handed_over(self, workload: PlannedWorkload, spec: StepSpec, before: Mapping[str, Stated]) -> PlannedWorkload:
        """Add where the run's directory lies, what it waits for, and what tells it so."""
        name = workload.name
        mount = runs.output(name, spec, workload.mounts, self.scope)
        once = {name for name, v in self.project.volumes.items() if not v.claim and v.access == "ReadWriteOnce"}
        needed = runs.upstream(spec, workload.mounts, before, self.project.name, frozenset(once))
        waits = any(item.awaited for item in needed)
        wrapped = runs.is_wrapped(name, spec, has_directory=mount is not None, waits=waits, scope=self.scope)
        directory = runs.directory(mount, self.project.name, workload.object_name) if mount is not None else None
        claim = mount.claim if mount is not None else None
        run = replace(workload.run, upstream=needed, claim=claim, directory=directory, wrapped=wrapped)
        variables = runs.variables(workload.object_name, run)
        # What follows from a need or a volume that does not exist is no news.
        if set(spec.needs) <= before.keys() and len(workload.mounts) == len(spec.mounts):
            runs.check_gate(name, run, self.scope)
            containers.check_own_variables(name, spec, {variable.name for variable in variables}, self.scope)
        wave = runs.wave(name, spec, run, before, self.scope)
        return replace(workload.with_env_first(*variables), run=run, wave=wave)

    def _step_help(self, name: str, need: str) -> str:
        if need in self.project.services:
            return f"`{need}` is a service; only steps are needed"
        if self.scope.taken("steps", need):
            return "override `needs` there too"
        return suggestion(need, set(self.project.steps) - {name}, "steps")

    def _service(self, name: str, spec: ServiceSpec, steps: Mapping[str, Stated]) -> Stated | None:
        if served.left_out(name, spec, self.target, self.scope):
            return None
        known = served.Steps(self.project.name, steps, self.project.steps, self.history)
        helper, placement = self.environment.images.helper, defaults.placement(None, self.environment)
        resolved, gate = served.resolve(name, spec, known, self.target, self.scope, helper, placement)
        return self._stated(replace(self._workload("services", name, resolved, name), gate=gate))

    def _workload(self, section: str, name: str, spec: WorkloadSpec, object_name: str) -> PlannedWorkload:
        place = (section, name)
        return PlannedWorkload(
            name=name,
            section=section,
            kind=_tag(spec),
            spec=spec,
            object_name=object_name,
            digest="",
            wave=0,
            security=PlannedSecurity(spec.security.user, spec.security.writable_root, spec.security.capabilities),
            labels=meta.workload_labels(self.project.name, section, name, object_name),
            parts={path: self._part(place, spec, path, own) for path, own in spec.parts().items()},
            mounts=(),
        )

    def _part(self, place: Path, spec: WorkloadSpec, path: PartPath, own: PodFields) -> PlannedPart:
        """Return what one part of a workload gets: what it leaves out is the workload's, then the environment's."""
        wanted = spec.gpu if own.gpu is None else own.gpu
        where = place if own.gpu is None else (*place, *path)
        gpu = defaults.gpu_type(wanted, self.environment, self.scope, (*where, "gpu"))
        asked = own.resources.over(spec.resources)
        devices = list(asked.extended.items())
        if wanted is not None and gpu is not None:
            devices.append((gpu.resource, wanted.count))
        memory = asked.memory or self.environment.defaults.memory
        shared = asked.shared_memory or KINDS[_tag(spec)].shared_memory(spec, memory)
        cpu = asked.cpu or self.environment.defaults.cpu
        return PlannedPart(
            PlannedResources(cpu, memory, shared, tuple(sorted(devices))),
            queues.placement(spec, gpu, self.environment),
            containers.variables(place, spec, path, own, self.project, self.scope),
        )

    def _stated(self, workload: PlannedWorkload) -> Stated:
        """Add the facts of the kind, and what they need from the environment."""
        kind = KINDS[workload.kind]
        path = (workload.section, workload.name)
        facts = kind.facts(workload, self.target)
        flows: list[Flow] = []
        secrets: dict[str, str] = {}
        spec = workload.spec
        assert isinstance(spec, WorkloadSpec)  # noqa: S101  # narrows for mypy
        for index, name in enumerate(spec.egress):
            found = defaults.destination(name, self.environment, self.scope, (*path, "egress", index))
            flows += [defaults.flow(found, name, (*path, "egress", str(index)))] if found else []
        for reference in facts.destinations:
            found = defaults.destination(reference.name, self.environment, self.scope, (*path, *reference.path))
            if found is not None:
                flows.append(defaults.flow(found, reference.name, (*path, *reference.path)))
                secrets |= {reference.name: found.secret} if found.secret else {}
        planned = replace(workload, egress=_unique(flows), storage_secrets=secrets)
        self._check_kind(kind, planned)
        return Stated(planned, facts)

    def _check_kind(self, kind: Kind, workload: PlannedWorkload) -> None:
        path = (workload.section, workload.name)
        if kind.OPERATOR is not None and kind.OPERATOR.field not in self.target.operators:
            field = kind.OPERATOR.field
            message = f"kind {kind.TAG} needs an operator that {self.scope.place} does not declare"
            help = f"add `{field}:` to environments/{self.scope.environment_name}.yaml, or set `enabled: false` for it"
            self.scope.report("MLS208", message, (*path, "kind"), help)
        for finding in kind.check(workload, self.target):
            where: Path = (*path, *finding.path)
            if finding.other:
                where = self.scope.later(where, (*path, *finding.other))
            severity = codes.severity(finding.code)
            self.scope.report(finding.code, finding.message, where, finding.help, severity=severity)


def _tag(spec: WorkloadSpec) -> str:
    return str(getattr(spec, "kind"))  # noqa: B009  # every kind's model has it as a literal


def _unique(flows: list[Flow]) -> tuple[Flow, ...]:
    found: list[Flow] = []
    for flow in flows:
        if flow not in found:
            found.append(flow)
    return tuple(found)
