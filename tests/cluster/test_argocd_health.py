"""The generated health checks in a real Argo CD, given to it as the README says: what it says of runs and services.

mlspec's other stories are played without them; these with all of them, then they are taken away.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pytest

from mlspec import admin, health
from mlspec.check import tools
from tests.cluster.harness.argocd.conditions import both, ended, healthy, status, synced
from tests.cluster.harness.argocd.driver import Commit, Do, Edit, Fated, Kind, Refresh, Until
from tests.cluster.harness.argocd.samples import PAIR
from tests.cluster.harness.argocd.server import NAMESPACE
from tests.cluster.harness.argocd.stage import Stage
from tests.cluster.harness.argocd.story import State
from tests.cluster.harness.argocd.tier import Cluster, Script, Stories
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.operators.kueue import API_VERSION, QUEUE, kueue
from tests.cluster.harness.process import poll
from tests.cluster.report import Report
from tests.support import ENVIRONMENT, make_root, mlspec

pytestmark = pytest.mark.argocd

_ALL: Final = ENVIRONMENT + "seldon: {version: 1.16}\nkueue: {version: 0.17}\n"
_SELDON: Final[Kind] = ("machinelearning.seldon.io/v1", "SeldonDeployment")
_IMAGE: Final = 'image: "ghcr.io/acme/a:1.0"'
_ASKS: Final = "resources: {cpu: 1, memory: 1Gi}"
_AFTER: Final = f"  after: {{kind: job, needs: [train], {_IMAGE}, command: [after], {_ASKS}}}\n"
_PYTORCH: Final = (
    f"steps:\n  train: {{kind: pytorch, {_IMAGE}, command: [train], nodes: 2, retries: 0, {_ASKS}}}\n{_AFTER}"
)
_TENSORFLOW: Final = (
    f"steps:\n  train: {{kind: tensorflow, {_IMAGE}, command: [train], retries: 0, "
    f"roles: {{worker: {{{_ASKS}}}}}}}\n{_AFTER}"
)
_SERVICE: Final = """\
services:
  model: {kind: seldon, predictors: {main: {model: {implementation: SKLEARN_SERVER, uri: "s3://models/m"}}}}
"""


@dataclass(frozen=True)
class Said:
    """What Argo CD said of an object at one moment, and what there was then."""

    status: str
    message: str
    state: State


@dataclass
class Looks:
    """Everything that it said, in order, by script."""

    stories: Stories = field(default_factory=lambda: Stories({}))
    said: dict[str, list[Said]] = field(default_factory=dict)

    def until(self, kind: str, word: str, message: str = "") -> Do:
        """Return a step that waits until Argo CD says a word of the newest object of a kind, with a message.

        It looks again when a status makes another word, not another message (argo-cd 3.5, ignoreResourceUpdates).
        """

        def act(stage: Stage) -> None:
            def says() -> bool:
                found = _said(stage, kind)
                if found[0] != word or message not in found[1]:
                    return False
                self.said.setdefault(stage.name, []).append(Said(*found, stage.now))
                return True

            poll(f"{stage.name}: {kind} {word} ({message})", says, 30, every=0.2)

        return Do(f"Argo CD says of the {kind}: {word}", act)

    def words(self, name: str) -> list[str]:
        """Return the words of a script's looks; raises what ended the script."""
        assert self.stories[name]
        return [said.status for said in self.said[name]]


def _said(stage: Stage, kind: str) -> tuple[str, str]:
    """Return what Argo CD says of the newest object of a kind: status and message."""
    names = [found.name for found in stage.now.of(kind)]
    for application in stage.applications:
        path = f"/api/v1/applications/{application}/resource-tree"
        answer = stage.argocd.server.get(path, params={"appNamespace": NAMESPACE}).json()
        for node in answer.get("nodes") or []:
            if node["kind"] == kind and node["name"] in names[-1:]:
                return node.get("health", {}).get("status", ""), node.get("health", {}).get("message", "")
    return "", ""


