"""What a check found of each project file, remembered by the content of everything that this follows from.

That is the project file, the files that it ships, what was generated for it, every environment, mlspec itself, the
libraries that judge, and kustomize: by content, so that a cache may travel between machines. Only a project in which
nothing is wrong is remembered; whatever cannot be read, or is a link, is judged anew. A damaged entry is none.
"""

from __future__ import annotations

import functools
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from importlib import metadata
from pathlib import Path
from typing import Any, Final

import mlspec
from mlspec import cache, schemas
from mlspec.affected.claims import crowded
from mlspec.affected.select import Selection
from mlspec.check import tools
from mlspec.compiled import Compilation, Compiled, Known, Part
from mlspec.diagnostics import Accepted, Diagnostic, Related, Severity, Span
from mlspec.files.fingerprint import contents, read_file, shipped
from mlspec.files.marks import lock_path
from mlspec.files.owners import owner
from mlspec.literals.redaction import redact
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED, relative
from mlspec.spec.heads import Head, read_heads
from mlspec.spec.workspace import Workspace

_KIND: Final = "verdicts"
_LIBRARIES: Final = (
    "pydantic",
    "pydantic_core",
    "PyYAML",
    "jsonschema-rs",
    "jsonpatch",
    "jsonpointer",
    "cel-expr-python",
)
_SOURCES: Final = (".py", ".json", ".toml", ".lua", ".sh", ".yaml")
# What projects have against one another is said anew each time.
_BETWEEN: Final = frozenset({"MLS211", "MLS221", "MLS222"})


class Memory:
    """The verdicts of one check: those that were known, and in the end those that are worth knowing."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._keys: dict[str, str] = {}

    def select(self, workspace: Workspace, files: Sequence[Path]) -> tuple[Selection, tuple[Known, ...]]:
        """Return the project files that must be compiled, and what is known of the others."""
        heads = {path: read_heads(relative(path, self._root), _quietly(path)) for path in files}
        common = _common(self._root)
        known: dict[Path, Known] = {}
        for path in files:
            name = relative(path, self._root)
            key = _key(self._root, path, heads[path], common)
            found = _parsed(cache.recall(_KIND, key)) if key is not None else None
            self._keys[name] = key or ""
            if found is not None and found.file == name:
                known[path] = found
        own = set(files) - known.keys()
        # Who is the first to claim a thing may have changed, although neither of two has.
        taken = own | crowded(workspace, heads)
        rest = {path: known[path] for path in files if path not in taken}
        for path, found in rest.items():
            workspace.files.append(found.file)
            if found.findings:
                workspace.texts[found.file] = path.read_bytes().decode("utf-8-sig", "replace")
        others = frozenset(name for found in rest.values() for name in found.names)
        part = Part(
            since="",
            total=len(files),
            files=frozenset(relative(path, self._root) for path in own),
            beside=frozenset(relative(path, self._root) for path in taken - own),
            environments=frozenset(),
            reason="",
            others=others,
            touched=frozenset(_unknown(self._root / GENERATED, others)),
            gone=None,
        )
        return Selection([path for path in files if path in taken], part), tuple(rest.values())

    def keep(self, compilation: Compilation, later: Sequence[Diagnostic]) -> None:
        """Remember the projects in which nothing is wrong; `later` is what was found once the root was compiled."""
        if any(finding.code.startswith("MLS3") for finding in later):
            return  # a judge that could not work says nothing of anybody
        common = _common(self._root)
        troubled = {owner(path) for path in (*compilation.strays, *compilation.temporaries)}
        found = [*compilation.diagnostics, *later]
        by_file: dict[str, list[Compiled]] = {}
        for compiled in compilation.projects:
            by_file.setdefault(compiled.project.file, []).append(compiled)
        between = {
            span.file
            for finding in found
            if finding.code in _BETWEEN
            for span in (finding.span, *(related.span for related in finding.related))
        }
        wrong = {finding.span.file for finding in found if finding.severity is Severity.ERROR} | between
        for file, projects in by_file.items():
            if file in wrong or any(_is_unsettled(item) or item.project.name in troubled for item in projects):
                continue
            heads = tuple(Head(item.project.name, item.project.base.model.owner) for item in projects)
            key = _key(self._root, self._root / file, heads, common)
            # A file that changed meanwhile is not what was judged.
            if key is not None and key == self._keys.get(file):
                text = _written(file, projects, compilation.diagnostics)
                if redact(text) == text:
                    cache.remember(_KIND, key, text)


def _quietly(path: Path) -> bytes:
    try:
        return read_file(str(path))
    except (OSError, ValueError):
        return b""


def _is_unsettled(compiled: Compiled) -> bool:
    change = compiled.changes
    return change is None or change.any or bool(change.refusals or compiled.later)


def _common(root: Path) -> str | None:
    """Return the digest of what every verdict of a root follows from; None where it cannot be read."""
    tool = tools.find_kustomize()
    if tool is None:
        return None
    try:
        environments = sorted((root / ENVIRONMENT_FOLDER).iterdir())
        read = [part for path in environments for part in (path.name, read_file(str(path.resolve())))]
    except (OSError, ValueError):
        return None
    return cache.key((_itself(), tool.identity, *read))


@functools.cache
def _itself() -> str:
    """Return the digest of mlspec and of the libraries whose judgement counts."""
    parts: list[str | bytes] = [sys.version]
    for library in _LIBRARIES:
        try:
            parts += [library, metadata.version(library)]
        except metadata.PackageNotFoundError:
            parts += [library, ""]
    for folder in (Path(mlspec.__file__).parent.resolve(), schemas.folder().resolve()):
        for name, content in contents(str(folder), "", _SOURCES):
            parts += [name, content]
    return cache.key(parts)


def _key(root: Path, path: Path, heads: Sequence[Head], common: str | None) -> str | None:
    """Return the key of a project file's verdict; None where what it follows from cannot be read, or is a link."""
    if common is None or not heads:
        return None
    try:
        return cache.key(part for item in _everything(root, path, heads) for part in (common, *item))
    except (OSError, ValueError, RecursionError):
        return None


