"""What the pods of a finding are called, and which field of the spec made them as they are."""

from __future__ import annotations

from typing import Any

from mlspec.k8s import meta
from mlspec.k8s.projected import Body
from mlspec.k8s.values import at, numbered
from mlspec.policy.subject import Judged, Path, Subject
from mlspec.projection.fields import field_of


def pods_of(judged: Judged) -> str:
    """Return what the pods of a finding are called."""
    if at(judged.resource.body, "metadata", "labels", meta.GATE_OF):
        return f"the gate's pods of `{judged.place[1]}`"
    role = f"{judged.pods.role} " if judged.pods.role else ""
    return f"the {role}pods of `{judged.place[1]}`"


def path_of(judged: Judged) -> Path:
    """Return the field of the spec that describes the pods."""
    return (*judged.place, *judged.pods.path)


def made_by(subject: Subject, judged: Judged, field: Path) -> Path:
    """Return the field of the project that makes a field of the pods; where nothing nearer does, the workload.

    What is missing counts as where it would stand. What an operator alone puts there has no field.
    """
    found = field_of(judged.resource.body, judged.pods, _there(judged.pod, field)) if field else ()
    return _in_object(subject, judged, found) if found else path_of(judged)


def made_by_object(subject: Subject, judged: Judged, field: Path) -> Path:
    """Return the field of the project that makes a field of the object itself."""
    return _in_object(subject, judged, _there(judged.resource.body, field))


def _in_object(subject: Subject, judged: Judged, field: Path) -> Path:
    path = subject.made_by(judged.resource, field)
    return path if len(path) > len(judged.place) else path_of(judged)


def in_container(pod: Body, name: str, *field: str | int) -> Path:
    """Return the path in a Pod of a field of a container; without a name it is one of the Pod already."""
    if not name or field[:1] == ("metadata",):
        return field
    for kind in ("initContainers", "containers", "ephemeralContainers"):
        for number, container in numbered(pod, "spec", kind):
            if str(container.get("name")) == name:
                return ("spec", kind, number, *field)
    return ()


def _there(body: Any, field: Path) -> Path:
    """Return a path up to the first part of it that is missing, this one included."""
    for depth, part in enumerate(field):
        known = isinstance(body, dict) and part in body
        if not known and not (isinstance(body, list) and isinstance(part, int) and part < len(body)):
            return field[: depth + 1]
        body = body[part]
    return field
