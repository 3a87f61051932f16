"""What Argo CD does against people's hands and with what leaves Git: self-heal, prune, claims, foreign objects."""

from __future__ import annotations

from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy, synced
from tests.cluster.harness.argocd.driver import Commit, Delete, Do, Edit, Kind, OpenWindows, Refresh, Until
from tests.cluster.harness.argocd.samples import CLAIMS, OTHER, PAIR, SERVED, SERVICE, replaced
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.story import Story
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes import volumes
from tests.cluster.report import Report
from tests.support import ENVIRONMENT

pytestmark = pytest.mark.argocd

_POLICY: Final[Kind] = ("networking.k8s.io/v1", "NetworkPolicy")
_SERVICE: Final[Kind] = ("serving.kserve.io/v1beta1", "InferenceService")
_ACCOUNT: Final[Kind] = ("v1", "ServiceAccount")
_QUOTA: Final = "quota: {cpu: 100}\n"
_CLASSES: Final = (
    "storage:\n",
    "storage:\n  late: {access: [ReadWriteOnce], binding: WaitForFirstConsumer}\n  early: {access: [ReadWriteOnce]}\n",
)
_CLOSED: Final = ('models.git"}', 'models.git", windows: [{kind: deny, schedule: "* * * * *", duration: 1h}]}')


def _drifted(place: str) -> Until:
    return Until("it is OutOfSync", lambda state: state.applications[place].sync == "OutOfSync")


def _make_classes(stage: Stage) -> None:
    """Make storage classes that nobody provisions."""
    for name, binding in (("late", "WaitForFirstConsumer"), ("early", "Immediate")):
        head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": name}}
        _apply(stage, {**head, "provisioner": "tests.mlspec.dev/nobody", "volumeBindingMode": binding})


def _bind(stage: Stage) -> None:
    """Make the volume of the claim that binds at once, as an administrator may."""
    claim = stage.argocd.plane.api.get("v1", "PersistentVolumeClaim", stage.namespace, "early")
    assert claim is not None
    _apply(stage, volumes._volume(claim))


def _foreign(stage: Stage) -> None:
    metadata = {"name": "foreign", "namespace": stage.namespace}
    _apply(stage, {"apiVersion": "v1", "kind": "Service", "metadata": metadata, "spec": {"ports": [{"port": 80}]}})


def _apply(stage: Stage, body: Body) -> None:
    answer = stage.argocd.plane.api.apply(body)
    assert answer.accepted, answer.message


