"""TrainJobs in a Kueue queue under Argo CD: what Kueue and Trainer write into them, and who undoes it (question c).

mlspec writes no TrainJob yet: the Jobs that it generated are turned into TrainJobs before they are committed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Final

import pytest

from tests.cluster.harness.argocd.conditions import Test, both, healthy, phase, synced
from tests.cluster.harness.argocd.driver import Commit, Do, Edit, Fated, Kind, Refresh, Until, UntilSeen
from tests.cluster.harness.argocd.samples import PAIR
from tests.cluster.harness.argocd.server import API, RUN_HEALTH
from tests.cluster.harness.argocd.stage import Stage, Step
from tests.cluster.harness.argocd.story import Application, State
from tests.cluster.harness.argocd.tier import FOLDER, Cluster, Script, Stories
from tests.cluster.harness.client import Body, Watch
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators import kueue, observe, trainer
from tests.cluster.harness.operators.train_jobs import Training, owned, spec, surroundings
from tests.cluster.report import Report

pytestmark = pytest.mark.argocd

_TRAIN_JOB: Final[Kind] = (trainer.API_VERSION, "TrainJob")
_WATCHED: Final = (_TRAIN_JOB, (trainer.API_VERSION, "TrainingRuntime"), (trainer.JOBSET, "JobSet"))
_FRAMEWORKS: Final = {"jobs": "batch/job", **trainer.FRAMEWORKS}
_OVERRIDE: Final = "resource.customizations.health.trainer.kubeflow.org_TrainJob"


@dataclass(frozen=True)
class Look:
    """What there is of the first run at one moment."""

    moment: str
    run: Body
    pods: tuple[Body, ...]
    application: Application
    differences: tuple[str, ...]
    """Of both runs."""


@dataclass
class Played:
    """Stories, and what was looked at in each."""

    stories: Stories = field(default_factory=lambda: Stories({}))
    looks: dict[str, list[Look]] = field(default_factory=lambda: defaultdict(list))

    def look(self, moment: str) -> Do:
        """Return a step that looks."""

        def act(stage: Stage) -> None:
            run = stage.argocd.plane.api.get(*_TRAIN_JOB, stage.namespace, _named("prepare")(stage.now))
            assert run is not None
            pods = tuple(stage.argocd.plane.api.list("v1", "Pod", stage.namespace))
            rows = stage.argocd.differences(f"{stage.name}-dev-pipeline")
            different = tuple(sorted(f"{row.object} {row.field}" for row in rows))
            self.looks[stage.name].append(Look(moment, run, pods, stage.now.applications["pipeline"], different))

        return Do(f"look: {moment}", act)


def _surround(stage: Stage) -> None:
    for body in surroundings(stage.name, stage.namespace):
        answer = stage.argocd.plane.api.apply(body)
        assert answer.accepted, answer.message


def _is(step: str, status: str) -> Test:
    """Return a test for the status of a step's TrainJob; a label does not find it, since a script changes that."""

    def test(state: State) -> bool:
        return any(run.status == status for run in state.of("TrainJob") if run.name.startswith(f"{step}-"))

    return test


def _named(step: str) -> Callable[[State], str]:
    return lambda state: next(run.name for run in state.of("TrainJob") if run.name.startswith(f"{step}-"))


def _pods(state: State) -> list[str]:
    """Return the steps of which a pod runs."""
    return sorted(pod.name.partition("-")[0] for pod in state.of("Pod") if pod.status == "Running")


def _edited(state: State) -> bool:
    return any(run.step == "other" for run in state.of("TrainJob"))


def _refused(state: State) -> bool:
    return any(found.retries > 0 for found in state.applications.values())


def _begin(training: Training) -> list[Step]:
    return [
        Do("a queue with room for one run, and accounts", _surround),
        Fated(fates.run()),
        Commit("first", amend=training),
        Until("the first run runs", lambda state: _pods(state) == ["prepare"]),
    ]


def _compared(played: Played) -> list[Step]:
    """Return steps that look at the running run after a refresh and after a hard one."""
    return [
        Until(
            "the second waits", both(healthy("foundation"), phase("pipeline", "Succeeded"), _is("after", "Suspended"))
        ),
        Refresh(),
        played.look("a refresh"),
        Refresh(hard=True),
        played.look("a hard refresh"),
    ]


def _self_heal(name: str, value: bool) -> Edit:
    change = {"spec": {"syncPolicy": {"automated": {"selfHeal": value}}}}
    return Edit((API, "Application"), f"{name}-dev-pipeline", change)


