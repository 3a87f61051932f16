"""A plan in, its graph out as text: steps in their order, services, and the volumes and models that they use."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mlspec.ir import Plan, Stated
from mlspec.kind_specs import ServiceSpec
from mlspec.literals.redaction import redact
from mlspec.plan.graph import depths
from mlspec.report.text import safe


@dataclass(frozen=True, slots=True)
class Access:
    """A workload uses something that is kept: a claim, or a model by its URI."""

    workload: str
    store: str
    words: str
    writes: bool = False


@dataclass(frozen=True, slots=True)
class Served:
    """A service takes its model from a step: from its newest run, or from one that is pinned."""

    service: str
    step: str
    run: str | None
    """None in what is written for all environments, which have runs of their own."""
    judges: tuple[str, ...] = ()
    """Gated steps that must have passed."""

    @property
    def words(self) -> str:
        """What a reader is told."""
        passed = f", once {' and '.join(self.judges)} {'has' if len(self.judges) == 1 else 'have'} passed"
        return f"serves {self.run or f'what {self.step} makes'}{passed if self.judges else ''}"


@dataclass(frozen=True, slots=True)
class Graph:
    """One project in one environment, or as it is written for all."""

    title: str
    steps: tuple[tuple[int, Stated], ...]
    """By level: how many steps stand before each, on its longest way."""
    services: tuple[Stated, ...]
    claims: dict[str, str]
    """What is known about each claim that is declared or used."""
    models: tuple[str, ...]
    """URIs of models that lie outside of every claim."""
    accesses: tuple[Access, ...]
    served: tuple[Served, ...]


def graph(plan: Plan) -> Graph:
    """Return the graph of a plan."""
    needs = {stated.workload.name: stated.workload.needs for stated in plan.steps}
    levels = depths(needs)
    steps = sorted((levels.get(stated.workload.name, 0), stated.workload.name, stated) for stated in plan.steps)
    accesses = tuple(access for stated in plan.workloads for access in _accesses(stated))
    claims = {volume.name: f"{volume.size} {volume.access}" for volume in plan.volumes}
    claims |= dict.fromkeys(plan.claims, "exists already")
    models = {uri for stated in plan.workloads for uri in stated.facts.models if _claim_of(uri, stated) is None}
    where = plan.target.environment
    return Graph(
        title=f"{plan.project} in {where}" if where else f"{plan.project} as written, without overrides",
        steps=tuple((level, stated) for level, _, stated in steps),
        services=plan.services,
        claims=dict(sorted(claims.items())),
        models=tuple(sorted(models)),
        accesses=accesses,
        served=tuple(served for stated in plan.services for served in _served(stated)),
    )


def _served(stated: Stated) -> Iterator[Served]:
    spec, gate = stated.workload.spec, stated.workload.gate
    judges = tuple(evaluation.step for evaluation in gate.evaluations) if gate is not None else ()
    runs = {run.step: run.run for run in gate.served} if gate is not None else {}
    steps = [model.step for model in spec.models().values()] if isinstance(spec, ServiceSpec) else []
    for step in dict.fromkeys(step for step in steps if step is not None):
        yield Served(stated.workload.name, step, runs.get(step), judges)


def _accesses(stated: Stated) -> Iterator[Access]:
    name = stated.workload.name
    for mount in stated.workload.mounts:
        volume = f"{mount.volume} (claim {mount.claim})" if mount.volume != mount.claim else mount.volume
        words = f"{volume} at {mount.path}" + (", read-only" if mount.read_only else "")
        yield Access(name, mount.claim, words, writes=not mount.read_only)
    uris = dict.fromkeys(stated.facts.models)
    for uri in uris:
        yield Access(name, _claim_of(uri, stated) or uri, uri)
    for claim in dict.fromkeys(reference.name for reference in stated.facts.claims):
        if not any(_claim_of(uri, stated) == claim for uri in uris):
            yield Access(name, claim, f"{claim}, read-only")


def _claim_of(uri: str, stated: Stated) -> str | None:
    """Return the claim that a model lies in."""
    claims = (reference.name for reference in stated.facts.claims)
    return next((claim for claim in claims if f"{uri}/".startswith(f"pvc://{claim}/")), None)


def describe(stated: Stated) -> str:
    """Return the kind and the number of pods of a workload."""
    pods, fewest = stated.facts.pods, stated.facts.fewest
    most = "up to " if not stated.workload.is_run and pods > 1 else ""
    most = f"{fewest} to " if fewest is not None and fewest < pods else most
    return f"{stated.workload.kind}, {most}{pods} pod{'s' if pods != 1 else ''}"


def render(plans: Iterable[Plan]) -> str:
    """Return the graphs of plans as text for a terminal."""
    return "\n".join(safe_lines(_lines(graph(plan))) for plan in plans)


def safe_lines(lines: Iterable[str]) -> str:
    """Return lines as text, without control characters and secrets of a user's."""
    return "".join(f"{safe(redact(line))}\n" for line in lines)


def _lines(found: Graph) -> Iterator[str]:
    yield found.title
    width = max((len(stated.workload.name) for stated in (*(s for _, s in found.steps), *found.services)), default=0)
    yield from ["  steps"] if found.steps else []
    for level, stated in found.steps:
        needs = f", after {', '.join(stated.workload.needs)}" if stated.workload.needs else ""
        yield f"    {level + 1}. {stated.workload.name:<{width}}  {describe(stated)}{needs}"
        yield from _uses(found, stated)
    yield from ["  services"] if found.services else []
    for stated in found.services:
        yield f"    {stated.workload.name:<{width + 3}}  {describe(stated)}"
        yield from (f"         {item.words}" for item in found.served if item.service == stated.workload.name)
        yield from _uses(found, stated)
    yield from _stores(found)


def _uses(found: Graph, stated: Stated) -> Iterator[str]:
    for access in found.accesses:
        if access.workload == stated.workload.name:
            verb = "writes" if access.writes else "reads"
            yield f"         {verb} {access.words}"


def _stores(found: Graph) -> Iterator[str]:
    width = max(map(len, found.claims), default=0)
    yield from ["  volumes"] if found.claims else []
    for claim, known in found.claims.items():
        users = [
            f"{verb} by {', '.join(names)}"
            for verb, writes in (("written", True), ("read", False))
            if (names := sorted({a.workload for a in found.accesses if a.store == claim and a.writes is writes}))
        ]
        yield f"    {claim:<{width}}  {', '.join([known, *users])}"
    yield from ["  models"] if found.models else []
    for uri in found.models:
        users = sorted({access.workload for access in found.accesses if access.store == uri})
        yield f"    {uri}, read by {', '.join(users)}"
