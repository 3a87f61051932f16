"""The plan of runs and of what is served of them: frozen, decided, no I/O."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

Thresholds = Mapping[str, Mapping[str, float]]
"""By metric, `atLeast` and `atMost`."""
SUCCESS: Final = "_SUCCESS"
"""Name of the marker in a run's directory: it is there once the run has succeeded."""
METRICS: Final = "metrics.json"
"""Name of the file in a run's directory that gates judge."""


def gate_text(gate: Thresholds) -> str:
    """Return thresholds as JSON, as a run's container and its file tell them."""
    return json.dumps(gate, sort_keys=True, separators=(",", ":"))


@dataclass(frozen=True, slots=True)
class ShippedFile:
    """A file of the repository that travels with a run."""

    source: str
    """Path from the project's folder."""
    key: str
    """Key in the ConfigMap; one file has one, however often it is mounted."""
    content: bytes
    paths: tuple[str, ...]
    """Where it is in the container."""


@dataclass(frozen=True, slots=True)
class Upstream:
    """A run that another one needs."""

    step: str
    run: str
    directory: str | None
    """Its directory as the needing container sees it; None where its volume is not mounted."""
    awaited: bool
    """True where the wrapper waits for its marker; otherwise only waves order the two."""
    together: bool = False
    """True where both may be there at the same time, the one that waits and the one that is waited for."""


@dataclass(frozen=True, slots=True)
class PlannedRun:
    """What a step has beside what every workload has."""

    inputs: Mapping[str, Any]
    """What its name is the digest of."""
    upstream: tuple[Upstream, ...] = ()
    claim: str | None = None
    """The claim that its directory lies in, below `<project>/`."""
    directory: str | None = None
    """Its directory in the container."""
    wrapped: bool = False
    """True where a wrapper waits, marks, and ends at once what has succeeded before."""
    gate: Thresholds = field(default_factory=dict)
    files: tuple[ShippedFile, ...] = ()
    queue: str | None = None
    keep: bool = True
    """False: Argo CD prunes it once it is superseded."""

    @property
    def marked(self) -> bool:
        """Say whether its success can be seen by others."""
        return self.wrapped and self.directory is not None


NO_RUN: Final = PlannedRun({})
"""What a service has in its place."""


@dataclass(frozen=True, slots=True)
class KeptRun:
    """A run as its file in generated/ tells, current or superseded."""

    name: str
    step: str
    inputs: tuple[str, ...]
    """Names of the runs that it needs."""
    claim: str | None
    gate: Thresholds = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ServedRun:
    """What a service loads of a run."""

    step: str
    run: str
    claim: str
    path: str
    """In the claim."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A gated step, and the runs of it that judged what is served: one of them must have passed."""

    step: str
    runs: tuple[KeptRun, ...]


@dataclass(frozen=True, slots=True)
class PlannedGate:
    """What must hold before a service is synced."""

    served: tuple[ServedRun, ...]
    evaluations: tuple[Evaluation, ...]
    image: str
    node_selector: Mapping[str, str] = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()

    @property
    def claims(self) -> tuple[str, ...]:
        """Claims that it reads."""
        found = {run.claim for run in self.served}
        found |= {run.claim for evaluation in self.evaluations for run in evaluation.runs if run.claim is not None}
        return tuple(sorted(found))
