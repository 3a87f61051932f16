"""What is observed of runs that hand their work on: their order, what starts them again, and what does not.

The sentences of "observed on the harness", and the test of each; those of other modules with the module's name:

- train before evaluate before serve; without our Lua, too:
      test_train_before_evaluate_before_serve
- a failed evaluation leaves the old model serving:
      test_argocd_promotion: test_what_does_not_pass_is_not_served, test_a_pin_that_has_not_passed_fails_at_once
- a serving hotfix (pinned) syncs while training runs:
      test_argocd_promotion: test_a_hotfix_is_served_while_training_runs
- an edit of a step while its old run trains is applied at once:
      test_argocd_supersede: test_an_edit_is_applied_while_the_old_run_trains
- an edited step starts itself and its dependants once, the old run kept:
      test_an_edit_starts_a_step_and_its_dependants_once
- a cosmetic edit starts nothing:
      test_a_cosmetic_edit_starts_nothing
- a revert starts nothing and serves the old run:
      test_a_revert_starts_nothing_and_serves_the_old_run
- a deleted project leaves its data:
      test_argocd_supersede: test_a_deleted_project_leaves_its_data
- self-heal never restarts a run:
      test_self_heal_never_restarts_a_run; one that was edited: test_argocd_runs, script training-edited
- a run deleted by hand comes back with the next commit and ends at once by its marker:
      test_a_deleted_run_comes_back_and_ends_at_once
- a NetworkPolicy, Role or Namespace label opened by hand is healed, rules added to a default-deny too:
      test_opened_doors_are_closed; test_argocd_hands: test_hands_are_healed
- deleting the pipeline Application keeps the runs:
      test_argocd_runs: test_runs_outlive_their_application
- a waiting claim does not deadlock the first sync:
      test_claims_wait_for_their_runs; by storage class: test_argocd_hands: test_claims_that_wait
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec import health
from tests.cluster.harness.argocd.conditions import (
    both,
    ended,
    healthy,
    newest,
    programs,
    refused,
    runs,
    serves,
    synced,
)
from tests.cluster.harness.argocd.driver import Commit, Delete, Do, Edit, Kind, Played, Refresh, Revert, Until
from tests.cluster.harness.argocd.handed import (
    GOOD,
    HAS_TRAINED,
    IS_SERVED,
    STEPS,
    TRAINS,
    between,
    commit,
    uids,
)
from tests.cluster.harness.argocd.samples import FOLLOWED, HANDED, TRAINED_AGAIN, prompt, replaced
from tests.cluster.harness.argocd.stage import Stage, Step
from tests.cluster.harness.argocd.story import State, Story
from tests.cluster.harness.argocd.tier import Cluster, Script, Stories
from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes import volumes
from tests.cluster.report import Report
from tests.support import ENVIRONMENT

pytestmark = pytest.mark.argocd

_JOB: Final[Kind] = ("batch/v1", "Job")
_TRAINING: Final[Kind] = ("kubeflow.org/v1", "PyTorchJob")
_POLICY: Final[Kind] = ("networking.k8s.io/v1", "NetworkPolicy")
_ROLE: Final[Kind] = ("rbac.authorization.k8s.io/v1", "Role")
_NAMESPACE: Final[Kind] = ("v1", "Namespace")
_SERVICE: Final[Kind] = ("serving.kserve.io/v1beta1", "InferenceService")
# An evaluation that asks for a GPU has a wave of its own, after the training's.
_ON_A_GPU: Final = ("command: [evaluate]\n", "command: [evaluate]\n    gpu: 1\n")
_PRIVILEGED: Final = {"pod-security.kubernetes.io/enforce": "privileged"}
_DOORS: Final[Mapping[tuple[Kind, str], Mapping[str, Any]]] = {
    (_POLICY, "runs-deleted-default-deny"): {"spec": {"ingress": [{}]}},
    (_POLICY, "train"): {"spec": {"egress": [{}]}},
    (_ROLE, "runs-deleted-viewer"): {"rules": [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]},
    (_NAMESPACE, "runs-deleted-dev"): {"metadata": {"labels": _PRIVILEGED}},
}
_LAZY: Final = (
    "storage:\n",
    "storage:\n  lazy: {access: [ReadWriteMany], binding: WaitForFirstConsumer}\n",
)
_CLAIMED: Final = """\
volumes:
  work: {size: 1Gi, access: ReadWriteMany, class: lazy}
