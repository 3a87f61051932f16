"""TrainJobs made of the Jobs that mlspec generated, which writes none yet; and who owns which field of a run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mlspec import yamltext
from tests.cluster.harness.client import Body
from tests.cluster.harness.operators import kueue, observe, trainer

MANAGER: Final = "mlspec.dev/run"
"""Who the entry of `runtimePatches` in Git belongs to; Kueue adds its own."""
_SERVER_SIDE: Final = ["ServerSideApply=true"]
"""The sync options of a pipeline as generated."""
_QUEUE: Final = "runs"
_BY_HAND: Final = {"group": "kueue.x-k8s.io", "kind": "LocalQueue", "name": _QUEUE}
_KINDS: Final = (
    ("trainer.kubeflow.org", "TrainJob"),
    ("trainer.kubeflow.org", "TrainingRuntime"),
    ("jobset.x-k8s.io", "JobSet"),
    ("kueue.x-k8s.io", "Workload"),
)


@dataclass(frozen=True)
class Training:
    """How Git is to say what Jobs said; labels, account and security context of the pod are the matter.

    As an amendment of a commit it turns generated Jobs into TrainJobs, and lets the AppProject hold them and put
    up with their queue, which is not from Git.
    """

    patched: bool = False
    """By `runtimePatches` on a runtime as shipped; else by a TrainingRuntime of the run's own."""
    suspend: bool | None = None
    server_side: bool = True

    def __call__(self, root: Path) -> None:
        """Edit what was generated."""
        (folder,) = root.glob("generated/*/overlays/dev/pipeline")
        for path in folder.glob("*-*.yaml"):
            path.write_text(yamltext.dump_all(self._bodies(*yamltext.load_all(path.read_text()))))
        (path,) = root.glob("generated/argocd/dev/*.yaml")
        bodies = list(yamltext.load_all(path.read_text()))
        (project,) = (body for body in bodies if body["kind"] == "AppProject")
        project["spec"]["namespaceResourceWhitelist"] += [{"group": group, "kind": kind} for group, kind in _KINDS]
        # AppProjects hold LocalQueues, so one made by hand is an orphan; any other orphan is still warned of.
        project["spec"]["orphanedResources"]["ignore"] = [_BY_HAND]
        (pipeline,) = (body for body in bodies if body["metadata"]["name"].endswith("-dev-pipeline"))
        policy = pipeline["spec"]["syncPolicy"]
        assert policy["syncOptions"] == _SERVER_SIDE, f"sync options of the pipeline: {policy['syncOptions']}"
        if not self.server_side:
            del policy["syncOptions"]
        path.write_text(yamltext.dump_all(bodies))

    def _bodies(self, job: Body) -> list[Body]:
        name = job["metadata"]["name"]
        if self.patched:
            shipped = {"kind": "ClusterTrainingRuntime", "name": trainer.RUNTIME}
            return [self._train_job(job, shipped, {"runtimePatches": [_patch(job)]})]
        return [_runtime(job), self._train_job(job, {"kind": "TrainingRuntime", "name": name}, {})]

    def _train_job(self, job: Body, runtime: Body, more: Body) -> Body:
        (program,) = job["spec"]["template"]["spec"]["containers"]
        labels = {**job["metadata"]["labels"], kueue.QUEUE: _QUEUE}
        spec = {
            "runtimeRef": {"apiGroup": "trainer.kubeflow.org", **runtime},
            "trainer": {
                "image": program["image"],
                "command": program["command"],
                "resourcesPerNode": program["resources"],
            },
        }
        suspend = {} if self.suspend is None else {"suspend": self.suspend}
        about = {**job["metadata"], "labels": labels}
        return {
            "apiVersion": trainer.API_VERSION,
            "kind": "TrainJob",
            "metadata": about,
            "spec": {**spec, **more, **suspend},
        }


def _patch(job: Body) -> Body:
    """Return what a TrainJob may change of a runtime: more of a container than this, it may not."""
    template = job["spec"]["template"]
    (program,) = template["spec"]["containers"]
    spec = {key: template["spec"][key] for key in ("serviceAccountName", "securityContext")}
    spec["containers"] = [{"name": "node", "securityContext": program["securityContext"]}]
    pod = {"metadata": {"labels": template["metadata"]["labels"]}, "spec": spec}
    replicated = [{"name": "node", "template": {"spec": {"template": pod}}}]
    return {"manager": MANAGER, "trainingRuntimeSpec": {"template": {"spec": {"replicatedJobs": replicated}}}}


