"""Files of the repository that steps ship: read here, once, with everything that may be wrong with them.

A file is named relative to its mlproject.yaml. No link is followed on the way, so that what is shipped is what stands
in the repository, and nothing outside of it can be.
"""

from __future__ import annotations

import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final

from mlspec.diagnostics import Diagnostic, nearest
from mlspec.kind_specs import StepSpec
from mlspec.model.handover import ships
from mlspec.spec import opening
from mlspec.spec.discover import relative
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedProject, Variant, Workspace

MOST: Final = 1 << 20
"""Bytes of all files of a run together: what a ConfigMap holds (Kubernetes' MaxSecretSize, which it shares)."""
Place = tuple[str, ...]


@dataclass(slots=True)
class Shipped:
    """The files of one project: contents by the path that users write, digests by the path from the root."""

    contents: dict[str, bytes] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    refused: dict[str, tuple[str, str]] = field(default_factory=dict)


def wanted(step: StepSpec) -> Iterator[tuple[str, Place]]:
    """Yield every repository path that a step ships, with its field inside the step; keys end in `[key]`."""
    seen = set()
    for path, program in step.programs().items():
        if ships(program.script) and (program.script, path) not in seen:
            seen.add((program.script, path))
            yield str(program.script), (*path, "script")
    for name in step.files:
        yield name, ("files", name, "[key]")


def with_files(workspace: Workspace, path: Path, base: Variant, variants: Mapping[str, Variant]) -> LoadedProject:
    """Return a project with the files that its steps ship, and report what cannot be read of them."""
    shipped = _read_all(workspace, path, [base, *(v for v in variants.values() if v is not base)])
    # A project without overrides is one variant, whatever the environment: it stays one.
    made = {id(variant): replace(variant, contents=shipped.contents) for variant in (base, *variants.values())}
    own = {name: made[id(variant)] for name, variant in variants.items()}
    return LoadedProject(base.model.name, relative(path, workspace.root), made[id(base)], own, shipped.digests)


def _read_all(workspace: Workspace, project_file: Path, variants: Iterable[Variant]) -> Shipped:
    found = Shipped()
    for variant in variants:
        for name, step in variant.model.steps.items():
            for path, place in wanted(step):
                _read(workspace, project_file.parent, path, found)
                if path in found.refused:
                    message, help = found.refused[path]
                    workspace.diagnostics.append(_finding(variant, ("steps", name, *place), message, help))
    return found


def _finding(variant: Variant, place: Place, message: str, help: str) -> Diagnostic:
    keyed = place[-1] == "[key]"
    where = locate(variant.tree, place[:-1] if keyed else place)
    span = where.key_span if keyed else where.value_span
    return Diagnostic("MLS246", message, span, where.dotted, help)


def _read(workspace: Workspace, folder: Path, path: str, found: Shipped) -> None:
    if path in found.contents or path in found.refused:
        return
    problem = _obstacle(folder, path)
    if problem is None:
        try:
            content = opening.read_below(workspace.root, folder, path, MOST + 1)
        except opening.RefusedError as error:
            problem = f"`{path}` cannot be read: {error.message}", error.help
        except OSError as error:
            reason = (error.strerror or "unknown error").lower()
            problem = f"`{path}` cannot be read: {reason}", "make it readable"
    if problem is None and len(content) > MOST:
        message = f"`{path}` has more than 1 MiB; a run ships at most that, which is what a ConfigMap holds"
        problem = message, "put it into the image, or on a volume"
    if problem is not None:
        found.refused[path] = problem
        return
    found.contents[path] = content
    found.digests[relative(folder / path, workspace.root)] = "sha256:" + hashlib.sha256(content).hexdigest()


def _obstacle(folder: Path, path: str) -> tuple[str, str] | None:
    """Return what is wrong with the way to a file, and what to do; no link is followed."""
    here = folder
    parts = path.split("/")
    for index, part in enumerate(parts):
        here = here / part
        shown = "/".join(parts[: index + 1])
        try:
            mode = os.lstat(here).st_mode
        except (OSError, ValueError):
            near = _neighbour(here)
            meant = "/".join([*parts[:index], near or "", *parts[index + 1 :]])
            return f"there is no file `{path}`", f"did you mean `{meant}`?" if near else "paths begin at mlproject.yaml"
        if stat.S_ISLNK(mode):
            return f"`{shown}` is a symbolic link", "name the file itself: a link could lead anywhere"
        if index == len(parts) - 1 and not stat.S_ISREG(mode):
            return f"`{path}` is {'a folder' if stat.S_ISDIR(mode) else 'not a regular file'}", "name a file"
        if index < len(parts) - 1 and not stat.S_ISDIR(mode):
            return f"`{shown}` is not a folder", "name a file below the folder of mlproject.yaml"
    return None


def _neighbour(path: Path) -> str | None:
    """Return the name of a file beside a missing one that is spelled alike."""
    try:
        names = sorted(os.listdir(path.parent))  # noqa: PTH208  # names are all that is needed
    except OSError:
        return None
    return nearest(path.name, names)
