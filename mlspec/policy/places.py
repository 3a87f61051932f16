"""What the pods of a finding are called, and which field of the spec made them as they are."""

from __future__ import annotations

from mlspec.k8s import meta
from mlspec.k8s.values import at
from mlspec.policy.subject import Judged, Path, Subject


def pods_of(judged: Judged) -> str:
    """Return what the pods of a finding are called."""
    if at(judged.resource.body, "metadata", "labels", meta.GATE_OF):
        return f"the gate's pods of `{judged.place[1]}`"
    role = f"{judged.pods.role} " if judged.pods.role else ""
    return f"the {role}pods of `{judged.place[1]}`"


def path_of(judged: Judged) -> Path:
    """Return the field of the spec that describes the pods."""
    return (*judged.place, *judged.pods.path)


def patch_or_key(subject: Subject, judged: Judged, *words: str) -> Path:
    """Return the operation of a `patch` that has to do with the first of some words that any has, or the workload."""
    spec = next((spec for place, spec in subject.specs() if place == judged.place), None)
    for word in (*words, "ecurityContext"):
        for index, operation in enumerate(spec.patch if spec is not None else ()):
            keys = operation.path.replace("~1", "/").replace("~0", "~")
            if word in keys or word in str(operation.value):
                return (*judged.place, "patch", index)
    return path_of(judged)


def named(container: str) -> str:
    """Return how an operation that brings a container says its name."""
    return f"'name': '{container}'"
