"""Server-side diff while KServe's webhooks are down, and without it: why no Application asks for it (question f)."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import healthy
from tests.cluster.harness.argocd.driver import Commit, Do, Edit, Refresh, Until
from tests.cluster.harness.argocd.samples import SERVICE, replaced
from tests.cluster.harness.argocd.server import API
from tests.cluster.harness.argocd.story import State
from tests.cluster.harness.argocd.tier import Cluster, Script, Stories
from tests.cluster.report import Report

pytestmark = pytest.mark.argocd

_NAME: Final = "kserve-down"
_OPTIONS: Final = "argocd.argoproj.io/compare-options"


def _server_side_diff(value: str | None) -> Edit:
    return Edit((API, "Application"), f"{_NAME}-dev-serving", {"metadata": {"annotations": {_OPTIONS: value}}})


def _refused(state: State) -> bool:
    """Say whether the webhook's absence is what the operation says; its first one may have been retried, too."""
    return "inferenceservice.kserve-webhook-server.defaulter" in state.applications["serving"].message


@pytest.fixture(scope="module")
def down(argocd_cluster: Cluster, report: Report) -> Stories:
    """Play the script alone: without the webhooks no other InferenceService can be written either."""
    manager = argocd_cluster.kserve

    def start(_: object) -> None:
        manager.start()
        manager.wait()

    script = Script(
        SERVICE,
        [
            Commit("first"),
            Until("it is Synced and Healthy", healthy()),
            Do("KServe's webhooks go down", lambda stage: manager.stop()),
            Refresh(hard=True),
            Until("it is so still", healthy()),
            _server_side_diff("ServerSideDiff=true"),
            Refresh(hard=True),
            Until("it is Unknown", lambda state: state.applications["serving"].sync == "Unknown"),
            _server_side_diff(None),
            Refresh(hard=True),
            Until("it is Synced again", healthy()),
            Commit("more", replaced(("cpu: 1", "cpu: 2"))),
            Until("the operation is to be tried again", _refused),
            Do("KServe's webhooks come back", start),
            Until("it is Synced with the commit", healthy()),
        ],
    )
    with report.timed("argocd: KServe down"):
        try:
            return argocd_cluster.play({_NAME: script})
        finally:
            manager.stop()
            start(None)


def test_as_recorded(down: Stories, update_observed: bool) -> None:
    """What was made, in which order, and how the story ended is what is recorded."""
    down.compare(_NAME, update=update_observed)


def test_client_side_diff_needs_no_webhook(down: Stories, report: Report) -> None:
    """As generated, a hard refresh while the webhooks are down finds everything Synced and Healthy."""
    asked = down[_NAME].after("KServe's webhooks go down").after("hard refresh")
    state = asked.first(lambda state: state.note.startswith("edit by hand"))
    assert healthy("serving")(state), asked
    report.answer("f", "KServe's webhooks are down, as generated", "Synced and Healthy")


def test_server_side_diff_needs_them(down: Stories, report: Report) -> None:
    """With server-side diff the same refresh leaves the Application Unknown, with the webhook's error."""
    asked = down[_NAME].after("edit by hand")
    state = asked.first(lambda state: state.applications["serving"].sync == "Unknown")
    assert state.applications["serving"].conditions == ("ComparisonError",), asked
    report.answer("f", "the same with server-side diff", "Unknown, ComparisonError")


def test_a_commit_waits_for_them(down: Stories) -> None:
    """A commit while they are down fails, and a retry applies it when they are back."""
    story = down[_NAME].after("commit").after("edit by hand")
    assert story.first(_refused).applications["serving"].phase == "Running", story
    assert story.last.applications["serving"].operation == story.last.commit, story
