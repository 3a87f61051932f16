"""The plan of what pods may do, and of the Secrets that are made for them: frozen, decided, no I/O."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

LOWEST_USER: Final = 10000
"""User and group numbers below belong to hosts: what has escaped a pod could read the files of a node's own user."""


@dataclass(frozen=True, slots=True)
class PlannedSecurity:
    """What the containers of a workload may do; as it is, what is safe."""

    user: int = 65532
    writable_root: bool = False
    capabilities: tuple[str, ...] = ()


SAFE: Final = PlannedSecurity()
"""What holds where `security` says nothing."""


@dataclass(frozen=True, slots=True)
class PlannedSecret:
    """A Secret that external-secrets makes of a store; `external` is its key there."""

    name: str
    keys: tuple[str, ...]
    external: str
