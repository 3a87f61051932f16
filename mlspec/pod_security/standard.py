"""The two levels of the standard, and what they have against a pod."""

from __future__ import annotations

from functools import cache, lru_cache
from typing import Any, Final, NamedTuple

from mlspec.k8s import alike
from mlspec.k8s.projected import Body, ProjectedPods
from mlspec.model.levels import Level
from mlspec.pod_security.baseline import BASELINE
from mlspec.pod_security.control import Control, Field
from mlspec.pod_security.reading import Reading
from mlspec.pod_security.restricted import RESTRICTED

LEVELS: Final[tuple[Level, ...]] = ("privileged", "baseline", "restricted")
"""From what allows everything to what allows least."""


class Violation(NamedTuple):
    """What a level has against a pod."""

    control: str
    containers: tuple[str, ...]
    """Names of the containers at fault; none where it is the pod itself."""
    message: str
    """The field at fault and what it must be."""
    field: Field
    """Its path: of each container, or of the Pod where it begins with `spec` or `metadata`."""


def minor_of(version: str) -> int:
    """Return the minor number of a Kubernetes version such as `1.34`."""
    return int(version.split(".")[1])


UNREAD: Final = frozenset(
    ("args", "command", "env", "envFrom", "image", "imagePullPolicy", "resources", "volumeMounts", "workingDir")
)
"""Fields of containers that no control reads, and in which pods differ."""
_BY_NAME_ALONE: Final = frozenset(("configMap", "emptyDir", "persistentVolumeClaim"))
"""Sources of volumes of which no control reads more than that they are there."""


def violations(pod: Body, level: Level, minor: int) -> list[Violation]:
    """Return what a level of the standard, as of a minor version of Kubernetes, has against a Pod; empty: it passes."""
    content = alike.written(_read_of(pod))
    return judged_afresh(pod, level, minor) if content is None else list(_known(content, level, minor))


def _read_of(pod: Body) -> Body:
    """Return what the controls read of a Pod, and more; most Pods are alike in it."""
    metadata, spec = pod.get("metadata"), pod.get("spec")
    if not isinstance(metadata, dict) or not isinstance(spec, dict):
        return pod
    read = dict(spec)
    for field in ("initContainers", "containers", "ephemeralContainers"):
        if field in spec:
            read[field] = _without(spec[field], UNREAD)
    if "volumes" in spec:
        read["volumes"] = _without(spec["volumes"], _BY_NAME_ALONE, instead=True)
    return {"metadata": {"annotations": metadata.get("annotations")}, "spec": read}


def _without(items: Any, fields: frozenset[str], *, instead: bool = False) -> Any:
    """Return the maps of a list without some fields, or with `True` in them."""
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        return items
    if instead:
        return [{key: True if key in fields and value else value for key, value in item.items()} for item in items]
    return [{key: value for key, value in item.items() if key not in fields} for item in items]


@lru_cache(maxsize=512)
def _known(content: bytes, level: Level, minor: int) -> tuple[Violation, ...]:
    return tuple(judged_afresh(alike.read(content), level, minor))


def judged_afresh(pod: Body, level: Level, minor: int) -> list[Violation]:
    """Return the same, without looking whether a Pod like it has been judged."""
    found: dict[tuple[str, str], tuple[list[str], Field]] = {}
    reading = Reading(pod, minor)
    for control in controls(level, minor):
        for fault in control.judge(reading):
            names, _ = found.setdefault((control.name, fault.message), ([], fault.field))
            names += [fault.container] if fault.container else []
    return [Violation(control, tuple(names), message, field) for (control, message), (names, field) in found.items()]


def level_of(pod: Body, minor: int) -> Level:
    """Return the strictest level that a Pod reaches."""
    # Most reach the strictest, whose controls hold what the other asks for.
    if not violations(pod, "restricted", minor):
        return "restricted"
    return "privileged" if violations(pod, "baseline", minor) else "baseline"


def judged(pods: ProjectedPods, level: Level, minor: int) -> list[Violation]:
    """Return what a level has against projected pods; found out once, however often it is asked."""
    found: list[Violation] = pods.known((level, minor), lambda pod: violations(pod, level, minor))
    return found


def reached(pods: ProjectedPods, minor: int) -> Level:
    """Return the strictest level that projected pods reach."""
    if not judged(pods, "restricted", minor):
        return "restricted"
    return "privileged" if judged(pods, "baseline", minor) else "baseline"


def lower(first: Level, second: Level) -> Level:
    """Return the less strict of two levels."""
    return min(first, second, key=LEVELS.index)


def higher(first: Level, second: Level) -> Level:
    """Return the stricter of two levels."""
    return max(first, second, key=LEVELS.index)


@cache
def controls(level: Level, minor: int) -> tuple[Control, ...]:
    """Return the controls that a level has at a minor version."""
    if level == "privileged":
        return ()
    baseline = tuple(control for control in BASELINE if control.since <= minor)
    if level == "baseline":
        return baseline
    restricted = tuple(control for control in RESTRICTED if control.since <= minor)
    replaced = {control.replaces for control in restricted}
    return (*(control for control in baseline if control.name not in replaced), *restricted)
