"""The cluster of the operators tier: a control plane with a scheduler, nodes, and every operator that runs here."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass

from tests.cluster.harness import crds
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.client import Api
from tests.cluster.harness.control_plane import ControlPlane, control_plane
from tests.cluster.harness.nodes.nodes import Nodes, nodes
from tests.cluster.harness.operators.training_operator import training_operator


@dataclass(frozen=True)
class Operators:
    """What runs."""

    plane: ControlPlane
    nodes: Nodes

    @property
    def api(self) -> Api:
        """The API server."""
        return self.plane.api


@contextmanager
def operators(cell: Cell) -> Iterator[Operators]:
    """Start everything.

    Raises:
        HarnessError: a component cannot be built or does not start.
    """
    with ExitStack() as stack:
        plane = stack.enter_context(control_plane(cell, scheduler=True))
        found = Operators(plane, stack.enter_context(nodes(plane)))
        stack.enter_context(training_operator(plane))
        # Queued goldens are run, too: without Kueue, which a test starts for itself, nothing reads their label.
        crds.establish(plane.api, crds.definitions("kueue-0.17"))
        yield found
