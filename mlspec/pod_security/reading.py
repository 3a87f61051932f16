"""A Pod as the controls look at it: every field may be missing, and after a patch hold anything."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlspec.k8s.projected import Body
from mlspec.k8s.values import at, items


class Reading:
    """A Pod, read once for all controls, as a minor version of the standard judges it."""

    __slots__ = ("annotations", "containers", "context", "has_user_namespace", "is_windows", "minor", "spec")

    def __init__(self, pod: Body, minor: int) -> None:
        """Read a Pod's manifest; `minor` is that of the Kubernetes version whose standard holds."""
        spec = at(pod, "spec")
        annotations = at(pod, "metadata", "annotations")
        self.minor = minor
        self.spec: Body = spec if isinstance(spec, dict) else {}
        self.annotations: Body = annotations if isinstance(annotations, dict) else {}
        self.context: Any = self.spec.get("securityContext")
        self.containers: list[tuple[str, Body, Any]] = [
            (str(container.get("name")), container, container.get("securityContext"))
            for field in ("initContainers", "containers", "ephemeralContainers")
            for container in items(spec, field)
        ]
        """Name, manifest and security context of every container, ephemeral ones included."""
        self.is_windows = at(spec, "os", "name") == "windows"
        self.has_user_namespace = self.spec.get("hostUsers") is False

    def contexts(self) -> Iterator[tuple[str, Any]]:
        """Yield every security context with the container that it is of; the pod's own first, without a name."""
        yield "", self.context
        for name, _, context in self.containers:
            yield name, context
