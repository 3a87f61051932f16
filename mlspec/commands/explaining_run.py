"""The part of `mlspec explain run` that compiles."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from mlspec import names
from mlspec.changes.naming import changed, naming
from mlspec.commands import session
from mlspec.commands.comparing import compare
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Severity, suggestion
from mlspec.files.hold import locked
from mlspec.ir import Stated
from mlspec.pipeline import compile_workspace
from mlspec.report.naming import Since, render
from mlspec.spec.load import load


@dataclass(frozen=True, slots=True)
class Question:
    """Which run is meant; without a project the only one that has the step."""

    step: str
    environment: str
    project: str | None


def explain_run(own_root: Path | None, question: Question, against: str | None) -> int:
    """Print what a run is named after; returns the exit code."""
    root, _ = session.find(own_root, ())
    session.check_environments([question.environment], root)
    with locked(root, exclusive=False, waiting=session.waiting):
        compilation = compile_workspace(load(root), [question.environment])
        errors = [finding for finding in compilation.diagnostics if finding.severity is Severity.ERROR]
        if errors:
            return session.show(errors, compilation.workspace.texts, err=True)
        compiled, stated = _find(compilation, question)
        since = _since(root, compiled, stated, question, against) if against is not None else None
    click.echo(render(compiled.project.name, question.environment, naming(stated), since), nl=False)
    return 0


def _find(compilation: Compilation, question: Question) -> tuple[Compiled, Stated]:
    """Return the step and its project; raises click.BadParameter where there is none, or several."""
    projects = [item for item in compilation.projects if question.project in (None, item.project.name)]
    if not projects:
        known = {item.project.name for item in compilation.projects}
        raise click.BadParameter(_no(f"project `{question.project}`", suggestion(question.project or "", known)))
    found: list[tuple[Compiled, Stated]] = []
    steps = set()
    for compiled in projects:
        plan = compiled.plans.get(question.environment)
        for stated in plan.steps if plan is not None else ():
            steps.add(stated.workload.name)
            meant = question.step in (stated.workload.name, stated.workload.object_name)
            found += [(compiled, stated)] if meant else []
    if len(found) > 1:
        several = ", ".join(f"`{compiled.project.name}/{question.step}`" for compiled, _ in found)
        raise click.BadParameter(f"several projects have a step `{question.step}`: {several}", param_hint="STEP")
    if not found:
        earlier = next((step for step in sorted(steps) if names.is_run_of(question.step, step)), None)
        help = suggestion(question.step, steps, "steps")
        help = f"`{earlier}` has another run now; only current runs are explained" if earlier else help
        raise click.BadParameter(_no(f"step `{question.step}` in {question.environment}", help), param_hint="STEP")
    return found[0]


def _no(what: str, help: str) -> str:
    return f"there is no {what}" + (f"; {help}" if help else "")


def _since(root: Path, compiled: Compiled, stated: Stated, question: Question, against: str) -> Since:
    """Return the same step at a revision; a project of which nothing differs is not compared."""
    found = compare(root, against, [question.environment])
    name = compiled.project.name
    if name not in found.before and name not in found.after:
        return Since(against, found.commit, stated.workload.object_name)
    side = found.before[name].sides.get(question.environment) if name in found.before else None
    was = side.steps.get(stated.workload.name) if side is not None else None
    for warning in found.warnings:
        click.echo(f"warning: {warning}", err=True)
    if was is None:
        return Since(against, found.commit, None)
    return Since(against, found.commit, was.workload.object_name, changed(was, stated))
