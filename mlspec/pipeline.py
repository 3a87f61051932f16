"""The whole road for a root: sources in, projects with plans, objects, files and findings out; writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from mlspec import admin, continuity, levels, locating, pod_security
from mlspec.check import fits, objects, projected, reachable, references
from mlspec.check.objects import Fault
from mlspec.check.versions import schema_folders
from mlspec.compiled import Compilation, Compiled, Part
from mlspec.conflicts import conflicts
from mlspec.diagnostics import Diagnostic, across, has_errors
from mlspec.emit import emit, emit_argocd
from mlspec.files import compare, lock
from mlspec.files.lock import Lock, State
from mlspec.files.marks import digest
from mlspec.ir import Plan
from mlspec.layout import PlannedEnvironment, lay_out
from mlspec.leftovers import leftovers
from mlspec.model.levels import Level
from mlspec.plan.resolve import build_base_plan, build_plan
from mlspec.policy import engine
from mlspec.policy.engine import Opinion
from mlspec.policy.subject import Subject
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED, PROJECT_FILE
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedEnvironment, LoadedProject, Workspace

if TYPE_CHECKING:
    from mlspec.provenance import Seen


def compile_workspace(workspace: Workspace, only: Sequence[str] = (), part: Part | None = None) -> Compilation:
    """Compile every project of a workspace; files are laid out only where nothing is wrong.

    `part` is what the workspace is of its root, where only what a change touches is asked for. With `only`, findings
    about other environments are left out; their files then cannot be laid out.
    """
    compilation = Compilation(workspace, diagnostics=list(workspace.diagnostics), part=part)
    for project in workspace.projects:
        compiled = _plan(workspace, project, only)
        compilation.projects.append(compiled)
        compilation.diagnostics += compiled.diagnostics
    sound = not has_errors([*compilation.diagnostics, *conflicts(compilation)])
    for compiled in compilation.projects if sound else ():
        if compiled.plans.keys() == compiled.resources.keys():
            compiled.later = _lay_out(workspace, compiled, workspace.root / GENERATED)
            compilation.diagnostics += compiled.later
    conclude(compilation, laid_out=sound)
    return compilation


def conclude(compilation: Compilation, *, laid_out: bool) -> None:
    """Add what concerns the root as a whole: projects against one another, and what is left from before."""
    compilation.diagnostics += conflicts(compilation)
    if laid_out:
        others = compilation.part.others if compilation.part is not None else ()
        some = bool(compilation.workspace.projects or others)
        compilation.admin = admin.changes(compilation.workspace, any_project=some)
    if laid_out and compilation.workspace.complete:
        generated = compilation.workspace.root / GENERATED
        leftovers(compilation, generated)
        compilation.diagnostics += continuity.moved_projects(compilation, generated)


def _plan(workspace: Workspace, project: LoadedProject, only: Sequence[str]) -> Compiled:
    generated = workspace.root / GENERATED
    state = lock.read_state(generated, project.name)
    compiled = Compiled(project, state, lock.read_history(generated, project.name, state))
    # A patch has no part in the plan, so with some of its operations mended all else is there to be judged; not more.
    mended = replace(compiled, resources={}, argocd={}, counts={})
    told: list[tuple[str, Diagnostic]] = []
    for name, variant in project.variants.items():
        environment = workspace.environments[name]
        plan, diagnostics = build_plan(variant, environment, project.base, compiled.history)
        told += ((name, finding) for finding in diagnostics if not only or name in only)
        compiled.plans[name] = plan
        if not (has_errors(diagnostics) or environment.damaged):
            _emit(compiled, mended, environment)
    judged: list[Seen] = []
    for name, variant in project.variants.items():
        environment, of = workspace.environments[name], mended if name in mended.resources else compiled
        found = (list(_judge(of, environment)), _policy(of, environment))
        if not only or name in only:
            judged += (seen for seen in found[0] if variant.repaired is None or variant.repaired.keeps(seen.diagnostic))
            told += ((name, finding) for finding in found[1])
    compiled.diagnostics += [*across(told), *locating.once(judged)]
    compiled.diagnostics += _unused(compiled)
    return compiled


def _emit(compiled: Compiled, mended: Compiled, environment: LoadedEnvironment) -> None:
    """Add the objects of a plan; those of one with mended operations apart."""
    name, repaired = environment.name, compiled.project.variants[environment.name].repaired
    if repaired is None or repaired.is_plannable:
        of = compiled if repaired is None else mended
        of.resources[name] = emit(compiled.plans[name], environment.model.kubernetes, compiled.history)
        of.argocd[name] = emit_argocd(compiled.plans[name], of.resources[name])
        of.counts[name] = len(of.resources[name]) + len(of.argocd[name])


def judge(compiled: Compiled, environment: LoadedEnvironment) -> list[Diagnostic]:
    """Return what schemas, laws and policy have against a project in one environment; the opinion is kept."""
    return [*(found.alone for found in _judge(compiled, environment)), *_policy(compiled, environment)]


def _policy(compiled: Compiled, environment: LoadedEnvironment) -> list[Diagnostic]:
    """Return the findings of policy in one environment, and keep its opinion."""
    if environment.damaged:  # what it says of policy may be what is wrong with it
        return []
    opinion = compiled.opinions[environment.name] = _opinion(compiled, environment.name, environment)
    return opinion.diagnostics


def _opinion(compiled: Compiled, name: str, environment: LoadedEnvironment) -> Opinion:
    """Return what policy says of a project in an environment; of what was taken out because it is wrong, nothing."""
    variant = compiled.project.variants[name]
    subject = Subject(
        compiled.plans[name],
        variant.model,
        environment.model,
        variant.contents,
        compiled.resources.get(name, ()),
        compiled.argocd.get(name, ()),
        lambda: _level_of_runs(compiled, name, environment),
        lambda resource, field: locating.made_by(compiled, environment, resource, field),
    )
    opinion = engine.judge(subject, variant.tree, environment.tree)
    if variant.repaired is not None:
        opinion.diagnostics = [finding for finding in opinion.diagnostics if variant.repaired.keeps(finding)]
    return opinion


def _level_of_runs(compiled: Compiled, name: str, environment: LoadedEnvironment) -> tuple[Level, tuple[str, ...]]:
    minor = pod_security.minor_of(environment.model.kubernetes)
    return levels.of_runs(compiled.plans[name].target, compiled.resources.get(name, ()), minor, compiled.history)


def _unused(compiled: Compiled) -> Iterator[Diagnostic]:
    """Yield what `allow` accepts nowhere; only where every environment could be judged whole."""
    variants = compiled.project.variants
    if compiled.resources.keys() != variants.keys():
        return
    for variant in variants.values():
        yield from engine.unused(variant.tree, engine.allows(variant.model), compiled.opinions.values())


def _judge(compiled: Compiled, environment: LoadedEnvironment) -> Iterator[Seen]:
    """Yield what schemas, law 8 and references have against the objects of one environment."""
    folders, name = schema_folders(environment.model), environment.name
    if name not in compiled.resources:
        return
    plan, resources = compiled.plans[name], compiled.resources[name]
    for resource in resources:
        faults = [*objects.judge(folders, resource), *fits.judge(resource)]
        if all(fault.code not in projected.UNREAD for fault in faults):
            faults += projected.judge(folders, resource)
        for fault in faults:
            yield locating.seen(compiled, environment, resource, fault)
    across = (
        *objects.judge_references(plan, resources),
        *fits.judge_services(resources),
        *reachable.check(plan, resources, _elsewhere(compiled, plan)),
    )
    for resource, fault in across:
        yield locating.seen(compiled, environment, resource, fault)
    for body in compiled.argocd[name]:
        for fault in objects.judge_body(folders, body):
            yield locating.seen(compiled, environment, body, fault)


def _elsewhere(compiled: Compiled, plan: Plan) -> set[str]:
    """Return the namespaces of the project's other environments in the same cluster."""
    others = (other.target for other in compiled.plans.values() if other.target.server == plan.target.server)
    return {other.namespace for other in others if other.namespace not in (None, plan.target.namespace)}