steps:
  prepare:
    {kind: job, image: "ghcr.io/acme/a:1.0", command: [prepare], mounts: {work: /w}, resources: {cpu: 1, memory: 1Gi}}
  after:
    kind: job
    needs: [prepare]
    image: "ghcr.io/acme/a:1.0"
    command: [after]
    mounts: {work: /w}
    resources: {cpu: 1, memory: 1Gi}
"""


def _ordered(*, checked: bool) -> list[Step]:
    """Return the script of a training that takes its time."""
    waits = Until("training runs, and its evaluation waits", _waits)
    return [
        *GOOD,
        Played(TRAINS, step="train"),
        Commit("first", amend=prompt),
        Until("it trains", programs("train", "Running")) if checked else waits,
        Until("its model is refused", both(refused(), lambda state: bool(state.programs("model")))),
        Refresh(),
        Played(HAS_TRAINED, step="train"),
        Until("its model is served", IS_SERVED),
    ]


def _waits(state: State) -> bool:
    pods = [pod.status for pod in state.of("Pod") if pod.step == "evaluate"]
    return programs("train", "Running")(state) and pods == ["Running"]


def _cosmetic(root: Path) -> None:
    """Edit what no run's name depends on."""
    path = root / "mlproject.yaml"
    text = path.read_text().replace("retries: 0\n", "retries: 2\n    deadline: 2h\n")
    path.write_text(f"{text}# A remark\n")


def _make_class(stage: Stage) -> None:
    head = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": {"name": "lazy"}}
    _apply(stage, {**head, "provisioner": "tests.mlspec.dev/nobody", "volumeBindingMode": "WaitForFirstConsumer"})


def _bind(stage: Stage) -> None:
    """Make the volume of the claim, as a provisioner does."""
    claim = stage.argocd.plane.api.get("v1", "PersistentVolumeClaim", stage.namespace, "work")
    assert claim is not None
    _apply(stage, volumes._volume(claim))


def _apply(stage: Stage, body: Body) -> None:
    answer = stage.argocd.plane.api.apply(body)
    assert answer.accepted, answer.message


def _phases(state: State) -> list[str]:
    return [pod.status for pod in state.of("Pod")]


def _gone(*steps: str) -> Until:
    return Until("they are gone", lambda state: not any(state.runs(step) for step in steps))


