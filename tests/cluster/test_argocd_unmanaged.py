"""A namespace that others manage: mlspec emits neither it nor its limits, and Argo CD lets alone what is theirs."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy
from tests.cluster.harness.argocd.driver import Commit, Do, Refresh, Until
from tests.cluster.harness.argocd.samples import SERVED, SERVICE, replaced
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.client import Body
from tests.support import ENVIRONMENT

pytestmark = pytest.mark.argocd

_OURS: Final = ENVIRONMENT + "namespace: {manage: false}\nquota: {cpu: 10}\n"


def _theirs(namespace: str) -> list[Body]:
    """Return what the platform team has made: the namespace with a label of its own, its limits and its queue."""
    named = {"namespace": namespace, "name": "theirs"}
    limits = {"limits": [{"type": "Container", "default": {"cpu": "1"}}]}
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": {"team": "platform"}}},
        {"apiVersion": "v1", "kind": "ResourceQuota", "metadata": named, "spec": {"hard": {"pods": "50"}}},
        {"apiVersion": "v1", "kind": "LimitRange", "metadata": named, "spec": limits},
        {
            "apiVersion": "kueue.x-k8s.io/v1beta2",
            "kind": "LocalQueue",
            "metadata": named,
            "spec": {"clusterQueue": "theirs"},
        },
    ]


def _prepare(stage: Stage) -> None:
    for body in _theirs(stage.namespace):
        answer = stage.argocd.plane.api.apply(body)
        assert answer.accepted, answer.message


def _still_there(stage: Stage) -> None:
    """Fail unless everything of theirs is there as they made it."""
    api = stage.argocd.plane.api
    for body in _theirs(stage.namespace):
        found = api.request("GET", api.path_of(body)).body
        # The server adds its defaults; within a list (of limits) they cannot be told apart.
        written = {key: value for key, value in body.get("spec", {}).items() if key != "limits"}
        assert found.get("spec", {}).items() >= written.items(), found
        assert "deletionTimestamp" not in found["metadata"], found
        labels, own = found["metadata"].get("labels", {}), body["metadata"].get("labels", {})
        assert labels.items() >= own.items(), body["kind"]
        assert "app.kubernetes.io/managed-by" not in labels, body["kind"]


SCRIPTS: Final = {
    "unmanaged": Script(
        SERVED,
        [
            Do("the namespace, its limits and its queue, by the platform team", _prepare),
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare"))),
            Refresh(hard=True),
            Until("it is so still", healthy()),
            Commit("a service less", replaced((SERVICE.partition("\n")[2], ""))),
            Until("it is pruned", both(healthy(), lambda state: len(state.of("Deployment")) == 1)),
            Refresh(hard=True),
            Do("a look at what is theirs", _still_there),
        ],
        _OURS,
    ),
}


def test_it_is_synced_and_nothing_of_the_platform_is_touched(stories: Stories) -> None:
    """Synced and Healthy without a Namespace of ours; a prune takes what is ours alone.

    Public report: case 14.
    """
    story = stories["unmanaged"]
    assert healthy()(story.last), story
    (namespace,) = story.last.of("Namespace")
    assert namespace.application == "", story


def test_what_is_the_platforms_is_no_orphan(stories: Stories) -> None:
    """Their quota, limits and queue are nobody's mistake: no Application warns of them."""
    story = stories["unmanaged"]
    assert not any(found.conditions for found in story.last.applications.values()), story
