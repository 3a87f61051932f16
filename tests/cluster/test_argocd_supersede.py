"""What is observed of runs that a newer one replaces, of the files that travel with them, and of deleted projects.

The sentences of "observed on the harness" that are tested here, the others being listed in test_argocd_handover:

- an edit of a step while its old run trains is applied at once:
      test_an_edit_is_applied_while_the_old_run_trains, test_with_delete_the_old_run_is_ended_at_once
- an edited step starts itself and its dependants once, the old run kept (with the files that it was shipped):
      test_files_stay_with_a_kept_run, test_files_go_with_a_deleted_run
- a deleted project leaves its data:
      test_a_deleted_project_leaves_its_data
"""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import both, ended, healthy, programs, runs, synced
from tests.cluster.harness.argocd.driver import Commit, Do, Played, Refresh, Until
from tests.cluster.harness.argocd.handed import GOOD, HAS_TRAINED, IS_SERVED, TRAINS, commit, seconds_to, uids
from tests.cluster.harness.argocd.samples import FOLLOWED, HANDED, TRAINED_AGAIN, prompt, replaced
from tests.cluster.harness.argocd.server import API, NAMESPACE
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.story import State
from tests.cluster.harness.argocd.tier import Script, Stories
from tests.cluster.harness.client import Body
from tests.cluster.harness.process import poll
from tests.cluster.report import Report

pytestmark = pytest.mark.argocd

_DELETE: Final = "runs: {onSupersede: delete}\n"
_PIPELINE: Final = HANDED.partition("services:")[0]
_FILES: Final = """\
volumes:
  models: {size: 1Gi, access: ReadWriteMany}
steps:
  prepare:
    kind: job
    image: "ghcr.io/acme/a:1.0"
    command: [sh, -c, cat /opt/settings.txt /opt/prepare.sh && sh /opt/prepare.sh]
    files: {settings.txt: /opt/settings.txt, prepare.sh: /opt/prepare.sh}
    mounts: {models: /models}
    resources: {cpu: 1, memory: 1Gi}
  train:
    kind: job
    needs: [prepare]
    image: "ghcr.io/acme/a:1.0"
    script: train.py
    mounts: {models: /models}
    resources: {cpu: 1, memory: 1Gi}
"""
_NEIGHBOUR: Final = """\
apiVersion: mlspec.dev/v1alpha1
kind: Project
name: neighbour
owner: team
steps:
  prepare: {kind: job, image: "ghcr.io/acme/a:1.0", command: [prepare], resources: {cpu: 1, memory: 1Gi}}
"""


