"""`mlspec run`: the graph of a project on this computer, with the variables that the operators would set."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path

import click

from mlspec.commands import session
from mlspec.compiled import Compiled
from mlspec.diagnostics import Severity, suggestion
from mlspec.files.hold import locked
from mlspec.k8s.resource import Resource
from mlspec.local import graph, outcome
from mlspec.local.computer import Interpreter
from mlspec.local.errors import CannotRunError
from mlspec.local.folders import Folders
from mlspec.local.pipeline import Local
from mlspec.pipeline import compile_workspace
from mlspec.spec.discover import PROJECT_FILE
from mlspec.spec.load import load
from mlspec.spec.workspace import LoadedEnvironment, LoadedProject, Workspace

_FIRST = "dev"
_ELSEWHERE = ("MLS4", "MLS5")
"""Codes of policy and of files under generated/: they keep nobody from a run on one's own computer."""


@click.command("run")
@click.argument("steps", nargs=-1, metavar="[STEP]...")
@click.option("-e", "--env", "environment", metavar="ENV", help="Environment. Default: dev, or the only one.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="Processes of each PyTorch step. Default: those of the spec, as far as this computer carries them.",
)
@click.option(
    "--project",
    "wanted",
    metavar="NAME|PATH",
    help="Project, by name, file or folder. Default: that of the folder one is in, or the only one.",
)
@click.option(
    "--python",
    type=click.Path(path_type=Path),
    help="Interpreter of python, python3 and torchrun. Default: the one that runs mlspec.",
)
@session.root_option
def command(
    steps: tuple[str, ...],
    environment: str | None,
    processes: int | None,
    wanted: str | None,
    python: Path | None,
    own_root: Path | None,
) -> int:
    """Run steps on this computer, with all that they need: preprocess, train, evaluate, judge.

    Each STEP has the same wrapper, arguments and variables as in the cluster; volumes are folders below
    .mlspec/volumes, logs lie in .mlspec/logs. A run that has succeeded before is not run again. Ctrl-C lets a training
    write its checkpoint, from which the next `mlspec run` goes on. Images are not used: programs run with this
    computer's Python. Default: all steps.
    """
    root, paths = session.find(own_root, _paths(wanted))
    with locked(root, exclusive=False, waiting=session.waiting):
        workspace = load(root, paths or _near(root))
        # Of a project that cannot be read whole there is no name, only what is wrong with it.
        if not workspace.projects:
            return session.show(workspace.diagnostics, workspace.texts, err=True) or 1
        project = _project(workspace, wanted if not paths else None)
        name = _environment(project, environment, root)
        workspace.projects, workspace.complete = [project], False
        others = {file for file in workspace.files if Path(file).name == PROJECT_FILE} - {project.file}
        compilation = compile_workspace(workspace, [name])
    errors = [found for found in compilation.diagnostics if found.severity is Severity.ERROR]
    errors = [found for found in errors if not found.code.startswith(_ELSEWHERE) and found.span.file not in others]
    if errors:
        return session.show(errors, workspace.texts, err=True)
    click.echo(f"project {project.name} in {name}", err=True)
    try:
        return _run(compilation.projects[0], workspace.environments[name], root, steps, processes, python)
    except CannotRunError as error:
        for message in error.messages:
            click.echo(f"error: {message}", err=True)
    except OSError as error:
        click.echo(f"error: {error.filename or root}: {(error.strerror or 'unknown error').lower()}", err=True)
    return 2


def _run(
    compiled: Compiled,
    environment: LoadedEnvironment,
    root: Path,
    steps: Sequence[str],
    processes: int | None,
    python: Path | None,
) -> int:
    plan, resources = graph.follow(compiled, environment)
    known = [stated.workload.name for stated in plan.steps]
    for step in steps:
        if step not in known:
            raise click.BadParameter(f"there is no step `{step}`; {suggestion(step, known, 'steps')}")
    if not known:
        raise CannotRunError("the project has no steps; there is nothing to run")
    folders, interpreter = Folders(root), Interpreter(python)
    folders.prepare()
    runs = graph.runs(plan, resources, graph.chosen(plan, steps))
    local = Local(plan, runs, folders, interpreter, processes, lambda text: click.echo(text, err=True))
    with folders.held() as lock:
        local.check()
        local.tell()
        code = local.run(lock)
        _tell(local)
        return code or _judge(local, resources)


def _tell(local: Local) -> None:
    """Print where the work of each step lies, with its metrics."""
    for step in local.left_out:
        click.echo(f"{step}: not run, since it needs what failed", err=True)
    for run in local.runs:
        there = outcome.directory(run, local.folders, local.plan.project)
        if run.step in local.done and there is not None:
            shown = outcome.metrics(there)
            click.echo(f"{run.step}: {local.folders.shown(there)}{f' ({shown})' if shown else ''}")


def _judge(local: Local, resources: Sequence[Resource]) -> int:
    """Print the models and what their gates say; returns 1 where one is refused."""
    code = 0
    found = [
        *outcome.verdicts(local.plan, resources, local.done, local.interpreter, local.folders),
        *outcome.unserved(local.plan, local.runs, local.interpreter, local.folders),
    ]
    for verdict in found:
        for model in verdict.models:
            click.echo(f"{verdict.service}: {model}")
        for line in verdict.words:
            click.echo(f"gate: {line}")
        code = code or int(not verdict.passed)
    for service, step in outcome.missing(local.plan, local.done):
        click.echo(f"gate: `{service}` is not judged without `{step}`", err=True)
    return code


def _paths(wanted: str | None) -> list[Path]:
    """Return the file or folder that `--project` names, if it is one; a name has no such sign."""
    is_path = wanted is not None and (os.sep in wanted or wanted == "." or wanted.endswith(".yaml"))
    return [Path(wanted)] if wanted is not None and is_path else []


def _near(root: Path) -> list[Path]:
    """Return the project file of the folder one is in, or above it up to the root; none: all of the root."""
    here = Path.cwd()
    folders = [folder for folder in (here, *here.parents) if folder.is_relative_to(root)]
    return [folder / PROJECT_FILE for folder in folders if (folder / PROJECT_FILE).is_file()][:1]


def _project(workspace: Workspace, wanted: str | None) -> LoadedProject:
    by_name = {project.name: project for project in workspace.projects}
    if wanted is not None:
        if wanted not in by_name:
            raise click.BadParameter(f"there is no project `{wanted}`; {suggestion(wanted, by_name, 'projects')}")
        return by_name[wanted]
    if len(by_name) > 1:
        shown = ", ".join(sorted(by_name)[:12])
        raise click.UsageError(f"there are several projects; name one with --project: {shown}")
    return workspace.projects[0]


def _environment(project: LoadedProject, wanted: str | None, root: Path) -> str:
    """Return the environment that is meant: the one that is named, `dev`, or the only one."""
    names = sorted(project.variants)
    if wanted is not None:
        session.check_environments([wanted], root)
        if wanted not in names:
            raise click.BadParameter(f"project {project.name} is not in {wanted}", param_hint="-e")
        return wanted
    if _FIRST in names:
        return _FIRST
    if len(names) == 1:
        return names[0]
    if not names:
        raise click.UsageError(f"project {project.name} is in no environment")
    raise click.UsageError(f"there is no environment `{_FIRST}`; name one with -e: {', '.join(names)}")
