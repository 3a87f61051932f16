"""A revision of a root: what mlspec reads of it, in memory, and in a temporary folder what must be compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Final

from mlspec import git, source
from mlspec.files.marks import LOCK
from mlspec.layout import is_run_path
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED, PROJECT_FILE

# Nothing that mlspec reads is larger: locks have at most this, files that travel with a run 1 MiB.
_MOST: Final = 4 << 20
_NAME: Final = re.compile(rb"""name["']?\s*:\s*["']?([a-z][-a-z0-9]*)""")

_SCRIPT: Final = re.compile(rb"""script["']?\s*:\s*["']?([^\s"',}]+)""")


@dataclass(frozen=True, slots=True)
class Earlier:
    """What a revision holds of a root; paths are relative to it."""

    repository: git.Repository
    commit: str
    environments: Mapping[str, bytes]
    """Files of environments/."""
    projects: Mapping[str, bytes]
    """Project files."""
    ships: Mapping[str, Mapping[str, bytes]]
    """By project file, the files that its steps may ship: more than they do, but none too few."""
    history: tuple[str, ...]
    """Files of runs, and locks, which say whether a run's file is what mlspec wrote."""

    runs: Mapping[tuple[str, str], frozenset[str]]
    """By project and environment, the names of the runs whose files are there."""

    def is_known(self, project: str) -> bool:
        """Say whether every file is there that the steps of a project file ship."""
        data = self.projects[project]
        if b"files" in data or b"\\" in data:
            named = set(_shipped(project, data))
        else:
            folder = PurePosixPath(project).parent
            words = (word.decode("utf-8", "replace") for word in _SCRIPT.findall(data))
            named = {(folder / word).as_posix() for word in words if not word.startswith("/")}
        return named <= self.ships[project].keys()


def read(found: git.Repository, commit: str) -> Earlier:
    """Return what a revision holds; raises git.GitError where this clone does not hold it."""
    paths = git.listing(found, commit)
    environments = [path for path in paths if path.startswith(f"{ENVIRONMENT_FOLDER}/") and path.count("/") == 1]
    projects = dict(git.contents(found, commit, _projects(paths), _MOST))
    candidates = _candidates(projects, paths)
    contents = dict(git.contents(found, commit, sorted({path for some in candidates.values() for path in some}), _MOST))
    history = tuple(path for path in paths if _is_history(path))
    return Earlier(
        found,
        commit,
        dict(git.contents(found, commit, environments, _MOST)),
        projects,
        {path: {name: contents[name] for name in some if name in contents} for path, some in candidates.items()},
        history,
        _runs(history),
    )


def write(earlier: Earlier, projects: Iterable[str], folder: Path) -> None:
    """Write some project files of a revision into a folder, with everything that they are compiled with."""
    files = dict(earlier.environments)
    names: set[str] = set()
    for path in projects:
        files[path] = earlier.projects[path]
        files |= earlier.ships[path]
        names |= {name.decode() for name in _NAME.findall(earlier.projects[path])}
    (folder / ENVIRONMENT_FOLDER).mkdir()
    for path, content in files.items():
        _write(folder / path, content)
    history = [path for path in earlier.history if path.split("/")[1] in names]
    for path, content in git.contents(earlier.repository, earlier.commit, history, _MOST):
        _write(folder / path, content)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _projects(paths: Iterable[str]) -> Iterator[str]:
    """Yield the project files, as `discover.find_projects` does: hidden folders, generated/, other roots left out."""
    known = [PurePosixPath(path) for path in paths]
    roots = {parent.parent for path in known for parent in path.parents if parent.name == ENVIRONMENT_FOLDER}
    roots -= {PurePosixPath()}
    for path in known:
        hidden = any(part.startswith(".") for part in path.parts[:-1])
        if path.name == PROJECT_FILE and not hidden and path.parts[0] != GENERATED and not roots & set(path.parents):
            yield path.as_posix()


def _is_history(path: str) -> bool:
    inside = path.removeprefix(f"{GENERATED}/")
    return inside != path and (is_run_path(inside) or (inside.count("/") == 1 and inside.endswith(f"/{LOCK}")))


def _runs(history: Iterable[str]) -> dict[tuple[str, str], frozenset[str]]:
    found: dict[tuple[str, str], set[str]] = {}
    for path in history:
        _, project, *inside = path.removesuffix(".yaml").split("/")
        if inside[:1] == ["overlays"]:
            found.setdefault((project, inside[1]), set()).add(inside[-1])
    return {key: frozenset(names) for key, names in found.items()}


def _candidates(projects: Mapping[str, bytes], paths: Iterable[str]) -> dict[str, list[str]]:
    """Return, by project file, the files below its folder whose names stand in it; no YAML is parsed for that.

    What an escape in a quoted scalar hides is found by parsing.
    """
    texts = {path: " ".join(data.decode("utf-8", "replace").split()) for path, data in projects.items()}
    parsed = {path: set(_shipped(path, data)) for path, data in projects.items() if b"\\" in data}
    found: dict[str, list[str]] = {path: [] for path in projects}
    for path in paths:
        if path.startswith(f"{GENERATED}/"):
            continue
        place = PurePosixPath(path)
        word = " ".join(place.name.split())
        for parent in place.parents:
            project = (parent / PROJECT_FILE).as_posix()
            if project in texts and (word in texts[project] or path in parsed.get(project, ())) and path != project:
                found[project].append(path)
    return found


def _shipped(project: str, data: bytes) -> Iterator[str]:
    """Yield the files that a project file may mean by `script` and `files`, wherever they stand in it."""
    folder = PurePosixPath(project).parent
    for document in source.read(project, data)[0]:
        for written in _named(document):
            if not written.startswith("/"):
                yield (folder / written).as_posix()


def _named(node: source.Node) -> Iterator[str]:
    if isinstance(node, source.Mapping):
        for key, entry in node.entries.items():
            if key == "script" and isinstance(entry.value, source.Scalar):
                yield entry.value.text
            if key == "files" and isinstance(entry.value, source.Mapping):
                yield from entry.value.entries
            yield from _named(entry.value)
    elif isinstance(node, source.Sequence):
        for item in node.items:
            yield from _named(item)
