"""The plan of what an environment says beside its workloads: frozen, decided, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class PlannedQuota:
    """Totals of a managed namespace; `devices` are the resource names that the GPU total applies to."""

    cpu: str | None
    memory: str | None
    storage: str | None
    gpu: int | None
    devices: tuple[str, ...]
    default_cpu: str
    default_memory: str


@dataclass(frozen=True, slots=True)
class PlannedArgoCD:
    """Where Argo CD finds the overlays and what it may do."""

    repo_url: str
    revision: str
    path: str
    namespace: str
    version: str
    windows: tuple[Mapping[str, Any], ...]