def _healing(name: str) -> list[Step]:
    """Return steps that turn self-heal on and give it something to do with the run that runs and the one that waits."""
    label = {"metadata": {"labels": {"mlspec.dev/step": "other"}}}
    edits = [Edit(_TRAIN_JOB, _named(step), label) for step in ("after", "prepare")]
    return [_self_heal(name, True), *edits, UntilSeen("the edit", _edited)]


def _kept(played: Played, name: str, training: Training) -> Script:
    """Return the script of what is hoped for: self-heal undoes the edits, and nothing else."""
    whole = both(synced("pipeline"), lambda state: not _edited(state), _is("after", "Suspended"))
    healed: list[Step] = [Until("both are healed", whole), played.look("self-heal")]
    return Script(PAIR, [*_begin(training), *_compared(played), *_healing(name), *healed])


def _scripts(played: Played) -> dict[str, Script]:
    client = Training(patched=True, server_side=False)
    refused = Until("its sync is refused", _refused)
    beyond = UntilSeen("a pod beyond the quota", lambda state: _pods(state) == ["after", "prepare"])
    quiet = _self_heal("trainjob-false", False)  # it would go on for ever
    stopped = Training(suspend=False)
    return {
        "trainjob-runtime": _kept(played, "trainjob-runtime", Training()),
        "trainjob-patched": _kept(played, "trainjob-patched", Training(patched=True)),
        "trainjob-client": Script(
            PAIR, [*_begin(client), *_compared(played), *_healing("trainjob-client"), refused, played.look("self-heal")]
        ),
        "trainjob-false": Script(
            PAIR, [*_begin(stopped), *_compared(played), *_healing("trainjob-false"), beyond, quiet]
        ),
    }


@pytest.fixture(scope="module")
def played(argocd_cluster: Cluster, report: Report) -> Iterator[Played]:
    """Play the scripts with Argo CD as shipped, then one with a health check of our own for TrainJobs."""
    plane, found = argocd_cluster.plane, Played()
    with report.timed("argocd: TrainJob"), ExitStack() as stack:
        with report.timed("argocd: TrainJob, start"):
            stack.enter_context(trainer.trainer(plane))
            stack.enter_context(kueue.kueue(plane, _FRAMEWORKS))
            watches = [Watch(plane.api, *kind) for kind in _WATCHED]
            for watch in watches:
                argocd_cluster.recorder.follow(watch)
                stack.enter_context(watch)
        shipped = argocd_cluster.play(_scripts(found))
        ended = Until("both have run", both(healthy(), _is("prepare", "Complete"), _is("after", "Complete")))
        argocd_cluster.argocd.configure({_OVERRIDE: RUN_HEALTH})
        try:
            with_check = argocd_cluster.play(
                {"trainjob-override": Script(PAIR, [*_begin(Training()), Fated(fates.succeed()), ended])}
            )
        finally:
            argocd_cluster.argocd.configure({_OVERRIDE: None})
        found.stories = Stories({**shipped.found, **with_check.found})
        yield found
        for watch in watches:
            watch.end()


@pytest.mark.parametrize("name", ["trainjob-runtime", "trainjob-patched", "trainjob-override"])
def test_as_recorded(played: Played, name: str, update_observed: bool) -> None:
    """What was made, in which order, and how each story ended is what is recorded."""
    played.stories.compare(name, update=update_observed)


@pytest.mark.parametrize("name", ["trainjob-runtime", "trainjob-patched"])
def test_fields_as_recorded(played: Played, name: str, update_observed: bool) -> None:
    """What is in the spec of a running run after all that, and who owns it, is what is recorded."""
    assert played.stories[name]
    look = played.looks[name][-1]
    title = f"A running TrainJob in the script {name!r} after self-heal: its spec, the owners of its fields, its pod."
    bodies = [{"spec": spec(look.run)}, *owned(look.run), *_normal(look)]
    observe.compare(observe.fixture(FOLDER, f"{name}-fields"), title, bodies, update=update_observed)


def _normal(look: Look) -> list[Body]:
    words = {pod["metadata"]["labels"]["jobset.sigs.k8s.io/jobset-uid"]: "(uid)" for pod in look.pods}
    words |= {pod["metadata"]["annotations"]["kueue.x-k8s.io/workload"]: "(workload)" for pod in look.pods}
    return observe.normal(look.pods, words=words)


@pytest.mark.parametrize("name", ["trainjob-runtime", "trainjob-patched"])
def test_no_difference(played: Played, name: str, report: Report) -> None:
    """With server-side apply, what Kueue and Trainer write is no difference, while one runs and while one waits."""
    assert played.stories[name]
    assert [look.differences for look in played.looks[name]] == [()] * 3
    assert {look.application.sync for look in played.looks[name]} == {"Synced"}
    words = "no difference at a refresh and a hard refresh; self-heal keeps Kueue's patch and the pod"
    report.answer("c", f"TrainJob, server-side apply, {_WORDS[name]}", words)


