"""Objects with one fault each: what the real API server refuses, mlspec refuses, or a reason is given.

The table of differences is disagreements.yaml; a row that no longer holds fails as an unlisted difference does.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest
import yaml

from mlspec.check.objects import judge_accepted
from mlspec.schemas import kubernetes_folder
from tests.cluster.harness import crds
from tests.cluster.harness.client import MANAGER, Api
from tests.cluster.harness.control_plane import KUBERNETES, ControlPlane, namespace
from tests.cluster.harness.goldens import Golden
from tests.cluster.mutants import NEWEST, Mutant, Sample, mutants_of, samples
from tests.cluster.report import Report
from tests.differences import Row

pytestmark = pytest.mark.api

_TABLE: Final = Path(__file__).parent / "disagreements.yaml"


SAMPLES: Final = samples()


@pytest.fixture(scope="module", autouse=True)
def _definitions(api_plane: ControlPlane) -> None:
    for release in NEWEST:
        crds.establish(api_plane.api, crds.definitions(release))
    for name in {"argocd", *(s.golden.namespace for of_kind in SAMPLES.values() for s in of_kind)}:
        assert api_plane.api.apply(namespace(name)).accepted


@pytest.fixture(scope="module")
def rows() -> list[Row]:
    """Return the table of differences."""
    return [
        Row(
            row["only"],
            tuple(kind for kind in SAMPLES if kind not in row.get("except", ()))
            if row["kinds"] == "every"
            else tuple(row["kinds"]),
            tuple(row["faults"]),
            tuple(row["fields"]),
            row["reason"],
        )
        for row in yaml.safe_load(_TABLE.read_text())
        if _order(row.get("since", KUBERNETES)) <= _order(KUBERNETES) <= _order(row.get("until", KUBERNETES))
    ]


def _order(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))


@pytest.mark.parametrize("kind", SAMPLES)
def test_mutants(kind: str, api_plane: ControlPlane, rows: list[Row], report: Report) -> None:
    """The server and mlspec agree on every mutant of a kind, or the table says why not."""
    unlisted: list[str] = []
    used: set[Row] = set()
    counts = [0] * 5
    for sample, mutant in mutants_of(kind):
        server = _server(api_plane.api, sample, mutant)
        faults = judge_accepted(_schemas(sample.golden), mutant.body)
        ours = next((fault.message for fault in faults if not _is_of_webhook(fault.code)), "")
        if bool(server) != bool(ours):
            who = "server" if server else "mlspec"
            found = [row for row in rows if row.holds(mutant, who)]
            used.update(found)
            unlisted += [] if found else [f"{mutant}: {who}: {server[-160:]}{ours}"]
        counts[0] += 1
        counts[1] += bool(server) and bool(ours)
        counts[2] += not server and not ours
        counts[3] += bool(server) and not ours
        counts[4] += not server and bool(ours)
    columns = ("mutants", "both refuse", "both accept", "server only refuses", "mlspec only refuses")
    report.counter("Objects with one fault each, by who refuses them", ("kind",), columns).add((kind,), tuple(counts))
    assert not unlisted, "\n".join(unlisted)
    stale = [row.reason for row in rows if kind in row.kinds and row not in used]
    assert not stale, f"rows of disagreements.yaml that do not hold for {kind}: {stale}"


def _is_of_webhook(code: str) -> bool:
    """Say whether an operator's webhook refuses it: in this tier no operator runs."""
    return "MLS330" <= code <= "MLS369"


def _schemas(golden: Golden) -> tuple[Path, ...]:
    """Return the schemas of a golden's operators and of the Kubernetes that runs, whatever the golden declares."""
    operators = tuple(folder for folder in golden.schemas if folder.parent.name == "crds")
    return (kubernetes_folder(KUBERNETES), *operators)


def _server(api: Api, sample: Sample, mutant: Mutant) -> str:
    """Return the server's objection in a strict dry run, empty if it has none."""
    place = api.path_of(sample.body).rpartition("/")[0]
    options = {"fieldManager": MANAGER, "fieldValidation": "Strict", "dryRun": "All"}
    return api.request("POST", place, mutant.body, brief=True, **options).message