def _queue(stage: Stage) -> None:
    """Make the queue that the Jobs ask for, with room for one of them."""
    flavor = {
        "name": "any",
        "resources": [{"name": "cpu", "nominalQuota": 1}, {"name": "memory", "nominalQuota": "1Gi"}],
    }
    queue = {"namespaceSelector": {}, "resourceGroups": [{"coveredResources": ["cpu", "memory"], "flavors": [flavor]}]}
    head = {"apiVersion": API_VERSION}
    for body in (
        {**head, "kind": "ResourceFlavor", "metadata": {"name": "any"}},
        {**head, "kind": "ClusterQueue", "metadata": {"name": stage.name}, "spec": queue},
        {
            **head,
            "kind": "LocalQueue",
            "metadata": {"name": "runs", "namespace": stage.namespace},
            "spec": {"clusterQueue": stage.name},
        },
    ):
        answer = stage.argocd.plane.api.apply(body)
        assert answer.accepted, answer.message


def _queued(root: Path) -> None:
    """Put every generated Job into the queue."""
    (folder,) = root.glob("generated/*/overlays/dev/pipeline")
    paths = list(folder.glob("*-*.yaml"))
    assert paths
    for path in paths:
        path.write_text(path.read_text().replace("  labels:\n", f"  labels:\n    {QUEUE}: runs\n", 1))


def _trained(looks: Looks, kind: str, project: str) -> Script:
    """Return the script of a training that runs and succeeds."""
    return Script(
        project,
        [
            Fated(fates.run(), step="train"),
            Commit("first"),
            Until("it trains", status("train", "Running"), 90),
            looks.until(kind, "Progressing"),
            Refresh(),
            Fated(fates.succeed(), step="train"),
            Until("everything has run", both(healthy(), ended("train", "after"))),
            looks.until(kind, "Healthy", "successfully completed"),
        ],
    )


def _scripts(looks: Looks) -> dict[str, Script]:
    state = {"state": "Failed", "description": "no such server"}
    return {
        "health-pytorch": _trained(looks, "PyTorchJob", _PYTORCH),
        "health-tensorflow": _trained(looks, "TFJob", _TENSORFLOW),
        "health-fails": Script(
            _PYTORCH,
            [
                Fated(fates.run(), step="train"),
                Commit("first"),
                Until("it trains", status("train", "Running"), 90),
                looks.until("PyTorchJob", "Progressing"),
                Fated(fates.fail(), step="train"),
                Until("training has failed", status("train", "Failed")),
                looks.until("PyTorchJob", "Degraded", "failed"),
                Until("the operation is to be tried again", lambda now: now.applications["pipeline"].retries > 0),
            ],
        ),
        "health-queue": Script(
            PAIR,
            [
                Fated(fates.run()),
                Commit("first", amend=_queued),
                looks.until("Job", "Suspended", "Job suspended"),
                Do("a queue with room for one run", _queue),
                Until("the first run runs", _runs),
                looks.until("Job", "Progressing", "has not finished"),
                Refresh(),
                Fated(fates.succeed()),
                Until("everything has run", both(healthy(), ended("prepare", "after"))),
                looks.until("Job", "Healthy", "Reached expected number of succeeded pods"),
            ],
        ),
        "health-seldon": Script(
            _SERVICE,
            [
                Commit("first"),
                Until("it is Synced", synced("serving")),
                looks.until("SeldonDeployment", "Progressing", "waits for its deployments"),
                Edit(_SELDON, "model", {"status": state}, part="/status"),
                looks.until("SeldonDeployment", "Degraded", "no such server"),
                Edit(_SELDON, "model", {"status": {"state": "Available", "description": ""}}, part="/status"),
                looks.until("SeldonDeployment", "Healthy", "available"),
                Until("its Application is Healthy", healthy("serving")),
            ],
            _ALL,
        ),
    }


def _runs(state: State) -> bool:
    return any(pod.step == "prepare" and pod.status == "Running" for pod in state.of("Pod"))


