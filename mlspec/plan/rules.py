"""Rules over a whole plan: one function each, every finding at the field that broke it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mlspec import names, schemas
from mlspec.all_kinds import OPERATORS
from mlspec.ir import PartPath, Plan
from mlspec.kind_specs import WorkloadSpec
from mlspec.model.base import SpecModel
from mlspec.model.operators import minor
from mlspec.model.quantity import amount
from mlspec.names import Derived
from mlspec.plan import queues, quota, storage_rules
from mlspec.plan.scope import Path, Scope
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project, Volume

_RESERVED_VOLUMES: Final = "mlspec-"


def check(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """Report everything that is wrong with a plan."""
    for rule in RULES:
        rule(plan, project, environment, scope)


def check_volume(name: str, volume: Volume, scope: Scope) -> None:
    """A volume has a size, or is an existing claim."""
    path = ("volumes", name)
    if name.startswith(_RESERVED_VOLUMES):
        scope.report(
            "MLS213",
            f"volume names beginning with `{_RESERVED_VOLUMES}` are reserved",
            path,
            "choose another name",
            at_key=True,
        )
    if volume.claim is None and volume.size is None:
        scope.report(
            "MLS103", "missing key `size`", path, "add `size: 10Gi`, or `claim:` for a claim that exists", at_key=True
        )
    if volume.claim is not None:
        for field, value in (("size", volume.size), ("class", volume.storage_class)):
            if value is not None:
                scope.report(
                    "MLS228", f"`{field}` beside `claim`", (*path, field), f"remove `{field}`, or `claim`", at_key=True
                )


def _shared_names(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    for name in sorted(set(project.steps) & set(project.services)):
        message = f"`{name}` is a step and a service"
        scope.report("MLS212", message, ("services", name), "rename one of them", at_key=True)
    own = {names.default_deny(project.name): "the NetworkPolicy that closes the project"}
    for section, name in [
        *(("steps", name) for name in project.steps),
        *(("services", name) for name in project.services),
    ]:
        if name in own:
            message = f"`{name}` is the name of {own[name]}"
            scope.report("MLS213", message, (section, name), "choose another name", at_key=True)


def _service_names(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    """Operators make Services named after ours; two of one name would be one, with the pods of whoever came last."""
    made: dict[str, str] = {}
    for stated in plan.services:
        name = stated.workload.name
        for service in (*stated.facts.services, names.metrics(name)):
            other = made.setdefault(service, name)
            if other != name:
                message = f"services `{other}` and `{name}` would both have a Service named `{service}`"
                scope.report("MLS213", message, ("services", name), "choose another name", at_key=True)


def _names(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    target = plan.target
    place = target.environment or ""
    if target.namespace is not None:
        _report_long(scope, Derived("the namespace", _parts(environment.namespace.pattern, plan)), ("name",))
        if not names.is_name(target.namespace):
            message = f"`{target.namespace}` is not a name of a namespace"
            scope.report_environment("MLS105", message, ("namespace", "pattern"), "lower-case letters, digits and `-`")
    longest = ("-", place, "-foundation")
    _report_long(scope, Derived("the Argo CD Application", (plan.project, *longest)), ("name",))
    for stated in plan.workloads:
        path = (stated.workload.section, stated.workload.name)
        for derived in stated.facts.derived:
            owner = f" of {stated.facts.gvk.kind} {stated.workload.object_name}"
            _report_long(scope, derived, path, owner)
        if stated.workload.gate is not None:
            _report_long(scope, Derived("the gate Job", (stated.workload.name, "-gate")), path)
        if not stated.workload.is_run:
            _report_long(scope, Derived("the metrics Service", (stated.workload.name, "-metrics")), path)


def _parts(pattern: str, plan: Plan) -> tuple[str, ...]:
    values = {"{project}": plan.project, "{environment}": plan.target.environment or "", "{owner}": plan.owner}
    parts, rest = [], pattern
    while rest:
        at = min((index for token in values if (index := rest.find(token)) >= 0), default=len(rest))
        if at:
            parts.append(rest[:at])
        token = next((token for token in values if rest.startswith(token, at)), "")
        parts += [values[token]] if token else []
        rest = rest[at + len(token) :]
    return tuple(parts)


def _report_long(scope: Scope, derived: Derived, path: Path, owner: str = "") -> None:
    if not derived.fits:
        message = f"{derived.what}{owner} in {scope.place} would be `{derived.name}`: {derived.arithmetic()}"
        over = len(derived.name) - derived.limit
        scope.report("MLS210", message, path, f"shorten the name by {over}", at_key=len(path) > 1)


def _resources(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    catalogue = {gpu.resource for gpu in environment.gpus.values()}
    for stated in plan.workloads:
        workload = stated.workload
        specs = project.steps if workload.is_run else project.services
        spec, place = specs[workload.name], (workload.section, workload.name)
        for path, part in workload.parts.items():
            shared, memory = part.resources.shared_memory, part.resources.memory
            if shared is not None and amount(shared) > amount(memory):
                of = f" of `{'.'.join(path)}`" if path else ""
                message = f"shared memory {shared} is more than memory {memory}{of}, which it is a part of"
                where = (*place, *_shared_memory(spec, path))
                scope.report("MLS217", message, where, "raise `memory`, or lower `sharedMemory`")
        for path, own in ({(): spec} | dict(spec.parts())).items():
            for name in sorted(set(own.resources.extended) & catalogue):
                where = (*place, *path, "resources", name)
                help = f"write `gpu: {own.resources.extended[name]}` instead"
                scope.report("MLS105", f"`{name}` is a GPU resource of {scope.place}", where, help, at_key=True)


def _shared_memory(spec: WorkloadSpec, path: PartPath) -> PartPath:
    """Return the field of a part that makes its shared memory too large: its own, its memory, or the workload's."""
    own = spec.parts()[path].resources
    field = "sharedMemory" if own.shared_memory else "memory" if own.memory and path else None
    return (*path, "resources", field) if field else ("resources", "sharedMemory")


