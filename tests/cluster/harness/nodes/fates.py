"""What becomes of pods: chosen by the driver, written on each pod as annotations, played by kwok (`kwok.py`).

A kubelet would start containers, and programs would end; here nothing runs, so each end is decided. The exception: pods
whose fate is to be played run, as processes (`containers.py`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, Literal

from mlspec.k8s import meta
from tests.cluster.harness.client import Body

RUNS: Final = ("Job", "PyTorchJob", "TFJob")
"""Owners whose pods come to an end; all other pods become ready and stay so."""
REPLICA_TYPE: Final = "training.kubeflow.org/replica-type"
REPLICA_INDEX: Final = "training.kubeflow.org/replica-index"
PREFIX: Final = "mlspec-tests/"
"""Of the annotations that tell kwok."""


@dataclass(frozen=True)
class Pods:
    """A choice of pods of runs by what they carry; what is None or empty is not asked for."""

    run: str | None = None
    """The name of the Job, PyTorchJob or TFJob, such as `train-0123abcd`."""
    step: str | None = None
    role: str | None = None
    """As the training operator writes it: `master`, `worker`, `chief`, `ps`."""
    index: int | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    namespace: str | None = None

    def wanted(self) -> dict[str, str]:
        """Return the labels of these pods."""
        index = None if self.index is None else str(self.index)
        pairs = {meta.RUN: self.run, meta.STEP: self.step, REPLICA_TYPE: self.role, REPLICA_INDEX: index}
        return {**{key: value for key, value in pairs.items() if value is not None}, **self.labels}

    def __contains__(self, pod: Body) -> bool:
        """Say whether a pod is one of them."""
        labels = pod["metadata"].get("labels", {})
        here = self.namespace in {None, pod["metadata"]["namespace"]}
        return here and owner(pod)["kind"] in RUNS and all(labels.get(k) == v for k, v in self.wanted().items())


@dataclass(frozen=True)
class Fate:
    """What becomes of a pod; made by the functions below."""

    end: Literal["succeed", "fail", "lose", "run", "pend", "play"]
    after: float = 1.0
    """Seconds from running to the end, or to a restart."""
    exit_code: int = 0
    times: int | None = None
    """Failures before it succeeds; None: it never does."""
    reason: str = ""

    def of(self, pod: Body, failed: int) -> Fate:
        """Return what holds for a pod when so many like it have failed as a whole."""
        whole = self.end == "lose" or pod["spec"].get("restartPolicy") == "Never"
        return replace(self, end="succeed") if whole and self.times is not None and failed >= self.times else self

    def annotations(self) -> dict[str, str | None]:
        """Return what is written on the pod; None takes an older annotation away."""
        times = None if self.times is None else str(self.times)
        return {
            f"{PREFIX}fate": self.end,
            f"{PREFIX}after": f"{round(self.after * 1000)}ms",
            f"{PREFIX}exit-code": str(self.exit_code),
            f"{PREFIX}times": times,
            f"{PREFIX}reason": self.reason or None,
        }


def succeed(*, after: float = 1.0) -> Fate:
    """Every container ends with status 0."""
    return Fate("succeed", after)


def fail(exit_code: int = 1, *, times: int | None = None, after: float = 0.2) -> Fate:
    """Its program fails, `times` times and then succeeds, or every time.

    With restartPolicy OnFailure the container restarts in place and its restart count rises, as a kubelet does it
    (without its back-off of 10 s and more); with Never the pod fails, and the next pod of the same owner and role
    is the next try.
    """
    return Fate("fail", after, exit_code, times, "Error")


def lose(*, times: int | None = None, after: float = 0.2) -> Fate:
    """The pod fails as a whole, whatever its restartPolicy: evicted, or its node is gone."""
    return Fate("lose", after, 137, times, "Evicted")


def run() -> Fate:
    """It runs and does not end."""
    return Fate("run")


def pend(reason: str = "ImagePullBackOff") -> Fate:
    """It has a node, and its containers never start."""
    return Fate("pend", reason=reason)


def play() -> Fate:
    """Its first container runs, and its end is the pod's (`containers.py`); its deadline is kwok's to keep."""
    return Fate("play")


@dataclass(frozen=True)
class Rule:
    """A fate of some pods."""

    pods: Pods
    fate: Fate


def owner(pod: Body) -> Body:
    """Return the reference to what made a pod; without one, an empty one."""
    references: list[Body] = pod["metadata"].get("ownerReferences", [])
    return references[0] if references else {"kind": "", "uid": ""}


def key(pod: Body) -> str:
    """Return what the tries of one pod have in common: their owner, and the name without a random ending."""
    return f"{owner(pod)['uid']}/{pod['metadata'].get('generateName') or pod['metadata']['name']}"
