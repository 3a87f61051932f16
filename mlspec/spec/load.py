"""A root folder in, every environment and project in it out, with all findings about them.

This module, `shipped` and `opening` are the only ones of the spec that touch the disk.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path

from pydantic import ValidationError
from pydantic_core import PydanticCustomError

from mlspec import names, source
from mlspec.diagnostics import Diagnostic, suggestion, whole_file
from mlspec.model.scalars import boolean
from mlspec.source import Scalar
from mlspec.spec import bounds, opening, overlay, problems
from mlspec.spec.discover import COMMON, ENVIRONMENT_FOLDER, GENERATED, PROJECT_FILE, files_in, relative
from mlspec.spec.environment import CommonEnvironment, CommonFields, Environment
from mlspec.spec.project import ENVIRONMENTS, Project
from mlspec.spec.repair import repair
from mlspec.spec.shipped import with_files
from mlspec.spec.unique import check_unique
from mlspec.spec.workspace import LoadedEnvironment, Variant, Workspace


def load(root: Path, paths: Iterable[Path] = ()) -> Workspace:
    """Read a root, or only the project files (or folders with them) in `paths`; never raises for bad content."""
    workspace, known, files = begin(root, paths)
    read(workspace, known, files)
    check_unique(workspace)
    return workspace


def read(workspace: Workspace, known: frozenset[str], files: Iterable[Path]) -> None:
    """Read project files into a workspace that holds its environments; `known` are their names, valid or not."""
    for path in files:
        _load_projects(workspace, path, known)


def begin(root: Path, paths: Iterable[Path] = ()) -> tuple[Workspace, frozenset[str], list[Path]]:
    """Read the environments of a root; returns their names, valid or not, and the project files to read."""
    workspace = Workspace(root)
    known = _load_environments(workspace)
    chosen = list(paths)
    workspace.complete = not chosen
    refused: list[OSError] = []
    files = sorted({file for path in chosen or [root] for file in files_in(path, root, refused.append)})
    for error in refused:
        workspace.diagnostics.append(_unreadable(relative(Path(error.filename), root), error))
    # A root whose last project is gone still has its output to prune.
    left = any(any((root / GENERATED).glob(f"{at}mlspec.lock*")) for at in ("", "*/"))
    if not files and not (workspace.complete and left):
        where = ", ".join(relative(path, root) for path in chosen) or "."
        span = whole_file(where)
        help = "write one, or name the folder that holds it"
        workspace.diagnostics.append(Diagnostic("MLS225", f"no {PROJECT_FILE} here", span, help=help))
    return workspace, known, files


def _read(workspace: Workspace, path: Path) -> list[source.Mapping]:
    name = relative(path, workspace.root)
    workspace.files.append(name)
    try:
        data = opening.read_linked(workspace.root, path, source.MAX_BYTES + 1)
    except opening.RefusedError as error:
        code = "MLS111" if error.is_folder else "MLS112"
        workspace.diagnostics.append(Diagnostic(code, error.message, whole_file(name), help=error.help))
        return []
    except OSError as error:
        workspace.diagnostics.append(_unreadable(name, error))
        return []
    workspace.digests[name] = "sha256:" + hashlib.sha256(data).hexdigest()
    documents, diagnostics = source.read(name, data)
    if not source.is_binary(data):
        workspace.texts[name] = data[: source.MAX_BYTES].decode("utf-8-sig", "replace")
    workspace.diagnostics += diagnostics
    return documents


def _unreadable(name: str, error: OSError) -> Diagnostic:
    reason = (error.strerror or "unknown error").lower()
    return Diagnostic("MLS112", f"cannot be read: {reason}", whole_file(name))


def _load_environments(workspace: Workspace) -> frozenset[str]:
    """Load environments/*.yaml; returns the names that have a file, readable or not."""
    folder = workspace.root / ENVIRONMENT_FOLDER
    try:
        paths = sorted(folder.iterdir())
    except OSError as error:
        workspace.diagnostics.append(_unreadable(ENVIRONMENT_FOLDER, error))
        return frozenset()
    shared = folder / f"{COMMON}.yaml"
    common = _one_document(workspace, shared) if shared in paths else None
    if common is not None:
        workspace.common = _load_common(workspace, common)
    found = set()
    for path in paths:
        if path.suffix == ".yml":
            message = "an environment's file ends in .yaml"
            workspace.diagnostics.append(
                Diagnostic(
                    "MLS105",
                    message,
                    whole_file(relative(path, workspace.root)),
                    help=f"rename it to {path.stem}.yaml",
                )
            )
        if path.suffix != ".yaml" or path.stem == COMMON:
            continue
        found.add(path.stem)
        _load_environment(workspace, path, common)
    if not found:
        help = "write environments/dev.yaml"
        span = whole_file(ENVIRONMENT_FOLDER)
        workspace.diagnostics.append(Diagnostic("MLS226", "there is no environment", span, help=help))
    return frozenset(found)


def _load_environment(workspace: Workspace, path: Path, common: source.Mapping | None) -> None:
    problem = names.problem_with_environment(path.stem)
    if problem is not None:
        code, message, help = problem
        workspace.diagnostics.append(Diagnostic(code, message, whole_file(relative(path, workspace.root)), help=help))
        return
    tree = _one_document(workspace, path)
    if tree is None:
        return
    if common is not None:
        # The environment's own position stays the place of findings about the file as a whole.
        tree = source.Mapping(overlay.merge(common, tree).entries, tree.span)
    workspace.diagnostics += bounds.at_most(problems.nulls(tree), tree)
    try:
        model, damaged = Environment.model_validate(source.to_raw(tree)), False
    except ValidationError as error:
        workspace.diagnostics += bounds.at_most(problems.diagnose(tree, Environment, error), tree)
        repaired = repair(tree, Environment, error)
        if repaired is None:
            return
        model, damaged = repaired[0], True
    workspace.environments[path.stem] = LoadedEnvironment(path.stem, tree, model, damaged)


def _one_document(workspace: Workspace, path: Path) -> source.Mapping | None:
    documents = _read(workspace, path)
    if len(documents) > 1:
        message = "an environment's file holds one document"
        span = documents[1].span
        workspace.diagnostics.append(
            Diagnostic(
                "MLS105",
                message,
                span._replace(end_line=span.line, end_column=span.column),
                help=f"move the second one to a file of its own in {ENVIRONMENT_FOLDER}/",
            )
        )
    return documents[0] if documents else None


def _load_common(workspace: Workspace, tree: source.Mapping) -> CommonFields:
    """Read common.yaml; a map in it that lacks a required key is left to the environments."""
    raw = source.to_raw(tree)
    for _ in range(source.MAX_DEPTH):
        try:
            return CommonEnvironment.model_validate(raw)
        except ValidationError as error:
            missing = [detail["loc"] for detail in error.errors(include_url=False) if detail["type"] == "missing"]
            if not missing:
                workspace.diagnostics += problems.diagnose(tree, CommonEnvironment, error)
                break
            for location in missing:
                _drop(raw, location[:-1])
    return CommonEnvironment()


def _drop(raw: object, location: tuple[int | str, ...]) -> None:
    for element in location[:-1]:
        raw = raw.get(element) if isinstance(raw, dict) else None
    if isinstance(raw, dict) and location:
        raw.pop(location[-1], None)


def _load_projects(workspace: Workspace, path: Path, known: frozenset[str]) -> None:
    for document in _read(workspace, path):
        tree = overlay.without(document, ENVIRONMENTS)
        workspace.diagnostics += bounds.at_most(problems.nulls(tree), tree)
        base = _project(workspace, tree, (ENVIRONMENTS,))
        if bounds.too_many(tree):
            continue  # what its environments change is not looked at either
        overrides = _overrides(workspace, document, known)
        variants = {}
        for name, environment in workspace.environments.items():
            override = overrides.get(name)
            if override is not None:
                allowed = tuple(environment.model.overrides)
                workspace.diagnostics += overlay.check_override(tree, override, name, allowed)
                workspace.diagnostics += _unknown_nulls(tree, override, name)
            variant = _variant(workspace, tree, base, override)
            if variant is not None and _enabled(workspace, name, override):
                variants[name] = variant
        if base is not None:
            workspace.projects.append(with_files(workspace, path, base, variants))


def _unknown_nulls(tree: source.Mapping, override: source.Mapping, environment: str) -> Iterator[Diagnostic]:
    """Yield misspelt keys that an override sets to null: merging leaves nothing of them for the model to refuse."""
    merged = overlay.merge(tree, override)
    for path, node in overlay.leaves(override, ()):
        files = path[2:-1] == ("files",)  # other keys with a slash are resources'
        if not (isinstance(node, Scalar) and node.is_null) or path[-1] == "enabled" or ("/" in path[-1] and not files):
            continue
        found = problems.locate(tree, path[:-1])
        options: Iterable[str] = problems.fields_at(Project, merged, path[:-1])
        if isinstance(found.node, source.Mapping) and found.path == path[:-1] and (files or len(path) == 2):
            options = found.node.entries  # null removes an entry of a table, which must be there
        if options and path[-1] not in options:
            span, dotted = problems.locate(override, path).key_span, ".".join((ENVIRONMENTS, environment, *path))
            yield Diagnostic("MLS102", f"unknown key `{path[-1]}`", span, dotted, suggestion(path[-1], options))


def _overrides(workspace: Workspace, document: source.Mapping, known: frozenset[str]) -> dict[str, source.Mapping]:
    node = document.get(ENVIRONMENTS)
    if node is None:
        return {}
    if not isinstance(node, source.Mapping):
        workspace.diagnostics.append(Diagnostic("MLS104", "expected a map of environments", node.span, ENVIRONMENTS))
        return {}
    found = {}
    for name, entry in node.entries.items():
        path = f"{ENVIRONMENTS}.{name}"
        if name == COMMON:
            message = f"`{COMMON}` is not an environment, but what all of them share"
            help = f"write it above `{ENVIRONMENTS}:`"
            workspace.diagnostics.append(Diagnostic("MLS213", message, entry.key, path, help))
        elif name not in known:
            help = suggestion(name, known) or f"write environments/{name}.yaml"
            message = f"there is no environments/{name}.yaml"
            workspace.diagnostics.append(Diagnostic("MLS207", message, entry.key, path, help))
        elif not isinstance(entry.value, source.Mapping):
            help = "write a map of what differs, or `{enabled: false}`"
            span = entry.value.span
            workspace.diagnostics.append(Diagnostic("MLS104", "expected a map of overrides", span, path, help))
        else:
            found[name] = entry.value
    return found


def _variant(
    workspace: Workspace, tree: source.Mapping, base: Variant | None, override: source.Mapping | None
) -> Variant | None:
    if override is None:
        return base
    fields = {key: entry for key, entry in override.entries.items() if key not in ("enabled", *overlay.FIXED)}
    merged = overlay.merge(tree, source.Mapping(fields, override.span))
    return _project(workspace, merged, ("enabled",))


def _project(workspace: Workspace, tree: source.Mapping, also: tuple[str, ...]) -> Variant | None:
    too_many = bounds.too_many(tree)
    workspace.diagnostics += too_many
    try:
        variant = Variant(tree, Project.model_validate(source.to_raw(tree)))
    except ValidationError as error:
        workspace.diagnostics += bounds.at_most(problems.diagnose(tree, Project, error, also), tree)
        repaired = None if too_many else repair(tree, Project, error)
        return Variant(tree, *repaired) if repaired is not None else None
    return None if too_many else variant


def _enabled(workspace: Workspace, name: str, override: source.Mapping | None) -> bool:
    node = override.get("enabled") if override is not None else None
    if node is None:
        return True
    try:
        return boolean(source.to_raw(node))
    except PydanticCustomError as error:
        path = f"{ENVIRONMENTS}.{name}.enabled"
        context = error.context or {}
        workspace.diagnostics.append(Diagnostic("MLS104", context["text"], node.span, path, context["help"]))
        return False