SCRIPTS: Final = {
    "handed-over": Script(HANDED.replace(*_ON_A_GPU), _ordered(checked=False), FOLLOWED),
    "edits": Script(
        HANDED,
        [
            *GOOD,
            Commit("first", amend=prompt),
            Until("its model is served", IS_SERVED),
            Commit("a cosmetic edit", _cosmetic, amend=prompt),
            Until("it is Synced with it", healthy()),
            Refresh(hard=True),
            Commit("another training", replaced(TRAINED_AGAIN), amend=prompt),
            Until("its model is served", both(IS_SERVED, runs("evaluate", 2, "Complete"), serves("model", "train"))),
            Revert(),
            Until("the old model is served", both(healthy(), serves("model", "train", 0))),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
        FOLLOWED,
    ),
    "runs-deleted": Script(
        HANDED,
        [
            *GOOD,
            Commit("first", amend=prompt),
            Until("its model is served", IS_SERVED),
            Delete(_JOB, newest("prepare")),
            Delete(_TRAINING, newest("train")),
            _gone("prepare", "train"),
            *(Edit(kind, name, change) for (kind, name), change in _DOORS.items()),
            Edit(_SERVICE, "model", {"spec": {"predictor": {"maxReplicas": 7}}}),
            Refresh(),
            Until("it is healed", healthy("foundation", "serving")),
            Refresh(hard=True),
            Commit("another evaluation", replaced(("[evaluate]", "[evaluate, --again]")), amend=prompt),
            Until("all runs are there", both(IS_SERVED, runs("evaluate", 2))),
        ],
        FOLLOWED,
    ),
    "claims-handed": Script(
        _CLAIMED,
        [
            Played(),
            Do("a storage class that waits, and nobody who provisions it", _make_class),
            Commit("first"),
            Until("the foundation is Healthy", healthy("foundation")),
            Until("both runs wait for their claim", both(synced(), lambda state: _phases(state) == ["Pending"] * 2)),
            Refresh(),
            Do("a volume for the claim", _bind),
            Until("everything has run", both(healthy(), ended("prepare", "after"))),
        ],
        ENVIRONMENT.replace(*_LAZY),
    ),
}


def test_as_recorded(stories: Stories, update_observed: bool) -> None:
    """What was made, in which order, and how the story without a gate ended is what is recorded."""
    stories.compare("claims-handed", update=update_observed)


@pytest.fixture(scope="module")
def checked(argocd_cluster: Cluster, report: Report) -> Iterator[Stories]:
    """Give Argo CD mlspec's health checks, as a platform engineer does, play the script alone, and take them away."""
    script = Script(HANDED.replace(*_ON_A_GPU), _ordered(checked=True), FOLLOWED)
    argocd_cluster.argocd.configure({check.key: check.text() for check in health.CHECKS})
    try:
        with report.timed("argocd: hand-over with health checks"):
            yield argocd_cluster.play({"handed-over-checked": script})
    finally:
        argocd_cluster.argocd.configure({check.key: None for check in health.CHECKS})


@pytest.fixture(params=["handed-over", "handed-over-checked"])
def ordered(request: pytest.FixtureRequest) -> Story:
    """Return a story without the health checks, and one with them."""
    found: Stories = request.getfixturevalue("checked" if request.param == "handed-over-checked" else "stories")
    return found[request.param]


def test_train_before_evaluate_before_serve(ordered: Story) -> None:
    """No program starts before the markers of its inputs are there, and no service before its model has passed."""
    (prepare,), (train,), (evaluate,) = (ordered.last.programs(step) for step in STEPS)
    assert prepare.ended is not None
    assert train.ended is not None
    assert prepare.ended < train.started, ordered
    assert train.ended < evaluate.started, ordered
    assert (set(train.inputs), set(evaluate.inputs)) == ({"MLSPEC_INPUT_PREPARE"}, {"MLSPEC_INPUT_TRAIN"})
    for state in ordered.states:
        if state.of("InferenceService"):
            assert [run.status for run in state.programs("evaluate")] == ["Ended 0"], ordered
    assert serves("model", "train")(ordered.last), ordered
    gates = [run.status for run in ordered.last.programs("model")]
    assert (gates[0], gates[-1], set(gates)) == ("Ended 1", "Ended 0", {"Ended 0", "Ended 1"}), ordered


def test_waves_hold_a_gpu_only_with_the_checks(stories: Stories, checked: Stories, report: Report) -> None:
    """Without them the evaluation waits on its GPU for the training's marker; with them it is not made before."""
    waiting = stories["handed-over"].first(_waits)
    assert waiting.status("evaluate") == "Running"
    made = checked["handed-over-checked"].first(lambda state: bool(state.runs("evaluate")))
    assert made.status("train") == "Succeeded", checked["handed-over-checked"]
    table = report.table("Argo CD 3.5.1: train, evaluate, serve", "script", "the evaluation is made", "seconds in all")
    for story, words in ((stories["handed-over"], "at once, and waits"), (checked["handed-over-checked"], "in turn")):
        table.add(story.name, words, f"{story.seconds(IS_SERVED):.1f}")


def _started(state: State) -> int:
    return sum(len(state.programs(step)) for step in STEPS)


def test_a_cosmetic_edit_starts_nothing(stories: Stories) -> None:
    """A comment, more retries and a deadline: no operation of the pipeline, no new object, no program."""
    part = commit(stories["edits"], "a cosmetic edit")
    before, after = part.states[0], part.states[-1]
    assert uids(after) == uids(before), part
    assert _started(after) == _started(before) == len(STEPS), part
    assert after.applications["pipeline"].operation == before.applications["pipeline"].operation, part


def test_an_edit_starts_a_step_and_its_dependants_once(stories: Stories) -> None:
    """Of the edited training and its evaluation there is one more run each, and one program; the rest is as it was.

    Public report: case 12.
    """
    part = commit(stories["edits"], "another training")
    before, after = part.states[0], part.states[-1]
    assert uids(before).items() < uids(after).items(), part
    assert [len(after.runs(step)) for step in STEPS] == [1, 2, 2], part
    assert [len(after.programs(step)) for step in STEPS] == [1, 2, 2], part
    kept = {found.name for found in after.applications["pipeline"].objects if found.requires_pruning}
    assert kept == {after.runs(step)[0].name for step in ("train", "evaluate")}, part
    assert healthy("pipeline")(after), part


def test_a_revert_starts_nothing_and_serves_the_old_run(stories: Stories) -> None:
    """Its name is the old one, and so is the URI; the runs are the same objects as before."""
    part = commit(stories["edits"], "revert")
    before, after = part.states[0], part.states[-1]
    assert uids(after) == uids(before), part
    assert _started(after) == _started(before), part
    assert serves("model", "train", 1)(before), part
    assert serves("model", "train", 0)(after), part
    assert {found.status for state in part.states for found in state.of("InferenceService")} <= {"Ready", ""}, part


def test_self_heal_never_restarts_a_run(stories: Stories) -> None:
    """Foundation and serving are healed, and the runs that are missing stay so until there is a commit.

    Public report: case 6.
    """
    part = between(stories["runs-deleted"], "edit by hand: InferenceService", "commit")
    assert {state.applications["serving"].sync for state in part.states} == {"OutOfSync", "Synced"}, part
    assert part.states[-1].applications["serving"].sync == "Synced", part
    assert not any(state.runs(step) for state in part.states for step in ("prepare", "train")), part
    assert part.states[-1].applications["pipeline"].sync == "OutOfSync", part
    assert _started(part.states[-1]) == len(STEPS), part


def test_a_deleted_run_comes_back_and_ends_at_once(stories: Stories) -> None:
    """With the next commit of the pipeline, by its marker: it says so, and its program is not started again."""
    story = stories["runs-deleted"]
    part = commit(story, "another evaluation")
    before, after = part.states[0], part.states[-1]
    assert not before.runs("prepare"), story
    assert (after.status("prepare"), after.status("train")) == ("Complete", "Succeeded"), story
    assert [len(after.programs(step)) for step in STEPS] == [1, 1, 2], story
    made = uids(after).items() - uids(before).items()
    assert {name for (_, name), _ in made} == {after.runs(step)[-1].name for step in STEPS}, story


def test_claims_wait_for_their_runs(stories: Stories) -> None:
    """A claim that waits for a pod holds nothing: both runs are made at once, and wait for it and for one another.

    Public report: case 5.
    """
    story = stories["claims-handed"]
    waiting = story.after("refresh").states[0]
    assert [found.status for found in waiting.of("PersistentVolumeClaim")] == ["Pending"], story
    assert healthy("foundation")(waiting), story
    assert waiting.applications["pipeline"].phase == "Succeeded", story
    (prepare,), (after,) = story.last.programs("prepare"), story.last.programs("after")
    assert prepare.ended is not None
    assert prepare.ended < after.started, story


def test_opened_doors_are_closed(stories: Stories, report: Report) -> None:
    """Rules added to a default-deny and to a step's policy, a Role for everything, a Namespace without pod security."""
    story = stories["runs-deleted"]
    table = report.table("Argo CD 3.5.1: doors opened by hand", "door", "closed after (seconds)")
    for (_, kind), name in _DOORS:
        part = story.after(f"edit by hand: {kind} {name}")
        seen = next(number for number, state in enumerate(part.states) if _sync(state, kind, name) == "OutOfSync")
        closed = next(state for state in part.states[seen:] if _sync(state, kind, name) == "Synced")
        table.add(f"{kind} {name}", f"{closed.seconds - part.states[0].seconds:.1f}")
    assert healthy("foundation")(story.last), story


def _sync(state: State, kind: str, name: str) -> str:
    found = {(item.kind, item.name): item.sync for item in state.applications["foundation"].objects}
    return found[kind, name]
