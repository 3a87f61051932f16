"""What `mlspec promote` does: the service found, its run chosen, the pin tried in a copy, and the file replaced."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from mlspec import git, names, source
from mlspec.commands import candidates, rehearsal
from mlspec.diagnostics import Diagnostic, Related, Severity, Span, has_errors, whole_file
from mlspec.files import lock
from mlspec.files.replace import ChangedMeanwhileError, replace
from mlspec.ir import PartPath
from mlspec.model.sources import ModelSource
from mlspec.plan.resolve import build_plan
from mlspec.source.edit import CannotEditError, set_text
from mlspec.spec import overlay
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED
from mlspec.spec.problems import locate
from mlspec.spec.project import ENVIRONMENTS
from mlspec.spec.workspace import LoadedEnvironment, LoadedProject, Variant, Workspace

_SHOWN: Final = 12


class RefusedError(Exception):
    """Nothing was written; the findings say why."""

    def __init__(self, diagnostics: list[Diagnostic], texts: Mapping[str, str]) -> None:
        super().__init__()
        self.diagnostics = diagnostics
        self.texts = texts


@dataclass(frozen=True, slots=True)
class Request:
    """What was asked for; without `digest` the current run is meant, without `step` the only one that is followed."""

    service: str
    project: str | None
    environment: str
    step: str | None
    digest: str | None


@dataclass(frozen=True, slots=True)
class _Subject:
    """A service in its environment, and its models that come from a step, by the field that holds `model`."""

    workspace: Workspace
    project: LoadedProject
    environment: LoadedEnvironment
    variant: Variant
    request: Request
    models: Mapping[PartPath, ModelSource]

    def place(self, *path: str) -> Span:
        """Return where a field of the service stands, as the environment sees it."""
        found = locate(self.variant.tree, ("services", self.request.service, *path))
        return found.value_span if isinstance(found.node, source.Scalar) else found.key_span

    def refused(self, code: str, message: str, span: Span, help: str, *related: Related) -> RefusedError:
        """Return a refusal of one finding."""
        return RefusedError([Diagnostic(code, message, span, help=help, related=related)], self.workspace.texts)


def promote(root: Path, request: Request) -> str:
    """Pin a run and return what was done; raises RefusedError, and click.UsageError for names that nothing has.

    The caller holds the root's lock.
    """
    workspace, project = _find(root, request)
    subject = _subject(workspace, project, request)
    step = _step(subject)
    models = {path: model for path, model in subject.models.items() if model.step == step}
    current, chosen = _choose(root, subject, step)
    digest = chosen.rpartition("-")[2]
    if all(model.run == digest for model in models.values()):
        return f"{_named(subject, models)} serves {chosen} already; nothing was written"
    paths = [(ENVIRONMENTS, request.environment, "services", request.service, *path, "model", "run") for path in models]
    _check_allowed(subject, paths)
    _write(root, subject, paths, digest)
    return "\n".join(_done(subject, models, current, chosen))


def _find(root: Path, request: Request) -> tuple[Workspace, LoadedProject]:
    """Return the project that has the service."""
    workspace = candidates.load_some(root, request.service, request.project)
    found = candidates.having(workspace, request.service, request.project)
    if not found:
        conflicts = candidates.conflicts(root, workspace.files)
        errors = conflicts or [finding for finding in workspace.diagnostics if finding.severity is Severity.ERROR]
        if errors:
            raise RefusedError(errors, workspace.texts)
        raise click.UsageError(candidates.unknown(root, request.service, request.project))
    if len(found) > 1:
        if len({project.name for project in found}) < len(found):
            raise RefusedError(workspace.diagnostics, workspace.texts)
        choice = " or ".join(f"`{project.name}/{request.service}`" for project in found)
        raise click.UsageError(f"several projects have a service `{request.service}`: write {choice}")
    return workspace, found[0]


def _subject(workspace: Workspace, project: LoadedProject, request: Request) -> _Subject:
    """Return the service in its environment; raises RefusedError where it is not there, or follows no step."""
    environment = workspace.environments.get(request.environment)
    variant = project.variants.get(request.environment)
    if environment is None or environment.damaged or (variant is not None and variant.repaired is not None):
        raise RefusedError(workspace.diagnostics, workspace.texts)
    if variant is None:
        raise _disabled(workspace, project, request)
    spec = variant.model.services.get(request.service)
    models = {path: model for path, model in spec.models().items() if model.step is not None} if spec else {}
    subject = _Subject(workspace, project, environment, variant, request, models)
    if spec is None:
        override = _override(workspace, project, request.environment)
        place = locate(override, ("services", request.service)).key_span if override else whole_file(project.file)
        message = f"there is no service `{request.service}` in environment {request.environment}"
        raise subject.refused("MLS512", message, place, "an override takes it away")
    if not models:
        message = f"service `{request.service}` serves no run: its model does not say `from`"
        help = "write `from: <step>` instead of `uri`, or change the URI by hand"
        raise subject.refused("MLS512", message, subject.place("model"), help)
    return subject


def _override(workspace: Workspace, project: LoadedProject, environment: str) -> source.Mapping | None:
    """Return what the project's document says about an environment."""
    _, document = candidates.document(workspace.root, project)
    found = locate(document, (ENVIRONMENTS, environment))
    return found.node if len(found.path) == 2 and isinstance(found.node, source.Mapping) else None


