"""Argo CD syncs the golden projects as they are committed: Synced, Healthy, wave by wave, and quiet after that."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.cluster.harness import cleanup
from tests.cluster.harness.argocd.conditions import ended, healthy
from tests.cluster.harness.argocd.driver import Announce, OpenWindows, Refresh, Until
from tests.cluster.harness.argocd.server import Difference
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.story import Story
from tests.cluster.harness.argocd.tier import FOLDER, Cluster
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.harness.operators import observe, trial
from tests.cluster.report import Report
from tests.support import REPOSITORY

pytestmark = pytest.mark.argocd
GOLDENS: Final = [golden for golden in goldens() if golden.root.parent.name == "projects" or golden.root == REPOSITORY]
"""The living example and tests/projects, every environment."""
_TABLE: Final = "Argo CD 3.5.1: the golden projects"
_SECONDS: Final = 90


@dataclass
class Synced:
    """What became of one golden."""

    story: Story
    seconds: float
    after_refresh: list[Difference] = field(default_factory=list)
    after_hard_refresh: list[Difference] = field(default_factory=list)


def rounds() -> Iterator[list[Golden]]:
    """Yield goldens that can be in one cluster together: several share their names."""
    groups = defaultdict(list)
    for golden in GOLDENS:
        groups[golden.namespace].append(golden)
    for number in range(max(map(len, groups.values()))):
        yield [group[number] for group in groups.values() if number < len(group)]


def first(golden: Golden) -> bool:
    """Say whether a golden is the first in its namespace; the Namespace stays for the others."""
    return golden == next(other for other in GOLDENS if other.namespace == golden.namespace)


def _followed_by_another(golden: Golden) -> bool:
    return golden != [other for other in GOLDENS if other.namespace == golden.namespace][-1]


@pytest.fixture(scope="module")
def results(argocd_cluster: Cluster, report: Report) -> dict[str, Synced]:
    """Sync every golden, as many at once as can be together."""
    found: dict[str, Synced] = {}
    with report.timed("argocd: golden projects"):
        for group in rounds():
            stages = {golden.name: argocd_cluster.golden(golden) for golden in group}
            for work in {id(stage.work): stage.work for stage in stages.values()}.values():
                work.commit("golden projects")
            for stage in stages.values():
                stage.play(Announce("golden"))
            for golden in group:
                _claim_outside(stages[golden.name], golden)
            found |= {golden.name: _followed(stages[golden.name], golden) for golden in group}
            for golden in filter(_followed_by_another, group):
                cleanup.remove(argocd_cluster.plane.api, golden.argocd)
                cleanup.remove(argocd_cluster.plane.api, [resource.body for resource in golden.resources])
    _tell(report, found)
    return found


def _claim_outside(stage: Stage, golden: Golden) -> None:
    """Make the claims that a golden uses and does not make, as whoever owns them does."""
    for name in golden.plan.claims:
        stage.play(Until("its namespace is there", lambda state: bool(state.of("Namespace"))))
        claim = trial._claim(name)
        claim["metadata"]["namespace"] = golden.namespace
        answer = stage.argocd.plane.api.apply(claim)
        assert answer.accepted, answer.message


def _followed(stage: Stage, golden: Golden) -> Synced:
    """Wait until a golden is Synced and Healthy, and compare twice."""
    stage.play(OpenWindows())
    settled = healthy(*stage.places)
    story = stage.play(Until("every Application is Synced and Healthy", settled, _SECONDS))
    result = Synced(story, story.seconds(settled))
    stage.play(Until("every run has ended", ended(*(stated.workload.name for stated in golden.plan.steps))))
    stage.play(Refresh())
    result.after_refresh = stage.differences()
    stage.play(Refresh(hard=True))
    result.after_hard_refresh = stage.differences()
    stage.play(Until("it is Synced and Healthy still", settled, _SECONDS))
    result.story = stage.told()
    return result


def _tell(report: Report, results: dict[str, Synced]) -> None:
    table = report.table(
        _TABLE,
        "project",
        "states",
        "waves, as applied",
        "seconds to Synced and Healthy",
        "diffs",
        "after hard",
        "remark",
    )
    for name, result in results.items():
        states = {place: f"{found.sync} {found.health}" for place, found in result.story.last.applications.items()}
        words = set(states.values())
        said = words.pop() if len(words) == 1 else ", ".join(f"{place} {word}" for place, word in states.items())
        diffs = len(result.after_refresh), len(result.after_hard_refresh)
        table.add(
            name,
            f"{len(states)} x {said}",
            _waves(result.story),
            f"{result.seconds:.1f}",
            *diffs,
            _remark(result.story),
        )


def _waves(story: Story) -> str:
    """Return the waves of each Application in the order in which their first objects were made."""
    waves: dict[str, list[int]] = {}
    for found in story.made():
        seen = waves.setdefault(found.application, [])
        seen += [found.wave] if found.wave not in seen else []
    return "; ".join(f"{place} {', '.join(map(str, found))}" for place, found in sorted(waves.items()))


def _remark(story: Story) -> str:
    return "; ".join(state.note for state in story.states if "sync window" in state.note)


@pytest.mark.parametrize("name", [golden.name for golden in GOLDENS])
def test_becomes_synced_and_healthy_and_stays_so(results: dict[str, Synced], name: str) -> None:
    """At the end, after a refresh and a hard refresh, at the commit, without a difference in any field.

    Public reports: cases 6, 9 and 10.
    """
    result = results[name]
    last = result.story.last
    assert set(last.applications) == {
        place for place in ("foundation", "pipeline", "serving") if place in _places(name)
    }
    assert healthy(*last.applications)(last), result.story
    assert not result.after_refresh, result.after_refresh
    assert not result.after_hard_refresh, result.after_hard_refresh


@pytest.mark.parametrize("name", [golden.name for golden in GOLDENS])
def test_applies_everything_once_in_the_order_of_the_waves(results: dict[str, Synced], name: str) -> None:
    """Every object of Git is made exactly once, no wave before an earlier one of its Application.

    Public report: case 14.
    """
    made = results[name].story.made()
    golden = next(golden for golden in GOLDENS if golden.name == name)
    bodies = [resource.body for resource in golden.resources if resource.body["kind"] != "Namespace" or first(golden)]
    wanted = sorted((body["kind"], body["metadata"]["name"]) for body in bodies)
    assert sorted(found.key for found in made) == wanted, results[name].story
    for place in _places(name):
        waves = [found.wave for found in made if found.application == place]
        assert waves == sorted(waves), results[name].story


def test_kinds_without_a_health_check(results: dict[str, Synced], report: Report, update_observed: bool) -> None:
    """What Argo CD says of each kind, with the status that the object had: as recorded."""
    said = sorted(
        {
            (kind, story.last.objects[kind, name].status, health)
            for story in (result.story for result in results.values())
            for (kind, name), health in story.health.items()
        }
    )
    table = report.table("Argo CD 3.5.1: health of kinds", "kind", "status", "health")
    for kind, status, health in said:
        table.add(kind, status or "-", health or "no check: never waited for")
    rows = [{"kind": kind, "status": status, "health": health} for kind, status, health in said]
    title = "What Argo CD, as shipped, says of the health of the goldens' objects; empty where it has no check."
    observe.compare(observe.fixture(FOLDER, "health"), title, rows, update=update_observed)
    without = {kind for kind, _, health in said if not health}
    assert {"PyTorchJob", "TFJob", "SeldonDeployment"} <= without
    assert not without & {"Job", "PersistentVolumeClaim", "InferenceService"}


def _places(name: str) -> set[str]:
    golden = next(golden for golden in GOLDENS if golden.name == name)
    return {resource.place.value for resource in golden.resources}
