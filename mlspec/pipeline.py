"""The whole road for a root: sources in, projects with plans, objects, files and findings out; writes nothing."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from mlspec.all_kinds import OPERATORS
from mlspec.check import references
from mlspec.check.schema import check_schema
from mlspec.compiled import Compilation, Compiled
from mlspec.conflicts import conflicts
from mlspec.diagnostics import Diagnostic, has_errors, whole_file
from mlspec.emit import emit, emit_argocd
from mlspec.files import claims, compare, lock
from mlspec.files.lock import Lock, State
from mlspec.files.marks import LOCK, digest
from mlspec.ir import Place
from mlspec.layout import PlannedEnvironment, lay_out, run_path
from mlspec.model.operators import minor
from mlspec.plan.resolve import build_base_plan, build_plan
from mlspec.schemas import kubernetes_folder, operator_folder
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedEnvironment, LoadedProject, Workspace


def schema_folders(environment: EnvironmentFields) -> tuple[Path, ...]:
    """Return where the schemas of an environment's declared versions lie."""
    operators = [
        operator_folder(op.schemas(value)) for op in OPERATORS if (value := getattr(environment, op.field)) is not None
    ]
    if environment.prometheus is not None:
        operators.append(operator_folder(f"prometheus-operator-{minor(environment.prometheus.version)}"))
    argocd = operator_folder(f"argo-cd-{minor(environment.argocd.version)}")
    return (kubernetes_folder(environment.kubernetes), *operators, argocd)


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
    if laid_out and compilation.workspace.complete:
        _leftovers(compilation, compilation.workspace.root / GENERATED)


def _plan(workspace: Workspace, project: LoadedProject, only: Sequence[str]) -> Compiled:
    compiled = Compiled(project)
    for name, variant in project.variants.items():
        environment = workspace.environments[name]
        plan, diagnostics = build_plan(variant, environment, project.base)
        chosen = not only or name in only
        compiled.diagnostics += diagnostics if chosen else ()
        compiled.plans[name] = plan
        if has_errors(diagnostics) or variant.repaired is not None or environment.damaged:
            continue
        resources = emit(plan)
        compiled.resources[name] = resources
        compiled.argocd[name] = emit_argocd(plan, resources)
        compiled.counts[name] = len(resources) + len(compiled.argocd[name])
        compiled.diagnostics += _judge(compiled, name, environment) if chosen else ()
    return compiled


def _judge(compiled: Compiled, name: str, environment: LoadedEnvironment) -> Iterator[Diagnostic]:
    """Yield what schemas and references have against the objects of one environment."""
    folders = schema_folders(environment.model)
    plan, resources = compiled.plans[name], compiled.resources[name]
    for resource in resources:
        for code, message in check_schema(folders, resource.body):
            where = f"{resource.key} in {name}"
            yield Diagnostic(
                code, f"{where}: {message}", compiled.span(name, resource.origin), ".".join(resource.origin)
            )
    for resource, message in references.check_references(plan, resources):
        text = f"{resource.key} in {name}: {message}"
        yield Diagnostic("MLS303", text, compiled.span(name, resource.origin), ".".join(resource.origin))
    for body in compiled.argocd[name]:
        for code, message in check_schema(folders, body):
            text = f"{body['kind']} {body['metadata']['name']}: {message}"
            yield Diagnostic(code, text, compiled.span(name, ("name",)), "name")


def _lay_out(workspace: Workspace, compiled: Compiled, generated: Path) -> list[Diagnostic]:
    project = compiled.project
    state = lock.read_state(generated, project.name)
    runs = lock.read_runs(generated, state)
    base = emit(build_base_plan(project.base, workspace.common))
    environments = [
        PlannedEnvironment(name, plan.target.namespace or "", compiled.resources[name], compiled.argocd[name])
        for name, plan in sorted(compiled.plans.items())
    ]
    compiled.layout = lay_out(project.name, base, environments, runs)
    compiled.changes = compare.compare(
        generated, project.name, compiled.layout.files, _lock(workspace, compiled), state
    )
    found = list(_same_name(workspace, compiled, state))
    found += _changed_claims(compiled, state, generated)
    for name in compiled.plans:
        found += _kept_runs(compiled, name, schema_folders(workspace.environments[name].model))
    for name in compiled.plans:
        messages = references.check_argocd(compiled.resources[name], compiled.argocd[name], compiled.layout.builds)
        found += (Diagnostic("MLS303", message, compiled.span(name, ("name",)), "name") for message in messages)
    return found


