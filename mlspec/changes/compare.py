"""Projects before and after in, everything that differs out, by project and environment."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace

from mlspec.changes import access, data, exposure, objects, runs, security, services
from mlspec.changes.sides import Project, Side
from mlspec.changes.values import Change, Differences, EnvironmentChanges, ProjectChanges


def compare_projects(before: Mapping[str, Project], after: Mapping[str, Project]) -> Iterator[ProjectChanges]:
    """Yield the projects in which something differs, by name."""
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        environments = tuple(_environments(was.sides if was else {}, now.sides if now else {}))
        change = _change(was, now)
        if environments or change is not Change.CHANGED:
            yield ProjectChanges(name, change, environments)


def _environments(before: Mapping[str, Side], after: Mapping[str, Side]) -> Iterator[EnvironmentChanges]:
    for name in sorted(before.keys() | after.keys()):
        was, now = before.get(name), after.get(name)
        found = compare(was, now)
        if found or was is None or now is None:
            yield EnvironmentChanges(name, _change(was, now), found)


def compare(before: Side | None, after: Side | None) -> Differences:
    """Return what differs for one project in one environment; None where it is not there."""
    found = Differences(
        starts=tuple(runs.starts(before, after)),
        returns=tuple(runs.returns(before, after)),
        superseded=tuple(runs.superseded(before, after)),
    )
    if before is not None and before.partial:
        return found
    return replace(
        found,
        later=tuple(runs.later(before, after)),
        services=tuple(services.services(before, after)),
        images=tuple(objects.images(before, after)),
        exposure=tuple(exposure.exposure(before, after)),
        data=tuple(data.data(before, after)),
        access=tuple(access.access(before, after)),
        security=tuple(security.security(before, after)),
        policy=tuple(security.policy(before, after)),
        argocd=tuple(objects.argocd(before, after)),
        deletions=tuple(objects.deletions(before, after)),
        others=tuple(objects.others(before, after)),
    )


def _change(before: object | None, after: object | None) -> Change:
    if before is None:
        return Change.ADDED
    return Change.REMOVED if after is None else Change.CHANGED
