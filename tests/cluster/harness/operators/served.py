"""Golden services that KServe judges: which there are, and each in a namespace of its own, so that all run at once."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from mlspec.ir import Place, Stated
from mlspec.model.operators import KServe
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import namespace
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.harness.operators import observe

OPERATOR: Final = "kserve-0.16.0"
"""The folder of `observed/` that holds what this version made."""
VERSION: Final = "0.16"
_KEYS: Final = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"),
    "gs": ("gcloud-application-credentials.json",),
}
"""The keys by which KServe tells for which store a Secret is (pkg/credentials; of S3's the second)."""


def installed(golden: Golden) -> KServe | None:
    """Return the KServe that a golden's environment declares."""
    found = golden.plan.target.operators.get("kserve")
    return found if isinstance(found, KServe) else None


def inference_services(golden: Golden) -> list[Body]:
    """Return a golden's InferenceServices."""
    return [body for body in golden.bodies if body["kind"] == "InferenceService"]


def cases(version: str = VERSION, mode: str | None = None) -> list[Golden]:
    """Return the goldens with InferenceServices for a version of KServe, in one mode or in any."""
    return [
        golden
        for golden in goldens()
        if inference_services(golden)
        and (found := installed(golden)) is not None
        and found.version == version
        and mode in {None, found.mode}
    ]


def stated(golden: Golden, name: str) -> Stated:
    """Return what mlspec states about one of a golden's services."""
    (found,) = (item for item in golden.plan.services if item.workload.object_name == name)
    return found


@dataclass(frozen=True)
class Served:
    """A golden's services, in a namespace made for them alone: many goldens share the name of theirs."""

    golden: Golden
    namespace: str

    def moved(self, body: Body) -> Body:
        """Return an object of the golden as it is in this namespace."""
        found = copy.deepcopy(body)
        if found["kind"] == "Namespace":
            found["metadata"]["name"] = self.namespace
        elif "namespace" in found["metadata"]:
            found["metadata"]["namespace"] = self.namespace
        for subject in found.get("subjects", []):
            if "namespace" in subject:
                subject["namespace"] = self.namespace
        return found

    def as_generated(self, bodies: Sequence[Body]) -> list[Body]:
        """Return normal objects, in the namespace that mlspec generated them for: its name is in hosts, too."""
        return observe.normal(bodies, words={self.namespace: self.golden.namespace})

    @property
    def inference_services(self) -> list[Body]:
        """The InferenceServices, moved."""
        return [self.moved(body) for body in inference_services(self.golden)]

    def prepare(self, api: Api, *, secrets: bool = True) -> None:
        """Apply what the services stand on, and, as their owner would, make the Secrets that are only named.

        Raises:
            HarnessError: the server refuses something.
        """
        foundation = [item.body for item in self.golden.resources if item.place is Place.FOUNDATION]
        bodies = [self.moved(body) for body in sorted(foundation, key=lambda body: body["kind"] != "Namespace")]
        if not self.golden.plan.target.manage_namespace:
            bodies.insert(0, namespace(self.namespace))
        for body in bodies + (self._secrets() if secrets else []):
            answer = api.apply(body)
            if not answer.accepted:
                raise HarnessError(self.golden.name, f"{body['kind']} is refused: {answer.message}")

    def _secrets(self) -> list[Body]:
        named = {pair for item in self.golden.plan.services for pair in item.workload.storage_secrets.items()}
        return [
            {
                "apiVersion": "v1",
                "kind": "Secret",
                "metadata": {"name": name, "namespace": self.namespace},
                "stringData": dict.fromkeys(_KEYS[destination], "none"),
            }
            for destination, name in sorted(named)
        ]
