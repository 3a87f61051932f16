"""Nodes without kubelets: kwok plays them, and says of each pod what its fate is."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

import httpx

from tests.cluster.harness import build
from tests.cluster.harness.client import Api, Body, Watch
from tests.cluster.harness.control_plane import ControlPlane
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import goldens
from tests.cluster.harness.nodes import fates, kwok
from tests.cluster.harness.nodes.containers import Containers
from tests.cluster.harness.nodes.fates import Fate, Pods, Rule
from tests.cluster.harness.nodes.volumes import provisioner

_POD_ADDRESSES: Final = "10.128.0.1/16"
_PLENTY: Final = {"cpu": "100k", "memory": "1Pi", "ephemeral-storage": "1Pi", "pods": "10k"}
_OF_A_DEVICE: Final = "1k"
_POD: Final = {"apiVersion": "v1", "kind": "Pod"}


class Nodes:
    """The driver's hand on the pods; make it with `nodes`."""

    def __init__(self, api: Api, containers: Containers) -> None:
        """Begin with the one rule that every run's pod succeeds after a second."""
        self.api = api
        self.containers = containers
        """The pods whose fate is to be played."""
        self.names: list[str] = []
        self.rules = [Rule(Pods(), fates.succeed())]
        self.watch: Watch = _PodWatch(self)
        """Every change of every pod."""
        self._failed: dict[str, set[str]] = {}
        self._lock = threading.Lock()

    def fate(self, fate: Fate, pods: Pods | None = None) -> None:
        """Give some pods (default: all pods of runs) a fate; it goes before every earlier one, and holds at once."""
        self.fates([Rule(pods or Pods(), fate)])

    def fates(self, rules: Sequence[Rule]) -> None:
        """Add several rules at once.

        Raises:
            HarnessError: a pod is to be played, and no container can be made here.
        """
        if any(rule.fate == fates.play() for rule in rules):
            self.containers.start()
        with self._lock:
            self.rules += rules
        for pod in self.api.list("v1", "Pod"):
            if any(pod in rule.pods for rule in rules) and pod["status"].get("phase") in {"Pending", "Running"}:
                self._tell(pod)

    def forget(self) -> None:
        """Go back to the first rule, for pods to come."""
        with self._lock:
            del self.rules[1:]
            self._failed.clear()
        self.containers.programs.forget()

    def _see(self, pod: Body, *, new: bool) -> None:
        """Give a new pod its fate, and count those that failed."""
        if new:
            self._tell(pod)
        if pod["status"].get("phase") == "Failed":
            with self._lock:
                self._failed.setdefault(fates.key(pod), set()).add(pod["metadata"]["uid"])

    def _tell(self, pod: Body) -> None:
        """Write on a pod what kwok does with it; one that is gone meanwhile needs nothing."""
        with self._lock:
            rule = next((rule for rule in reversed(self.rules) if pod in rule.pods), None)
            failed = len(self._failed.get(fates.key(pod), ()))
        if rule is not None:
            annotations = rule.fate.of(pod, failed).annotations()
            answer = self.api.patch({**_POD, "metadata": pod["metadata"]}, {"metadata": {"annotations": annotations}})
            if answer.status not in {httpx.codes.OK, httpx.codes.NOT_FOUND}:
                raise HarnessError("nodes", f"{pod['metadata']['name']} cannot be given its fate: {answer.message}")


class _PodWatch(Watch):
    """A watch that tells the nodes."""

    def __init__(self, found: Nodes) -> None:
        super().__init__(found.api, "v1", "Pod")
        self._nodes = found

    def _see(self, change: Body) -> None:
        super()._see(change)
        if change["type"] in {"ADDED", "MODIFIED", "DELETED"}:
            self._nodes.containers.see(change["type"], change["object"])
        if change["type"] in {"ADDED", "MODIFIED"}:
            self._nodes._see(change["object"], new=change["type"] == "ADDED")


@contextmanager
def nodes(plane: ControlPlane) -> Iterator[Nodes]:
    """Start kwok and nodes on which every pod of every golden fits.

    Raises:
        HarnessError: kwok cannot be built or does not start.
    """
    component = build.ensure(["kwok"])["kwok"]
    home = plane.cell.folder / "kwok"
    home.mkdir()
    # A node's own Stage as shipped; kwok reads a stream of documents, and JSON is YAML.
    nodes_ready = component.file("kustomize/stage/node/fast/node-initialize.yaml").read_text()
    (home / "stages.yaml").write_text("\n---\n".join([nodes_ready, *map(json.dumps, kwok.stages())]))
    process = plane.cell.start(
        "kwok",
        [
            component.program("kwok"),
            f"--kubeconfig={plane.kubeconfig}",
            f"--config={home / 'stages.yaml'}",
            "--manage-all-nodes",
            "--node-lease-duration-seconds=0",
            f"--cidr={_POD_ADDRESSES}",
        ],
        environment={"HOME": str(home)},
    )
    found = Nodes(plane.api, Containers(plane.cell, plane.api))
    for body in _wanted():
        answer = plane.api.apply(body)
        if not answer.accepted:
            raise HarnessError("kwok", f"the server refuses a node: {answer.message}")
        found.names.append(body["metadata"]["name"])
    process.wait_until(lambda: _ready(plane.api), 30)
    with closing(found.containers), found.watch, provisioner(plane.api):
        yield found


def _wanted() -> list[Body]:
    """Return a node for every placement that a golden asks for, and one without labels or taints."""
    places = {((), ())} | {
        (tuple(sorted(part.placement.node_selector.items())), tuple(_taints(part.placement.tolerations)))
        for golden in goldens()
        for stated in golden.plan.workloads
        for part in stated.workload.parts.values()
    }
    devices = sorted(
        {
            name
            for golden in goldens()
            for stated in golden.plan.workloads
            for part in stated.workload.parts.values()
            for name, _ in part.resources.devices
        }
    )
    allocatable = {**_PLENTY, **dict.fromkeys(devices, _OF_A_DEVICE)}
    return [
        _node(f"node-{number}", dict(labels), [dict(taint) for taint in taints], allocatable)
        for number, (labels, taints) in enumerate(sorted(places))
    ]


def _taints(tolerations: tuple[Any, ...]) -> list[tuple[tuple[str, str], ...]]:
    """Return taints for which exactly these tolerations are needed."""
    found = []
    for toleration in tolerations:
        if "key" in toleration:
            taint = {"key": toleration["key"], "effect": toleration.get("effect") or "NoSchedule"}
            taint |= {"value": toleration["value"]} if toleration.get("value") else {}
            found.append(tuple(sorted(taint.items())))
    return sorted(found)


def _node(name: str, labels: dict[str, str], taints: list[Body], allocatable: dict[str, str]) -> Body:
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", **labels}},
        "spec": {"taints": taints} if taints else {},
        "status": {"allocatable": allocatable, "capacity": allocatable},
    }


def _ready(api: Api) -> bool:
    found = api.list("v1", "Node")
    return all(
        any(row["type"] == "Ready" and row["status"] == "True" for row in node["status"].get("conditions", []))
        for node in found
    )
