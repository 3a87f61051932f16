"""Generated runs in Kueue's queues, their queues with room for one, and nodes that only a queue's flavor leads to."""

from __future__ import annotations

import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any, Final

from mlspec.model.quantity import amount, format_quantity
from tests.cluster.harness.client import Api, Body, Event, Watch
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import compiled
from tests.cluster.harness.nodes.fates import Fate, Pods, Rule
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.kueue import API_VERSION, QUEUE
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.harness.process import poll
from tests.support import ENVIRONMENT, make_root

NAMESPACE: Final = "kueue"
RUN: Final = "mlspec.dev/run"
KINDS: Final = {"Job": "batch/v1", "PyTorchJob": "kubeflow.org/v1"}
QUEUES: Final = {"Job": "small", "PyTorchJob": "large"}
"""The queue that the project writes for each: the environment's, and the step's own."""
FLAVORS: Final = {"Job": "batch", "PyTorchJob": "accelerated"}
"""The flavor of each queue, which is also a label and a taint of its nodes."""
NODE: Final = "example.com/flavor"
_PROJECT: Final = """\
steps:
  prepare:
    {{kind: job, image: "ghcr.io/acme/a:1.0", command: [prepare], rerun: {rerun}, resources: {{cpu: 1, memory: 1Gi}}}}
  train:
    kind: pytorch
    image: ghcr.io/acme/a:1.0
    command: [torchrun, train.py]
    queue: large
    nodes: 2
    gpu: 1
    rerun: {rerun}
    resources: {{cpu: 1, memory: 1Gi}}
"""
_ENVIRONMENT: Final = ENVIRONMENT.replace(
    "  t4: {perNode: 4}\n", "  t4: {perNode: 4, nodeSelector: {example.com/nowhere: gpu}}\n"
)
# What the environment says of nodes is not for queued runs: no node is like that.
_QUEUED: Final = f"""\
{_ENVIRONMENT}\
namespace: {{pattern: {NAMESPACE}}}
placement: {{nodeSelector: {{example.com/nowhere: cpu}}}}
kueue: {{version: 0.17, queue: small}}
"""


def generated(folder: Path, rerun: int = 0) -> list[Body]:
    """Return what mlspec makes of the project, its Namespace first; another `rerun`, other runs."""
    (golden,) = compiled(make_root(folder, _PROJECT.format(rerun=rerun), {"dev": _QUEUED}))
    bodies = [copy.deepcopy(resource.body) for resource in golden.resources]
    return sorted(bodies, key=lambda item: bool(item["kind"] != "Namespace"))


def surroundings() -> Iterator[Body]:
    """Yield what a platform has beside LocalQueues: flavors, and the nodes that their labels and taints lead to."""
    for flavor in FLAVORS.values():
        taint = {"key": NODE, "value": flavor, "effect": "NoSchedule"}
        toleration = {"key": NODE, "operator": "Equal", "value": flavor, "effect": "NoSchedule"}
        yield body("ResourceFlavor", flavor, {"nodeLabels": {NODE: flavor}, "tolerations": [toleration]})
        plenty = {"cpu": "100", "memory": "1Ti", "nvidia.com/gpu": "100", "pods": "100"}
        yield {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": flavor, "labels": {"kubernetes.io/hostname": flavor, NODE: flavor}},
            "spec": {"taints": [taint]},
            "status": {"allocatable": plenty, "capacity": plenty},
        }


