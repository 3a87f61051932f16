"""What a policy rule looks at, and what it may say."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from mlspec.diagnostics import Severity
from mlspec.ir import Plan
from mlspec.k8s.projected import Body, ProjectedPods
from mlspec.k8s.resource import Resource
from mlspec.kind_specs import WorkloadSpec
from mlspec.model.levels import Level
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.project import Project

Path = tuple[str | int, ...]


class Violation(NamedTuple):
    """What a rule has against a project; `path` is the field at fault, from the top of its file."""

    message: str
    path: Path
    help: str = ""
    severity: Severity | None = None
    """How much it weighs where that depends on what was found; else the code's own."""
    of_environment: bool = False
    """True where the field is one of the environment's file, which the project cannot mend."""
    at_key: bool = False
    """True where the field's key is at fault, not its value."""
    at_field: bool = False
    """True where the field's value is at fault if it is one word, else its key."""
    otherwise: Path = ()
    """The field at fault where `path` is written in its other form: a list instead of a map."""
    for_certain: bool = False
    """True where a project cannot accept it: the cluster will do what it says, whatever anybody thinks of it."""


class Judged(NamedTuple):
    """Pods that will exist, the object that causes them, and the step or service that this is of."""

    resource: Resource
    pods: ProjectedPods
    pod: Body
    """The first of the pods."""

    @property
    def place(self) -> tuple[str, ...]:
        """The step or service."""
        return self.resource.origin[:2]


@dataclass(frozen=True, slots=True)
class Subject:
    """One project in one environment: what was written, what was planned, and what will exist.

    There are no resources where the plan has errors; rules about objects then have nothing to say.
    """

    plan: Plan
    project: Project
    environment: EnvironmentFields
    contents: Mapping[str, bytes]
    """Files that steps ship, by path from the project's folder."""
    resources: Sequence[Resource] = ()
    argocd: Sequence[Body] = ()
    of_runs: Callable[[], tuple[Level, tuple[str, ...]]] = lambda: ("restricted", ())
    """Return the Pod Security level of the runs that were written before and may be there, and those that set it."""
    made_by: Callable[[Resource, Path], Path] = lambda resource, field: resource.origin
    """Return the field of the project that makes a field of an object."""
    _known: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def known(self, question: str, answer: Callable[[], Any]) -> Any:
        """Return what several rules ask about this project, once it has been found out."""
        if question not in self._known:
            self._known[question] = answer()
        return self._known[question]

    @property
    def name(self) -> str:
        """Name of the environment."""
        return self.plan.target.environment or ""

    @property
    def is_development(self) -> bool:
        """Say whether runs and services may be whatever is newest here: it follows, or is called so."""
        return self.plan.target.promotion == "follow" or self.name == "dev" or self.name.startswith("dev-")

    def specs(self) -> Iterator[tuple[tuple[str, str], WorkloadSpec]]:
        """Yield every step and service with its path."""
        for name, step in self.project.steps.items():
            yield ("steps", name), step
        for name, service in self.project.services.items():
            yield ("services", name), service

    def judged(self) -> tuple[Judged, ...]:
        """Return the pods that will exist, those that are alike once."""
        found: tuple[Judged, ...] = self.known("judged", lambda: tuple(self._judged()))
        return found

    def _judged(self) -> Iterator[Judged]:
        for resource in self.resources:
            for pods in resource.projection.pods if resource.projection is not None else ():
                yield Judged(resource, pods, pods.first)


class Rule(NamedTuple):
    """A rule with its stable code; its docstring is what `mlspec explain` prints."""

    code: str
    judge: Callable[[Subject], Iterator[Violation]]
    may_be_certain: bool = False
    """True where some of its findings are `for_certain`, which an environment's `policy` cannot lower."""
