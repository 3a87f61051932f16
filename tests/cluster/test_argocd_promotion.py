"""What is observed of services that follow a training or a pin of it: what is served, when, and what is not.

The sentences of "observed on the harness" that are tested here, the others being listed in test_argocd_handover:

- a failed evaluation leaves the old model serving:
      test_what_does_not_pass_is_not_served, test_a_pin_that_has_not_passed_fails_at_once
- a serving hotfix (pinned) syncs while training runs:
      test_a_hotfix_is_served_while_training_runs
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, phase, programs, refused, runs, serves, synced
from tests.cluster.harness.argocd.driver import Commit, Do, Played, Refresh, Until
from tests.cluster.harness.argocd.handed import (
    GOOD,
    HAS_TRAINED,
    HAVE_PASSED,
    IS_SERVED,
    PASSES,
    STEPS,
    TRAINS,
    between,
    commit,
    seconds_to,
)
from tests.cluster.harness.argocd.samples import (
    FOLLOWED,
    HANDED,
    SERVED_OTHERWISE,
    TRAINED_AGAIN,
    edits,
    pinned,
    prompt,
    replaced,
    retried,
)
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.story import State
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.nodes.programs import Program
from tests.cluster.report import Report

pytestmark = pytest.mark.argocd

Edit = Callable[[Path], None]


def _judged(state: State) -> bool:
    """Say whether the gate has refused the second model, after its evaluation had ended."""
    judged = [run.ended for run in state.programs("evaluate")[1:2] if run.ended is not None]
    return any(gate.status == "Ended 1" and gate.started > judged[0] for gate in state.programs("model") if judged)


def _said(*words: str) -> Do:
    """Return a step that looks for what the gate has printed."""

    def look(stage: Stage) -> None:
        printed = stage.logs("model")
        for word in words:
            assert word in printed, printed

    return Do(f"the gate says: {', '.join(words)}", look)


def _worse(evaluation: Program, end: str, words: str) -> Script:
    """Return the script of a training that does not pass, and of the one after it that does."""
    return Script(
        HANDED,
        [
            *GOOD,
            Commit("first", amend=prompt),
            Until("its model is served", IS_SERVED),
            Played(evaluation, step="evaluate"),
            Commit("a worse training", replaced(TRAINED_AGAIN), amend=prompt),
            Until("it is judged and refused", both(runs("evaluate", 2, end), _judged)),
            _said(words),
            Refresh(),
            Played(PASSES, step="evaluate"),
            Commit("a better training", replaced(("--again]", "--better]")), amend=prompt),
            Until("its model is served", both(IS_SERVED, runs("evaluate", 3, "Complete"), serves("model", "train"))),
        ],
        FOLLOWED,
    )


def _generated(root: Path) -> None:
    """Generate, so that the run that is to be pinned is known; beside this process, whose folder others change."""
    subprocess.run([sys.executable, "-m", "mlspec", "generate"], cwd=root, check=True, capture_output=True)


def _untouched(_: Path) -> None:
    """Leave what was generated as it is."""


_MORE: Final = ("replicas: 2}", "replicas: 3}")


def _pins(amend: Edit) -> Script:
    """Return the script of a service that is pinned to one run after another."""
    return Script(
        HANDED,
        [
            *GOOD,
            Commit("first"),
            Until("its runs have passed", HAVE_PASSED),
            Commit("a pin", pinned("train"), amend=amend),
            Until("its model is served", IS_SERVED),
            Played(TRAINS, step="train"),
            Commit("another training", replaced(TRAINED_AGAIN), amend=amend),
            Until("it trains", both(synced(), programs("train", "Ended 0", "Running"))),
            Commit("a hotfix", replaced(SERVED_OTHERWISE), amend=amend),
            Until("it is applied", synced()),
            Commit("a pin too early", pinned("train"), amend=amend),
            Until("it is refused", refused()),
            _said("_SUCCESS: missing, so this run has not succeeded"),
            Refresh(),
            Commit("a good pin", edits(pinned("train", former=True), replaced(_MORE)), amend),
            Until("it is applied", synced(), 120),
            Played(HAS_TRAINED, step="train"),
            Until("it has passed", both(HAVE_PASSED, runs("evaluate", 2, "Complete"))),
            Commit("the new pin", pinned("train"), amend=amend),
            Until("its model is served", both(IS_SERVED, serves("model", "train", 1))),
        ],
    )


_AT_ONCE: Final = retried(0, 5)
SCRIPTS: Final = {
    "below-the-gate": _worse(Program(metrics={"accuracy": 0.5}), "Complete", "accuracy 0.5, at least 0.9 wanted"),
    "evaluation-fails": _worse(Program(exit_code=1), "Failed", "has not succeeded"),
    "pins": _pins(_untouched),
    "pins-at-once": _pins(_AT_ONCE),
    "bootstrap": Script(
        HANDED,
        [
            *GOOD,
            Commit("first", edits(_generated, pinned("train"))),
            Until("its model is served", IS_SERVED, 240),
        ],
    ),
    "bootstrap-at-once": Script(
        HANDED,
        [
            *GOOD,
            Played(TRAINS, step="train"),
            Commit("first", edits(_generated, pinned("train")), amend=_AT_ONCE),
            Until("it is refused", phase("serving", "Failed")),
            Played(HAS_TRAINED, step="train"),
            Until("its runs have passed", lambda state: HAVE_PASSED(_without_serving(state))),
            Refresh(hard=True),
            Commit("any change of serving", replaced(SERVED_OTHERWISE), amend=_AT_ONCE),
            Until("its model is served", IS_SERVED),
        ],
    ),
}


def _without_serving(state: State) -> State:
    rest = {place: found for place, found in state.applications.items() if place != "serving"}
    return State(state.seconds, state.commit, rest, state.objects, started=state.started)


@pytest.mark.parametrize("name", ["below-the-gate", "evaluation-fails"])
def test_what_does_not_pass_is_not_served(stories: Stories, name: str) -> None:
    """The old model is served until a run passes, which is then served; the one that failed never is."""
    story = stories[name]
    part = commit(story, "a worse training")
    served = [state.objects["InferenceService", "model"] for state in part.states]
    assert all(serves("model", "train", 0)(state) for state in part.states), story
    assert {found.status for found in served} == {"Ready"}, story
    assert part.states[-1].applications["pipeline"].health == "Healthy", story
    assert not any(len(state.runs("train")) > 1 and serves("model", "train", 1)(state) for state in story.states)
    assert serves("model", "train", 2)(story.last), story


@pytest.mark.parametrize("name", ["pins", "pins-at-once"])
def test_a_hotfix_is_served_while_training_runs(stories: Stories, name: str, report: Report) -> None:
    """A change of the service is applied while the training runs; the pipeline's operation is over long since."""
    story = stories[name]
    part = commit(story, "a hotfix")
    done = part.first(synced("serving"))
    assert [run.status for run in done.programs("train")] == ["Ended 0", "Running"], story
    assert done.applications["pipeline"].phase == "Succeeded", story
    _tell(report, name, "a hotfix while a training runs", seconds_to(part, synced("serving")))


