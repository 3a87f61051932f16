"""What differs, as a graph: the steps and services that do, what they are connected with, and how that changes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from mlspec.changes.sides import Project, Side
from mlspec.changes.values import Change, EnvironmentChanges, ProjectChanges
from mlspec.ir import Stated
from mlspec.kind_specs import ServiceSpec
from mlspec.plan.graph import depths


@dataclass(frozen=True, slots=True)
class Node:
    """A step or service; `change` is None for one that stays, and is shown for what it is connected with."""

    name: str
    kind: str
    is_run: bool
    change: Change | None


@dataclass(frozen=True, slots=True)
class Edge:
    """`target` needs `source`, or serves what it makes."""

    source: str
    target: str
    serves: bool
    change: Change | None
    """Added or removed; None where it was so before, or where one of both is new."""


@dataclass(frozen=True, slots=True)
class Graph:
    """One project, in the environments in which the same of it differs."""

    project: str
    environments: tuple[str, ...]
    nodes: tuple[Node, ...]
    """Steps in the order in which they run, then services."""
    edges: tuple[Edge, ...]


def graphs(
    before: Mapping[str, Project], after: Mapping[str, Project], found: tuple[ProjectChanges, ...]
) -> Iterator[Graph]:
    """Yield a graph for each project and change of steps or services that is connected with anything.

    What differs alike in several environments is one graph.
    """
    for project in found:
        alike: dict[tuple[tuple[Node, ...], tuple[Edge, ...]], list[str]] = {}
        for changes in project.environments:
            was, now = (_side(projects, project.project, changes.environment) for projects in (before, after))
            nodes, edges = _graph(was, now, changes)
            if edges:
                alike.setdefault((nodes, edges), []).append(changes.environment)
        for (nodes, edges), environments in alike.items():
            yield Graph(project.project, tuple(environments), nodes, edges)


def _side(projects: Mapping[str, Project], project: str, environment: str) -> Side | None:
    return projects[project].sides.get(environment) if project in projects else None


def _graph(
    was: Side | None, now: Side | None, changes: EnvironmentChanges
) -> tuple[tuple[Node, ...], tuple[Edge, ...]]:
    marks = dict(_marks(was, now, changes))
    old, new = _edges(was), _edges(now)
    edges = []
    for source, target, serves in sorted(old | new):
        if marks.keys() & {source, target}:
            edge = (source, target, serves)
            came = edge not in old and Change.ADDED not in (marks.get(source), marks.get(target))
            change = Change.REMOVED if edge not in new else Change.ADDED if came else None
            edges.append(Edge(source, target, serves, change))
    shown = marks.keys() | {end for edge in edges for end in (edge.source, edge.target)}
    workloads = {**_workloads(was), **_workloads(now)}
    levels = depths({name: stated.workload.needs for name, stated in workloads.items() if stated.workload.is_run})
    names = sorted(
        (name for name in workloads if name in shown),
        key=lambda name: (not workloads[name].workload.is_run, levels.get(name, 0), name),
    )
    nodes = [
        Node(name, workloads[name].workload.kind, workloads[name].workload.is_run, marks.get(name)) for name in names
    ]
    return tuple(nodes), tuple(edges)


def _marks(was: Side | None, now: Side | None, changes: EnvironmentChanges) -> Iterator[tuple[str, Change]]:
    """Yield what differs: steps whose run is another one, and services."""
    found = changes.differences
    old, new = _workloads(was), _workloads(now)
    for items in (found.superseded, found.starts, found.returns):
        for name in (item.step for item in items):
            yield name, _change(name in old, name in new)
    for service in found.services:
        yield service.name, service.change


def _change(before: bool, after: bool) -> Change:
    return Change.CHANGED if before and after else Change.ADDED if after else Change.REMOVED


def _workloads(side: Side | None) -> dict[str, Stated]:
    return {**side.steps, **side.services} if side is not None else {}


def _edges(side: Side | None) -> set[tuple[str, str, bool]]:
    """Return who needs what and who serves what, of what is there."""
    found = set()
    for name, stated in _workloads(side).items():
        spec = stated.workload.spec
        found |= {(need, name, False) for need in stated.workload.needs}
        if isinstance(spec, ServiceSpec):
            found |= {(model.step, name, True) for model in spec.models().values() if model.step is not None}
    known = _workloads(side).keys()
    return {edge for edge in found if edge[0] in known}
