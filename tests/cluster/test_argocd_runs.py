"""What Argo CD does with runs: a second commit, a revert, failures, kinds that it has no health check for, hands."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy, newest, phase, status
from tests.cluster.harness.argocd.driver import Commit, Delete, Edit, Fated, Kind, Refresh, Revert, Until
from tests.cluster.harness.argocd.samples import CHAIN, PAIR, replaced
from tests.cluster.harness.argocd.server import API
from tests.cluster.harness.argocd.story import Object, State
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.nodes import fates
from tests.cluster.report import Report

pytestmark = pytest.mark.argocd

_APPLICATION: Final[Kind] = (API, "Application")
_JOB: Final[Kind] = ("batch/v1", "Job")
_TRAINING: Final[Kind] = ("kubeflow.org/v1", "PyTorchJob")
_ONE_RETRY: Final = (
    """      limit: 5
      refresh: true
      backoff:
        duration: "5s\"""",
    """      limit: 1
      refresh: true
      backoff:
        duration: "1s\"""",
)


def _refused(state: State) -> bool:
    pipeline = state.applications.get("pipeline")
    return pipeline is not None and "field is immutable" in pipeline.message


def _edited(step: str) -> Callable[[Path], None]:
    """Return an edit, by hand, of the file of a run."""

    def edit(root: Path) -> None:
        (path,) = root.glob(f"generated/*/overlays/dev/pipeline/{step}-*.yaml")
        path.write_text(path.read_text().replace("acme/a:1.0", "acme/a:2.0"))

    return edit


