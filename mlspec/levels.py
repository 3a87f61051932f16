"""The Pod Security level that a namespace enforces: the strictest that all pods reach which may be there.

Runs that were superseded may run still, so what their files tell counts, too.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import yaml

from mlspec import pod_security, yamltext
from mlspec.all_kinds import KINDS
from mlspec.ir import Target
from mlspec.k8s import meta
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body, Resource
from mlspec.k8s.values import at
from mlspec.model.levels import Level
from mlspec.plan.history import History

_KINDS: Final = {(kind.GVK.api_version, kind.GVK.kind): kind for kind in KINDS.values()}
_KEPT: Final = b"Prune=false"
"""In the file of a run that Argo CD leaves in the cluster once its file is not listed any more."""
_LEVEL: Final = re.compile(rb"^ +" + re.escape(meta.POD_SECURITY.encode()) + rb": (\w+)$", re.MULTILINE)


def telling(body: Body, reached: Level) -> Body:
    """Return a run's object with the level that its pods reach, which its file must tell once the spec has moved on."""
    annotations = {**body["metadata"].get("annotations", {}), meta.POD_SECURITY: reached}
    return {**body, "metadata": {**body["metadata"], "annotations": dict(sorted(annotations.items()))}}


def enforced(target: Target, resources: Sequence[Resource], minor: int, history: History) -> Level:
    """Return the strictest level that all pods reach which may be there, and never less than the environment allows."""
    lowest: Level = "restricted"
    for resource in resources:
        if resource.projection is not None:
            told = at(resource.body, "metadata", "annotations", meta.POD_SECURITY)
            lowest = pod_security.lower(lowest, told or reached(resource.projection, minor))
    if pod_security.higher(lowest, target.pod_security) != target.pod_security:
        lowest = pod_security.lower(lowest, of_runs(target, resources, minor, history)[0])
    return pod_security.higher(lowest, target.pod_security)


def of_runs(
    target: Target, resources: Iterable[Resource], minor: int, history: History
) -> tuple[Level, tuple[str, ...]]:
    """Return the strictest level that all runs reach which were written before and may be there, and who sets it."""
    runs: dict[Level, dict[str, None]] = {}
    for level, run in _levels_of_runs(target, {resource.run for resource in resources}, minor, history):
        runs.setdefault(level, {})[run] = None
    lowest: Level = next((level for level in pod_security.LEVELS if level in runs), "restricted")
    return lowest, tuple(runs.get(lowest, ()))


def reached(projection: Projection, minor: int) -> Level:
    """Return the strictest level that all pods of one object reach."""
    lowest: Level = "restricted"
    for pods in projection.pods:
        lowest = pod_security.lower(lowest, pod_security.reached(pods, minor))
    return lowest


def _levels_of_runs(
    target: Target, current: set[str | None], minor: int, history: History
) -> Iterator[tuple[Level, str]]:
    """Yield the levels of runs that were written before: those of the plan as they were written, and those kept."""
    for name, content in history.contents(target.environment or ""):
        if name in current or _KEPT in content:
            told = [level.decode() for level in _LEVEL.findall(content)]
            known = [level for level in pod_security.LEVELS if level in told]
            yield from ((level, name) for level in known or _levels_in(content, target, minor))


def _levels_in(content: bytes, target: Target, minor: int) -> Iterator[Level]:
    """Yield what the pods of a run reach whose file does not tell; nothing where it holds no such objects."""
    try:
        documents: list[Any] = yamltext.load_all(content.decode())
        for body in documents:
            kind = _KINDS.get((body["apiVersion"], body["kind"]))
            if kind is not None:
                yield reached(kind.project(body, target, {}), minor)
    except (UnicodeDecodeError, yaml.YAMLError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        return