_WORDS: Final = {"trainjob-runtime": "a runtime of its own", "trainjob-patched": "runtimePatches in Git"}


@pytest.mark.parametrize("name", ["trainjob-runtime", "trainjob-patched"])
def test_self_heal_keeps_the_patch(played: Played, name: str) -> None:
    """A self-heal that undoes edits leaves the spec, Kueue's patch and the pods (of one run) as they were."""
    story = played.stories[name]
    before, after = played.looks[name][-2:]
    assert "kueue.x-k8s.io/manager" in {patch["manager"] for patch in after.run["spec"]["runtimePatches"]}
    assert before.run["spec"] == after.run["spec"]
    assert before.run["metadata"]["generation"] == after.run["metadata"]["generation"]
    assert [pod["metadata"]["uid"] for pod in before.pods] == [pod["metadata"]["uid"] for pod in after.pods], story
    assert len(story.made("TrainJob")) == 2, story


def test_client_side_apply_loses(played: Played, report: Report) -> None:
    """Without it, patches in Git stay OutOfSync: a sync would drop Kueue's, and Trainer refuses that while it runs."""
    story = played.stories["trainjob-client"]
    for look in played.looks["trainjob-client"][:2]:
        assert [words.partition(" spec")[2] for words in look.differences] == [".runtimePatches"] * 2, look.differences
    message = story.first(_refused).applications["pipeline"].message
    assert "RuntimePatches can only be modified when the TrainJob is suspended" in message
    assert played.looks["trainjob-client"][-1].application.sync == "OutOfSync"
    words = "OutOfSync; with self-heal Trainer refuses the sync"
    report.answer("c", "runtimePatches in Git, client-side apply", words)


def test_suspend_false_breaks_the_quota(played: Played, report: Report) -> None:
    """`suspend: false` in Git is OutOfSync while a run waits, and self-heal starts its pod beyond the quota."""
    story = played.stories["trainjob-false"]
    for look in played.looks["trainjob-false"]:
        assert [words.partition(" spec")[2] for words in look.differences] == [".suspend"], look.differences
    story.after("edit by hand").first(lambda state: _pods(state) == ["after", "prepare"])
    before = story.states[: story.states.index(story.first(lambda state: state.note.startswith("edit by hand")))]
    assert not any("after" in _pods(state) for state in before), story
    report.answer("c", "`suspend: false` in Git and self-heal", "OutOfSync while it waits; pods beyond the quota")


def test_no_health(played: Played, report: Report) -> None:
    """As shipped, Argo CD says nothing of a TrainJob's health: the next wave is made at once, the app is Healthy."""
    story = played.stories["trainjob-runtime"]
    assert {health for (kind, _), health in story.health.items() if kind == "TrainJob"} == {""}
    assert not _is("prepare", "Complete")(story.first(_made("after"))), story
    assert played.looks["trainjob-runtime"][0].application.health == "Healthy"
    report.answer("c", "health of a TrainJob, Argo CD as shipped", "none: the next wave starts at once")


def test_an_override_waits(played: Played, report: Report) -> None:
    """With a health check that asks whether a condition is true, the next wave waits for Complete."""
    story = played.stories["trainjob-override"]
    assert _is("prepare", "Complete")(story.first(_made("after"))), story
    report.answer("c", "the same with a health check for TrainJob", "the next wave starts when it is Complete")


def _made(step: str) -> Callable[[State], bool]:
    return lambda state: any(run.name.startswith(f"{step}-") for run in state.of("TrainJob"))


def test_a_run_is_immutable(played: Played, argocd_cluster: Cluster, report: Report) -> None:
    """The server refuses another image in place, as Git would ask for it."""
    run = played.looks["trainjob-runtime"][-1].run
    program = {**run["spec"]["trainer"], "image": "ghcr.io/acme/a:2.0"}
    about = {key: run["metadata"][key] for key in ("name", "namespace")}
    body = {**run, "metadata": about, "spec": {"runtimeRef": run["spec"]["runtimeRef"], "trainer": program}}
    answer = argocd_cluster.plane.api.apply(
        {key: value for key, value in body.items() if key != "status"}, dry_run=True
    )
    assert "spec.trainer: Invalid value" in answer.message, answer
    assert "immutable" in answer.message, answer
    report.answer("c", "another image for a TrainJob in place", "refused by the server: `trainer` is immutable")
