"""What becomes of a root: every project with its plans, objects and files, and all findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from mlspec.diagnostics import Diagnostic, Span
from mlspec.files.compare import Changes
from mlspec.files.lock import State
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
    counts: dict[str, int] = field(default_factory=dict)
    """How many objects each environment has, Argo CD's included."""

    def span(self, environment: str, origin: Sequence[str]) -> Span:
        """Return the place of the field that caused an object."""
        found = locate(self.project.variants[environment].tree, tuple(origin))
        return found.value_span if isinstance(found.node, Scalar) else found.key_span


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

    @property
    def changes(self) -> list[Changes]:
        """Everything that differs from the disk, projects that are gone and the root's own files included."""
        found = [*(item.changes for item in self.projects if item.changes is not None), *self.gone]
        return [*found, self.admin] if self.admin is not None else found
