"""What was generated before against what would be now: claims, runs and services that Kubernetes would not change."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

from mlspec import codes
from mlspec.check import objects, references
from mlspec.check.versions import schema_folders
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Diagnostic, Span, whole_file
from mlspec.files import before as files
from mlspec.files import claims, lock
from mlspec.files.lock import State
from mlspec.ir import Place
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource
from mlspec.layout import run_path
from mlspec.model.operators import KSERVE
from mlspec.spec.discover import GENERATED
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedEnvironment, Workspace

_MODES: Final = {"Standard": ("Standard", "RawDeployment"), "Knative": ("Knative", "Serverless")}
"""How KServe has spelled its deployment modes; renamed in 0.16, where the old name still is the same mode."""


def check(compiled: Compiled, workspace: Workspace, generated: Path) -> Iterator[Diagnostic]:
    """Yield everything that this project cannot become, given what it was."""
    for name in compiled.plans:
        yield from _claims(compiled, name, workspace.environments[name], generated)
        yield from _modes(compiled, name, workspace.environments[name], generated)
        yield from _lost(compiled, name)
        yield from _kept_runs(compiled, name, schema_folders(workspace.environments[name].model))


def _claims(compiled: Compiled, name: str, environment: LoadedEnvironment, generated: Path) -> Iterator[Diagnostic]:
    """Yield changes of claims that Kubernetes would refuse, and those that would leave data behind."""
    project, resources = compiled.project.name, compiled.resources[name]
    before = files.read(generated, compiled.state, project, name, Place.FOUNDATION)
    had = sorted(before.named(claims.KIND))
    namespace = compiled.plans[name].target.namespace
    if had and before.namespace != namespace:
        shown = ", ".join(f"`{claim}`" for claim in had)
        message = f"{project} in {name} would move to namespace `{namespace}`; the claims {shown} stay in "
        message += f"`{before.namespace}` with the data"
        span = _key(environment, ("namespace", "pattern"))
        help = "keep the pattern; or set `enabled: false` for the project there, generate, and then move it"
        yield Diagnostic("MLS248", message, span, "namespace.pattern", help)
        return
    for resource, field, message, help in claims.check_claims(before, resources):
        path = (*resource.origin, field)
        text = f"volume `{resource.key.name}` in {name}: {message}"
        yield Diagnostic("MLS236", text, compiled.span(name, path), ".".join(path), help)
    for old, new in claims.renamed(before, resources, compiled.plans[name].claims):
        message = f"volume `{old}` in {name} is gone and `{new}` is new: the data would stay in the claim `{old}`"
        help = f"write `{new}: {{claim: {old}}}` to go on with the data; or remove `{old}` in a commit of its own"
        found = locate(compiled.project.variants[name].tree, ("volumes", new))
        yield Diagnostic("MLS248", message, found.key_span, f"volumes.{new}", help)


def _modes(compiled: Compiled, name: str, environment: LoadedEnvironment, generated: Path) -> Iterator[Diagnostic]:
    """Yield InferenceServices that exist in another deployment mode, at the mode of the environment."""
    project, kserve = compiled.project.name, KSERVE.field
    installed = compiled.plans[name].target.operators.get(kserve)
    others = [
        word for mode, words in _MODES.items() if installed is not None and mode != installed.mode for word in words
    ]
    if not any(files.mentions(generated, compiled.state, project, name, Place.SERVING, word) for word in others):
        return
    before = files.read(generated, compiled.state, project, name, Place.SERVING).named("InferenceService")
    now = {resource.key.name for resource in compiled.resources[name] if resource.key.kind == "InferenceService"}
    for service in sorted(now & before.keys()):
        was = before[service]["metadata"].get("annotations", {}).get("serving.kserve.io/deploymentMode")
        if was in others:
            message = f"service `{service}` of {project} in {name} exists in mode {was}, which cannot change"
            help = "give the service another name; the old one goes when the new one is there"
            yield Diagnostic("MLS249", message, _key(environment, (kserve, "mode")), f"{kserve}.mode", help)


def _key(environment: LoadedEnvironment, path: tuple[str, ...]) -> Span:
    found = locate(environment.tree, path)
    return found.value_span if len(found.path) == len(path) else found.key_span


def moved_projects(compilation: Compilation, generated: Path) -> Iterator[Diagnostic]:
    """Yield new projects that took the place of one that is gone, in the same file: its claims would stay behind."""
    gone = {change.project for change in compilation.gone}
    left = {name: lock.read_state(generated, name) for name in sorted(gone)}
    for compiled in compilation.projects:
        name = compiled.project.name
        if lock.read_state(generated, name).lock is not None:
            continue
        for old, state in left.items():
            inputs = state.lock.inputs if state.lock is not None else {}
            if f"../{compiled.project.file}" in inputs and _has_claims(generated, state, old):
                message = f"project `{old}` is gone and `{name}` is new: the claims of `{old}` stay in its namespaces"
                span = locate(compiled.project.base.tree, ("name",)).value_span
                help = f"keep the name; or remove `{old}` in a commit of its own, and copy the data"
                yield Diagnostic("MLS248", message, span, "name", help)


def _has_claims(generated: Path, state: State, project: str) -> bool:
    environments = {path.split("/")[2] for path in state.owned if path.startswith(f"{project}/overlays/")}
    return any(
        files.read(generated, state, project, name, Place.FOUNDATION).named(claims.KIND) for name in environments
    )


def _lost(compiled: Compiled, name: str) -> Iterator[Diagnostic]:
    """Yield run files that are missing while a pin leads into the past: one of them may have judged what is served."""
    plan = compiled.plans[name]
    now = {stated.workload.object_name for stated in plan.steps}
    served = {run.run for stated in plan.services if (gate := stated.workload.gate) for run in gate.served}
    for path in compiled.history.lost(name) if served - now else ():
        message = "the file of a run is missing, and a service is pinned to a run of that time"
        yield Diagnostic("MLS502", message, whole_file(path), help=f"restore it with `git checkout {path}`")


def _kept_runs(compiled: Compiled, name: str, folders: tuple[Path, ...]) -> Iterator[Diagnostic]:
    """Judge the run files that were written before: they are taken as they are, so they must be what they claim."""
    plan, resources = compiled.plans[name], compiled.resources[name]
    built = {
        (body["kind"], body["metadata"]["name"]): body
        for body in compiled.layout.builds.get(f"{compiled.project.name}/overlays/{name}/{Place.PIPELINE}", ())
    }
    taken = [_taken(resource, built) for resource in resources]
    if all(kept is fresh for fresh, kept in zip(resources, taken, strict=True)):
        return  # they were judged as they are
    for fresh, kept in zip(resources, taken, strict=True):
        if kept is fresh:
            continue
        place = whole_file(f"{GENERATED}/{run_path(compiled.project.name, name, fresh.key.name)}")
        for fault in objects.judge_accepted(folders, kept.body):
            yield Diagnostic(fault.code, f"{kept.key}: {fault.message}", place, help=fault.help)
        if _is_kept(kept.body) != _is_kept(fresh.body):
            message = (
                f"{kept.key} was written to be {'kept' if _is_kept(kept.body) else 'deleted'} once it is superseded"
            )
            help = "`runs.onSupersede` counts from the next run: run files are written once"
            yield Diagnostic("MLS250", message, place, help=help, severity=codes.severity("MLS250"))
        if _images(kept.body) != _images(fresh.body):
            message = f"{kept.key} runs another image than its name stands for"
            yield Diagnostic("MLS508", message, place, help=f"restore it with `git checkout {place.file}`")
    for resource, message in references.check_references(plan, taken):
        place = whole_file(f"{GENERATED}/{run_path(compiled.project.name, name, resource.key.name)}")
        yield Diagnostic("MLS303", f"{resource.key}: {message}", place)


def _taken(resource: Resource, built: Mapping[tuple[str, str], Body]) -> Resource:
    """Return an object as the file of its run has it; the same one where that says the same."""
    body = built.get((resource.key.kind, resource.key.name), resource.body) if resource.is_run else resource.body
    return resource if body is resource.body or body == resource.body else replace(resource, body=body)


def _is_kept(body: Body) -> bool:
    return meta.SYNC_OPTIONS in body["metadata"].get("annotations", {})


def _images(value: Any) -> list[str]:
    """Return every image inside a manifest, in order."""
    if isinstance(value, list):
        return [image for item in value for image in _images(item)]
    if not isinstance(value, dict):
        return []
    found = [value["image"]] if isinstance(value.get("image"), str) else []
    return found + [image for item in value.values() for image in _images(item)]
