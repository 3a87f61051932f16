"""Runs in a Kueue queue under Argo CD: waves with and without a health override, and `suspend` in Git (questions a, b).

mlspec writes no queue yet: the label is put into what it generated before it is committed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy, phase, status
from tests.cluster.harness.argocd.driver import Commit, Do, Edit, Fated, Refresh, Until, UntilSeen
from tests.cluster.harness.argocd.samples import PAIR
from tests.cluster.harness.argocd.server import API, RUN_HEALTH
from tests.cluster.harness.argocd.stage import Stage, Step
from tests.cluster.harness.argocd.story import State, Story
from tests.cluster.harness.argocd.tier import Cluster, Script, Stories
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators.kueue import API_VERSION, QUEUE, kueue
from tests.cluster.report import Report

pytestmark = pytest.mark.argocd

_OVERRIDE: Final = "resource.customizations.health.batch_Job"
"""What the next wave has to wait for: conditions count only where they are true."""


def _queues(stage: Stage) -> None:
    """Make a queue with room for one of the project's runs; the namespace must be there before the LocalQueue."""
    flavor = {
        "name": "any",
        "resources": [{"name": "cpu", "nominalQuota": 1}, {"name": "memory", "nominalQuota": "1Gi"}],
    }
    group = {"coveredResources": ["cpu", "memory"], "flavors": [flavor]}
    queue = {"namespaceSelector": {}, "resourceGroups": [group]}
    head = {"apiVersion": API_VERSION}
    for body in (
        {**head, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {**head, "kind": "ClusterQueue", "metadata": {"name": stage.name}, "spec": queue},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": stage.namespace}},
        {
            **head,
            "kind": "LocalQueue",
            "metadata": {"name": "runs", "namespace": stage.namespace},
            "spec": {"clusterQueue": stage.name},
        },
    ):
        answer = stage.argocd.plane.api.apply(body)
        assert answer.accepted, answer.message


def _queued(suspend: str = "") -> Callable[[Path], None]:
    """Return an edit that puts every generated Job into the queue, and writes `suspend` where it is asked for."""

    def edit(root: Path) -> None:
        (folder,) = root.glob("generated/*/overlays/dev/pipeline")
        for path in folder.glob("*-*.yaml"):
            text = path.read_text().replace("  labels:\n", f"  labels:\n    {QUEUE}: runs\n", 1)
            path.write_text(
                text.replace("\nspec:\n", f"\nspec:\n  suspend: {suspend}\n" if suspend else "\nspec:\n", 1)
            )

    return edit


def _healing(name: str, *, on: bool = True) -> Edit:
    change = {"spec": {"syncPolicy": {"automated": {"selfHeal": on}}}}
    return Edit((API, "Application"), f"{name}-dev-pipeline", change)


def _begin(suspend: str = "") -> list[Step]:
    return [Do("a queue with room for one run", _queues), Fated(fates.run()), Commit("first", amend=_queued(suspend))]


def _running(state: State) -> list[str]:
    """Return the steps of which a pod runs."""
    return sorted({pod.step for pod in state.of("Pod") if pod.status == "Running"})


_END: Final[list[Step]] = [
    Fated(fates.succeed()),
    Until("everything has run", both(healthy(), ended("prepare", "after"))),
]
STOCK: Final = {
    "kueue-absent": Script(
        PAIR,
        [
            *_begin(),
            Until("the first run runs", both(phase("pipeline", "Succeeded"), status("prepare", "Running"))),
            Refresh(),
            *_END,
        ],
    ),
    "kueue-false": Script(
        PAIR,
        [
            *_begin("false"),
            Until(
                "the first run runs", both(phase("pipeline", "Succeeded"), lambda state: _running(state) == ["prepare"])
            ),
            _healing("kueue-false"),
            Refresh(),
            UntilSeen("a pod beyond the quota", lambda state: _with_pods(state) == ["after", "prepare"]),
            _healing("kueue-false", on=False),  # or Argo CD and Kueue would go on while others are tested
        ],
    ),
    "kueue-true": Script(
        PAIR,
        [
            *_begin("true"),
            Until(
                "the first run runs", both(phase("pipeline", "Succeeded"), lambda state: _running(state) == ["prepare"])
            ),
            _healing("kueue-true"),
            Refresh(),
            UntilSeen("its pod is killed", lambda state: bool(_killed(state))),
            _healing("kueue-true", on=False),
        ],
    ),
}
OVERRIDDEN: Final = {
    "kueue-override": Script(
        PAIR,
        [
            *_begin(),
            Until("the first run runs", both(healthy("foundation"), lambda state: _running(state) == ["prepare"])),
            Refresh(),
            *_END,
        ],
    ),
}


@pytest.fixture(scope="module")
def queued(argocd_cluster: Cluster, report: Report) -> Iterator[Stories]:
    """Play the scripts with Argo CD as shipped, then one with a health check of our own for Jobs."""
    with report.timed("argocd: Kueue"), kueue(argocd_cluster.plane):
        stock = argocd_cluster.play(STOCK)
        argocd_cluster.argocd.configure({_OVERRIDE: RUN_HEALTH})
        try:
            overridden = argocd_cluster.play(OVERRIDDEN)
        finally:
            argocd_cluster.argocd.configure({_OVERRIDE: None})
        yield Stories({**stock.found, **overridden.found})


@pytest.mark.parametrize("name", ["kueue-absent", "kueue-override"])
def test_as_recorded(queued: Stories, name: str, update_observed: bool) -> None:
    """What was made, in which order, and how each story ended is what is recorded."""
    queued.compare(name, update=update_observed)


def test_a_resumed_job_counts_as_healthy(queued: Stories, report: Report) -> None:
    """As shipped, the next wave is made while the Job that Kueue has resumed runs (question a)."""
    story = queued["kueue-absent"]
    made = story.first(lambda state: bool(state.runs("after")))
    assert made.status("prepare") in {"", "Running"}, story
    report.answer(
        "a", "a run that Kueue resumed, Argo CD as shipped", "Healthy at once: the next wave starts too early"
    )


def test_an_override_waits(queued: Stories, report: Report) -> None:
    """With a health check that asks whether a condition is true, it is made when that Job is Complete."""
    story = queued["kueue-override"]
    made = story.first(lambda state: bool(state.runs("after")))
    assert made.status("prepare") == "Complete", story
    report.answer("a", "the same with a health check for Job", "the next wave starts when it is Complete")


def test_suspend_absent_is_no_drift(queued: Stories, report: Report) -> None:
    """What Kueue writes into `suspend` is no difference where Git says nothing of it."""
    story = queued["kueue-absent"]
    assert healthy("pipeline")(story.after("refresh").states[-1]), story
    assert not any(len(_running(state)) > 1 for state in story.states), story
    report.answer("b", "`suspend` absent in Git", "no difference; the quota holds")


def test_suspend_false_breaks_the_quota(queued: Stories, report: Report) -> None:
    """`suspend: false` in Git: self-heal starts pods beyond the quota, and Kueue ends them (question b)."""
    story = queued["kueue-false"]
    story.first(lambda state: _with_pods(state) == ["after", "prepare"])
    before = story.states[: story.states.index(_healing_begins(story))]
    assert not any("after" in _with_pods(state) for state in before), story
    report.answer("b", "`suspend: false` in Git and self-heal", "pods beyond the quota, made and ended again and again")


def test_suspend_true_kills_the_run(queued: Stories, report: Report) -> None:
    """`suspend: true` in Git: self-heal kills the pod of the run that has its quota (question b)."""
    story = queued["kueue-true"]
    assert _killed(story.first(lambda state: bool(_killed(state)))) == ["prepare"]
    before = story.states[: story.states.index(_healing_begins(story))]
    assert not any(_killed(state) for state in before), story
    report.answer("b", "`suspend: true` in Git and self-heal", "the pod of the run that has its quota is killed")


def _with_pods(state: State) -> list[str]:
    """Return the steps of which there is a pod."""
    return sorted({pod.step for pod in state.of("Pod")})


def _killed(state: State) -> list[str]:
    """Return the steps of which a pod is being deleted."""
    return sorted({pod.step for pod in state.of("Pod") if pod.status == "Deleting"})


def _healing_begins(story: Story) -> State:
    return story.first(lambda state: state.note.startswith("edit by hand"))