def _gateway(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    serving = {operator.field for operator in OPERATORS if operator.serves}
    if plan.target.gateway is None and serving & plan.target.operators.keys():
        help = "add `network: {gateway: {namespace: istio-system, podLabels: {app: istio-ingressgateway}}}`"
        scope.report_environment(
            "MLS103", "missing key `gateway`: services get their requests from it", ("network", "gateway"), help
        )


def _versions(plan: Plan, project: Project, environment: EnvironmentFields, scope: Scope) -> None:
    for what, version, known, path in _declared(environment):
        if minor(version) not in known:
            message = f"mlspec has no schemas of {what} {version}"
            scope.report_environment("MLS224", message, path, f"it has {', '.join(known)}")


def _declared(environment: EnvironmentFields) -> Iterator[tuple[str, str, tuple[str, ...], Path]]:
    yield "Kubernetes", environment.kubernetes, schemas.kubernetes_versions(), ("kubernetes",)
    argocd = environment.argocd
    yield "Argo CD", argocd.version, schemas.operator_versions("argo-cd"), ("argocd", "version")
    if environment.prometheus is not None:
        known = schemas.operator_versions("prometheus-operator")
        yield "prometheus-operator", environment.prometheus.version, known, ("prometheus", "version")
    if environment.kueue is not None:
        yield "kueue", environment.kueue.version, schemas.operator_versions("kueue"), ("kueue", "version")
    for operator in OPERATORS:
        value = getattr(environment, operator.field)
        if value is not None:
            name, version = operator.schemas(value).rsplit("-", 1)
            path = (operator.field, "version") if isinstance(value, SpecModel) else (operator.field,)
            yield name, version, schemas.operator_versions(name), path


Rule = Callable[[Plan, Project, EnvironmentFields, Scope], None]
RULES: Final[tuple[Rule, ...]] = (
    _shared_names,
    _service_names,
    _names,
    _resources,
    *storage_rules.RULES,
    _gateway,
    quota.check,
    queues.check,
    _versions,
)
