"""Argo CD and pods that run: what a program does at its time is what the waves see, and the story tells both."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy
from tests.cluster.harness.argocd.driver import Commit, Played, Until
from tests.cluster.harness.argocd.samples import PAIR
from tests.cluster.harness.argocd.story import State
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.nodes.programs import Program

pytestmark = pytest.mark.argocd


def _runs(state: State) -> bool:
    return [run.status for run in state.programs("prepare")] == ["Running"]


SCRIPTS: Final = {
    "played": Script(
        PAIR,
        [
            Played(),
            Played(Program(seconds=None), step="prepare"),
            Commit("first"),
            Until("the program runs", _runs),
            Played(Program(seconds=0, exit_code=0), step="prepare"),
            Until("everything has run", both(healthy(), ended("prepare", "after"))),
        ],
    ),
}


def test_programs_are_in_the_story(stories: Stories) -> None:
    """A program that runs until it is told otherwise holds the next wave; both are told at their place in the story."""
    story = stories["played"]
    (prepare,), (after,) = story.last.programs("prepare"), story.last.programs("after")
    assert (prepare.status, after.status) == ("Ended 0", "Ended 0"), story
    assert prepare.ended is not None
    assert prepare.ended < after.started
    done = story.first(lambda state: bool(state.programs("prepare")) and not _runs(state))
    assert done.status("prepare") == "Running", story
    assert not done.runs("after"), story
    assert story.first(lambda state: bool(state.programs("after"))).status("prepare") == "Complete", story
    started = story.first(lambda state: bool(state.programs("after")))
    assert "program of after-" in "".join(story.lines())
    assert started.programs("after")[0].status == "Running"
