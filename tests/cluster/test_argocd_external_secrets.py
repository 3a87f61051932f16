"""Secrets of a store: Argo CD syncs them quietly, shows a store that is silent, and never takes a Secret away."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy
from tests.cluster.harness.argocd.driver import Commit, Delete, Do, Refresh, Until
from tests.cluster.harness.argocd.samples import replaced
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.story import State
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.operators.external_secrets import API_VERSION, KIND, SILENT
from tests.cluster.harness.process import poll
from tests.support import ENVIRONMENT

pytestmark = pytest.mark.argocd

_KEY: Final = ("ExternalSecret", "hub")
_SECRETS: Final = "secrets: {hub: {keys: [token, endpoint], external: ml/hub}}\n"
_USES: Final = "env: {HF_TOKEN: {secret: hub, key: token}}, "
_PROJECT: Final = (
    _SECRETS
    + f"""\
volumes:
  data: {{size: 1Gi, access: ReadWriteMany}}
steps:
  prepare: {{kind: job, image: "ghcr.io/acme/a:1.0", command: [prepare], {_USES}mounts: {{data: /data}}, retries: 0}}
"""
)


def _quiet(stage: Stage) -> None:
    """Fail where Argo CD sees a difference."""
    assert stage.differences() == []


def _has_secret(stage: Stage) -> bool:
    return stage.argocd.plane.api.get("v1", "Secret", stage.namespace, "hub") is not None


def _stays(stage: Stage) -> None:
    assert _has_secret(stage)


def _goes(stage: Stage) -> None:
    poll("the Secret goes with its ExternalSecret", lambda: not _has_secret(stage), 60)


def _shown_and_alone(state: State) -> bool:
    """Say whether the Application shows that a Secret is missing, and nothing else is."""
    foundation = state.applications.get("foundation")
    rest = {"PersistentVolumeClaim", "ServiceAccount", "NetworkPolicy", "Role", "RoleBinding", "Namespace"}
    there = {found.kind for found in state.objects.values() if found.application == "foundation"}
    return foundation is not None and foundation.health == "Degraded" and foundation.at(state.commit) and rest <= there


SCRIPTS: Final = {
    "external-secret": Script(
        _PROJECT,
        [
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare"))),
            Refresh(),
            Do("a look at what differs", _quiet),
            Refresh(hard=True),
            Do("a look at what differs", _quiet),
            Until("it is Synced and Healthy still", healthy()),
            Commit("the secret leaves the spec", replaced((_SECRETS, ""), (_USES, ""))),
            Until("it is synced", healthy()),
            Refresh(hard=True),
            Until(
                "the ExternalSecret stays, and is no difference", both(healthy(), lambda state: _KEY in state.objects)
            ),
            Do("a look at the Secret, which is there", _stays),
            Delete((API_VERSION, KIND), "hub"),
            Do("a look at the Secret, which goes", _goes),
        ],
        ENVIRONMENT + "secretStore: {name: vault}\n",
    ),
    "external-secret-of-a-silent-store": Script(
        _PROJECT,
        [
            Commit("first"),
            Until("the foundation is Degraded, and everything but the Secret is there", _shown_and_alone),
        ],
        ENVIRONMENT + f"secretStore: {{name: {SILENT}, kind: SecretStore}}\n",
    ),
}


def test_it_is_quiet_and_stays_when_it_leaves_the_spec(stories: Stories) -> None:
    """Synced and Healthy without a difference; a run that is still there keeps the Secret that a restart reads."""
    story = stories["external-secret"]
    assert healthy()(story.last), story
    made = [found for found in story.made() if found.key == _KEY]
    assert len(made) == 1, story
    assert made[0].application == "foundation"
    assert all(state.objects[_KEY].uid == made[0].uid for state in story.states if _KEY in state.objects), story


def test_a_silent_store_is_shown_and_keeps_nothing_else_back(stories: Stories) -> None:
    """Its wave is the last: claims, accounts and policies are there, and no operation waits for it."""
    last = stories["external-secret-of-a-silent-store"].last
    assert last.applications["foundation"].health == "Degraded"
    assert last.applications["foundation"].phase == "Succeeded"
