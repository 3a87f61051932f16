"""What a control is: a name, a level, the minor version that brought it, and a function that finds fault."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from mlspec.pod_security.reading import Reading

Field = tuple[str | int, ...]
"""The path of a field: of the container at fault, or of the Pod where it begins with `spec` or `metadata`."""


class Fault(NamedTuple):
    """What is wrong with one container, or with the pod itself where there is no name."""

    container: str
    message: str
    """The field at fault and what it must be, such as `hostPID must be false`."""
    field: Field


def of_context(container: str, field: str, demand: str) -> Fault:
    """Return a fault of a field of a security context, the pod's where no container is named."""
    path = ("securityContext", *field.split("."))
    return Fault(container, f"securityContext.{field} {demand}", path if container else ("spec", *path))


Judge = Callable[[Reading], Iterator[Fault]]


class Control(NamedTuple):
    """A control of the Pod Security Standards."""

    name: str
    """As the API server calls it where it refuses a pod."""
    judge: Judge
    since: int = 0
    """The minor version of the standard that brought it."""
    replaces: str = ""
    """The control of the level below that it is stricter than, so that a fault is named once."""
