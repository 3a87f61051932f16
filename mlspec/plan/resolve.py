"""A valid project and an environment in, a plan and findings out; pure.

The plan is built even where something is missing, so that one run reports everything.
"""

from __future__ import annotations

import re
from dataclasses import replace

from mlspec import codes, names
from mlspec.all_kinds import KINDS
from mlspec.diagnostics import Diagnostic, suggestion
from mlspec.ir import (
    Flow,
    PartPath,
    Plan,
    PlannedMount,
    PlannedPart,
    PlannedResources,
    PlannedVariable,
    PlannedVolume,
    PlannedWorkload,
    Stated,
    Target,
)
from mlspec.k8s import meta
from mlspec.kind_base import Kind, PodFields, StepSpec, WorkloadSpec
from mlspec.model.blocks import SecretKey
from mlspec.plan import defaults, graph, identity, rules
from mlspec.plan.scope import Path, Scope
from mlspec.plan.target import build_target
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project
from mlspec.spec.repair import about_project_alone
from mlspec.spec.workspace import LoadedEnvironment, Variant


def build_plan(variant: Variant, environment: LoadedEnvironment, base: Variant) -> tuple[Plan, list[Diagnostic]]:
    """Return the plan of a project in an environment, and everything that is wrong with it.

    `base` is the project without overrides, for what an override took away.
    """
    scope = Scope(variant.tree, environment.tree, environment.name, base.tree)
    plan = _Planner(variant.model, environment.model, scope).plan()
    rules.check(plan, variant.model, environment.model, scope)
    found = scope.diagnostics
    if variant.repaired is not None:
        found = [finding for finding in found if variant.repaired.keeps(finding)]
    if environment.damaged:
        found = [finding for finding in found if about_project_alone(finding)]
    return plan, found


def build_base_plan(variant: Variant, common: EnvironmentFields) -> Plan:
    """Return the plan under common.yaml and built-in defaults; what only environments know stays open."""
    return _Planner(variant.model, common, Scope(variant.tree, None, None, None)).plan()


_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