SCRIPTS: Final = {
    "hands": Script(
        SERVED,
        [
            Commit("first"),
            Until("it is Synced and Healthy", both(healthy(), ended("prepare"))),
            Edit(_POLICY, "hands-default-deny", {"spec": {"egress": [{}]}}),
            _drifted("foundation"),
            Until("it is healed", healthy()),
            Edit(_SERVICE, "model", {"spec": {"predictor": {"maxReplicas": 7}}}),
            _drifted("serving"),
            Until("it is healed", healthy()),
            Delete(_ACCOUNT, "prepare"),
            _drifted("foundation"),
            Until("it is healed", healthy()),
            Do("a foreign Service", _foreign),
            Refresh(),
            Until("a warning", lambda state: all(found.conditions for found in state.applications.values())),
        ],
    ),
    "prune": Script(
        SERVED,
        [
            Commit("first"),
            Until("it is Synced and Healthy", both(healthy(), ended("prepare"))),
            Commit("one service less", replaced((OTHER, ""))),
            Until("it is pruned", both(healthy(), lambda state: len(state.of("Deployment")) == 1)),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    ),
    "last-service": Script(
        SERVED,
        [
            Commit("first"),
            Until("it is Synced and Healthy", both(healthy(), ended("prepare"))),
            Commit("no service", replaced((OTHER, ""), (SERVICE, ""))),
            Until("its Application is gone", lambda state: "serving" not in state.applications),
            Until("the rest is Synced", healthy()),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    ),
    "last-quota": Script(
        PAIR,
        [
            Commit("first"),
            Until("it is Synced and Healthy", both(healthy(), ended("prepare", "after"))),
            Commit("no quota", replaced((_QUOTA, ""), file="environments/dev.yaml")),
            Until("it is Synced", healthy()),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
        ENVIRONMENT + _QUOTA,
    ),
    "window": Script(
        SERVICE,
        [
            Commit("first"),
            Until("the foundation is Synced and Healthy", healthy("foundation")),
            Refresh(),
            OpenWindows(),
            Until("it is Synced and Healthy", healthy()),
        ],
        ENVIRONMENT.replace(*_CLOSED),
    ),
    "claims": Script(
        CLAIMS,
        [
            Do("storage classes without a provisioner", _make_classes),
            Commit("first"),
            Until("the foundation is Synced", synced("foundation")),
            Until("the run waits", lambda state: bool(state.of("Pod"))),
            Refresh(),
            Do("a volume for the claim that binds at once", _bind),
            Until("everything has run", both(healthy(), ended("use", "after"))),
        ],
        ENVIRONMENT.replace(*_CLASSES),
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_as_recorded(stories: Stories, name: str, update_observed: bool) -> None:
    """What was made, in which order, and how each story ended is what is recorded."""
    stories.compare(name, update=update_observed)


@pytest.mark.parametrize(
    ("note", "place"),
    [
        ("edit by hand: NetworkPolicy hands-default-deny", "foundation"),
        ("edit by hand: InferenceService model", "serving"),
        ("delete by hand: ServiceAccount prepare", "foundation"),
    ],
)
def test_hands_are_healed(stories: Stories, report: Report, note: str, place: str) -> None:
    """An open door in the default-deny policy, a changed service and a missing account are put right at once.

    Public report: case 11.
    """
    story = stories["hands"].after(note)
    seen = story.first(lambda state: state.applications[place].sync == "OutOfSync")
    healed = next(state for state in story.states if state.seconds >= seen.seconds and synced(place)(state))
    table = report.table("Argo CD 3.5.1: changes by hand", "change", "seen after (seconds)", "healed after (seconds)")
    table.add(note, *(f"{state.seconds - story.states[0].seconds:.1f}" for state in (seen, healed)))
    assert healed.seconds - story.states[0].seconds < 30, story


def test_foreign_objects_are_warned_of(stories: Stories) -> None:
    """An object that nobody committed changes no status; every Application of the project says that there is one."""
    last = stories["hands"].last
    assert {found.conditions for found in last.applications.values()} == {("OrphanedResourceWarning",)}
    assert healthy()(last)


def test_what_leaves_git_is_pruned(stories: Stories) -> None:
    """A service that leaves Git goes, with what its operator made, its account and its policy; the other stays."""
    story = stories["prune"]
    left = {key for key in story.last.objects if key[1].startswith("other")}
    assert not left, story
    assert [found.name for found in story.last.of("InferenceService")] == ["model"]
    assert before_and_after(story, "PersistentVolumeClaim") == ({"data"}, {"data"})


def before_and_after(story: Story, kind: str) -> tuple[set[str], set[str]]:
    """Return the names of the objects of a kind when the second commit was made, and at the end."""
    second = [state for state in story.states if state.note.startswith("commit")][1]
    before, after = ({found.name for found in state.of(kind)} for state in (second, story.last))
    return before, after


def test_the_last_service_is_pruned(stories: Stories) -> None:
    """A service that leaves Git goes, though no other InferenceService is left. Public report: case 17."""
    assert before_and_after(stories["last-service"], "InferenceService") == ({"model", "other"}, set())


def test_the_quota_is_pruned(stories: Stories) -> None:
    """A quota that leaves Git goes, though no other ResourceQuota is left."""
    assert before_and_after(stories["last-quota"], "ResourceQuota") == ({"last-quota-quota"}, set())


def test_a_window_holds_serving_only(stories: Stories) -> None:
    """While a window is closed, serving is compared and not synced, and everything else goes on."""
    story = stories["window"]
    held = story.first(lambda state: "is opened" in state.note)
    assert held.note == "the sync window that held serving is opened"
    assert healthy("foundation")(held), story
    assert not held.of("InferenceService"), story
    assert story.last.of("InferenceService"), story


def test_claims_that_wait(stories: Stories) -> None:
    """A claim that waits for a consumer is no trouble; one that should have bound keeps the foundation Progressing.

    Public report: case 5.
    """
    story = stories["claims"]
    refreshed = story.after("refresh").states[0]
    assert {found.status for found in refreshed.of("PersistentVolumeClaim")} == {"Pending"}
    assert synced("foundation")(refreshed), story
    assert refreshed.applications["foundation"].health == "Progressing"
    assert refreshed.applications["pipeline"].phase == "Running", "it waits for the Job, and so for the claim"
    assert not refreshed.runs("after"), story
    # The claim that nobody mounts is Pending to the end.
    assert {found.name: found.status for found in story.last.of("PersistentVolumeClaim")} == {
        "early": "Bound",
        "late": "Pending",
    }
