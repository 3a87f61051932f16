"""Queued runs under Argo CD and Kueue: what waits blocks nothing and is no drift; waves with and without a health
override, and `suspend` in Git (questions a, b).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Final

import pytest

from mlspec.health import CHECKS
from tests.cluster.harness.argocd.conditions import both, ended, healthy, phase, status, synced
from tests.cluster.harness.argocd.driver import Commit, Do, Edit, Fated, Refresh, Until, UntilSeen
from tests.cluster.harness.argocd.samples import PAIR, SERVICE, replaced
from tests.cluster.harness.argocd.server import API
from tests.cluster.harness.argocd.stage import Stage, Step
from tests.cluster.harness.argocd.story import State, Story
from tests.cluster.harness.argocd.tier import Cluster, Script, Stories
from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators.kueue import kueue
from tests.cluster.harness.operators.queues import FLAVORS, NODE, body, surroundings, templates
from tests.cluster.report import Report
from tests.support import ENVIRONMENT

pytestmark = pytest.mark.argocd

_CHECKS: Final = {check.key: check.text() for check in CHECKS}
"""mlspec's own health checks: conditions count only where they are true, and training jobs have health."""
_BATCH, _ACCELERATED = FLAVORS.values()


def _environment(name: str) -> str:
    """Return environments/dev.yaml of a script: its queue, which is its ClusterQueue, too, is called as it is."""
    return f"{ENVIRONMENT}kueue: {{version: 0.17, queue: {name}}}\n"


def _made(stage: Stage, *bodies: Body) -> None:
    for item in bodies:
        answer = stage.argocd.plane.api.apply(item)
        assert answer.accepted, answer.message