def _disabled(workspace: Workspace, project: LoadedProject, request: Request) -> RefusedError:
    override = _override(workspace, project, request.environment)
    if override is None or override.get("enabled") is None or has_errors(workspace.diagnostics):
        return RefusedError(workspace.diagnostics, workspace.texts)
    message = f"project `{project.name}` has no runs in environment {request.environment}: it is disabled there"
    place = locate(override, ("enabled",)).value_span
    help = "remove `enabled: false`, and run `mlspec generate` first"
    return RefusedError([Diagnostic("MLS512", message, place, help=help)], workspace.texts)


def _step(subject: _Subject) -> str:
    """Return the step whose run is pinned."""
    followed = sorted({model.step for model in subject.models.values() if model.step is not None})
    asked, service = subject.request.step, subject.request.service
    if asked in followed:
        return asked
    if asked is not None:
        shown = " and ".join(f"`{step}`" for step in followed)
        path = next(iter(subject.models))
        message = f"`{asked}-{subject.request.digest}` is a run of another step: `{service}` serves runs of {shown}"
        raise subject.refused("MLS512", message, subject.place(*path, "model", "from"), "name a run of that step")
    if len(followed) > 1:
        shown = " or ".join(f"`--run {step}-…`" for step in followed)
        raise click.UsageError(f"models of `{service}` come from different steps; say of which: {shown}")
    return followed[0]


def _choose(root: Path, subject: _Subject, step: str) -> tuple[str, str]:
    """Return the names of the step's current run, and of the one to pin; raises RefusedError for one that is none."""
    state = lock.read_state(root / GENERATED, subject.project.name)
    if state.diagnostics:
        raise RefusedError(state.diagnostics, {})
    history = lock.read_history(root / GENERATED, subject.project.name, state)
    plan, findings = build_plan(subject.variant, subject.environment, subject.project.base, history)
    current = next((stated.workload.object_name for stated in plan.steps if stated.workload.name == step), None)
    if current is None:
        raise RefusedError([*subject.workspace.diagnostics, *findings], subject.workspace.texts)
    name = subject.request.environment
    written = [run for run in history.names(name) if names.is_run_of(run, step)]
    digest = subject.request.digest
    chosen = names.run(step, digest) if digest is not None else current
    path = next(path for path, model in subject.models.items() if model.step == step)
    place = subject.place(*path, "model", "from")
    if chosen not in (current, *written):
        known = [current, *(run for run in written if run != current)]
        shown = ", ".join(f"`{run}`" for run in known[:_SHOWN]) + (", …" if len(known) > _SHOWN else "")
        message = f"environment {name} has no run `{chosen}`"
        raise subject.refused("MLS512", message, place, f"runs of `{step}` there, the current one first: {shown}")
    if chosen not in written:
        message = f"run `{chosen}` is current in environment {name}, but not in {GENERATED}/"
        help = "run `mlspec generate`, and commit, first: only a run that was started has a model"
        raise subject.refused("MLS512", message, place, help)
    return current, chosen


