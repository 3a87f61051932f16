"""A Kueue whose configuration does not enable a kind, as from 0.19 on for Kubeflow's v1 training jobs: why MLS247."""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators.kueue import FRAMEWORKS, kueue
from tests.cluster.harness.operators.queues import KINDS, Queues, generated, pods_of
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.harness.process import poll
from tests.cluster.report import Report

pytestmark = pytest.mark.operators

_CLOSED: Final = "closed"
"""A queue that is not there, so that nothing is admitted into it."""
_SECONDS: Final = 40


def test_what_is_not_enabled_passes_the_queue(operators_plane: Operators, report: Report, tmp_path: Path) -> None:
    """With the same label, the Job waits, and the PyTorchJob starts at once: nobody looks at it."""
    bodies = generated(tmp_path)
    found = Queues(operators_plane, {item["kind"]: item for item in bodies if item["kind"] in KINDS})
    job, training = (found.run(kind, f"{kind.lower()}-{_CLOSED}", _CLOSED) for kind in KINDS)
    name = training["metadata"]["name"]
    with kueue(operators_plane.plane, {"jobs": FRAMEWORKS["jobs"]}):
        found.make(*(item for item in bodies if item["kind"] not in KINDS))
        found.fate(fates.run(), name)
        found.make(job, training)
        poll(f"{name}: its pods", lambda: len(found.running(name)) == pods_of(training), _SECONDS)
        poll("the Job: its suspension", lambda: found.has(job, "Suspended"), _SECONDS)
        assert not found.ever_had_pods(job["metadata"]["name"])
        assert found.reserved(name) is None, "Kueue has made a Workload of what it was told to leave alone"
        found.fate(fates.succeed(after=0), name)
        poll(f"{name}: its end", lambda: found.has(training, "Succeeded"), _SECONDS)
        for run in (job, training):
            assert operators_plane.api.delete(run).accepted
    operators_plane.nodes.forget()
    table = report.table("A queue that is not there (Kueue 0.17.0)", "kind", "enabled", "run")
    table.add(job["kind"], "yes", "suspended")
    table.add(training["kind"], "no", "starts at once")
