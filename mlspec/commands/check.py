"""`mlspec check`: everything that can be proven without a cluster."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Final

import click

from mlspec import cache, git
from mlspec.check.engines import Engine
from mlspec.commands import reporting, session
from mlspec.compiled import Compilation
from mlspec.diagnostics import Diagnostic, has_errors, ordered
from mlspec.files.hold import locked
from mlspec.judge import Asked, Overlays, accepted, judge, judge_refused, may_be_remembered
from mlspec.parallel import Wanted, compile_root
from mlspec.report.findings import Report
from mlspec.verdicts import Memory

MOST_JOBS: Final = 1024


class Jobs(click.ParamType[int | None]):
    """How many processes may run at once: a number, or `auto`, which is None."""

    name = "N|auto"

    def convert(self, value: str | int | None, param: click.Parameter | None, ctx: click.Context | None) -> int | None:
        """Return the number; fails with click.BadParameter for anything else."""
        if value is None or value == "auto":
            return None
        written = str(value)
        if not (written.isascii() and written.isdecimal() and 1 <= int(written[:5]) <= MOST_JOBS) or len(written) > 4:
            self.fail(f"{written[:40]!r} is neither `auto` nor a number from 1 to {MOST_JOBS}", param, ctx)
        return int(written)


@click.command("check")
@session.paths_argument
@click.option(
    "-e", "--env", "environments", multiple=True, metavar="ENV", help="Judge only this environment; repeatable."
)
@click.option(
    "--output-format",
    type=click.Choice(reporting.FORMATS),
    default="full",
    show_default=True,
    help="How findings are printed on stdout: for people, for programs, or as annotations of GitHub Actions.",
)
@click.option(
    "--changed-since",
    "since",
    metavar="REF",
    help="Judge only projects that differ from where this branch and REF parted, and what they share with others.",
)
@click.option(
    "--kustomize",
    type=click.Choice(["changed", "all", "none"]),
    default="changed",
    show_default=True,
    help="Build the overlays that differ from what was built before, every one afresh, or none.",
)
@click.option("-j", "--jobs", type=Jobs(), default="auto", show_default=True, help="Processes at once.")
@click.option(
    "--engine",
    type=click.Choice([engine.value for engine in Engine]),
    help="Who judges by schema. embedded: mlspec alone. kubeconform: it must be there, and of what both refuse its "
    "words are shown. all: it must be there, and where the two disagree is a finding. "
    "[default: mlspec, and kubeconform if it is found]",
)
@session.root_option
def command(
    paths: tuple[Path, ...],
    environments: tuple[str, ...],
    output_format: str,
    since: str | None,
    kustomize: Overlays,
    jobs: int | None,
    engine: str | None,
    own_root: Path | None,
) -> int:
    """Judge projects: spec rules, schemas, references, drift, kustomize build; kubeconform if found.

    PATHS are project files, or folders to search for them. Default: the whole root.
    """
    root, chosen = session.find(own_root, paths)
    with locked(root, exclusive=False, waiting=session.waiting):
        session.check_environments(environments, root)
        asked = Asked(environments, kustomize, jobs, Engine(engine) if engine else None)
        whole = not (chosen or environments or since is not None)
        memory = Memory(root) if whole and may_be_remembered(asked) else None
        compilation = _compile(root, Wanted(chosen, environments, since, memory=memory, jobs=jobs))
        diagnostics: list[Diagnostic] = list(compilation.diagnostics)
        lines: Sequence[str] = ()
        if not has_errors(diagnostics):
            rest = partial(_compile, root, Wanted(chosen, environments, jobs=jobs)) if since is not None else None
            verdict = judge(compilation, asked, session.progress, rest)
            diagnostics += verdict.diagnostics
            lines = verdict.lines
            if memory is not None:
                memory.keep(compilation, verdict.diagnostics)
        elif compilation.part is not None and compilation.part.since:
            lines = [f"looked at {compilation.part.words()}"]
        if has_errors(compilation.diagnostics):
            verdict = judge_refused(compilation, asked)
            diagnostics = [finding for finding in diagnostics if finding not in verdict.replaced]
            diagnostics += verdict.diagnostics
            lines = [*lines, *verdict.lines]
    cache.tidy()
    report = Report(ordered(diagnostics), accepted(compilation, asked), lines)
    return reporting.show(report, compilation.workspace.texts, output_format, root)


def _compile(root: Path, wanted: Wanted) -> Compilation:
    try:
        return compile_root(root, wanted)
    except git.GitError as error:
        raise session.GitSaysError(error) from None
