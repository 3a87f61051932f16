"""A compiled root in, what kubeconform says of its objects beside the embedded engine out.

The embedded engine judges while a root is compiled, and what it refuses is not generated, whatever kubeconform says.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from mlspec import locating
from mlspec.check import engines, kubeconform
from mlspec.check.engines import Engine
from mlspec.check.kubeconform import Refusal, Sheet, UnusableError
from mlspec.check.objects import Fault
from mlspec.check.schema import check_schema
from mlspec.check.tools import Tool
from mlspec.check.versions import schema_folders
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Diagnostic, Span
from mlspec.k8s import patch
from mlspec.k8s.resource import Body, Resource
from mlspec.model.operators import minor
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from mlspec.validation.objection import Path as Field

if TYPE_CHECKING:
    from mlspec.provenance import Seen

Chosen = Sequence[tuple[Compiled, str]]
_BY_SCHEMA: Final = ("MLS301", "MLS302", "MLS316")
# What kubeconform says of fields that no schema knows; the first is shown.
_UNKNOWN: Final = re.compile(r"additional properties '([^']+)'")
_NOWHERE: Final = Span("", 0, 0, 0, 0)


@dataclass(slots=True)
class Opinion:
    """What the second engine found, a line that says what it was asked, and the findings that its own stand for."""

    line: str = ""
    diagnostics: list[Diagnostic] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)
    """What will be among them, once what is the same in several environments is one."""
    replaced: list[Diagnostic] = field(default_factory=list)


def ask(compilation: Compilation, chosen: Chosen, engine: Engine | None) -> Opinion:
    """Return kubeconform's opinion of every object of the chosen projects and environments.

    Where the embedded engine refused objects, those are judged as well, and a project without objects is not.
    """
    tool, problem, absent = engines.second(engine)
    if tool is None:
        opinion = Opinion(f"kubeconform: {absent or 'nothing judged'}")
        opinion.diagnostics += [_unusable(problem, engine)] if problem else []
        return opinion
    refused = any(finding.code in _BY_SCHEMA for finding in compilation.diagnostics)
    subjects = list(_subjects(compilation, chosen, refused=refused))
    try:
        _judge(tool, subjects)
    except UnusableError as error:
        return Opinion("kubeconform: nothing judged", [_unusable(str(error), engine)])
    opinion = Opinion(_line(tool, subjects))
    for subject in subjects:
        if subject.sheet.refusals or (refused and engine is not None):
            _weigh(opinion, subject, engine)
    opinion.diagnostics += locating.once(opinion.seen)
    return opinion


def _unusable(problem: str, engine: Engine | None) -> Diagnostic:
    help = engines.HOW_TO_GET if engine is not None else f"{engines.HOW_TO_GET}; {engines.WITHOUT}"
    return Diagnostic("MLS317", problem, _NOWHERE, help=help)


@dataclass(frozen=True, slots=True)
class _Subject:
    """One project in one environment."""

    compilation: Compilation
    compiled: Compiled
    environment: str
    sheet: Sheet

    @property
    def folders(self) -> tuple[Path, ...]:
        """Where the schemas are."""
        return schema_folders(self.compilation.workspace.environments[self.environment].model)


def _subjects(compilation: Compilation, chosen: Chosen, *, refused: bool) -> Iterator[_Subject]:
    """Yield what is to be judged; workers keep no objects of what was refused, so these are made once more."""
    for compiled, name in chosen:
        whole = _again(compilation, compiled) if refused and _is_slim(compiled, name) else compiled
        bodies = [resource.body for resource in whole.resources.get(name, ())]
        bodies = bodies or whole.layout.builds.get(f"{compiled.project.name}/overlays/{name}", [])
        yield _Subject(compilation, whole, name, Sheet([*bodies, *whole.argocd.get(name, ())]))


def _is_slim(compiled: Compiled, environment: str) -> bool:
    """Say whether a worker has made the objects and kept them for itself."""
    return bool(compiled.counts.get(environment)) and environment not in compiled.resources


def _again(compilation: Compilation, compiled: Compiled) -> Compiled:
    """Compile one project in this process, with everything that is known of it."""
    root = compilation.workspace.root
    return compile_workspace(load(root, [root / compiled.project.file])).projects[0]


def _judge(tool: Tool, subjects: Iterable[_Subject]) -> None:
    """Ask once for every version of Kubernetes and set of schemas."""
    groups: dict[tuple[str, tuple[Path, ...]], list[Sheet]] = {}
    for subject in subjects:
        version = minor(subject.compilation.workspace.environments[subject.environment].model.kubernetes)
        groups.setdefault((version, subject.folders), []).append(subject.sheet)
    for (version, folders), sheets in groups.items():
        kubeconform.judge(tool, version, folders, sheets)


def _line(tool: Tool, subjects: Iterable[_Subject]) -> str:
    sheets = [subject.sheet for subject in subjects]
    total = sum(len(sheet.bodies) for sheet in sheets)
    refused = sum(len({refusal.number for refusal in sheet.refusals}) for sheet in sheets)
    version = f" {tool.version}" if re.match(r"v?\d", tool.version) else ""
    return f"kubeconform{version}: {total - refused:,} of {total:,} object{'' if total == 1 else 's'} valid by schema"


def _weigh(opinion: Opinion, subject: _Subject, engine: Engine | None) -> None:
    """Add what follows from the two verdicts of each object of a project in an environment."""
    theirs: dict[int, list[Refusal]] = {}
    for refusal in subject.sheet.refusals:
        theirs.setdefault(refusal.number, []).append(refusal)
    for index, body in enumerate(subject.sheet.bodies):
        ours = list(check_schema(subject.folders, body))
        if not ours and index in theirs and engine is not Engine.ALL:
            opinion.seen += (_at(subject, body, "MLS307", item) for item in theirs[index])
        elif bool(ours) != (index in theirs) and engine is not None:
            refusal = theirs[index][0] if index in theirs else Refusal(index, ours[0].message, ours[0].path)
            who = ("embedded accepts it", "kubeconform") if index in theirs else ("kubeconform accepts it", "embedded")
            text = f"the engines disagree: {who[0]}, {who[1]} refuses it: {refusal.message}"
            opinion.seen.append(_at(subject, body, "MLS315", refusal._replace(message=text)))
        elif ours and engine is Engine.KUBECONFORM:
            opinion.seen += (_at(subject, body, "MLS307", item) for item in theirs[index])
            opinion.replaced += _embedded(subject, body)


def _at(subject: _Subject, body: Body, code: str, refusal: Refusal) -> Seen:
    """Return a finding about an object at the field of the spec that made it."""
    compiled, name = subject.compiled, subject.environment
    if _is_slim(compiled, name):
        compiled = _again(subject.compilation, compiled)
    resource = _resource(compiled.resources.get(name, ()), body)
    unknown = _UNKNOWN.search(refusal.message)
    key = (*refusal.path, unknown[1]) if unknown is not None else ()
    fault = Fault(code, refusal.message, operation=_operation(resource, refusal.path), path=refusal.path, key=key)
    environment = subject.compilation.workspace.environments[name]
    return locating.seen(compiled, environment, resource or body, fault)


def _operation(resource: Resource | None, path: Field) -> int | None:
    """Return the last operation of a patch in the field of an objection, or around it; None where there is none."""
    patched = resource.patched if resource is not None else None
    if patched is None or patched.refusal is not None:
        return None
    written = patch.wrote(patched.before, patched.operations, path)
    return written.operation if written is not None else None


def _resource(resources: Iterable[Resource], body: Body) -> Resource | None:
    """Return the resource that an object is; None for one of Argo CD's."""
    wanted = (body["apiVersion"], body["kind"], body["metadata"]["name"])
    return next((resource for resource in resources if resource.key == wanted), None)


def _embedded(subject: _Subject, body: Body) -> Iterator[Diagnostic]:
    """Yield what the embedded engine found of an object by its schema."""
    from mlspec.provenance import is_about  # late: most roots have no finding

    name = str(body["metadata"]["name"])
    for finding in subject.compiled.diagnostics:
        if finding.code in _BY_SCHEMA and is_about(finding, body["kind"], name, subject.environment):
            yield finding
