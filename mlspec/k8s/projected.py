"""What an operator will make of an object: plain Pods and Services, injected containers included.

Policy tools cannot see pods inside custom resources; these can be judged, printed and compared with what the real
operators made.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any

Body = dict[str, Any]


@dataclass(frozen=True, slots=True)
class ProjectedPods:
    """Pods that are alike but for their number, such as the workers of a PyTorchJob."""

    role: str
    """What the operator calls them: `master`, `worker`, `predictor`, …; empty where there is only one sort."""
    count: int
    """Most of them at the same time."""
    make: Callable[[int], Body]
    """Return the Pod of a number, from 0 to count - 1, as a manifest."""
    added: frozenset[str] = frozenset()
    """Names of the containers, init containers included, that the operator puts into them."""
    path: tuple[str, ...] = ()
    """The field below the step or service that describes them, such as `roles.ps`; empty where all are alike."""
    name: Callable[[int], str] | None = None
    """Return the name of a Pod by its number; None where that takes making it."""

    _made: list[Body] = field(default_factory=list, init=False, repr=False, compare=False)
    """The first of them, once somebody has asked: many rules look at it, and none changes it."""

    _known: dict[Hashable, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    def known(self, question: Hashable, answer: Callable[[Body], Any]) -> Any:
        """Return what is to be said about the first of them, once it has been found out: several rules may ask."""
        if question not in self._known:
            self._known[question] = answer(self.first)
        return self._known[question]

    def name_of(self, number: int) -> str:
        """Return the name of the Pod of a number."""
        if self.name is not None:
            return self.name(number)
        pod = self.first if number == 0 else self.make(number)
        name: str = pod["metadata"]["name"]
        return name

    @property
    def first(self) -> Body:
        """The first of them, which stands for all where pods are judged."""
        if not self._made:
            self._made.append(self.make(0))
        return self._made[0]


@dataclass(frozen=True, slots=True)
class Projection:
    """What will exist because of one object."""

    pods: tuple[ProjectedPods, ...] = ()
    services: tuple[Body, ...] = ()
    names: tuple[str, ...] = ()
    """Names of other objects that will be made, such as Deployments, whose length is checked."""
