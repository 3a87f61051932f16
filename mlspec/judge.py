"""A compiled root in, the verdict of every judge out: drift, kustomize, kubeconform, and what was looked at."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from mlspec import names, second_opinion
from mlspec.check import engines, kustomize, tools
from mlspec.check.engines import Engine
from mlspec.check.kustomize import Build
from mlspec.check.repository import check_repository
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Accepted, Diagnostic, Span, has_errors
from mlspec.drift import drift
from mlspec.policy.rules import RULES

Progress = Callable[[Sequence[Callable[[], list[Diagnostic]]], str], Iterable[Callable[[], list[Diagnostic]]]]
Overlays = Literal["changed", "all", "none"]
_NOWHERE = Span("", 0, 0, 0, 0)


@dataclass(slots=True)
class Verdict:
    """Findings, one line a judge that says what it looked at, and what was accepted with a reason."""

    accepted: list[Accepted] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    lines: list[str] = field(default_factory=list)
    replaced: list[Diagnostic] = field(default_factory=list)
    """Findings of the compilation that those of another engine stand for."""


@dataclass(frozen=True, slots=True)
class Asked:
    """What is to be judged, and by whom."""

    environments: Sequence[str] = ()
    """All, if none is named."""
    kustomize: Overlays = "changed"
    """The overlays to build: what a change touches and is not known to build, every one afresh, or none."""
    jobs: int | None = None
    """Processes at once; as many as there are processors, if it is not said."""
    engine: Engine | None = None
    """Who judges by schema; without one, kubeconform gives a second opinion if it is there."""


def may_be_remembered(asked: Asked) -> bool:
    """Say whether verdicts may be taken from before: not where overlays are built afresh, or kubeconform is asked."""
    return asked.kustomize == "changed" and bool(engines.second(asked.engine).absent)


def judge(
    compilation: Compilation, asked: Asked, progress: Progress, whole: Callable[[], Compilation] | None = None
) -> Verdict:
    """Run every judge over the chosen environments.

    Where `compilation` is a part of its root and every overlay is to be built, `whole` makes those of the rest.
    """
    verdict, environments = Verdict(), asked.environments
    chosen = _chosen(compilation, asked)
    verdict.lines.append(_looked_at(compilation, chosen))
    _policy(verdict, _accepted(compilation, chosen))
    verdict.diagnostics += drift(
        compilation, each_file=False, concerns=lambda finding: _concerns(finding, environments)
    )
    named = sorted(_environments(compilation, chosen))
    workspace = compilation.workspace
    verdict.diagnostics += check_repository(workspace.root, (workspace.environments[name] for name in named))
    before = sum(known.overlays for known in compilation.known)
    if asked.kustomize == "all" and whole is not None:
        chosen_to_build = _all_of(verdict, whole(), asked) or chosen
    else:
        chosen_to_build = _concerned(compilation, asked, chosen)
    _kustomize(verdict, chosen_to_build, before, asked, progress)
    _second_opinion(verdict, compilation, chosen, asked)
    return verdict


def _all_of(verdict: Verdict, whole: Compilation, asked: Asked) -> list[tuple[Compiled, str]]:
    """Return what of a whole root is built: nothing while a project that is not judged has errors."""
    if has_errors(whole.diagnostics):
        verdict.lines.append("kustomize: of other projects nothing is built, since some have errors")
        return []
    return _chosen(whole, asked)


def judge_refused(compilation: Compilation, asked: Asked) -> Verdict:
    """Run what can judge a root that is refused already: kubeconform, where it is asked for by name."""
    verdict = Verdict()
    if asked.engine in (Engine.KUBECONFORM, Engine.ALL):
        _second_opinion(verdict, compilation, _chosen(compilation, asked), asked)
    return verdict


def _chosen(compilation: Compilation, asked: Asked) -> list[tuple[Compiled, str]]:
    """Return the projects and environments that are judged."""
    return [
        (compiled, name)
        for compiled in compilation.projects
        for name in sorted(compiled.plans)
        if not asked.environments or name in asked.environments
    ]


def _second_opinion(
    verdict: Verdict, compilation: Compilation, chosen: Sequence[tuple[Compiled, str]], asked: Asked
) -> None:
    opinion = second_opinion.ask(compilation, chosen, asked.engine)
    verdict.lines.append(opinion.line)
    verdict.diagnostics += opinion.diagnostics
    verdict.replaced += opinion.replaced


def accepted(compilation: Compilation, asked: Asked) -> list[Accepted]:
    """Return what policy accepted, each once, as far as it could judge: also where something else is wrong."""
    return _accepted(compilation, _chosen(compilation, asked))


def _looked_at(compilation: Compilation, chosen: Sequence[tuple[Compiled, str]]) -> str:
    """Say how much was judged, what is known from before included."""
    part, known = compilation.part, compilation.known
    names = {compiled.project.name for compiled, _ in chosen}.union(*(item.names for item in known))
    objects = sum(compiled.counts.get(name, 0) for compiled, name in chosen)
    objects += sum(sum(item.objects.values()) for item in known)
    what = part.words() if part is not None and part.since else _count(len(names), "project")
    where = _count(len(_environments(compilation, chosen)), "environment")
    return f"checked {what} in {where}: {_count(objects, 'object')} valid by schema"


def _environments(compilation: Compilation, chosen: Sequence[tuple[Compiled, str]]) -> set[str]:
    return {name for _, name in chosen}.union(*(item.objects for item in compilation.known))


def _accepted(compilation: Compilation, chosen: Iterable[tuple[Compiled, str]]) -> list[Accepted]:
    """Return what was accepted in the order of the project files, of which some may be known from before."""
    found: list[tuple[str, Sequence[Accepted]]] = [
        (compiled.project.file, compiled.opinions[name].accepted)
        for compiled, name in chosen
        if name in compiled.opinions
    ]
    found += [(item.file, item.accepted) for item in compilation.known]
    in_order = sorted(found, key=lambda item: item[0])
    return list(dict.fromkeys(accepted for _, items in in_order for accepted in items))


def _policy(verdict: Verdict, accepted: list[Accepted]) -> None:
    """Say what was accepted, each once, whatever the number of environments: an auditor reads it here."""
    verdict.accepted = accepted
    reasons: dict[tuple[str, ...], list[Accepted]] = {}
    for item in verdict.accepted:
        reasons.setdefault(item.path, []).append(item)
    verdict.lines.append(f"policy: {_count(len(RULES), 'rule')}, {_count(len(verdict.accepted), 'finding')} accepted")
    for path, items in reasons.items():
        several = f" ({len(items)} times)" if len(items) > 1 else ""
        verdict.lines.append(f"  {'.'.join(path)}: {items[0].reason}{several}")


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


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


def _concerned(
    compilation: Compilation, asked: Asked, chosen: Sequence[tuple[Compiled, str]]
) -> list[tuple[Compiled, str]]:
    """Return the projects and environments whose overlays are built."""
    part = compilation.part
    if asked.kustomize == "none":
        return []
    if asked.kustomize == "all" or part is None:
        return list(chosen)
    return [(compiled, name) for compiled, name in chosen if part.builds(compiled.project.file, name)]


def _kustomize(
    verdict: Verdict, chosen: Sequence[tuple[Compiled, str]], before: int, asked: Asked, progress: Progress
) -> None:
    """Build overlays; `before` is how many more are known to be as planned."""
    if asked.kustomize == "none":
        verdict.lines.append("kustomize: nothing built, since --kustomize is none")
        return
    tool = tools.find_kustomize()
    if tool is None or tools.too_old(tool):
        found = f"{tool.name} has kustomize {tool.version}, too old" if tool else "there is no kustomize"
        help = "install the extra: pip install 'mlspec-gitops[kustomize]', or put kustomize 5 or later on PATH"
        verdict.diagnostics.append(Diagnostic("MLS306", f"{found}: overlays were not built", _NOWHERE, help=help))
        verdict.lines.append("kustomize: nothing built")
        return
    builds = [(compiled, name, item) for compiled, name in chosen for item in _builds(compiled, name)]
    afresh = asked.kustomize == "all"

    def work(compiled: Compiled, name: str, item: Build) -> list[Diagnostic]:
        place = compiled.span(name, ("name",))
        return [
            Diagnostic(code, f"{item.folder}: {message}", place, "name")
            for code, message in kustomize.build(tool, item, afresh=afresh)
        ]

    failed = 0
    tasks = [lambda compiled=c, name=n, item=i: work(compiled, name, item) for c, n, i in builds]
    for findings in _in_parallel(tasks, asked.jobs or tools.processors(), progress):
        verdict.diagnostics += findings
        failed += bool(findings)
    # What is known to build is not told from what was built just now: the same is known of both.
    total, version = len(builds) + before, f" {tool.version}" if tool.version else ""
    verdict.lines.append(
        f"{tool.name}'s kustomize{version}: {total - failed:,} of {_count(total, 'overlay')} built as planned"
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


def _in_parallel(
    tasks: Sequence[Callable[[], list[Diagnostic]]], jobs: int, progress: Progress
) -> Iterator[list[Diagnostic]]:
    """Yield the results in order; the children do the work, so threads are enough."""
    from concurrent.futures import ThreadPoolExecutor  # late: 30 ms that an unchanged root does not need

    with ThreadPoolExecutor(max_workers=jobs) as pool:
        futures = [pool.submit(task) for task in tasks]
        yield from (result() for result in progress([future.result for future in futures], "kustomize build"))