def _queue(name: str, flavor: str, room: Mapping[str, str]) -> Body:
    resources = [{"name": resource, "nominalQuota": quota} for resource, quota in room.items()]
    group = {"coveredResources": list(room), "flavors": [{"name": flavor, "resources": resources}]}
    return body("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]})


def _one(stage: Stage) -> None:
    """Make the ClusterQueue with room for one of the project's runs, on any node."""
    _made(stage, body("ResourceFlavor", "any", {}), _queue(stage.name, "any", {"cpu": "1", "memory": "1Gi"}))


def _suspended(suspend: str) -> Callable[[Path], None]:
    """Return an edit that writes `suspend` into every generated Job, which mlspec never does."""

    def edit(root: Path) -> None:
        (folder,) = root.glob("generated/*/overlays/dev/pipeline")
        for path in folder.glob("*-*.yaml"):
            path.write_text(path.read_text().replace("\nspec:\n", f"\nspec:\n  suspend: {suspend}\n", 1))

    return edit


def _healing(name: str, *, on: bool = True) -> Edit:
    change = {"spec": {"syncPolicy": {"automated": {"selfHeal": on}}}}
    return Edit((API, "Application"), f"{name}-dev-pipeline", change)


def _begin(suspend: str = "") -> list[Step]:
    amend = _suspended(suspend) if suspend else None
    return [Do("a queue with room for one run", _one), Fated(fates.run()), Commit("first", amend=amend)]


def _running(state: State) -> list[str]:
    """Return the steps of which a pod runs."""
    return sorted({pod.step for pod in state.of("Pod") if pod.status == "Running"})


_END: Final[list[Step]] = [
    Fated(fates.succeed()),
    Until("everything has run", both(healthy(), ended("prepare", "after"))),
]
_WAITS: Final = "kueue-waits"
_CHECKED: Final = "kueue-checked"
_ROOM: Final = {"cpu": "100", "memory": "1Ti", "nvidia.com/gpu": "100"}
_ASKS: Final = 'image: "ghcr.io/acme/a:1.0", resources: {cpu: 1, memory: 1Gi}'
_MORE: Final = f"""\
volumes:
  data: {{size: 1Gi, access: ReadWriteMany}}
steps:
  report: {{kind: job, command: [report], {_ASKS}}}
"""


def _large(name: str) -> str:
    """Return the training's queue."""
    return f"{name}-large"


def _half(stage: Stage) -> None:
    """Make both ClusterQueues, and no room at all in the training's."""
    some = {resource: _ROOM[resource] for resource in ("cpu", "memory")}
    none = dict.fromkeys(_ROOM, "0")
    _made(stage, *surroundings(), _queue(stage.name, _BATCH, some), _queue(_large(stage.name), _ACCELERATED, none))


def _whole(stage: Stage) -> None:
    _made(stage, _queue(_large(stage.name), _ACCELERATED, _ROOM))


def _quiet(stage: Stage) -> None:
    found = stage.differences()
    assert not found, "\n".join(map(str, found))


def _placed(stage: Stage) -> None:
    """Say whether every run has its flavor's nodes in its template, which Git says nothing of, and its pods there."""
    api = stage.argocd.plane.api
    for version, kind, flavor in (("batch/v1", "Job", _BATCH), ("kubeflow.org/v1", "PyTorchJob", _ACCELERATED)):
        runs = api.list(version, kind, stage.namespace)
        assert runs
        for template in (template for run in runs for template in templates(run)):
            assert template["spec"]["nodeSelector"] == {NODE: flavor}
            assert [row["value"] for row in template["spec"]["tolerations"]] == [flavor]
    pods = api.list("v1", "Pod", stage.namespace, labelSelector="mlspec.dev/run")
    placed = {(pod["metadata"]["labels"]["mlspec.dev/step"], pod["spec"]["nodeName"]) for pod in pods}
    assert placed == {("prepare", _BATCH), ("report", _BATCH), ("train", _ACCELERATED)}


_COMPARED: Final[list[Step]] = [
    Refresh(),
    Do("no difference", _quiet),
    Refresh(hard=True),
    Do("no difference", _quiet),
]
_BLOCKED: Final = "the training has no room"


def _waiting(name: str, health: str) -> Script:
    """Return the script of a training in a queue of its own, behind a Job in the environment's; and a service.

    `health` is what Argo CD says of the training while it waits.
    """

    def said(stage: Stage) -> None:
        (run,) = stage.now.runs("train")
        assert stage.argocd.tree(f"{name}-dev-pipeline")[run.key] == health

    project = f"""\
steps:
  prepare: {{kind: job, command: [prepare], {_ASKS}}}
  train: {{kind: pytorch, needs: [prepare], command: [train], queue: {_large(name)}, gpu: 1, {_ASKS}}}
{SERVICE}"""
    return Script(project, [*_before(said), *_AFTER], _environment(name))


def _before(said: Callable[[Stage], None]) -> list[Step]:
    """Return the steps while the training waits: two commits, each applied whole and compared."""
    rest = both(healthy("foundation", "serving"), synced("pipeline"), status("train", "Suspended"))
    return [
        Do(_BLOCKED, _half),
        Fated(fates.run(), step="train"),
        Commit("first"),
        Until("everything but the training", both(rest, ended("prepare"))),
        Do("health of the training", said),
        *_COMPARED,
        Commit("a claim, a replica, a step", replaced(("replicas: 1", "replicas: 2"), ("steps:\n", _MORE))),
        Until("all of it, past the training", both(rest, ended("report"))),
        *_COMPARED,
    ]


_AFTER: Final[list[Step]] = [
    Do("the training has room", _whole),
    Until("it runs", status("train", "Running")),
    Do("flavors place the pods", _placed),
    *_COMPARED,
    Fated(fates.succeed(), step="train"),
    Until("everything has run", both(healthy(), ended("prepare", "train", "report"))),
]
STOCK: Final = {
    _WAITS: _waiting(_WAITS, ""),
    "kueue-absent": Script(
        PAIR,
        [
            *_begin(),
            Until("the first run runs", both(phase("pipeline", "Succeeded"), status("prepare", "Running"))),
            Refresh(),
            *_END,
        ],
        _environment("kueue-absent"),
    ),
    "kueue-false": Script(
        PAIR,
        [
            *_begin("false"),
            Until(
                "the first run runs", both(phase("pipeline", "Succeeded"), lambda state: _running(state) == ["prepare"])
            ),
            _healing("kueue-false"),
            Refresh(),
            UntilSeen("a pod beyond the quota", lambda state: _with_pods(state) == ["after", "prepare"]),
            _healing("kueue-false", on=False),  # or Argo CD and Kueue would go on while others are tested
        ],
        _environment("kueue-false"),
    ),
    "kueue-true": Script(
        PAIR,
        [
            *_begin("true"),
            Until(
                "the first run runs", both(phase("pipeline", "Succeeded"), lambda state: _running(state) == ["prepare"])
            ),
            _healing("kueue-true"),
            Refresh(),
            UntilSeen("its pod is killed", lambda state: bool(_killed(state))),
            _healing("kueue-true", on=False),
        ],
        _environment("kueue-true"),
    ),
}
CHECKED: Final = {
    _CHECKED: _waiting(_CHECKED, "Suspended"),
    "kueue-override": Script(
        PAIR,
        [
            *_begin(),
            Until("the first run runs", both(healthy("foundation"), lambda state: _running(state) == ["prepare"])),
            Refresh(),
            *_END,
        ],
        _environment("kueue-override"),
    ),
}


@pytest.fixture(scope="module")
def queued(argocd_cluster: Cluster, report: Report) -> Iterator[Stories]:
    """Play the scripts with Argo CD as shipped, then those with health checks of our own."""
    with report.timed("argocd: Kueue"), kueue(argocd_cluster.plane):
        stock = argocd_cluster.play(STOCK)
        argocd_cluster.argocd.configure(_CHECKS)
        try:
            checked = argocd_cluster.play(CHECKED)
        finally:
            argocd_cluster.argocd.configure(dict.fromkeys(_CHECKS))
        yield Stories({**stock.found, **checked.found})


@pytest.mark.parametrize("name", [_WAITS, _CHECKED, "kueue-absent", "kueue-override"])
def test_as_recorded(queued: Stories, name: str, update_observed: bool) -> None:
    """What was made, in which order, and how each story ended is what is recorded."""
    queued.compare(name, update=update_observed)


@pytest.mark.parametrize("name", [_WAITS, _CHECKED])
def test_a_queued_run_blocks_nothing(queued: Stories, name: str, report: Report) -> None:
    """While it waits, suspended, commits to all three Applications are applied, and none of them is ever out of sync.

    The script itself compares every field before, between and after, and asks what Argo CD says of the run's health;
    its Application is Healthy in any case, as the health of runs is ignored.

    Public report: case 13.
    """
    story = queued[name]
    waits = [state for state in story.states if state.status("train") == "Suspended"]
    first, last = waits[0].objects, waits[-1].objects
    assert {kind for kind, _ in last.keys() - first.keys()} >= {"PersistentVolumeClaim", "Job"}, story
    assert len({run.uid for state in story.states for run in state.runs("train")}) == 1, story
    words = {state.applications["pipeline"].health for state in waits if synced("pipeline")(state)}
    table = report.table(
        "A run that waits in a queue, and its Application (Argo CD 3.5.1)", "health checks", "run", "sync", "health"
    )
    own = ("as shipped", "no check") if name == _WAITS else ("mlspec's", "Suspended")
    table.add(*own, "Synced, no difference", ", ".join(sorted(words)))
    assert words == {"Healthy"}, story


def test_a_resumed_job_counts_as_healthy(queued: Stories, report: Report) -> None:
    """As shipped, the next wave is made while the Job that Kueue has resumed runs (question a)."""
    story = queued["kueue-absent"]
    made = story.first(lambda state: bool(state.runs("after")))
    assert made.status("prepare") in {"", "Running"}, story
    report.answer(
        "a", "a run that Kueue resumed, Argo CD as shipped", "Healthy at once: the next wave starts too early"
    )


def test_an_override_waits(queued: Stories, report: Report) -> None:
    """With a health check that asks whether a condition is true, it is made when that Job is Complete."""
    story = queued["kueue-override"]
    made = story.first(lambda state: bool(state.runs("after")))
    assert made.status("prepare") == "Complete", story
    report.answer("a", "the same with a health check for Job", "the next wave starts when it is Complete")


def test_suspend_absent_is_no_drift(queued: Stories, report: Report) -> None:
    """What Kueue writes into `suspend` is no difference where Git says nothing of it. Public report: case 13."""
    story = queued["kueue-absent"]
    assert healthy("pipeline")(story.after("refresh").states[-1]), story
    assert not any(len(_running(state)) > 1 for state in story.states), story
    report.answer("b", "`suspend` absent in Git", "no difference; the quota holds")


def test_suspend_false_breaks_the_quota(queued: Stories, report: Report) -> None:
    """`suspend: false` in Git: self-heal starts pods beyond the quota, and Kueue ends them (question b)."""
    story = queued["kueue-false"]
    story.first(lambda state: _with_pods(state) == ["after", "prepare"])
    before = story.states[: story.states.index(_healing_begins(story))]
    assert not any("after" in _with_pods(state) for state in before), story
    report.answer("b", "`suspend: false` in Git and self-heal", "pods beyond the quota, made and ended again and again")


def test_suspend_true_kills_the_run(queued: Stories, report: Report) -> None:
    """`suspend: true` in Git: self-heal kills the pod of the run that has its quota (question b)."""
    story = queued["kueue-true"]
    assert _killed(story.first(lambda state: bool(_killed(state)))) == ["prepare"]
    before = story.states[: story.states.index(_healing_begins(story))]
    assert not any(_killed(state) for state in before), story
    report.answer("b", "`suspend: true` in Git and self-heal", "the pod of the run that has its quota is killed")


def _with_pods(state: State) -> list[str]:
    """Return the steps of which there is a pod."""
    return sorted({pod.step for pod in state.of("Pod")})


def _killed(state: State) -> list[str]:
    """Return the steps of which a pod is being deleted."""
    return sorted({pod.step for pod in state.of("Pod") if pod.status == "Deleting"})


def _healing_begins(story: Story) -> State:
    return story.first(lambda state: state.note.startswith("edit by hand"))
