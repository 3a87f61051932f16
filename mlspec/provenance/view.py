"""What a table looks at: one object, the plan behind it, and the two trees that a field may be written in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from mlspec.ir import PartPath, Plan, Stated
from mlspec.ir_sources import Source
from mlspec.k8s.resource import Body
from mlspec.kind_specs import StepSpec, WorkloadSpec
from mlspec.source import Mapping, Node, Scalar
from mlspec.source import Sequence as Items
from mlspec.spec.workspace import LoadedEnvironment, Variant

Path = tuple[str | int, ...]
"""A field of a manifest."""


Chain = tuple[Source, ...]
"""Fields in the order in which they decide: the first that is written does."""
Origin = tuple[Chain, ...]
"""What a value comes from; behind it, whatever else has a say in it."""


@dataclass(frozen=True, slots=True)
class View:
    """One object of one project in one environment."""

    plan: Plan
    body: Body
    origin: tuple[str, ...]
    """The field that caused the object: a step or service, or another field of the project."""
    variant: Variant
    environment: LoadedEnvironment

    @property
    def stated(self) -> Stated | None:
        """The step or service; None for what belongs to the project."""
        found = (each for each in self.plan.workloads if (each.workload.section, each.workload.name) == self.origin[:2])
        return next(found, None)

    @property
    def spec(self) -> WorkloadSpec | None:
        """What the step or service says; without one None."""
        spec = self.stated.workload.spec if self.stated is not None else None
        return spec if isinstance(spec, WorkloadSpec) else None

    @property
    def step(self) -> StepSpec | None:
        """What the step says; None for anything else."""
        return self.spec if isinstance(self.spec, StepSpec) else None


class At(NamedTuple):
    """A field of an object, as the row of a table sees it."""

    view: View
    stars: Path
    """The keys and numbers that stand where the row has a `*`."""
    node: Any
    """The value at the end of the row's path; None where nothing is."""
    rest: Path
    """What of the field's path lies deeper."""
    part: PartPath = ()
    """The part of the workload whose pods it is about."""

    @property
    def key(self) -> str:
        """The last of the stars."""
        return str(self.stars[-1]) if self.stars else ""


def own(at: At, *fields: str) -> Chain:
    """Return a field of the part, or else of the step or service itself."""
    place = at.view.origin[:2]
    whole = Source((*place, *fields))
    return (Source((*place, *at.part, *fields)), whole) if at.part else (whole,)


def project(*fields: str) -> Chain:
    """Return a field of the project."""
    return (Source(fields),)


def environment(*fields: str) -> Chain:
    """Return a field of the environment's file."""
    return (Source(fields, of_environment=True),)


def walk(tree: Node, path: Sequence[str]) -> tuple[str, ...]:
    """Return how far a path is written; a shorthand, such as `gpu: h100:8`, counts as all that it stands for."""
    node, found = tree, []
    for key in path:
        if isinstance(node, Mapping) and key in node.entries:
            node = node.entries[key].value
        elif isinstance(node, Items) and key.isdecimal() and int(key) < len(node.items):
            node = node.items[int(key)]
        else:
            break
        found.append(key)
    return tuple(found)


def node_at(tree: Node, path: Sequence[str]) -> Node | None:
    """Return what stands at a path; None where nothing does."""
    node: Node | None = tree
    for key in path:
        if isinstance(node, Mapping):
            node = node.get(key)
        elif isinstance(node, Items) and key.isdecimal() and int(key) < len(node.items):
            node = node.items[int(key)]
        else:
            return None
    return node


def is_written(tree: Node, path: Sequence[str]) -> bool:
    """Say whether a field is written, in full or by a shorthand that stands for it."""
    reached = walk(tree, path)
    if len(reached) == len(path):
        return True
    node = node_at(tree, reached)
    return bool(reached) and isinstance(node, Scalar) and not node.is_null
