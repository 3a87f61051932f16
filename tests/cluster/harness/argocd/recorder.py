"""Watches the cluster for all projects at once, and gives each its own changes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from mlspec.k8s import meta
from tests.cluster.harness.argocd.story import Application, Change, Managed, Object
from tests.cluster.harness.client import Api, Body, Event, Watch
from tests.cluster.harness.nodes.programs import ProgramRun

KINDS: Final = (
    ("argoproj.io/v1alpha1", "Application"),
    ("v1", "Namespace"),
    ("v1", "PersistentVolumeClaim"),
    ("v1", "ServiceAccount"),
    ("v1", "ResourceQuota"),
    ("v1", "LimitRange"),
    ("v1", "ConfigMap"),
    ("v1", "Service"),
    ("v1", "Pod"),
    ("apps/v1", "Deployment"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("rbac.authorization.k8s.io/v1", "Role"),
    ("rbac.authorization.k8s.io/v1", "RoleBinding"),
    ("batch/v1", "Job"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("kubeflow.org/v1", "TFJob"),
    ("serving.kserve.io/v1beta1", "InferenceService"),
    ("machinelearning.seldon.io/v1", "SeldonDeployment"),
    ("monitoring.coreos.com/v1", "ServiceMonitor"),
    ("monitoring.coreos.com/v1", "PodMonitor"),
    ("kueue.x-k8s.io/v1beta2", "LocalQueue"),
    ("external-secrets.io/v1", "ExternalSecret"),
)
_OWN: Final = frozenset({"kube-root-ca.crt", "default"})
"""What Kubernetes puts into every namespace."""


class Recorder:
    """All changes so far; make it with `recorder`."""

    def __init__(self, api: Api) -> None:
        """Begin with nothing."""
        self.api = api
        self._began = time.monotonic()
        self._lock = threading.Lock()
        self._watches: list[tuple[Watch, float]] = []
        self._read: dict[int, int] = {}
        self._changes: dict[str, list[Change]] = {}

    @property
    def seconds(self) -> float:
        """The time since the recorder began."""
        return time.monotonic() - self._began

    def follow(self, watch: Watch) -> None:
        """Read what a watch sees from now on."""
        self._watches.append((watch, self.seconds))

    def note(self, place: str, words: str, commit: str = "") -> None:
        """Write down that a step was taken, at its place among the changes."""
        change = Change(self.seconds, self.version(), ("", ""), None, words, commit)
        with self._lock:
            self._changes.setdefault(place, []).append(change)

    def program(self, run: ProgramRun) -> None:
        """Write down that a program of a pod was started or has ended, at its place among the changes."""
        change = Change(self.seconds, self.version(), ("Program", str(run.number)), run)
        with self._lock:
            self._changes.setdefault(run.namespace, []).append(change)

    def version(self) -> int:
        """Return the server's count of changes now."""
        body = self.api.request("GET", "/api/v1/namespaces", limit=1).body
        return int(body["metadata"]["resourceVersion"])

    def changes(self, place: str, start: int = 0) -> list[Change]:
        """Return what changed in a place, as it arrived, from a number on.

        A place is a namespace, or the name that Applications have in common, with "/applications".
        """
        with self._lock:
            for number, (watch, offset) in enumerate(self._watches):
                events = watch.events
                first, end = self._read.get(number, 0), len(events)
                for event in events[first:end]:
                    self._sort(event, offset)
                self._read[number] = end
            return self._changes.get(place, [])[start:]

    def _sort(self, event: Event, offset: float) -> None:
        body = event.body
        about = body["metadata"]
        if about["name"] in _OWN and body["kind"] in {"ConfigMap", "ServiceAccount"}:
            return
        key = (body["kind"], about["name"])
        seen = application(body) if body["kind"] == "Application" else an_object(body)
        change = Change(
            event.seconds + offset, int(about["resourceVersion"]), key, None if event.type == "DELETED" else seen
        )
        self._changes.setdefault(_place(body), []).append(change)


def _place(body: Body) -> str:
    name: str = body["metadata"]["name"]
    if body["kind"] == "Application":
        return f"{name.rpartition('-')[0]}/applications"
    return name if body["kind"] == "Namespace" else str(body["metadata"]["namespace"])


@contextmanager
def recorder(api: Api, kinds: Sequence[tuple[str, str]] = KINDS) -> Iterator[Recorder]:
    """Watch until the end of the block every kind that the server has."""
    found = Recorder(api)
    watches = [Watch(api, *kind) for kind in kinds if api.kind(*kind) is not None]
    with ExitStack() as stack:
        for watch in watches:
            found.follow(watch)
            stack.enter_context(watch)
        yield found
        for watch in watches:
            watch.end()


def application(body: Body) -> Application:
    """Read an Application's status."""
    status = body.get("status", {})
    sync, operation = status.get("sync", {}), status.get("operationState", {})
    return Application(
        sync.get("status", ""),
        status.get("health", {}).get("status", ""),
        sync.get("revision", ""),
        operation.get("phase", ""),
        operation.get("syncResult", {}).get("revision", ""),
        operation.get("retryCount", 0),
        operation.get("message", ""),
        tuple(sorted({row["type"] for row in status.get("conditions", [])})),
        tuple(_managed(row) for row in status.get("resources", [])),
    )


def _managed(row: Body) -> Managed:
    prune, hook = row.get("requiresPruning", False), row.get("hook", False)
    return Managed(row["kind"], row["name"], row.get("status", ""), prune, hook)


def an_object(body: Body) -> Object:
    """Read an object of the cluster."""
    about = body["metadata"]
    annotations = about.get("annotations", {})
    return Object(
        body["kind"],
        about["name"],
        about["uid"],
        "Deleting" if "deletionTimestamp" in about else status_of(body),
        int(annotations.get("argocd.argoproj.io/sync-wave", 0)),
        about.get("labels", {}).get(meta.STEP, ""),
        _applied_by(body),
        _model(body),
    )


def _model(body: Body) -> str:
    """Return the URI of the model that an InferenceService is to serve, "" of everything else."""
    predictor = body["spec"].get("predictor", {}) if body["kind"] == "InferenceService" else {}
    return str(predictor.get("model", {}).get("storageUri", ""))


def _applied_by(body: Body) -> str:
    """Return the place of the Application that applied an object.

    Operators copy the annotation to what they make (KServe does), so it counts only where it names the object itself.
    """
    about = body["metadata"]
    application, _, rest = about.get("annotations", {}).get("argocd.argoproj.io/tracking-id", "").partition(":")
    own = rest.endswith(f"{body['kind']}:{about.get('namespace', about['name'])}/{about['name']}")
    return application.rpartition("-")[2] if own else ""


def status_of(body: Body) -> str:
    """Return one word for an object's status, "" where its kind has none."""
    status = body.get("status", {})
    if "phase" in status:
        return str(status["phase"])
    if "state" in status:  # SeldonDeployment
        return str(status["state"])
    if body["kind"] in {"InferenceService", "Deployment"}:
        ready = {"InferenceService": "Ready", "Deployment": "Available"}[body["kind"]]
        return ready if _true(status, ready) else ""
    true = [row["type"] for row in status.get("conditions", []) if row["status"] == "True"]
    if body["kind"] == "Job" and not true:
        return "Running" if status.get("active") else ""
    return true[-1] if true else ""


def _true(status: Body, condition: str) -> bool:
    return any(row["type"] == condition and row["status"] == "True" for row in status.get("conditions", []))
