"""The whole road for a root: sources in, projects with plans, objects, files and findings out; writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from mlspec import admin, continuity, levels, pod_security
from mlspec.check import fits, objects, reachable, references
from mlspec.check.objects import Fault
from mlspec.check.quiet import DRIFT, FIGHT
from mlspec.check.versions import schema_folders
from mlspec.compiled import Compilation, Compiled
from mlspec.conflicts import conflicts
from mlspec.diagnostics import Diagnostic, has_errors, whole_file
from mlspec.emit import emit, emit_argocd
from mlspec.files import compare, lock
from mlspec.files.lock import Lock, State
from mlspec.files.marks import ROOT, digest, lock_path
from mlspec.ir import Plan
from mlspec.k8s.resource import Resource
from mlspec.layout import PlannedEnvironment, lay_out
from mlspec.model.levels import Level
from mlspec.plan.resolve import build_base_plan, build_plan
from mlspec.policy import engine
from mlspec.policy.engine import Opinion
from mlspec.policy.subject import Subject
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED, PROJECT_FILE
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedEnvironment, LoadedProject, Workspace


def compile_workspace(workspace: Workspace, only: Sequence[str] = ()) -> Compilation:
    """Compile every project of a workspace; files are laid out only where nothing is wrong.

    With `only`, findings about other environments are left out; their files then cannot be laid out.
    """
    compilation = Compilation(workspace, diagnostics=list(workspace.diagnostics))
    for project in workspace.projects:
        compiled = _plan(workspace, project, only)
        compilation.projects.append(compiled)
        compilation.diagnostics += compiled.diagnostics
    sound = not has_errors([*compilation.diagnostics, *conflicts(compilation)])
    for compiled in compilation.projects if sound else ():
        if compiled.plans.keys() == compiled.resources.keys():
            compilation.diagnostics += _lay_out(workspace, compiled, workspace.root / GENERATED)
    conclude(compilation, laid_out=sound)
    return compilation


def conclude(compilation: Compilation, *, laid_out: bool) -> None:
    """Add what concerns the root as a whole: projects against one another, and what is left from before."""
    compilation.diagnostics += conflicts(compilation)
    if laid_out:
        compilation.admin = admin.changes(compilation.workspace)
    if laid_out and compilation.workspace.complete:
        generated = compilation.workspace.root / GENERATED
        _leftovers(compilation, generated)
        compilation.diagnostics += continuity.moved_projects(compilation, generated)


def _plan(workspace: Workspace, project: LoadedProject, only: Sequence[str]) -> Compiled:
    generated = workspace.root / GENERATED
    state = lock.read_state(generated, project.name)
    compiled = Compiled(project, state, lock.read_history(generated, project.name, state))
    for name, variant in project.variants.items():
        environment = workspace.environments[name]
        plan, diagnostics = build_plan(variant, environment, project.base, compiled.history)
        compiled.diagnostics += diagnostics if not only or name in only else ()
        compiled.plans[name] = plan
        if not (has_errors(diagnostics) or variant.repaired is not None or environment.damaged):
            resources = emit(plan, environment.model.kubernetes, compiled.history)
            compiled.resources[name] = resources
            compiled.argocd[name] = emit_argocd(plan, resources)
            compiled.counts[name] = len(resources) + len(compiled.argocd[name])
    for name in project.variants:
        found = judge(compiled, name, workspace.environments[name])
        compiled.diagnostics += found if not only or name in only else ()
    compiled.diagnostics += _unused(compiled)
    return compiled


def judge(compiled: Compiled, name: str, environment: LoadedEnvironment) -> list[Diagnostic]:
    """Return what schemas, laws and policy have against a project in one environment; the opinion is kept."""
    found = list(_judge(compiled, name, environment)) if name in compiled.resources else []
    if not environment.damaged:  # what it says of policy may be what is wrong with it
        compiled.opinions[name] = _opinion(compiled, name, environment)
        found += compiled.opinions[name].diagnostics
    return found


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
    )
    opinion = engine.judge(subject, variant.tree, environment.tree)
    if variant.repaired is not None:
        opinion.diagnostics = [finding for finding in opinion.diagnostics if variant.repaired.keeps(finding)]
    return opinion


def _level_of_runs(compiled: Compiled, name: str, environment: LoadedEnvironment) -> Level:
    minor = pod_security.minor_of(environment.model.kubernetes)
    return levels.of_runs(compiled.plans[name].target, compiled.resources.get(name, ()), minor, compiled.history)


def _unused(compiled: Compiled) -> Iterator[Diagnostic]:
    """Yield what `allow` accepts nowhere; only where every environment could be judged whole."""
    variants = compiled.project.variants
    if compiled.resources.keys() != variants.keys():
        return
    accepted = [item for opinion in compiled.opinions.values() for item in opinion.accepted]
    for variant in variants.values():
        yield from engine.unused(variant.tree, engine.allows(variant.model), accepted)


def _judge(compiled: Compiled, name: str, environment: LoadedEnvironment) -> Iterator[Diagnostic]:
    """Yield what schemas, law 8 and references have against the objects of one environment."""
    folders = schema_folders(environment.model)
    plan, resources = compiled.plans[name], compiled.resources[name]
    for resource in resources:
        for fault in (*objects.judge(folders, resource), *fits.judge(resource)):
            yield _located(compiled, name, resource, fault)
    across = (
        *objects.judge_references(plan, resources),
        *fits.judge_services(resources),
        *reachable.check(plan, resources, _elsewhere(compiled, plan)),
    )
    for resource, fault in across:
        yield _located(compiled, name, resource, fault)
    for body in compiled.argocd[name]:
        for fault in objects.judge_body(folders, body):
            text = f"{body['kind']} {body['metadata']['name']}: {fault.message}"
            yield Diagnostic(fault.code, text, compiled.span(name, ("name",)), "name", fault.help)


def _elsewhere(compiled: Compiled, plan: Plan) -> set[str]:
    """Return the namespaces of the project's other environments in the same cluster."""
    others = (other.target for other in compiled.plans.values() if other.target.server == plan.target.server)
    return {other.namespace for other in others if other.namespace not in (None, plan.target.namespace)}