def _apply(cluster: Cluster, root: Path) -> None:
    """Do what the file says of itself, and the README with it, with the real kubectl."""
    path = root / "generated" / admin.FILE
    line = next(line for line in path.read_text().splitlines() if "kubectl" in line)
    program, *words = shlex.split(line.removeprefix("# "))
    tool = tools.find_kustomize()
    assert tool is not None
    assert tool.name == program, "kubectl comes with the extra kustomize"
    words = [str(path) if word == f"generated/{admin.FILE}" else word for word in words]
    cache = cluster.plane.cell.folder / "kubectl"
    command = [str(tool.path), f"--kubeconfig={cluster.plane.kubeconfig}", f"--cache-dir={cache}", *words]
    assert "patched" in cluster.plane.cell.run(command, name="kubectl")


@pytest.fixture(scope="module")
def looks(argocd_cluster: Cluster, report: Report, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Looks]:
    """Give Argo CD the checks of an environment that declares everything, and play the scripts."""
    root = make_root(tmp_path_factory.mktemp("health"), "steps: {a: {kind: job, image: i}}\n", {"dev": _ALL})
    assert mlspec(root, "generate").code == 0
    found = Looks()
    with report.timed("argocd: health checks"), kueue(argocd_cluster.plane):
        _apply(argocd_cluster, root)
        try:
            found.stories = argocd_cluster.play(_scripts(found))
        finally:
            argocd_cluster.argocd.configure({check.key: None for check in health.CHECKS})
        yield found


def test_the_checks_are_a_patch(looks: Looks, argocd_cluster: Cluster) -> None:
    """What was in argocd-cm is there still, and the checks are gone again."""
    config = argocd_cluster.plane.api.get("v1", "ConfigMap", NAMESPACE, "argocd-cm")
    assert config is not None
    assert {"app.kubernetes.io/name", "app.kubernetes.io/part-of"} <= config["metadata"]["labels"].keys()
    assert not {check.key for check in health.CHECKS} & config.get("data", {}).keys()


@pytest.mark.parametrize("name", ["health-pytorch", "health-tensorflow"])
def test_a_training_that_runs_and_succeeds(name: str, looks: Looks, report: Report) -> None:
    """It is Progressing and then Healthy; the step after it is made when it has succeeded, and not before."""
    assert looks.words(name) == ["Progressing", "Healthy"]
    story = looks.stories[name]
    assert not looks.said[name][0].state.runs("after"), story
    assert story.first(lambda state: bool(state.runs("after"))).status("train") == "Succeeded", story
    _tell(report, name, looks, "the next wave waits for it")


def test_a_training_that_fails(looks: Looks, report: Report) -> None:
    """It is Degraded with the operator's reason, the operation fails, and the step after it is never made."""
    assert looks.words("health-fails") == ["Progressing", "Degraded"]
    story = looks.stories["health-fails"]
    assert not any(state.runs("after") for state in story.states), story
    _tell(report, "health-fails", looks, "the next wave is never made")


def test_a_job_that_kueue_resumes(looks: Looks, report: Report) -> None:
    """It is Suspended, then Progressing while it runs, and the next one is made when it is Complete."""
    assert looks.words("health-queue") == ["Suspended", "Progressing", "Healthy"]
    story = looks.stories["health-queue"]
    assert not looks.said["health-queue"][1].state.runs("after"), story
    assert story.first(lambda state: bool(state.runs("after"))).status("prepare") == "Complete", story
    _tell(report, "health-queue", looks, "the next wave waits for it")


def test_a_seldon_deployment(looks: Looks, report: Report) -> None:
    """Its Application is as healthy as the operator says that it is."""
    assert looks.words("health-seldon") == ["Progressing", "Degraded", "Healthy"]
    _tell(report, "health-seldon", looks, "so is its Application")


def _tell(report: Report, name: str, looks: Looks, then: str) -> None:
    table = report.table("What Argo CD 3.5.1 says with mlspec's health checks", "script", "health", "and")
    table.add(name, ", ".join(looks.words(name)), then)
