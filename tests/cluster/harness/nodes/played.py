"""A pod that is played: what it is told, its thread, and the statuses that it has, as a kubelet writes them."""

from __future__ import annotations

import math
import queue
import signal
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Final

from tests.cluster.harness.client import Body

GRACE: Final = 2.0
"""The most seconds between SIGTERM and SIGKILL, whatever a pod asks for."""


class PlayedPod:
    """A played pod: its thread, and what it is told."""

    def __init__(self, play: Callable[[PlayedPod], None], body: Body) -> None:
        """Begin to play it, in a thread."""
        self.body = {"apiVersion": "v1", "kind": "Pod", **body}
        self.name = body["metadata"]["name"]
        self.silent = False
        """Whether somebody else says what became of it."""
        self._told = threading.Event()
        self._inbox: queue.SimpleQueue[tuple[str, float]] = queue.SimpleQueue()
        self._thread = threading.Thread(target=play, args=(self,), name=f"pod-{self.name}", daemon=True)
        self._thread.start()

    @property
    def ending(self) -> bool:
        """Whether it was told to end."""
        return self._told.is_set()

    def end(self, grace: float, *, silent: bool = False) -> None:
        """Ask its container to end, and kill it so many seconds later."""
        self.silent = self.silent or silent
        self._told.set()
        self._inbox.put(("end", grace))

    def ended(self, code: int) -> None:
        """Take note that its container has ended."""
        self._inbox.put(("ended", code))

    def join(self) -> None:
        """Wait until no more is done about it."""
        self._thread.join(GRACE + 5)

    def wait(self, seconds: float) -> None:
        """Wait, but not longer than it lives."""
        self._told.wait(seconds)

    def wait_for_end(self, signalled: Callable[[int], None]) -> int:
        """Wait until its container has ended, and signal it when it is to; returns its status."""
        until: float | None = None
        while True:
            try:
                word, number = self._inbox.get(timeout=None if until is None else max(0.0, until - time.monotonic()))
            except queue.Empty:
                signalled(signal.SIGKILL)
                until = None
                continue
            if word == "ended":
                return int(number)
            signalled(signal.SIGTERM)
            until = min(until or math.inf, time.monotonic() + number)


def grace(pod: Body) -> float:
    """Return the seconds that a pod has between being asked to end and being killed."""
    wanted = pod["metadata"].get("deletionGracePeriodSeconds", pod["spec"].get("terminationGracePeriodSeconds", GRACE))
    return min(GRACE, float(wanted))


def now() -> str:
    """Return the time as Kubernetes writes it."""
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def ended_status(pod: Body, end: Body, restarts: int) -> Body:
    """Return the status of a pod whose first container has ended for good; the others end with it."""
    phase, reason = ("Failed", "PodFailed") if end["exitCode"] else ("Succeeded", "PodCompleted")
    rows = []
    for number, row in enumerate(pod["status"]["containerStatuses"]):
        state = end if number == 0 else {**end, "exitCode": 0, "reason": "Completed"}
        count = restarts if number == 0 else row["restartCount"]
        rows.append({**row, "ready": False, "started": False, "restartCount": count, "state": {"terminated": state}})
    conditions = [
        {"type": name, "status": "False", "reason": reason, "lastTransitionTime": end["finishedAt"]}
        for name in ("Ready", "ContainersReady")
    ]
    return {"phase": phase, "conditions": conditions, "containerStatuses": rows}


def restarted_status(pod: Body, end: Body, restarts: int) -> Body:
    """Return the status of a pod whose first container has ended and starts again."""
    first, *rest = pod["status"]["containerStatuses"]
    running = {"running": {"startedAt": end["finishedAt"]}}
    first = {**first, "restartCount": restarts, "lastState": {"terminated": end}, "state": running}
    return {"containerStatuses": [first, *rest]}