def _replaced_run(project: str, *then: str) -> Script:
    """Return the script of an edit while the training runs; `then`: the statuses of the programs after it."""
    return Script(
        project,
        [
            *GOOD,
            Played(TRAINS, step="train"),
            Commit("first"),
            Until("it trains", both(synced(), programs("train", "Running"))),
            Commit("another training", replaced(TRAINED_AGAIN)),
            Until("it is applied, and trains", both(synced(), programs("train", *then))),
            Until("nothing else is there", runs("train", then.count("Running"))),
            Played(HAS_TRAINED, step="train"),
            Until("what trains has ended", both(healthy(), ended("train", "evaluate"))),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
    )


def _shipped(project: str, left: int) -> Script:
    """Return the script of a run whose files change; `left`: how many runs there are in the end."""
    return Script(
        project,
        [
            Played(),
            Commit("first"),
            Until("everything has run", both(healthy(), ended("prepare", "train"))),
            Do("the container has its files", _has_printed("epochs 10\necho prepared\nprepared\n")),
            Do("nobody can edit them", _is_immutable),
            Commit("other files", replaced(("10", "20"), file="settings.txt")),
            Until("it has run", both(healthy(), runs("prepare", left), ended("prepare", "train"))),
            Do("the container has its files", _has_printed("epochs 20\necho prepared\nprepared\n")),
            Refresh(hard=True),
            Until("it is so still", healthy()),
        ],
        files={"settings.txt": "epochs 10\n", "prepare.sh": "echo prepared\n", "train.py": "print(1)\n"},
    )


def _has_printed(words: str) -> Callable[[Stage], None]:
    def look(stage: Stage) -> None:
        assert stage.logs("prepare").endswith(words), stage.logs("prepare")

    return look


def _is_immutable(stage: Stage) -> None:
    (name,) = (found.name for found in stage.now.of("ConfigMap") if found.step == "prepare")
    body = stage.argocd.plane.api.get("v1", "ConfigMap", stage.namespace, name)
    assert body is not None
    answer = stage.argocd.plane.api.patch(body, {"data": {"settings.txt": "epochs 0\n"}})
    assert "immutable" in answer.message, answer


def _with_neighbour(root: Path) -> None:
    """Add another project, so that the folder of Argo CD's objects does not become empty."""
    (root / "neighbour").mkdir()
    (root / "neighbour/mlproject.yaml").write_text(_NEIGHBOUR)


def _delete_from_git(stage: Stage) -> None:
    _generate(stage)  # what was amended would count as edited by hand, and be left
    (stage.root / "mlproject.yaml").unlink()
    _generate(stage)
    stage.work.commit("the project is deleted")
    stage.commits.append(stage.work.head)


def _generate(stage: Stage) -> None:
    """Generate beside this process, whose folder others change."""
    command = [sys.executable, "-m", "mlspec", "generate"]
    subprocess.run(command, cwd=stage.root, check=True, capture_output=True)


def _root(stage: Stage) -> Body:
    """Return the root Application that the README shows."""
    url = stage.argocd.application(stage.applications[0])["spec"]["source"]["repoURL"]
    return {
        "apiVersion": API,
        "kind": "Application",
        "metadata": {"name": f"root-{stage.project}", "namespace": NAMESPACE},
        "spec": {
            "project": "default",
            "source": {"repoURL": url, "targetRevision": "refs/heads/main", "path": "generated/argocd/dev"},
            "destination": {"server": "https://kubernetes.default.svc", "namespace": NAMESPACE},
            "syncPolicy": {"automated": {"prune": True}},
        },
    }


def _take_over(stage: Stage) -> None:
    body = _root(stage)
    answer = stage.argocd.plane.api.apply(body)
    assert answer.accepted, answer.message
    name = body["metadata"]["name"]

    def there() -> bool:
        status = stage.argocd.application(name).get("status", {})
        return bool(status.get("sync", {}).get("status") == "Synced")

    poll("the root Application", there, 60)


def _prune(stage: Stage) -> None:
    _delete_from_git(stage)
    stage.argocd.refresh([f"root-{stage.project}"])


def _delete(stage: Stage) -> None:
    """Do what `kubectl delete -f` does with the file as it was."""
    bodies = stage.declared()
    _delete_from_git(stage)
    for body in bodies:
        assert stage.argocd.plane.api.delete(body).accepted


def _is_forgotten(stage: Stage) -> None:
    """Wait until Argo CD knows nothing of the project, and look whether its data is there."""
    name = f"{stage.project}-{stage.environment}"
    api = stage.argocd.plane.api

    def gone() -> bool:
        # It stays while there are Applications, and Argo CD looks again at its next resync, three minutes later at
        # most by default; any change of the AppProject makes it look now.
        found = api.get(API, "AppProject", NAMESPACE, name)
        if found is not None:
            assert "deletionTimestamp" in found["metadata"], found
            api.patch(found, {"metadata": {"annotations": {"tests.mlspec.dev/look": f"{stage.recorder.seconds}"}}})
        return found is None

    poll("the end of the AppProject", gone, 60, every=1)
    (marker,) = stage.claim("models").glob(f"{stage.project}/train-*/_SUCCESS")
    assert (marker.parent / "export/model.onnx").read_text() == "x"


def _deleted(*steps: Do) -> Script:
    return Script(
        HANDED,
        [
            *GOOD,
            Commit("first", _with_neighbour, amend=prompt),
            Until("its model is served", IS_SERVED),
            *steps,
            Until("its Applications are gone", lambda state: not state.applications),
            Until("its service is gone", lambda state: not state.of("InferenceService")),
            Do("Argo CD has forgotten it", _is_forgotten),
        ],
        FOLLOWED,
    )


SCRIPTS: Final = {
    "superseded-kept": _replaced_run(_PIPELINE, "Running", "Running"),
    "superseded-deleted": _replaced_run(_PIPELINE + _DELETE, "Ended 7", "Running"),
    "files-kept": _shipped(_FILES, 2),
    "files-deleted": _shipped(_FILES + _DELETE, 1),
    "project-deleted": _deleted(Do("kubectl delete -f", _delete)),
    "project-pruned": _deleted(
        Do("a root Application takes it over", _take_over), Do("commit: the project is deleted", _prune)
    ),
}


@pytest.mark.parametrize("name", ["superseded-kept", "superseded-deleted", "files-kept", "files-deleted"])
def test_as_recorded(stories: Stories, name: str, update_observed: bool) -> None:
    """What was made, in which order, and how each story without a gate ended is what is recorded."""
    stories.compare(name, update=update_observed)


def test_an_edit_is_applied_while_the_old_run_trains(stories: Stories, report: Report) -> None:
    """The pipeline's operation is over while the training runs, so the next begins at once; the old run runs on."""
    part = commit(stories["superseded-kept"], "another training")
    assert part.states[0].applications["pipeline"].phase == "Succeeded", part
    applied = part.first(both(synced("pipeline"), runs("train", 2)))
    assert applied.programs("train")[0].status == "Running", part
    assert [run.status for run in part.states[-1].programs("train")] == ["Ended 0", "Ended 0"], part
    assert [found.status for found in part.states[-1].runs("train")] == ["Succeeded", "Succeeded"], part
    _tell(report, "keep: the new run is applied", seconds_to(part, both(synced("pipeline"), runs("train", 2))))


def test_with_delete_the_old_run_is_ended_at_once(stories: Stories, report: Report) -> None:
    """The old run is pruned with its evaluation, and what trains is asked to end."""
    part = commit(stories["superseded-deleted"], "another training")
    old = part.states[0].runs("train")[0].key
    gone = part.first(lambda state: old not in state.objects)
    assert [run.status for run in part.states[-1].programs("train")] == ["Ended 7", "Ended 0"], part
    assert [len(part.states[-1].runs(step)) for step in ("prepare", "train", "evaluate")] == [1, 1, 1], part
    assert not any(found.requires_pruning for found in part.states[-1].applications["pipeline"].objects), part
    _tell(report, "delete: the old run is gone", gone.seconds - part.states[0].seconds)


def _maps(state: State) -> list[str]:
    return sorted(found.name for found in state.of("ConfigMap"))


def _runs(state: State) -> list[str]:
    return sorted(f"{found.name}-files" for step in ("prepare", "train") for found in state.runs(step))


@pytest.mark.parametrize("name", ["files-kept", "files-deleted"])
def test_files_are_there_before_their_pods_run(stories: Stories, name: str) -> None:
    """No program starts, and none ends, before the ConfigMap of its run is there, which is made before the run.

    At the very first sync it may be the other way round: what comes before the namespace is there is tried again.
    """
    story = stories[name]
    assert len(story.last.programs("train")) == 2, story
    for number, program in enumerate(story.last.programs("train"), 1):
        started = next(state for state in story.states if len(state.programs("train")) == number)
        assert ("ConfigMap", f"{program.run}-files") in started.objects, story
    pods = {pod.key for state in story.states for pod in state.of("Pod") if pod.step == "prepare"}
    assert len(pods) == 2, story
    for key in pods:
        ran = next(state for state in story.states if key in state.objects and state.objects[key].status == "Succeeded")
        assert ("ConfigMap", f"{key[1].rpartition('-')[0]}-files") in ran.objects, story
    before = uids(commit(story, "other files").states[0])
    made = [found.key for found in story.made("ConfigMap", "Job") if ("Job", found.name) not in before]
    later = [name for kind, name in made if kind == "Job"]
    assert len(later) == 2, story
    for run in later:
        assert made.index(("ConfigMap", f"{run}-files")) < made.index(("Job", run)), story


def test_files_stay_with_a_kept_run(stories: Stories) -> None:
    """The superseded runs and their files are both there, listed as not in Git, and no drift."""
    last = stories["files-kept"].last
    assert len(_maps(last)) == 4
    assert _maps(last) == _runs(last)
    kept = [found.kind for found in last.applications["pipeline"].objects if found.requires_pruning]
    assert sorted(kept) == ["ConfigMap", "ConfigMap", "Job", "Job"]


def test_files_go_with_a_deleted_run(stories: Stories) -> None:
    """What is left are the newer runs and their files."""
    last = stories["files-deleted"].last
    assert len(_maps(last)) == 2
    assert _maps(last) == _runs(last)


@pytest.mark.parametrize("name", ["project-deleted", "project-pruned"])
def test_a_deleted_project_leaves_its_data(stories: Stories, name: str) -> None:
    """The service goes; the namespace, the claims with what is on them, and the runs stay."""
    last = stories[name].last
    assert {found.name: found.status for found in last.of("PersistentVolumeClaim")} == {
        "data": "Bound",
        "models": "Bound",
    }, stories[name]
    assert [found.status for found in last.of("Namespace")] == ["Active"], stories[name]
    assert ended("prepare", "train", "evaluate")(last), stories[name]
    assert not [*last.of("InferenceService"), *last.of("Deployment")], stories[name]


def _tell(report: Report, what: str, seconds: float) -> None:
    table = report.table("Argo CD 3.5.1: an edit while the old run trains", "what", "seconds after the commit")
    table.add(what, f"{seconds:.1f}")