def _lay_out(workspace: Workspace, compiled: Compiled, generated: Path) -> list[Diagnostic]:
    project, state = compiled.project, compiled.state
    base = emit(build_base_plan(project.base, workspace.common))
    environments = [
        PlannedEnvironment(name, plan.target.namespace or "", compiled.resources[name], compiled.argocd[name])
        for name, plan in sorted(compiled.plans.items())
    ]
    compiled.layout = lay_out(project.name, base, environments, compiled.history.files)
    compiled.changes = compare.compare(
        generated, project.name, compiled.layout.files, _lock(workspace, compiled), state
    )
    found = list(_same_name(workspace, compiled, state))
    found += continuity.check(compiled, workspace, generated)
    lost = [
        locating.seen(compiled, workspace.environments[name], of, Fault("MLS303", message, path=path))
        for name, plan in compiled.plans.items()
        for of, message, path in references.check_argocd(
            compiled.resources[name],
            compiled.argocd[name],
            compiled.layout.builds,
            plan.target.argocd.path if plan.target.argocd is not None else "",
        )
    ]
    return [*found, *locating.once(lost)]


def _same_name(workspace: Workspace, compiled: Compiled, state: State) -> Iterator[Diagnostic]:
    """Yield the project of the same name that was not asked for, where only some paths were."""
    for name in state.lock.inputs if state.lock else ():
        file = name.removeprefix("../")
        is_other = file.rsplit("/", 1)[-1] == PROJECT_FILE and file not in workspace.files
        is_other = is_other and file not in compiled.project.shipped
        if is_other and (workspace.root / file).is_file():
            message = f"{file} generates a project named `{compiled.project.name}`"
            span = locate(compiled.project.base.tree, ("name",)).value_span
            yield Diagnostic("MLS211", message, span, "name", "choose another name, or remove that file")


def _lock(workspace: Workspace, compiled: Compiled) -> Lock:
    """Return the lock of a complete run; inputs are the project's file and every environment's."""
    inputs = {f"../{compiled.project.file}": workspace.digests[compiled.project.file]}
    for name, value in workspace.digests.items():
        if name.startswith(f"{ENVIRONMENT_FOLDER}/"):
            inputs[f"../{name}"] = value
    inputs |= {f"../{name}": value for name, value in compiled.project.shipped.items()}
    outputs = {path: digest(content) for path, content in compiled.layout.files.items()}
    return Lock(inputs, outputs, tuple(compiled.layout.superseded))