def _runtime(job: Body) -> Body:
    """Return a runtime with the pod of a Job, one wave before it: Trainer refuses a TrainJob without its runtime."""
    template = job["spec"]["template"]
    (program,) = template["spec"]["containers"]
    about = {key: job["metadata"][key] for key in ("name", "namespace")}
    node = {**{key: program[key] for key in ("image", "securityContext")}, "name": "node"}
    pod = {"metadata": template["metadata"], "spec": {**template["spec"], "containers": [node]}}
    step = {"labels": {"trainer.kubeflow.org/trainjob-ancestor-step": "trainer"}}
    replicated = [{"name": "node", "template": {"metadata": step, "spec": {"template": pod}}}]
    return {
        "apiVersion": trainer.API_VERSION,
        "kind": "TrainingRuntime",
        "metadata": {**about, "annotations": {"argocd.argoproj.io/sync-wave": "-1"}},
        "spec": {"mlPolicy": {"numNodes": 1, "torch": {}}, "template": {"spec": {"replicatedJobs": replicated}}},
    }


def surroundings(queue: str, namespace: str) -> list[Body]:
    """Return a queue with room for one run, of a flavor that Kueue writes into it, and the accounts of the pods.

    The pipeline does not wait for the foundation, and Jobs whose pods lack their account try again ever later.
    """
    resources = [{"name": "cpu", "nominalQuota": 1}, {"name": "memory", "nominalQuota": "1Gi"}]
    group = {"coveredResources": ["cpu", "memory"], "flavors": [{"name": "linux", "resources": resources}]}
    tolerations = [{"key": "tests.mlspec.dev/any", "operator": "Exists"}]
    flavor = {"nodeLabels": {"kubernetes.io/os": "linux"}, "tolerations": tolerations}
    whole = {"namespaceSelector": {}, "resourceGroups": [group]}
    head, inside = {"apiVersion": kueue.API_VERSION}, {"namespace": namespace}
    generated = {"apiVersion": "v1", "automountServiceAccountToken": False}
    accounts = [{"name": name, **inside} for name in ("prepare", "after")]
    return [
        {**head, "kind": "ResourceFlavor", "metadata": {"name": "linux"}, "spec": flavor},
        {**head, "kind": "ClusterQueue", "metadata": {"name": queue}, "spec": whole},
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
        *({"kind": "ServiceAccount", "metadata": account, **generated} for account in accounts),
        {**head, "kind": "LocalQueue", "metadata": {"name": _QUEUE, **inside}, "spec": {"clusterQueue": queue}},
    ]


def owned(run: Body) -> list[Body]:
    """Return who owns which fields of a run's spec, by manager; a path ends where one owns everything below it."""
    return [
        {
            "manager": f"{row['manager']} ({row['operation']})",
            "fields": sorted(_paths(row["fieldsV1"].get("f:spec"), "")),
        }
        for row in sorted(run["metadata"]["managedFields"], key=lambda row: str(row["manager"]))
        if "subresource" not in row
    ]


def _paths(fields: Any, path: str) -> Iterator[str]:
    for key, below in (fields or {}).items():
        if key == ".":
            continue
        word = f"[{','.join(json.loads(key[2:]).values())}]" if key.startswith("k:") else f".{key[2:]}"
        if below:
            yield from _paths(below, path + word)
        else:
            yield (path + word).removeprefix(".")


def spec(run: Body) -> Body:
    """Return a run's spec without what differs from run to run: times, and names that Kueue makes of a uid."""
    words = {value: f"({key})" for key, value in _volatile(run["spec"])}
    found: Body = observe.normal([run], words=words)[0]["spec"]
    return found


def _volatile(value: Any) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, item in value.items():
            if key in {"time", "kueue.x-k8s.io/workload"}:
                yield key.rpartition("/")[2], item
            yield from _volatile(item)
    elif isinstance(value, list):
        for item in value:
            yield from _volatile(item)