def _changed_claims(compiled: Compiled, state: State, generated: Path) -> Iterator[Diagnostic]:
    """Yield changes of claims that Kubernetes would refuse, at the field of the volume."""
    for name, resources in compiled.resources.items():
        for resource, field, message, help in claims.check_claims(
            generated, state, compiled.project.name, name, resources
        ):
            path = (*resource.origin, field)
            text = f"volume `{resource.key.name}` in {name}: {message}"
            yield Diagnostic("MLS236", text, compiled.span(name, path), ".".join(path), help)


def _kept_runs(compiled: Compiled, name: str, folders: tuple[Path, ...]) -> Iterator[Diagnostic]:
    """Judge the run files that were written before: they are taken as they are, so they must be what they claim."""
    plan, resources = compiled.plans[name], compiled.resources[name]
    built = {
        (body["kind"], body["metadata"]["name"]): body
        for body in compiled.layout.builds.get(f"{compiled.project.name}/overlays/{name}/{Place.PIPELINE}", ())
    }
    taken = [replace(r, body=built.get((r.key.kind, r.key.name), r.body)) if r.is_run else r for r in resources]
    for fresh, kept in zip(resources, taken, strict=True):
        if kept.body == fresh.body:
            continue
        place = whole_file(f"{GENERATED}/{run_path(compiled.project.name, name, fresh.key.name)}")
        for code, message in check_schema(folders, kept.body):
            yield Diagnostic(code, f"{kept.key}: {message}", place)
        if _images(kept.body) != _images(fresh.body):
            message = f"{kept.key} runs another image than its name stands for"
            yield Diagnostic("MLS508", message, place, help=f"restore it with `git checkout {place.file}`")
    for resource, message in references.check_references(plan, taken):
        place = whole_file(f"{GENERATED}/{run_path(compiled.project.name, name, resource.key.name)}")
        yield Diagnostic("MLS303", f"{resource.key}: {message}", place)


def _images(value: Any) -> list[str]:
    """Return every image inside a manifest, in order."""
    if isinstance(value, list):
        return [image for item in value for image in _images(item)]
    if not isinstance(value, dict):
        return []
    found = [value["image"]] if isinstance(value.get("image"), str) else []
    return found + [image for item in value.values() for image in _images(item)]


def _same_name(workspace: Workspace, compiled: Compiled, state: State) -> Iterator[Diagnostic]:
    """Yield the project of the same name that was not asked for, where only some paths were."""
    for name in state.lock.inputs if state.lock else ():
        file = name.removeprefix("../")
        known = file in workspace.files or file.startswith(f"{ENVIRONMENT_FOLDER}/")
        if not known and (workspace.root / file).is_file():
            message = f"{file} generates a project named `{compiled.project.name}`"
            span = locate(compiled.project.base.tree, ("name",)).value_span
            yield Diagnostic("MLS211", message, span, "name", "choose another name, or remove that file")


def _lock(workspace: Workspace, compiled: Compiled) -> Lock:
    """Return the lock of a complete run; inputs are the project's file and every environment's."""
    inputs = {f"../{compiled.project.file}": workspace.digests[compiled.project.file]}
    for name, value in workspace.digests.items():
        if name.startswith(f"{ENVIRONMENT_FOLDER}/"):
            inputs[f"../{name}"] = value
    outputs = {path: digest(content) for path, content in compiled.layout.files.items()}
    return Lock(inputs, outputs, tuple(compiled.layout.superseded))


def _leftovers(compilation: Compilation, generated: Path) -> None:
    """Find projects that are gone, and files that no lock accounts for."""
    names = {compiled.project.name for compiled in compilation.projects}
    owned: set[str] = set()
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
    found = []
    for change in compilation.changes:
        missing = [finding for finding in change.drift if finding.code == "MLS502"]
        lock_file = f"{GENERATED}/{change.project}/{LOCK}"
        if not each_file and any(finding.span.file == lock_file for finding in missing):
            message = f"project {change.project} was never generated: {len(missing)} files are missing"
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
