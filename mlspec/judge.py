"""A compiled root in, the verdict of every judge out: drift, kustomize, kubeconform, and what was looked at."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from mlspec import names
from mlspec.check import kubeconform, kustomize, tools
from mlspec.check.kustomize import Build
from mlspec.check.repository import check_repository
from mlspec.check.tools import Tool
from mlspec.check.versions import schema_folders
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Accepted, Diagnostic, Span
from mlspec.k8s.resource import Body
from mlspec.model.operators import minor
from mlspec.pipeline import drift
from mlspec.policy.rules import RULES

Progress = Callable[[Sequence[Callable[[], list[Diagnostic]]], str], Iterable[Callable[[], list[Diagnostic]]]]
_NOWHERE = Span("", 0, 0, 0, 0)


@dataclass(slots=True)
class Verdict:
    """Findings, one line a judge that says what it looked at, and what was accepted with a reason."""

    accepted: list[Accepted] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be judged, and by whom."""

    environments: Sequence[str] = ()
    """All, if none is named."""


def judge(compilation: Compilation, asked: Asked, progress: Progress) -> Verdict:
    """Run every judge over the chosen environments."""
    verdict, environments = Verdict(), asked.environments
    chosen = [
        (compiled, name)
        for compiled in compilation.projects
        for name in sorted(compiled.plans)
        if not environments or name in environments
    ]
    objects = sum(compiled.counts.get(name, 0) for compiled, name in chosen)
    verdict.lines.append(
        f"checked {_count(len({c.project.name for c, _ in chosen}), 'project')} in "
        f"{_count(len({name for _, name in chosen}), 'environment')}: {_count(objects, 'object')} valid by schema"
    )
    _policy(verdict, chosen)
    verdict.diagnostics += [
        finding for finding in drift(compilation, each_file=False) if _concerns(finding, environments)
    ]
    named = sorted({name for _, name in chosen})
    workspace = compilation.workspace
    verdict.diagnostics += check_repository(workspace.root, (workspace.environments[name] for name in named))
    _kustomize(verdict, chosen, progress)
    _kubeconform(verdict, compilation, chosen)
    return verdict


def _policy(verdict: Verdict, chosen: Sequence[tuple[Compiled, str]]) -> None:
    """Say what was accepted, each once, whatever the number of environments: an auditor reads it here."""
    opinions = (compiled.opinions[name] for compiled, name in chosen if name in compiled.opinions)
    verdict.accepted = list(dict.fromkeys(item for opinion in opinions for item in opinion.accepted))
    reasons: dict[tuple[str, ...], list[Accepted]] = {}
    for item in verdict.accepted:
        reasons.setdefault(item.path, []).append(item)
    verdict.lines.append(f"policy: {_count(len(RULES), 'rule')}, {_count(len(verdict.accepted), 'finding')} accepted")
    for path, items in reasons.items():
        several = f" ({len(items)} times)" if len(items) > 1 else ""
        verdict.lines.append(f"  {'.'.join(path)}: {items[0].reason}{several}")


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def _concerns(finding: Diagnostic, environments: Sequence[str]) -> bool:
    """Say whether drift of a file is the business of the chosen environments; what they share always is."""
    parts = finding.span.file.split("/")
    owner = (
        parts[3]
        if len(parts) > 3 and parts[2] == "overlays"
        else parts[2]
        if len(parts) > 3 and parts[1] == "argocd" and parts[2] != names.ADMIN
        else None
    )
    return not environments or owner is None or owner in environments


def _kustomize(verdict: Verdict, chosen: Sequence[tuple[Compiled, str]], progress: Progress) -> None:
    tool = tools.find_kustomize()
    if tool is None or tools.too_old(tool):
        found = f"{tool.name} has kustomize {tool.version}, too old" if tool else "there is no kustomize"
        help = "install the extra: pip install 'mlspec-gitops[kustomize]', or put kustomize 5 or later on PATH"
        verdict.diagnostics.append(Diagnostic("MLS306", f"{found}: overlays were not built", _NOWHERE, help=help))
        verdict.lines.append("kustomize: nothing built")
        return
    builds = [(compiled, name, item) for compiled, name in chosen for item in _builds(compiled, name)]

    def work(compiled: Compiled, name: str, item: Build) -> list[Diagnostic]:
        place = compiled.span(name, ("name",))
        return [
            Diagnostic(code, f"{item.folder}: {message}", place, "name")
            for code, message in kustomize.build(tool, item)
        ]

    failed = 0
    tasks = [lambda compiled=c, name=n, item=i: work(compiled, name, item) for c, n, i in builds]
    for findings in _in_parallel(tasks, progress):
        verdict.diagnostics += findings
        failed += bool(findings)
    version = f" {tool.version}" if tool.version else ""
    verdict.lines.append(
        f"{tool.name}'s kustomize{version}: {len(builds) - failed} of {_count(len(builds), 'overlay')} built as planned"
    )


def _builds(compiled: Compiled, environment: str) -> Iterator[Build]:
    project = compiled.project.name
    folder = f"{project}/overlays/{environment}"
    expected = compiled.layout.builds.get(folder)
    if expected is None:
        return
    needed = (f"{project}/base/", f"{folder}/")
    files = {path: content for path, content in compiled.layout.files.items() if path.startswith(needed)}
    yield Build(project, folder, files, expected)


def _in_parallel(tasks: Sequence[Callable[[], list[Diagnostic]]], progress: Progress) -> Iterator[list[Diagnostic]]:
    """Yield the results in order; the children do the work, so threads are enough."""
    from concurrent.futures import ThreadPoolExecutor  # late: 30 ms that an unchanged root does not need

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        futures = [pool.submit(task) for task in tasks]
        yield from (result() for result in progress([future.result for future in futures], "kustomize build"))


def _kubeconform(verdict: Verdict, compilation: Compilation, chosen: Sequence[tuple[Compiled, str]]) -> None:
    tool = tools.find_kubeconform()
    if tool is None:
        verdict.lines.append("kubeconform: skipped, not found (optional; `make tools` builds it)")
        return
    total = 0
    for name in sorted({name for _, name in chosen}):
        bodies = [body for compiled, other in chosen if other == name for body in _bodies(compiled, name)]
        total += len(bodies)
        verdict.diagnostics += _opinion(tool, compilation, name, bodies)
    verdict.lines.append(f"kubeconform {tools.KUBECONFORM_VERSION}: {_count(total, 'object')} judged")


def _bodies(compiled: Compiled, name: str) -> list[Body]:
    return [*compiled.layout.builds.get(f"{compiled.project.name}/overlays/{name}", ()), *compiled.argocd[name]]


def _opinion(tool: Tool, compilation: Compilation, name: str, bodies: Sequence[Body]) -> Iterator[Diagnostic]:
    environment = compilation.workspace.environments[name]
    place = environment.tree.span
    kubernetes = minor(environment.model.kubernetes)
    for message in kubeconform.judge(tool, bodies, kubernetes, schema_folders(environment.model)):
        yield Diagnostic("MLS307", message, Span(place.file, place.line, place.column, place.line, place.column))
