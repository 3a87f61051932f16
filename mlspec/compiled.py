"""What becomes of a root: every project with its plans, objects and files, and all findings."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from mlspec.diagnostics import Accepted, Diagnostic, Span
from mlspec.files.compare import Changes
from mlspec.files.lock import State
from mlspec.files.owners import owner
from mlspec.ir import Plan
from mlspec.k8s.resource import Body, Resource
from mlspec.layout import Layout
from mlspec.plan.history import History
from mlspec.policy.engine import Opinion
from mlspec.source import Scalar
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedProject, Workspace


@dataclass(slots=True)
class Compiled:
    """One project on its way."""

    project: LoadedProject
    state: State = field(default_factory=State)
    """What was generated before."""
    history: History = field(default_factory=History)
    """The runs that were written before."""
    plans: dict[str, Plan] = field(default_factory=dict)
    resources: dict[str, list[Resource]] = field(default_factory=dict)
    opinions: dict[str, Opinion] = field(default_factory=dict)
    """What policy has against it, by environment."""
    argocd: dict[str, list[Body]] = field(default_factory=dict)
    layout: Layout = field(default_factory=Layout)
    changes: Changes | None = None
    diagnostics: list[Diagnostic] = field(default_factory=list)
    later: list[Diagnostic] = field(default_factory=list)
    """What was found once it was laid out, which is looked for only where nothing else is wrong in the root."""
    counts: dict[str, int] = field(default_factory=dict)
    """How many objects each environment has, Argo CD's included."""

    def span(self, environment: str, origin: Sequence[str]) -> Span:
        """Return the place of the field that caused an object."""
        found = locate(self.project.variants[environment].tree, tuple(origin))
        return found.value_span if isinstance(found.node, Scalar) else found.key_span


@dataclass(frozen=True, slots=True)
class Part:
    """The part of a root that is compiled, where only what a change touches is asked for."""

    since: str
    """The revision, as it was asked for; empty where the rest of the root is known."""
    total: int
    """How many project files there are."""
    files: frozenset[str]
    """Project files that the change touches."""
    beside: frozenset[str]
    """Project files that are compiled because they share a name or a namespace with one of `files`."""
    environments: frozenset[str]
    """Environments whose own file the change touches."""
    reason: str
    """What the change touches that concerns every project; empty where nothing does."""
    others: frozenset[str]
    """Names of the projects that are not compiled."""
    touched: frozenset[str]
    """Paths from generated/ that differ from the revision; the empty one stands for the folder itself."""
    gone: frozenset[str] | None
    """Names that projects had at the revision in files that the change touches; None where they cannot be known."""

    @property
    def whole(self) -> bool:
        """Say whether the change concerns every project."""
        return bool(self.reason)

    @property
    def concerns_root(self) -> bool:
        """Say whether the change may concern the root's own files under generated/."""
        return self.whole or not self.since or not self.others or any(owner(path) is None for path in self.touched)

    def builds(self, file: str, environment: str) -> bool:
        """Say whether overlays of a project in an environment may differ from what they were."""
        return file in self.files or bool(self.reason and environment in self.environments)

    def words(self) -> str:
        """Say what is looked at."""
        compiled = self.files | self.beside
        beside = f"; {len(self.beside)} of them beside the others" if self.beside and not self.whole else ""
        why = f": {self.reason}" if self.reason else ""
        return f"{len(compiled):,} of {self.total:,} projects (changed since {self.since}{why}{beside})"


@dataclass(frozen=True, slots=True)
class Known:
    """What a check found of a project file before, when everything that this follows from was as it is now."""

    file: str
    names: tuple[str, ...]
    """Of the projects in it."""
    objects: Mapping[str, int]
    """How many objects each environment has."""
    overlays: int
    """How many overlays were built as planned."""
    findings: tuple[Diagnostic, ...]
    """None of them is an error."""
    accepted: tuple[Accepted, ...]


@dataclass(slots=True)
class Compilation:
    """A root, compiled."""

    workspace: Workspace
    projects: list[Compiled] = field(default_factory=list)
    gone: list[Changes] = field(default_factory=list)
    strays: list[str] = field(default_factory=list)
    """Files under generated/ that nobody accounts for, from there."""
    temporaries: list[str] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    admin: Changes | None = None
    """What differs of the root's own files; None where nothing was laid out."""
    part: Part | None = None
    """What was asked for, where that is what a change touches; or what is not known already."""
    known: Sequence[Known] = ()
    """Project files that are not compiled, because nothing has changed since they were."""

    @property
    def changes(self) -> list[Changes]:
        """Everything that differs from the disk, projects that are gone and the root's own files included."""
        found = [*(item.changes for item in self.projects if item.changes is not None), *self.gone]
        return [*found, self.admin] if self.admin is not None else found
