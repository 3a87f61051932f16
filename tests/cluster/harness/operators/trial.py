"""Runs of a golden in a namespace of their own: goldens share namespaces, and side by side they take seconds.

Everything else is as generated: Namespace labels, accounts, policies, claims. Names of the namespace that appear in
what controllers make are put back by `as_generated`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any, Final

from mlspec.ir import Place, Stated
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import namespace
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import Golden
from tests.cluster.harness.nodes.volumes import OUTSIDE
from tests.cluster.harness.operators import observe
from tests.cluster.harness.process import poll

_AT_ONCE: Final = 4
ENDED: Final = frozenset(("Complete", "Succeeded", "Failed"))
"""Conditions that say that a run is over."""


@dataclass
class Trial:
    """One golden that was applied, and what became of it."""

    golden: Golden
    namespace: str
    api: Api
    refused: dict[str, str] = field(default_factory=dict)
    """Objects that the server did not take, with its reason."""

    @property
    def runs(self) -> tuple[Stated, ...]:
        """The runs, and what mlspec promises of each."""
        return self.golden.plan.steps

    def bodies(self) -> Iterator[Body]:
        """Yield what is applied: what stands outside of the project, its foundation, its runs."""
        generated = [resource.body for resource in self.golden.resources if resource.place is not Place.SERVING]
        if not self.golden.plan.target.manage_namespace:
            generated.append(namespace(self.golden.namespace))
        generated += [_claim(name) for name in self.golden.plan.claims]
        for body in sorted(generated, key=lambda body: body["kind"] != "Namespace"):
            yield self._moved(body)

    def _moved(self, body: Body) -> Body:
        meta = body["metadata"]
        if body["kind"] == "Namespace":
            return {**body, "metadata": {**meta, "name": self.namespace}}
        return {**body, "metadata": {**meta, "namespace": self.namespace}}

    def apply(self) -> None:
        """Apply everything."""
        for body in self.bodies():
            answer = self.api.apply(body)
            if not answer.accepted:
                self.refused[f"{body['kind']} {body['metadata']['name']}"] = answer.message

    def run(self, stated: Stated) -> Body:
        """Return the stored Job, PyTorchJob or TFJob of a step."""
        gvk, name = stated.facts.gvk, stated.workload.object_name
        found = self.api.get(gvk.api_version, gvk.kind, self.namespace, name)
        if found is None:
            raise HarnessError(f"{gvk.kind} {name}", "is not in the cluster")
        return found

    def as_generated(self, bodies: Sequence[Body]) -> list[Body]:
        """Return normal objects, in the namespace that mlspec generated them for."""
        return observe.normal(bodies, words={self.namespace: self.golden.namespace})


def apply_all(api: Api, goldens: Sequence[Golden]) -> list[Trial]:
    """Apply the runs of many goldens."""
    trials = [Trial(golden, f"case-{number:02}", api) for number, golden in enumerate(goldens)]
    with ThreadPoolExecutor(_AT_ONCE) as pool:
        list(pool.map(Trial.apply, trials))
    return trials


def wait_for_pods(api: Api, trials: Sequence[Trial], seconds: float = 60) -> None:
    """Wait until so many pods run as were promised, but those that admission refuses."""
    promised = {trial.namespace: sum(stated.facts.pods for stated in trial.runs) for trial in trials}

    def there() -> bool:
        missing = dict(promised)
        for pod in api.list("v1", "Pod"):
            if pod["metadata"]["namespace"] in missing and pod["status"].get("phase") == "Running":
                missing[pod["metadata"]["namespace"]] -= 1
        late = {name for name, count in missing.items() if count > 0}
        return not late or late <= {event["metadata"]["namespace"] for event in refusals(api)}

    poll("the promised pods", there, seconds, every=0.2)


def wait_for_end(api: Api, trials: Sequence[Trial], seconds: float = 60) -> None:
    """Wait until every run has ended, well or not."""
    kinds = sorted({stated.facts.gvk for trial in trials for stated in trial.runs})
    namespaces = {trial.namespace for trial in trials}

    def ended() -> bool:
        return all(
            ENDED & conditions(body).keys()
            for gvk in kinds
            for body in api.list(gvk.api_version, gvk.kind)
            if body["metadata"]["namespace"] in namespaces
        )

    poll("the end of every run", ended, seconds, every=0.2)


def conditions(body: Body) -> dict[str, Body]:
    """Return the conditions of an object that are true, by type."""
    rows = body.get("status", {}).get("conditions") or []
    return {row["type"]: row for row in rows if row["status"] == "True"}


def refusals(api: Api, namespace: str = "") -> list[Body]:
    """Return the events that tell of pods that admission refused."""
    return [event for event in api.list("v1", "Event", namespace) if "violates PodSecurity" in event.get("message", "")]


def _claim(name: str) -> Body:
    """Return a claim that a project uses and others make."""
    size: dict[str, Any] = {"requests": {"storage": "1Gi"}}
    spec = {"accessModes": ["ReadWriteMany"], "resources": size, "storageClassName": OUTSIDE}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": name}, "spec": spec}