@dataclass(frozen=True)
class Queues:
    """Runs of one golden, as templates, and what is asked about copies of them."""

    operators: Operators
    templates: dict[str, Body]

    @property
    def api(self) -> Api:
        """The API server."""
        return self.operators.api

    def make(self, *bodies: Body) -> None:
        """Apply objects.

        Raises:
            HarnessError: the server refuses one.
        """
        for body in bodies:
            answer = self.api.apply(body)
            if not answer.accepted:
                raise HarnessError("kueue", f"{body['kind']} {body['metadata']['name']} is refused: {answer.message}")

    def queue(self, name: str, kind: str) -> None:
        """Make a queue with room for one run of a kind, on any node."""
        self.make(body("ResourceFlavor", "any", {}))
        self.room(name, kind, "any")
        self.make(body("LocalQueue", name, {"clusterQueue": name}))

    def room(self, name: str, kind: str, flavor: str) -> None:
        """Make the ClusterQueue behind a queue, with room for one run of a kind on the nodes of a flavor."""
        wanted = requests(self.templates[kind])
        resources = [{"name": resource, "nominalQuota": asked} for resource, asked in wanted.items()]
        group = {"coveredResources": list(wanted), "flavors": [{"name": flavor, "resources": resources}]}
        self.make(body("ClusterQueue", name, {"namespaceSelector": {}, "resourceGroups": [group]}))

    def run(self, kind: str, name: str, queue: str, suspend: bool | None = None) -> Body:
        """Return a run under another name, in a queue; `suspend` None: as mlspec writes it, not at all."""
        found = copy.deepcopy(self.templates[kind])
        found["metadata"]["name"] = name
        found["metadata"]["labels"][QUEUE] = queue
        for replica in _replicas(found):
            replica["template"]["metadata"]["labels"][RUN] = name
        if suspend is not None:
            policy(found)["suspend"] = suspend
        return found

    def fate(self, fate: Fate, *names: str) -> None:
        """Give the pods of some runs a fate."""
        self.operators.nodes.fates([Rule(Pods(run=name, namespace=NAMESPACE), fate) for name in names])

    def pods(self, name: str) -> list[Body]:
        """Return the pods of a run."""
        return self.api.list("v1", "Pod", NAMESPACE, labelSelector=f"{RUN}={name}")

    def running(self, name: str) -> set[str]:
        """Return the uids of the pods of a run that run."""
        return {pod["metadata"]["uid"] for pod in self.pods(name) if _runs(pod)}

    def seen(self, watch: Watch, run: Body) -> list[Event]:
        """Return the changes of a run up to how the server has it now: a watch hears of them a moment later."""
        api_version, kind, name = run["apiVersion"], run["kind"], run["metadata"]["name"]

        def caught_up() -> bool:
            now, events = self.api.get(api_version, kind, NAMESPACE, name), watch.of(name)
            version = now["metadata"]["resourceVersion"] if now is not None else None
            return bool(events) and events[-1].body["metadata"]["resourceVersion"] == version

        poll(f"{name}: the watch", caught_up, 30)
        return watch.of(name)

    def ever_had_pods(self, name: str) -> bool:
        """Say whether a run had a pod, if only for a moment."""
        events = list(self.operators.nodes.watch.events)
        return any(event.body["metadata"].get("labels", {}).get(RUN) == name for event in events)

    def reserved(self, name: str) -> Body | None:
        """Return the condition that says whether a run has its quota, None while Kueue has not looked."""
        for workload in self.api.list(API_VERSION, "Workload", NAMESPACE):
            if any(owner["name"] == name for owner in workload["metadata"].get("ownerReferences", [])):
                rows: list[Body] = workload.get("status", {}).get("conditions", [])
                return next((row for row in rows if row["type"] == "QuotaReserved"), None)
        return None

    def has(self, run: Body, condition: str, status: str = "True") -> bool:
        """Say whether a run has a condition."""
        found = self.api.get(run["apiVersion"], run["kind"], NAMESPACE, run["metadata"]["name"]) or {}
        rows = found.get("status", {}).get("conditions", [])
        return any((row["type"], row["status"]) == (condition, status) for row in rows)


def body(kind: str, name: str, spec: Body) -> Body:
    """Return an object of Kueue."""
    inside = {"namespace": NAMESPACE} if kind == "LocalQueue" else {}
    return {"apiVersion": API_VERSION, "kind": kind, "metadata": {"name": name, **inside}, "spec": spec}


def policy(run: Body) -> dict[str, Any]:
    """Return the part of a run that holds `suspend`."""
    place: dict[str, Any] = run["spec"] if run["kind"] == "Job" else run["spec"].setdefault("runPolicy", {})
    return place


def suspends(watch: Watch, name: str) -> list[bool]:
    """Return what `suspend` of a run was while it was watched, without repetitions."""
    found: list[bool] = []
    for event in watch.of(name):
        value = bool(policy(event.body).get("suspend"))
        if found[-1:] != [value]:
            found.append(value)
    return found


def states(events: list[Event]) -> list[Body]:
    """Return the distinct states of a run in their order, as far as a health check looks: `suspend`, and conditions."""
    found: list[Body] = []
    for event in events:
        run = event.body
        suspend = {"suspend": policy(run).get("suspend")}
        (*_, status) = observe.statuses([event]) or [{}]
        state = {
            "apiVersion": run["apiVersion"],
            "kind": run["kind"],
            "metadata": {"name": run["metadata"]["name"]},
            "spec": suspend if run["kind"] == "Job" else {"runPolicy": suspend},
            "status": {"conditions": status.get("conditions", [])},
        }
        if event.type != "DELETED" and found[-1:] != [state]:
            found.append(state)
    return found


def _replicas(run: Body) -> list[Body]:
    if run["kind"] == "Job":
        return [run["spec"]]
    return list(run["spec"]["pytorchReplicaSpecs"].values())


def templates(run: Body) -> list[Body]:
    """Return the pod templates of a run."""
    return [replica["template"] for replica in _replicas(run)]


def pods_of(run: Body) -> int:
    """Return how many pods a run has."""
    return sum(replica.get("replicas", 1) for replica in _replicas(run))


def requests(run: Body) -> dict[str, str]:
    """Return what all pods of a run ask for together."""
    sums: Counter[str] = Counter()
    for replica in _replicas(run):
        for container in replica["template"]["spec"]["containers"]:
            for name, asked in container["resources"]["requests"].items():
                sums[name] += int(amount(asked) * 1000) * replica.get("replicas", 1)
    return {name: format_quantity(Fraction(total, 1000), binary=name == "memory") for name, total in sums.items()}


def _runs(pod: Body) -> bool:
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"]
