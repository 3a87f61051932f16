"""The projects of a root that have a service, found without reading all the others."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final

from mlspec import source
from mlspec.diagnostics import Diagnostic, Span, suggestion
from mlspec.spec.discover import find_projects
from mlspec.spec.load import load
from mlspec.spec.workspace import LoadedProject, Workspace

_CONFLICT: Final = re.compile(rb"^(<{7} .*|={7}|>{7} .*)\r?$", re.MULTILINE)


def load_some(root: Path, service: str, project: str | None) -> Workspace:
    """Read the project files that hold the names; all of them where none does, since names can be escaped."""
    words = [os.fsencode(word) for word in (service, project) if word is not None]
    found = [path for path in find_projects(root, root, lambda _: None) if all(word in _bytes(path) for word in words)]
    workspace = load(root, found)
    return workspace if not found or having(workspace, service, project) else load(root)


def _bytes(path: Path) -> bytes:
    """Return the begin of a file that a spec can be; nothing of one that cannot be read, which is reported later."""
    try:
        if not path.is_file():
            return b""
        with path.open("rb") as file:
            return file.read(source.MAX_BYTES + 1)
    except OSError:
        return b""


def having(workspace: Workspace, service: str, project: str | None) -> list[LoadedProject]:
    """Return the projects, or those of a name, that have a service in any environment."""
    wanted = [item for item in workspace.projects if project in (None, item.name)]
    return [item for item in wanted if service in _services(item)]


def _services(project: LoadedProject) -> Iterator[str]:
    for variant in (project.base, *project.variants.values()):
        table = variant.tree.get("services")
        yield from table.entries if isinstance(table, source.Mapping) else ()


def unknown(root: Path, service: str, project: str | None) -> str:
    """Return a sentence about a service that no project has."""
    workspace = load(root)
    projects = [item for item in workspace.projects if project in (None, item.name)]
    if not projects and project is not None:
        help = suggestion(project, (item.name for item in workspace.projects), "there are")
        return f"there is no project `{project}`" + (f"; {help}" if help else "")
    options = [name for item in projects for name in _services(item)]
    help = suggestion(service, options, "there are") or "there is none at all"
    where = f"project `{project}` has no" if project is not None else "no project has a"
    return f"{where} service `{service}`; {help}"


def conflicts(root: Path, files: Iterable[str]) -> list[Diagnostic]:
    """Return the first marker of an unresolved merge in each of some files."""
    found = []
    for name in files:
        data = _bytes(root / name)
        marker = _CONFLICT.search(data)
        if marker is not None:
            line = len(source.LINE_BREAK.findall(data[: marker.start()].decode("utf-8-sig", "replace"))) + 1
            width = len(marker.group().decode("utf-8", "replace").rstrip())
            span = Span(name, line, 1, line, width + 1)
            message = "this file holds an unresolved merge conflict"
            found.append(Diagnostic("MLS511", message, span, help="resolve it, and commit, first"))
    return found


def document(root: Path, project: LoadedProject) -> tuple[int, source.Mapping]:
    """Return the document of its file that a project is, and which one that is, from 0."""
    documents, _ = source.read(project.file, (root / project.file).read_bytes())
    start = project.base.tree.span
    return next((index, found) for index, found in enumerate(documents) if found.span == start)
