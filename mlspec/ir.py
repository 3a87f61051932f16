"""The plan: what was decided for one project in one environment; frozen, defaults filled in, no I/O.

An optional value that is None is left out of the output. In the plan of the base (no environment) it also
means: only the environments know.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Any, NamedTuple

from mlspec.ir_environment import PlannedArgoCD, PlannedQuota
from mlspec.ir_runs import NO_RUN, PlannedGate, PlannedRun
from mlspec.ir_safety import SAFE, PlannedSecret, PlannedSecurity
from mlspec.ir_sources import Source
from mlspec.model.base import SpecModel
from mlspec.model.levels import Level
from mlspec.names import Derived

Labels = Mapping[str, str]


class Place(StrEnum):
    """A folder of an overlay, and the Argo CD Application that syncs it."""

    FOUNDATION = "foundation"
    PIPELINE = "pipeline"
    SERVING = "serving"


class Gvk(NamedTuple):
    """Group, version and kind of an object; the core group is empty."""

    group: str
    version: str
    kind: str

    @property
    def api_version(self) -> str:
        """The manifest's `apiVersion`."""
        return f"{self.group}/{self.version}" if self.group else self.version


class Port(NamedTuple):
    """A port of a pod; `name` is None where the pod does not name it."""

    number: int
    protocol: str = "TCP"
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Peer:
    """The other end of a flow: pods in a namespace (None: our own), or networks."""

    namespace: str | None = None
    pod_labels: Labels = field(default_factory=dict)
    cidrs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Flow:
    """Traffic that a workload needs, in one direction; no ports means all."""

    peer: Peer
    ports: tuple[Port, ...] = ()
    because: tuple[Source, ...] = field(default=(), compare=False)
    """The fields that make it, the one to point at first; two flows are the same whatever made them."""