def _located(compiled: Compiled, name: str, resource: Resource, fault: Fault) -> Diagnostic:
    """Return a fault of an object as a finding at its workload, or at the operation of a patch that brought it."""
    origin = (*resource.origin, *fault.origin)
    # What law 8 has against an operation is the same in every environment, and then said once.
    quiet = fault.operation is not None and fault.code in (FIGHT, DRIFT)
    text = fault.message if quiet else f"{resource.key} in {name}: {fault.message}"
    return Diagnostic(fault.code, text, compiled.span(name, origin), ".".join(origin), fault.help)


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
    for name in compiled.plans:
        messages = references.check_argocd(compiled.resources[name], compiled.argocd[name], compiled.layout.builds)
        found += (Diagnostic("MLS303", message, compiled.span(name, ("name",)), "name") for message in messages)
    return found


def _same_name(workspace: Workspace, compiled: Compiled, state: State) -> Iterator[Diagnostic]:
    """Yield the project of the same name that was not asked for, where only some paths were."""
    for name in state.lock.inputs if state.lock else ():
        file = name.removeprefix("../")
        is_other = file.rsplit("/", 1)[-1] == PROJECT_FILE and file not in workspace.files
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


def _leftovers(compilation: Compilation, generated: Path) -> None:
    """Find projects that are gone, and files that no lock accounts for."""
    names = {compiled.project.name for compiled in compilation.projects}
    owned = set(lock.read_state(generated, ROOT).owned)
    owned |= compilation.admin.lock.outputs.keys() if compilation.admin and compilation.admin.lock else set()
    for item in compilation.projects:
        owned |= item.layout.files.keys()
        owned |= lock.read_state(generated, item.project.name).owned.keys()
    for name in lock.locked_projects(generated):
        if name not in names:
            state = lock.read_state(generated, name)
            owned |= state.owned.keys()
            compilation.gone.append(compare.compare(generated, name, {}, None, state))
    for path in compare.foreign(generated, owned):
        (compilation.temporaries if compare.is_temporary(path) else compilation.strays).append(path)


def drift(compilation: Compilation, *, each_file: bool = True) -> list[Diagnostic]:
    """Return how generated/ differs from what it should be, by file; nothing is written.

    Without `each_file`, a project that was never generated is one finding.
    """
    found: list[Diagnostic] = []
    for change in compilation.changes:
        missing = [finding for finding in change.drift if finding.code == "MLS502"]
        lock_file = f"{GENERATED}/{lock_path(change.project)}"
        alone = not (change.writes or change.removes or change.refusals) and len(change.drift) == 1
        if change.project == ROOT and found and alone and change.drift[0].code == "MLS501":
            continue  # its lock lists the environments, too: what was found of projects says enough
        if not each_file and any(finding.span.file == lock_file for finding in missing):
            if change.project == ROOT and any("never generated" in finding.message for finding in found):
                continue  # the root's own files are made together with those of its projects
            whose = "what belongs to the root" if change.project == ROOT else f"project {change.project}"
            message = f"{whose} was never generated: {len(missing)} files are missing"
            if len(missing) == 1:
                message = "the lock is missing"
            help = "run `mlspec generate`"
            found.append(Diagnostic("MLS502", message, whole_file(lock_file), help=help))
            found += [finding for finding in change.drift if finding not in missing] + change.refusals
        else:
            found += change.drift + change.refusals
    refused = {finding.span.file for finding in found}
    for path in compilation.strays:
        if f"{GENERATED}/{path}" in refused:
            continue
        help = "move it away: only mlspec writes here"
        found.append(Diagnostic("MLS504", "not written by mlspec", whole_file(f"{GENERATED}/{path}"), help=help))
    for path in compilation.temporaries:
        help = "run `mlspec generate`"
        found.append(
            Diagnostic("MLS505", "left by an interrupted generate", whole_file(f"{GENERATED}/{path}"), help=help)
        )
    return found