SCRIPTS: Final = {
    "history": Script(
        CHAIN,
        [
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare", "train", "evaluate"))),
            Commit("another evaluation", replaced(("[evaluate]", "[evaluate, --again]"))),
            Until("it has run", both(healthy(), lambda state: len(state.runs("evaluate")) == 2, ended("evaluate"))),
            Refresh(hard=True),
            Revert(),
            Until("it is Synced with the revert", healthy()),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    ),
    "training-fails": Script(
        CHAIN,
        [
            Fated(fates.run(), step="train"),
            Commit("first"),
            Until("it is Synced and Healthy", both(healthy(), ended("evaluate"))),
            Fated(fates.fail(), step="train"),
            Until("training has failed", status("train", "Failed")),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    ),
    "job-fails": Script(
        PAIR,
        [
            Fated(fates.fail(), step="prepare"),
            Commit("first"),
            Until("it has failed", status("prepare", "Failed")),
            Until("the operation is to be tried again", lambda state: state.applications["pipeline"].retries > 0),
            Fated(fates.succeed(), step="prepare"),
            Commit("fixed", replaced(("command: [prepare]", "command: [prepare, --fixed]"))),
            Until("the fix has run", both(healthy(), ended("prepare", "after")), 90),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    ),
    "job-fails-for-good": Script(
        PAIR,
        [
            Fated(fates.fail(), step="prepare"),
            Commit("first", amend=replaced(_ONE_RETRY, file="generated/argocd/dev/job-fails-for-good.yaml")),
            Until("the operation has failed", phase("pipeline", "Failed"), 90),
            Refresh(hard=True),
            Fated(fates.succeed(), step="prepare"),
            Commit("fixed", replaced(("command: [prepare]", "command: [prepare, --fixed]"))),
            Until("the fix has run", both(healthy(), ended("prepare", "after"))),
        ],
    ),
    "training-edited": Script(
        CHAIN,
        [
            Fated(fates.run(), step="train"),
            Commit("first"),
            Until("it is Synced and Healthy", both(healthy(), ended("evaluate"))),
            Edit(_TRAINING, newest("train"), {"spec": {"nprocPerNode": "2"}}),
            Until("it is OutOfSync", lambda state: state.applications["pipeline"].sync == "OutOfSync"),
            Refresh(hard=True),
            Commit("an edited file", amend=_edited("train")),
            Until("it is Synced", healthy()),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    ),
    "job-edited": Script(
        PAIR,
        [
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare", "after"))),
            Commit("an edited file", amend=_edited("prepare")),
            Until("it is refused", _refused),
        ],
    ),
    "run-deleted": Script(
        PAIR,
        [
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare", "after"))),
            Delete(_JOB, newest("prepare")),
            Until("it is gone", lambda state: not state.runs("prepare")),
            Refresh(hard=True),
            Until("it is missing", lambda state: state.applications["pipeline"].sync == "OutOfSync"),
            Commit("another step", replaced(("command: [after]", "command: [after, --changed]"))),
            Until("both have run", both(healthy(), ended("prepare", "after"))),
        ],
    ),
    "application-deleted": Script(
        PAIR,
        [
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare", "after"))),
            Delete(_APPLICATION, "application-deleted-dev-pipeline"),
            Until("it is gone", lambda state: "pipeline" not in state.applications),
            Commit("it is declared still"),
            Until("it is back", both(lambda state: "pipeline" in state.applications, healthy())),
        ],
    ),
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_as_recorded(stories: Stories, name: str, update_observed: bool) -> None:
    """What was made, in which order, and how each story ended is what is recorded."""
    stories.compare(name, update=update_observed)


def test_waves_wait_for_jobs(stories: Stories) -> None:
    """A Job of a later wave is made when the Job before it is Complete."""
    for name in ("history", "run-deleted", "application-deleted"):
        later = "train" if name == "history" else "after"
        state = stories[name].first(lambda state, later=later: bool(state.runs(later)))  # type: ignore[misc]
        assert state.status("prepare") == "Complete", stories[name]


def test_waves_do_not_wait_for_training(stories: Stories) -> None:
    """Argo CD has no health check for a PyTorchJob: the evaluation starts while the training runs."""
    story = stories["training-fails"]
    started = story.first(lambda state: bool(state.runs("evaluate")))
    assert started.status("train") in {"", "Created", "Running"}, story
    assert story.first(ended("evaluate")).status("train") == "Running", story
    # The failure changes nothing either: Synced, Healthy, the operation Succeeded.
    assert story.last.status("train") == "Failed"
    assert healthy()(story.last), story
    assert {word for (kind, _), word in story.health.items() if kind == "PyTorchJob"} == {""}


def test_a_second_commit_runs_what_changed(stories: Stories) -> None:
    """The changed step gets a new run; the old one is kept, listed as to be pruned, and nothing else runs again.

    Public reports: cases 7 and 12.
    """
    story = stories["history"]
    before = story.first(lambda state: state.note.startswith("hard refresh"))
    old, new = before.runs("evaluate")
    assert [found.key for found in story.made("Job", "PyTorchJob")].count(new.key) == 1
    for step in ("prepare", "train"):
        assert len(before.runs(step)) == 1, story
    assert to_prune(before) == {old.name}, story


def test_a_revert_runs_nothing(stories: Stories, report: Report) -> None:
    """The old run is listed again, the newer one is kept: the same objects as before, and no operation (question d)."""
    story = stories["history"]
    reverted = story.after("commit").last
    before = story.first(lambda state: state.note.endswith("revert"))
    assert {key: found.uid for key, found in reverted.objects.items()} == {
        key: found.uid for key, found in before.objects.items()
    }
    old, new = reverted.runs("evaluate")
    assert to_prune(reverted) == {new.name} != {old.name}, story
    assert reverted.applications["pipeline"].operation == before.applications["pipeline"].operation, story
    assert healthy()(reverted), story
    report.answer("d", "a retained run and a revert", "no operation, the same objects by uid, the newer run kept")


def to_prune(state: State) -> set[str]:
    """Return the runs that are not in Git any more."""
    return {found.name for found in state.applications["pipeline"].objects if found.requires_pruning}


def test_a_failed_job_stops_the_pipeline_until_a_fix(stories: Stories, report: Report) -> None:
    """The next wave is not made; the retry takes the fix; the failed run stays and degrades nothing (question e)."""
    story = stories["job-fails"]
    first, fixed = story.last.runs("prepare")
    assert (first.status, fixed.status) == ("Failed", "Complete")
    made = [found.key for found in story.made("Job")]
    assert [kind_and_name[1].rpartition("-")[0] for kind_and_name in made] == ["prepare", "prepare", "after"], story
    pipeline = story.last.applications["pipeline"]
    assert (pipeline.health, pipeline.retries > 0) == ("Healthy", True), story
    assert story.health[first.key] == "Degraded", "of the run; the annotation keeps it from the Application's"
    assert to_prune(story.last) == {first.name}
    report.answer("e", "a failed run that is retained", "itself Degraded, its Application Healthy (ignore-healthcheck)")


def test_a_failed_commit_is_not_tried_again(stories: Stories) -> None:
    """When the retries are used up, a refresh starts nothing, and the next commit starts at once."""
    story = stories["job-fails-for-good"]
    dead = story.first(phase("pipeline", "Failed"))
    fix = story.first(lambda state: state.note.endswith("fixed"))
    assert phase("pipeline", "Failed")(fix), story
    assert dead.applications["pipeline"].operation == fix.applications["pipeline"].operation != fix.commit, story
    assert dead.applications["pipeline"].health == "Healthy", "health is ignored on runs: only the phase tells"
    assert story.last.applications["pipeline"].operation == fix.commit


def test_a_deleted_run_comes_back_with_the_next_commit(stories: Stories) -> None:
    """The pipeline does not heal itself: a run that a person deletes is missing until any commit of the pipeline."""
    story = stories["run-deleted"]
    waiting = story.first(lambda state: state.note.endswith("another step"))
    assert not waiting.runs("prepare"), story
    assert waiting.applications["pipeline"].sync == "OutOfSync"
    made = [found.name for found in story.made("Job") if found.step == "prepare"]
    assert len(made) == 2
    assert len(set(made)) == 1, story


def test_runs_outlive_their_application(stories: Stories) -> None:
    """There is no finalizer on the pipeline: a deleted Application takes no run along, and takes them over again."""
    story = stories["application-deleted"]
    assert len(story.made("Job")) == 2, story
    assert ended("prepare", "after")(story.last)
    assert story.last.applications["pipeline"].phase == "", "nothing had to be done"


def test_an_edited_training_is_not_trained_again(stories: Stories) -> None:
    """By hand it stays OutOfSync; in Git it becomes Synced; the pods stay as they were either way."""
    story = stories["training-edited"]
    by_hand = story.first(lambda state: state.note.endswith("an edited file"))
    assert by_hand.applications["pipeline"].sync == "OutOfSync", story
    assert healthy()(story.last), story
    runs, pods = (
        {found.uid for state in story.states for found in _of_training(state, kind)} for kind in ("PyTorchJob", "Pod")
    )
    assert (len(runs), len(pods)) == (1, 1), story


def _of_training(state: State, kind: str) -> list[Object]:
    return [found for found in state.of(kind) if found.step == "train"]


def test_an_edited_job_is_refused(stories: Stories) -> None:
    """A Job's template is immutable: the operation fails at it, and is tried again to no use. Public report: case 7."""
    pipeline = stories["job-edited"].first(_refused).applications["pipeline"]
    assert (pipeline.phase, pipeline.sync) == ("Running", "OutOfSync")
    assert stories["job-edited"].last.applications["pipeline"].sync == "OutOfSync"
