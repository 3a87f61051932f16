"""One side of a comparison: what a project is in an environment, and the runs that it left there."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from mlspec.ir import Plan, Stated
from mlspec.k8s.resource import Body, Key, Resource
from mlspec.spec.environment import EnvironmentFields


@dataclass(frozen=True, slots=True)
class Side:
    """One project in one environment at one revision."""

    plan: Plan
    resources: tuple[Resource, ...]
    argocd: tuple[Body, ...]
    environment: EnvironmentFields
    runs: frozenset[str] = frozenset()
    """Names of the runs whose files are there, current or superseded."""
    partial: bool = False
    """True where errors stand in the way of objects: only the runs are known."""
    allow: Mapping[str, str] = field(default_factory=dict)
    """What the project as a whole accepts: the reason by code."""

    @property
    def steps(self) -> dict[str, Stated]:
        """The steps by name."""
        return {stated.workload.name: stated for stated in self.plan.steps}

    @property
    def services(self) -> dict[str, Stated]:
        """The services by name."""
        return {stated.workload.name: stated for stated in self.plan.services}

    @property
    def objects(self) -> dict[Key, Resource]:
        """The objects of the namespace that are no runs."""
        return {resource.key: resource for resource in self.resources if not resource.is_run}

    @property
    def run_objects(self) -> dict[Key, Resource]:
        """The runs, with what belongs to their files."""
        return {resource.key: resource for resource in self.resources if resource.is_run}

    def bodies(self, kind: str) -> dict[str, Body]:
        """Return the objects of a kind by name."""
        return {key.name: resource.body for key, resource in self.objects.items() if key.kind == kind}


@dataclass(frozen=True, slots=True)
class Project:
    """A project at one revision: what it is in each environment where it compiles."""

    name: str
    sides: Mapping[str, Side] = field(default_factory=dict)