@dataclass(frozen=True, slots=True)
class PlannedResources:
    """What a container asks for; requests equal limits, quantities are canonical."""

    cpu: str
    memory: str
    shared_memory: str | None
    devices: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class Placement:
    """Where pods may be scheduled."""

    node_selector: Labels = field(default_factory=dict)
    tolerations: tuple[Mapping[str, Any], ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedMount:
    """A claim mounted into a pod."""

    volume: str
    claim: str
    path: str
    read_only: bool


@dataclass(frozen=True, slots=True)
class PlannedVariable:
    """An environment variable: text, or a key of a Secret."""

    name: str
    value: str | None = None
    secret: str | None = None
    key: str | None = None


class Reference(NamedTuple):
    """A name that a kind's own field refers to, and that field's path inside the step or service."""

    name: str
    path: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Facts:
    """What a kind states about the object it will emit; concerns and checks read only this."""

    gvk: Gvk
    place: Place
    pods: int
    """Most pods at the same time."""
    pod_labels: Labels
    """Labels that every one of its pods will carry, the operator's own included."""
    fewest: int | None = None
    """Pods with which a run goes on when others are lost; None where all are needed."""
    talks_to_itself: bool = False
    ingress: tuple[Flow, ...] = ()
    egress: tuple[Flow, ...] = ()
    served_from_gateway: tuple[Port, ...] = ()
    metrics: Port | None = None
    """Where Prometheus scrapes."""
    metrics_path: str = "/metrics"
    claims: tuple[Reference, ...] = ()
    """Claims that its pods mount without a `mounts` entry; read only."""
    destinations: tuple[Reference, ...] = ()
    """Destinations that it must reach without an `egress` entry, such as a model URI's scheme."""
    models: tuple[str, ...] = ()
    """URIs of the models that its pods load."""
    services: tuple[str, ...] = ()
    """Names of the Kubernetes Services that the operator makes for a service."""
    derived: tuple[Derived, ...] = ()
    children: tuple[tuple[str, str], ...] = ()
    """(group, kind) of the objects that its operator creates."""


@dataclass(frozen=True, slots=True)
class PlannedPart:
    """What was decided for pods that are alike: all of a workload, or one part of it."""

    resources: PlannedResources
    placement: Placement
    env: tuple[PlannedVariable, ...]


PartPath = tuple[str, ...]
"""The field below a step or service that describes a part, such as `roles.ps`; empty where all pods are alike."""


@dataclass(frozen=True, slots=True)
class PlannedWorkload:
    """A step or service with everything decided that does not depend on its kind's own object."""

    name: str
    section: str
    kind: str
    spec: SpecModel
    object_name: str
    digest: str
    wave: int
    labels: Labels
    parts: Mapping[PartPath, PlannedPart]
    mounts: tuple[PlannedMount, ...]
    needs: tuple[str, ...] = ()
    egress: tuple[Flow, ...] = ()
    storage_secrets: Labels = field(default_factory=dict)
    """Secrets with storage credentials, by the destination that they open."""
    run: PlannedRun = NO_RUN
    gate: PlannedGate | None = None
    security: PlannedSecurity = SAFE

    @property
    def inputs(self) -> Mapping[str, Any]:
        """What the name of a run is the digest of."""
        return self.run.inputs

    @property
    def is_run(self) -> bool:
        """Say whether it runs to completion."""
        return self.section == "steps"

    @property
    def resources(self) -> PlannedResources:
        """What each pod gets; only where all are alike, so that no part is forgotten."""
        return self.parts[()].resources

    @property
    def placement(self) -> Placement:
        """Where each pod may run; only where all are alike."""
        return self.parts[()].placement

    @property
    def env(self) -> tuple[PlannedVariable, ...]:
        """Variables of each pod; only where all are alike."""
        return self.parts[()].env

    def part(self, path: PartPath) -> PlannedWorkload:
        """Return the workload as one of its parts sees it: all pods alike."""
        return replace(self, parts={(): self.parts[path]})

    def with_env(self, *variables: PlannedVariable) -> PlannedWorkload:
        """Return the workload with more variables behind those of each pod."""
        return replace(self, parts={path: replace(part, env=part.env + variables) for path, part in self.parts.items()})

    def with_env_first(self, *variables: PlannedVariable) -> PlannedWorkload:
        """Return the workload with more variables before those of each pod, which may then refer to them."""
        return replace(self, parts={path: replace(part, env=variables + part.env) for path, part in self.parts.items()})


@dataclass(frozen=True, slots=True)
class PlannedVolume:
    """A claim that mlspec emits."""

    name: str
    size: str
    access: str
    storage_class: str | None
    waits_for_consumer: bool


@dataclass(frozen=True, slots=True)
class Target:
    """An environment as seen by one project; `environment` is None for the base."""

    environment: str | None
    namespace: str | None
    manage_namespace: bool
    pod_security: Level
    server: str
    operators: Mapping[str, Any]
    gateway: Peer | None
    prometheus: Peer | None
    node_local_dns: bool
    pull_secrets: tuple[str, ...]
    account_annotations: Labels
    viewers: tuple[str, ...]
    operators_groups: tuple[str, ...]
    quota: PlannedQuota | None
    argocd: PlannedArgoCD | None
    promotion: str = "pinned"
    secret_store: tuple[str, str] | None = None
    """Kind and name of the store that external-secrets reads."""
    kueue: str | None = None
    """Kueue's version, where the environment has it."""
    queues: tuple[str, ...] = ()
    """LocalQueues that this environment must have for the project; none where others manage the namespace."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A workload together with the facts of its kind."""

    workload: PlannedWorkload
    facts: Facts


@dataclass(frozen=True, slots=True)
class Plan:
    """One project in one environment."""

    project: str
    owner: str
    target: Target
    volumes: tuple[PlannedVolume, ...]
    secrets: tuple[str, ...]
    """Names of all Secrets that may be referred to."""
    claims: tuple[str, ...]
    """Claims that exist outside: `volumes.<name>.claim`."""
    monitoring_interval: str
    workloads: tuple[Stated, ...]
    external_secrets: tuple[PlannedSecret, ...] = ()
    """Those of the secrets that external-secrets makes."""
    pod_security: Level | None = None
    """What the namespace enforces; decided where the pods are known, which is when all else is emitted."""

    @property
    def steps(self) -> tuple[Stated, ...]:
        """The runs."""
        return tuple(stated for stated in self.workloads if stated.workload.is_run)

    @property
    def services(self) -> tuple[Stated, ...]:
        """The services."""
        return tuple(stated for stated in self.workloads if not stated.workload.is_run)