def _everything(root: Path, path: Path, heads: Iterable[Head]) -> Iterator[tuple[str, bytes]]:
    yield relative(path, root), read_file(str(path))
    generated = root / GENERATED
    for head in heads:
        if head.name is None:
            raise ValueError(path)
        yield from contents(str(generated / head.name), f"{head.name}/")
        for target in sorted(generated.glob(f"argocd/*/{head.name}.yaml")):
            yield target.relative_to(generated).as_posix(), read_file(str(target))
        yield from shipped(root, read_file(str(generated / lock_path(head.name))))


def _unknown(generated: Path, known: frozenset[str]) -> Iterator[str]:
    """Yield the paths from generated/ that are not accounted for by projects that are known."""
    for path in generated.iterdir() if generated.is_dir() else ():
        if path.name == "argocd":
            yield from _unknown_below(path, known)
        elif path.name not in known:
            yield path.name


def _unknown_below(argocd: Path, known: frozenset[str]) -> Iterator[str]:
    for folder in argocd.iterdir() if argocd.is_dir() and not argocd.is_symlink() else ():
        inside = sorted(folder.iterdir()) if folder.is_dir() and not folder.is_symlink() else []
        if not inside:
            yield f"argocd/{folder.name}"
        for path in inside:
            if path.suffix != ".yaml" or owner(f"argocd/{folder.name}/{path.name}") not in known:
                yield f"argocd/{folder.name}/{path.name}"


def _written(file: str, projects: Sequence[Compiled], diagnostics: Iterable[Diagnostic]) -> str:
    objects: dict[str, int] = {}
    for item in projects:
        for name, count in item.counts.items():
            objects[name] = objects.get(name, 0) + count
    own = [finding for item in projects for finding in item.diagnostics]
    own += [finding for finding in diagnostics if finding.span.file == file and finding not in own]
    accepted = [
        item for project in projects for name in sorted(project.opinions) for item in project.opinions[name].accepted
    ]
    return json.dumps(
        asdict(
            Known(
                file,
                tuple(item.project.name for item in projects),
                objects,
                sum(len(item.plans) for item in projects),
                tuple(own),
                tuple(dict.fromkeys(accepted)),
            )
        )
    )


def _parsed(text: str | None) -> Known | None:
    """Return a remembered verdict; None for anything that this module would not write."""
    try:
        written = json.loads(text or "")
        findings = tuple(_finding(item) for item in written["findings"])
        accepted = tuple(Accepted(**{**item, "path": tuple(item["path"])}) for item in written["accepted"])
        objects = {str(name): int(count) for name, count in written["objects"].items()}
        names = tuple(str(name) for name in written["names"])
        return Known(str(written["file"]), names, objects, int(written["overlays"]), findings, accepted)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def _finding(written: Mapping[str, Any]) -> Diagnostic:
    related = tuple(Related(Span(*item["span"]), str(item["message"])) for item in written["related"])
    fields = {**written, "span": Span(*written["span"]), "severity": Severity(written["severity"]), "related": related}
    return Diagnostic(**fields)