class _Planner:
    """The passes over one project in one environment."""

    def __init__(self, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
        self.project = project
        self.environment = environment
        self.scope = scope
        self.target: Target = build_target(project, scope.environment_name, environment)

    def plan(self) -> Plan:
        """Return the plan."""
        volumes = self._volumes()
        workloads = [
            *self._steps(),
            *(self._service(name, spec) for name, spec in sorted(self.project.services.items())),
        ]
        return Plan(
            project=self.project.name,
            owner=self.project.owner,
            target=self.target,
            volumes=volumes,
            secrets=tuple(sorted(self.project.secrets)),
            claims=tuple(sorted(volume.claim for volume in self.project.volumes.values() if volume.claim)),
            monitoring_interval=self.project.monitoring.interval,
            workloads=tuple(workloads),
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

    def _steps(self) -> list[Stated]:
        needs = {name: spec.needs for name, spec in self.project.steps.items()}
        for circle in graph.circles(needs):
            shown = circle if len(circle) <= 12 else [*circle[:8], f"… {len(circle) - 10} more …", *circle[-2:]]
            message = f"`needs` goes in a circle: {' → '.join(shown)}"
            self.scope.report("MLS209", message, ("steps", circle[0], "needs"), "remove one of them")
        depths = graph.depths(needs)
        digests: dict[str, str] = {}
        found = {}
        for name in [*depths, *sorted(set(needs) - set(depths))]:
            spec = self.project.steps[name]
            upstream = {need: digests.get(need, "") for need in spec.needs}
            volumes = ((name, self.project.volumes.get(name)) for name in spec.mounts)
            claims = {volume_name: volume.claim for volume_name, volume in volumes if volume and volume.claim}
            environment = self.scope.environment_name or ""
            digests[name] = identity.digest(environment, KINDS[_tag(spec)], spec, upstream, claims)
            found[name] = self._step(name, spec, digests[name], depths.get(name, 0))
        return [found[name] for name in sorted(found)]

    def _step(self, name: str, spec: StepSpec, digest: str, depth: int) -> Stated:
        for index, need in enumerate(spec.needs):
            if need not in self.project.steps and not self.scope.written("steps", need):
                path = ("steps", name, "needs", index)
                self.scope.report(
                    "MLS201",
                    f"there is no step `{need}`{self.scope.taken('steps', need)}",
                    path,
                    self._step_help(name, need),
                )
        mounts = self._mounts(name, spec)
        planned = self._workload("steps", name, spec, names.run(name, digest))
        planned = replace(planned, digest=digest, wave=10 * depth, mounts=mounts, needs=spec.needs)
        return self._stated(planned)

    def _step_help(self, name: str, need: str) -> str:
        if need in self.project.services:
            return f"`{need}` is a service; only steps are needed"
        if self.scope.taken("steps", need):
            return "override `needs` there too"
        return suggestion(need, set(self.project.steps) - {name}, "steps")

    def _service(self, name: str, spec: WorkloadSpec) -> Stated:
        return self._stated(self._workload("services", name, spec, name))

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
            defaults.placement(gpu, self.environment),
            self._variables(place, spec, path, own),
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
            flows += [defaults.flow(found)] if found else []
        for reference in facts.destinations:
            found = defaults.destination(reference.name, self.environment, self.scope, (*path, *reference.path))
            if found is not None:
                flows.append(defaults.flow(found))
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

    def _mounts(self, name: str, spec: StepSpec) -> tuple[PlannedMount, ...]:
        found = []
        for volume_name, mount in sorted(spec.mounts.items()):
            volume = self.project.volumes.get(volume_name)
            if volume is None and self.scope.written("volumes", volume_name):
                continue
            if volume is None:
                help = suggestion(volume_name, self.project.volumes, "volumes") or f"add `{volume_name}` to `volumes`"
                path = ("steps", name, "mounts", volume_name)
                self.scope.report("MLS202", f"there is no volume `{volume_name}`", path, help, at_key=True)
                continue
            found.append(PlannedMount(volume_name, volume.claim or volume_name, mount.path, mount.read_only))
        return tuple(found)

    def _variables(
        self, place: Path, spec: WorkloadSpec, path: PartPath, own: PodFields
    ) -> tuple[PlannedVariable, ...]:
        found = []
        for variable, value in (spec.env | own.env).items():
            if isinstance(value, SecretKey):
                where = (*place, *path) if variable in own.env else place
                self._check_secret(value, (*where, "env", variable))
                found.append(PlannedVariable(variable, None, value.secret, value.key))
            else:
                found.append(PlannedVariable(variable, value.value))
        return _in_order(found)

    def _check_secret(self, reference: SecretKey, path: Path) -> None:
        secret = self.project.secrets.get(reference.secret)
        if secret is None and self.scope.written("secrets", reference.secret):
            return
        if secret is None:
            help = (
                suggestion(reference.secret, self.project.secrets, "secrets")
                or f"add `{reference.secret}` to `secrets`"
            )
            self.scope.report("MLS203", f"there is no secret `{reference.secret}`", (*path, "secret"), help)
        elif reference.key not in secret.keys:
            help = suggestion(reference.key, secret.keys, "its keys")
            self.scope.report(
                "MLS203", f"secret `{reference.secret}` has no key `{reference.key}`", (*path, "key"), help
            )


def _in_order(variables: list[PlannedVariable]) -> tuple[PlannedVariable, ...]:
    """Return variables so that `$(NAME)` finds NAME before it, as Kubernetes expands them, else by name.

    The order in a map means nothing: two orders of the same map are the same run.
    """
    if len(variables) < 2:
        return tuple(variables)
    by_name = {variable.name: variable for variable in variables}
    uses = {name: _REFERENCE.findall(variable.value or "") for name, variable in by_name.items()}
    ordered = graph.order(uses)
    return tuple(by_name[name] for name in [*ordered, *sorted(set(by_name) - set(ordered))])


def _tag(spec: WorkloadSpec) -> str:
    return str(getattr(spec, "kind"))  # noqa: B009  # every kind's model has it as a literal


def _unique(flows: list[Flow]) -> tuple[Flow, ...]:
    found: list[Flow] = []
    for flow in flows:
        if flow not in found:
            found.append(flow)
    return tuple(found)
