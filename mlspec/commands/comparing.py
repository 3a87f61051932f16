"""What `mlspec diff` and `mlspec explain run` share: a root as it is now beside what it was at a revision."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from mlspec import git
from mlspec.changes.sides import Project, Side
from mlspec.commands import earlier
from mlspec.commands.earlier import Earlier
from mlspec.commands.session import GitSaysError
from mlspec.compiled import Compilation
from mlspec.diagnostics import Severity, ordered
from mlspec.pipeline import compile_workspace
from mlspec.report.hidden import without_secrets
from mlspec.spec.discover import COMMON, ENVIRONMENT_FOLDER, find_projects
from mlspec.spec.load import load


@dataclass(frozen=True, slots=True)
class Comparison:
    """A root at a revision and now; projects in which no file differs are in neither."""

    commit: str
    before: dict[str, Project]
    after: dict[str, Project]
    now: Compilation
    warnings: tuple[str, ...]


def compare(root: Path, against: str, only: Sequence[str]) -> Comparison:
    """Compile a root as it is at a revision and as it is now.

    `only` names environments, all if it is empty. Raises GitSaysError, and click.BadParameter for an environment
    that is in neither.
    """
    try:
        found = git.repository(root)
        commit = git.commit(found, against)
        old = earlier.read(found, commit)
        _check_environments(only, root, old)
        return _compile(root, against, old, only)
    except git.GitError as error:
        raise GitSaysError(error) from None


def _check_environments(only: Sequence[str], root: Path, old: Earlier) -> None:
    for name in only:
        path = f"{ENVIRONMENT_FOLDER}/{name}.yaml"
        if name == COMMON or not (path in old.environments or (root / path).exists()):
            raise click.BadParameter(f"there is no {path}, neither now nor then", param_hint="-e")


def _compile(root: Path, against: str, old: Earlier, only: Sequence[str]) -> Comparison:
    refused: list[OSError] = []
    files = [path.relative_to(root).as_posix() for path in find_projects(root, root, refused.append)]
    # What cannot be read is no project that is gone: loading the whole root tells about it.
    same = set(_unchanged(root, old, files)) if not refused else set()
    whole = not same
    now = _one_side(root, [path for path in files if path not in same], only, whole=whole)
    with TemporaryDirectory(prefix="mlspec-") as name:
        folder = Path(name).resolve()
        others = [path for path in old.projects if path not in same]
        earlier.write(old, others, folder)
        then = _one_side(folder, others, only, whole=whole)
    warnings = tuple(_warnings(then, against, old))
    return Comparison(old.commit, projects(then, only, old), projects(now, only), now, warnings)


def _one_side(root: Path, files: Sequence[str], only: Sequence[str], *, whole: bool) -> Compilation:
    """Compile some project files, or the whole root; a side without any is a side without projects, not a finding."""
    if files:
        return compile_workspace(load(root, () if whole else [root / path for path in files]), only)
    workspace = load(root, [root / ENVIRONMENT_FOLDER])
    workspace.diagnostics = [finding for finding in workspace.diagnostics if finding.code != "MLS225"]
    return compile_workspace(workspace, only)


def _unchanged(root: Path, old: Earlier, files: Sequence[str]) -> Iterator[str]:
    """Yield the project files that say the same as before, in the same environments, with the same shipped files."""
    environments = {
        path.relative_to(root).as_posix(): _bytes(path)
        for path in sorted((root / ENVIRONMENT_FOLDER).iterdir())
        if path.suffix in (".yaml", ".yml")
    }
    if environments != {path: data for path, data in old.environments.items() if path.endswith((".yaml", ".yml"))}:
        return
    for path in files:
        if path in old.projects:
            then = {path: old.projects[path], **old.ships[path]}
            if all(_bytes(root / name) == data for name, data in then.items()) and old.is_known(path):
                yield path


def _bytes(path: Path) -> bytes | None:
    try:
        return path.read_bytes() if path.is_file() else None
    except OSError:
        return None


def projects(compilation: Compilation, only: Sequence[str] = (), old: Earlier | None = None) -> dict[str, Project]:
    """Return what compiled, by project and environment.

    Of the old side the runs matter that are there, and those of a plan that has errors: it is known as far as it goes.
    """
    found = {}
    environments = compilation.workspace.environments
    for compiled in compilation.projects:
        name = compiled.project.name
        sides = {}
        for environment, plan in compiled.plans.items():
            whole = environment in compiled.resources
            if (only and environment not in only) or (old is None and not whole):
                continue
            sides[environment] = Side(
                plan,
                tuple(compiled.resources.get(environment, ())),
                tuple(compiled.argocd.get(environment, ())),
                environments[environment].model,
                old.runs.get((name, environment), frozenset()) if old is not None else frozenset(),
                partial=not whole,
                allow=compiled.project.variants[environment].model.allow,
            )
        if sides:
            found[name] = Project(name, sides)
    return found


def _warnings(then: Compilation, against: str, old: Earlier) -> Iterator[str]:
    """Yield what could not be compared."""
    if not old.environments:
        yield f"at {against} this was no root: there was no {ENVIRONMENT_FOLDER}/"
        return
    errors = [finding for finding in ordered(then.diagnostics) if finding.severity is Severity.ERROR]
    if errors:
        (first,) = without_secrets(errors[:1], then.workspace.texts)
        count = f"there were {len(errors)} errors" if len(errors) > 1 else "there was an error"
        place = f"{first.span.file}:{first.span.line}:{first.span.column}"
        rest = "of what does not compile only runs are compared, and what cannot be read counts as absent"
        yield f"at {against} {count}: {rest}: {place}: {first.message}"