@pytest.mark.parametrize("name", ["pins", "pins-at-once"])
def test_a_pin_that_has_not_passed_fails_at_once(stories: Stories, name: str, report: Report) -> None:
    """The gate says no at once, the old run is served throughout, and the next commit goes through."""
    story = stories[name]
    part = commit(story, "a pin too early")
    refusal = part.first(refused())
    assert [run.status for run in refusal.programs("train")] == ["Ended 0", "Running"], story
    assert seconds_to(part, refused()) < 30, story
    good = commit(story, "a good pin")
    for state in [*part.states, *good.states]:
        assert serves("model", "train", 0)(state), story
    for state in part.states[part.states.index(refusal) :]:
        assert state.objects["InferenceService", "model"].status == "Ready", story
    _tell(report, name, "a pin that has not passed is refused", seconds_to(part, refused()))
    _tell(report, name, "a good pin after it", seconds_to(good, synced("serving")))
    assert serves("model", "train", 1)(story.last), story


def test_a_pinned_service_of_a_new_cluster(stories: Stories, report: Report) -> None:
    """Its namespace is not there, then its model is not: it is retried until both are."""
    story = stories["bootstrap"]
    assert story.first(synced("serving")).applications["serving"].retries > 0, story
    _tell(report, "bootstrap", "a pinned service in a new cluster", story.seconds(IS_SERVED))


def test_without_retries_a_new_cluster_serves_nothing(stories: Stories, report: Report) -> None:
    """Why serving is retried at all: its one sync fails before its runs have passed, and no other is tried."""
    story = stories["bootstrap-at-once"]
    part = between(story, "hard refresh", "commit")
    last = part.states[-1]
    assert {state.applications["serving"].phase for state in part.states} == {"Failed"}, story
    assert ended(*STEPS)(last), story
    assert not last.of("InferenceService"), story
    _tell(report, "bootstrap-at-once", "a pinned service in a new cluster", float("inf"))


def _tell(report: Report, name: str, what: str, seconds: float) -> None:
    limit = "0" if name.endswith("at-once") else "as generated"
    table = report.table("Argo CD 3.5.1: pins and retries of serving", "retry.limit", "what", "seconds")
    table.add(limit, what, f"{seconds:.1f}" if seconds < float("inf") else "never")
