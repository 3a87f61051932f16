"""What a comparison finds, as values: renderers turn them into text, Markdown and JSON."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields
from decimal import Decimal
from enum import StrEnum


class Change(StrEnum):
    """What happened to something between two revisions."""

    ADDED = "added"
    REMOVED = "removed"
    CHANGED = "changed"


@dataclass(frozen=True, slots=True)
class Field:
    """A value that differs: its dotted path, and what it was and is as text; None where it was or is not."""

    path: str
    before: str | None
    after: str | None


@dataclass(frozen=True, slots=True)
class Gpus:
    """GPUs of one type, of all pods together; the price is for one an hour, None where the catalogue has none."""

    type: str
    count: int
    price: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Load:
    """What a workload takes while all of its pods are there."""

    pods: int
    gpus: tuple[Gpus, ...] = ()
    hours: Decimal | None = None
    """The longest it may take; None without a deadline."""

    @property
    def gpu_count(self) -> int:
        """GPUs of every type."""
        return sum(gpus.count for gpus in self.gpus)

    @property
    def gpu_hours(self) -> Decimal | None:
        """GPU-hours at most; None where no deadline ends it."""
        return None if self.hours is None else self.gpu_count * self.hours

    @property
    def cost(self) -> Decimal | None:
        """What its GPUs cost at most, without a currency; None without a deadline, or where a price is missing."""
        if self.hours is None or any(gpus.price is None for gpus in self.gpus):
            return None
        return sum((gpus.count * (gpus.price or 0) * self.hours for gpus in self.gpus), Decimal())


@dataclass(frozen=True, slots=True)
class Start:
    """A run that will start, and why: what of its inputs differs; nothing where there was no such step before."""

    step: str
    run: str
    replaces: str | None
    """The step's run before; None for a new step."""
    load: Load
    reasons: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Return:
    """A run that was superseded and is listed again: its file is there, no new run is made.

    Where superseded runs are deleted, its object is made anew, and ends at once by its marker if it had succeeded.
    """

    step: str
    run: str
    replaces: str | None
    kept: bool


@dataclass(frozen=True, slots=True)
class Superseded:
    """A run that leaves: kept in the cluster, where it may still be running, or deleted."""

    step: str
    run: str
    by: str | None
    """The run that comes instead; None where the step, or its environment, is gone."""
    kept: bool
    load: Load


@dataclass(frozen=True, slots=True)
class Later:
    """A run that stays as it is, though fields that are not part of its name differ: they count for the next run."""

    step: str
    run: str
    fields: tuple[Field, ...]
    """As they are written in the spec."""
    made: tuple[Field, ...]
    """In the objects: by what is written, or by the environment's file."""


@dataclass(frozen=True, slots=True)
class Service:
    """A service that is added, removed or changed; `models` are the URIs that are loaded."""

    name: str
    kind: str
    change: Change
    models_before: tuple[str, ...]
    models_after: tuple[str, ...]
    replicas_before: str | None
    """Pods, `3` or `1 to 5`; None for a service that is added."""
    replicas_after: str | None
    load: Load
    """With all pods; of a service that is removed, as it was."""
    fields: tuple[Field, ...] = ()

    @property
    def model_changes(self) -> bool:
        """Say whether another model is loaded."""
        return self.change is Change.CHANGED and self.models_before != self.models_after


@dataclass(frozen=True, slots=True)
class Opening:
    """A flow that a NetworkPolicy lets through now and did not before, or the other way round."""

    workload: str
    opened: bool
    direction: str
    """`egress`, or `ingress`."""
    peer: str
    """In words: networks, or pods."""
    ports: str
    """`443`, `53/UDP`; empty for all."""
    destinations: tuple[str, ...] = ()
    """Names that the environment has for it."""


@dataclass(frozen=True, slots=True)
class Data:
    """A claim that is added, removed, grows, or would change in a way that Kubernetes refuses."""

    claim: str
    change: Change
    size: str
    """As it is now; of a claim that is removed, as it was."""
    access: str
    storage_class: str
    fields: tuple[Field, ...] = ()
    refused: tuple[str, ...] = ()
    """Why the API server will refuse the change; empty where it will not."""


@dataclass(frozen=True, slots=True)
class Access:
    """Who may do what: a role, its rules, or who has it, or the account of a workload."""

    kind: str
    name: str
    change: Change
    gained: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Security:
    """What pods may do otherwise than before, or what is asked of a secret store."""

    kind: str
    """`namespace`, `secret`, `step` or `service`."""
    name: str
    field: Field
    """The level that the namespace enforces, the key of a Secret with where it comes from, or a field of the spec."""


@dataclass(frozen=True, slots=True)
class Opinion:
    """What is said of a policy rule: the reason that accepts its findings, or its weight in the environment."""

    code: str
    where: str
    """`project`, `step <name>` or `service <name>`, which accept; `environment`, which weighs."""
    before: str | None
    """The reason or the weight; None where nothing was said."""
    after: str | None
    lowered: bool = False
    """True where a rule weighs less than before: than was said of it, or than it does where nothing is said."""

    @property
    def accepts(self) -> bool:
        """Say whether findings are accepted that were not before."""
        return self.where != "environment" and self.before is None


@dataclass(frozen=True, slots=True)
class Image:
    """Images of a workload that changed."""

    workload: str
    before: tuple[str, ...]
    after: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Object:
    """An object of no subject of its own, or one of Argo CD's."""

    kind: str
    name: str
    change: Change
    fields: tuple[Field, ...] = ()


@dataclass(frozen=True, slots=True)
class Deletion:
    """An object that leaves; it stays in the cluster, unmanaged, where it is protected from pruning."""

    kind: str
    name: str
    stays: bool


@dataclass(frozen=True, slots=True)
class Differences:
    """What differs for one project in one environment, by subject."""

    starts: tuple[Start, ...] = ()
    returns: tuple[Return, ...] = ()
    superseded: tuple[Superseded, ...] = ()
    later: tuple[Later, ...] = ()
    services: tuple[Service, ...] = ()
    images: tuple[Image, ...] = ()
    exposure: tuple[Opening, ...] = ()
    data: tuple[Data, ...] = ()
    access: tuple[Access, ...] = ()
    security: tuple[Security, ...] = ()
    policy: tuple[Opinion, ...] = ()
    argocd: tuple[Object, ...] = ()
    deletions: tuple[Deletion, ...] = ()
    others: tuple[Object, ...] = ()

    def __bool__(self) -> bool:
        return any(getattr(self, field.name) for field in fields(self))


@dataclass(frozen=True, slots=True)
class EnvironmentChanges:
    """One project in one environment."""

    environment: str
    change: Change
    differences: Differences


@dataclass(frozen=True, slots=True)
class ProjectChanges:
    """One project: only the environments in which something differs."""

    project: str
    change: Change
    environments: tuple[EnvironmentChanges, ...]


@dataclass(frozen=True, slots=True)
class RootChanges:
    """Everything that differs in a root since a revision."""

    against: str
    commit: str
    projects: tuple[ProjectChanges, ...]
    warnings: tuple[str, ...] = ()
    """What could not be compared."""

    def each(self) -> Iterator[Differences]:
        """Yield the differences of every project and environment."""
        for project in self.projects:
            for environment in project.environments:
                yield environment.differences