def _check_allowed(subject: _Subject, paths: list[tuple[str, ...]]) -> None:
    """Refuse a pin that the platform's `overrides` do not let a project set."""
    allowed = tuple(subject.environment.model.overrides)
    place = subject.place()
    listed = locate(subject.environment.tree, ("overrides",)).key_span
    found = []
    for path in paths:
        node: source.Node = source.Scalar("", False, place)
        for key in reversed(path[2:]):
            node = source.Mapping({key: source.Entry(place, node)}, place)
        assert isinstance(node, source.Mapping)  # noqa: S101  # the path is not empty
        pattern = ".".join("*" if index % 2 else key for index, key in enumerate(path[2:-2])) + ".model.run"
        help = f"the platform adds `{pattern}` to `overrides` in {ENVIRONMENT_FOLDER}/{subject.environment.name}.yaml"
        for finding in overlay.check_override(subject.project.base.tree, node, subject.environment.name, allowed):
            related = (Related(listed, "what projects may set"),)
            found.append(Diagnostic(finding.code, finding.message, place, finding.path, help, related=related))
    if found:
        raise RefusedError(found, subject.workspace.texts)


def _write(root: Path, subject: _Subject, paths: list[tuple[str, ...]], digest: str) -> None:
    file = subject.project.file
    path = root / file
    start = whole_file(file)
    if path.is_symlink():
        help = f"write the pin by hand into the file that it leads to: {_by_hand(paths, digest)}"
        raise subject.refused("MLS513", "this is a symbolic link, which is not followed", start, help)
    if git.is_dirty(path):
        help = "commit or undo them first: a promotion is a change of its own"
        raise subject.refused("MLS511", "this file has changes that are not committed", start, help)
    try:
        before = path.read_bytes()
        after = _edited(subject, before, paths, digest)
        errors, texts = rehearsal.errors(subject.workspace, file, after)
        if errors:
            raise RefusedError(errors, texts)
        replace(path, before, after)
    except ChangedMeanwhileError:
        raise subject.refused("MLS511", "the file was changed meanwhile", start, "try again") from None
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise subject.refused("MLS506", f"cannot be written: {reason}", start, "") from None


def _edited(subject: _Subject, before: bytes, paths: list[tuple[str, ...]], digest: str) -> bytes:
    """Return the file with the pins in it; raises ChangedMeanwhileError where it is not what was read."""
    file, after = subject.project.file, before
    if subject.workspace.digests[file] != f"sha256:{hashlib.sha256(before).hexdigest()}":
        raise ChangedMeanwhileError
    index, _ = candidates.document(subject.workspace.root, subject.project)
    try:
        for path in paths:
            after = set_text(file, after, index, path, digest)
    except CannotEditError as error:
        message = f"the pin cannot be written in place: {error.reason}"
        help = f"write it by hand: {_by_hand(paths, digest)}"
        raise subject.refused("MLS513", message, error.span, help) from None
    return after


def _by_hand(paths: list[tuple[str, ...]], digest: str) -> str:
    return ", ".join(f'`{".".join(path)}: "{digest}"`' for path in paths)


def _named(subject: _Subject, models: Mapping[PartPath, ModelSource]) -> str:
    parts = ", ".join(path[-1] for path in models if path)
    return f"{subject.request.service}{f' ({parts})' if parts else ''} in {subject.request.environment}"


def _done(subject: _Subject, models: Mapping[PartPath, ModelSource], current: str, chosen: str) -> Iterator[str]:
    """Yield what was done, and what it means where the newest run is served otherwise."""
    name = subject.request.environment
    follows = subject.environment.model.promotion == "follow"
    runs = [names.run(model.step or "", model.run) for model in models.values() if model.run is not None]
    if len(runs) < len(models):
        runs += [f"the newest, {current}" if follows else "not served"]
    was = ", ".join(dict.fromkeys(runs))
    yield f"{_named(subject, models)} now serves {chosen} (was {was}); run `mlspec generate` and commit both"
    if follows:
        yield f"{name} follows the newest run otherwise: it stays with {chosen} until `model.run` is removed"
