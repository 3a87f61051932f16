"""The versions that an environment declares, as rules ask for them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

Release = tuple[int, ...]
"""Major and minor."""


@dataclass(frozen=True, slots=True)
class Declared:
    """Who judges: Kubernetes and the operators of a cluster, by release; what is not declared is absent."""

    kubernetes: Release
    operators: Mapping[str, Release] = field(default_factory=dict)
    """By the name that folders of schemas have: `kserve`, `training-operator`, `seldon`, `kueue`, …"""


@cache
def declared(folders: tuple[Path, ...]) -> Declared:
    """Return the versions that folders of schemas are for: `v1.34.0-standalone-strict`, `kserve-0.16`."""
    kubernetes: Release = ()
    operators = {}
    for folder in folders:
        name, _, version = folder.name.rpartition("-")
        if folder.parent.name == "kubernetes":
            kubernetes = _release(folder.name.removeprefix("v").split("-")[0])
        else:
            operators[name] = _release(version)
    return Declared(kubernetes, operators)


def _release(version: str) -> Release:
    return tuple(map(int, version.split(".")[:2]))
