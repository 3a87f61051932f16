"""What happens to runs and their pods over time, by step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import datetime

from mlspec.k8s import meta
from tests.cluster.harness.client import Body, Event, Watch
from tests.cluster.harness.operators import trial
from tests.cluster.harness.operators.trial import Trial


@dataclass
class Life:
    """Of one run: every change of its pods and of itself, and the pods that are left now, by phase."""

    pods: list[Event] = field(default_factory=list)
    changes: list[Event] = field(default_factory=list)
    kept: Counter[str] = field(default_factory=Counter)

    @property
    def run(self) -> Body:
        """The run as it was seen last."""
        return self.changes[-1].body if self.changes else {}

    @property
    def ends(self) -> set[str]:
        """The conditions that say that it is over."""
        return {name for name in trial.conditions(self.run) if name in trial.ENDED}

    @property
    def started(self) -> bool:
        """Whether its controller says that it runs."""
        status = self.run.get("status", {})
        return bool(status.get("ready")) or any(row["type"] == "Running" for row in status.get("conditions", []))

    @property
    def made(self) -> int:
        """How many pods there ever were."""
        return len({event.body["metadata"]["uid"] for event in self.pods})

    @property
    def restarts(self) -> int:
        """Restarts of containers in place, over all pods that there ever were."""
        found: Counter[str] = Counter()
        for event in self.pods:
            for status in event.body["status"].get("containerStatuses", []):
                uid = event.body["metadata"]["uid"]
                found[uid] = max(found[uid], status["restartCount"])
        return found.total()

    def seconds(self) -> float | None:
        """Return the time from its start to its end, None if it has not ended."""
        rows = trial.conditions(self.run)
        ends = [datetime.fromisoformat(rows[name]["lastTransitionTime"]) for name in self.ends]
        return (ends[0] - self.start).total_seconds() if ends else None

    @property
    def start(self) -> datetime:
        """When its controller began with it."""
        return datetime.fromisoformat(self.run["status"]["startTime"])


@dataclass
class Lives:
    """Of all runs of some trials."""

    trials: Sequence[Trial]
    watches: Sequence[Watch]

    def look(self) -> dict[str, Life]:
        """Return what is there now, by step, in a few requests."""
        namespaces = {mine.namespace for mine in self.trials}
        found = {stated.workload.name: Life() for mine in self.trials for stated in mine.runs}
        for event in [event for watch in self.watches for event in list(watch.events)]:
            if event.body["metadata"]["namespace"] in namespaces:
                life = found[event.body["metadata"]["labels"][meta.STEP]]
                (life.pods if event.body["kind"] == "Pod" else life.changes).append(event)
        for mine in self.trials:
            for pod in mine.api.list("v1", "Pod", mine.namespace):
                found[pod["metadata"]["labels"][meta.STEP]].kept[pod["status"]["phase"]] += 1
        return found


@contextmanager
def lives(trials: Sequence[Trial], pods: Watch) -> Iterator[Lives]:
    """Watch the runs of some trials; `pods` watches all pods already."""
    api = trials[0].api
    kinds = sorted({stated.facts.gvk for mine in trials for stated in mine.runs})
    with ExitStack() as stack:
        watches = [stack.enter_context(Watch(api, gvk.api_version, gvk.kind)) for gvk in kinds]
        yield Lives(trials, [pods, *watches])
