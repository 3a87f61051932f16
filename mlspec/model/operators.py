"""What an environment declares about an operator: the field, its value type, and the schemas it selects."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.model.base import SpecModel, field, refused
from mlspec.model.scalars import Version, shown, text


@dataclass(frozen=True, slots=True)
class Operator:
    """A field of the environment that declares an operator; kinds name the one that they need."""

    field: str
    type: Any
    description: str
    schemas: Callable[[Any], str]
    """Folder of `schemas/crds` for a declared value."""
    goes: str
    """Where the field goes in the manifests, and an example of it, as for every field."""
    example: Any
    serves: bool = False
    """Its services get their requests through the environment's gateway."""


def minor(version: str) -> str:
    """Return `0.16` for `0.16` and `0.16.2`."""
    return ".".join(version.split(".")[:2])


@dataclass(frozen=True, slots=True)
class TrainingOperator:
    """The Kubeflow training operator: API and version."""

    api: str
    version: str


def _training(value: object) -> TrainingOperator:
    if isinstance(value, TrainingOperator):
        return value
    written = text(value)
    found = re.fullmatch(r"(?P<api>[a-z.]+/v1) (?P<version>[0-9]+\.[0-9]+(\.[0-9]+)?)", written)
    if found is None or found["api"] != "kubeflow.org/v1":
        raise refused(f"{shown(written)} is not a training operator", "write `kubeflow.org/v1 1.9`")
    return TrainingOperator(found["api"], found["version"])


class KServe(SpecModel):
    """KServe as installed in the cluster."""

    version: Version = field(
        ..., "KServe's version, `0.16`.", "chooses the schemas, and how this KServe spells the mode", "0.16"
    )
    mode: Literal["Standard", "Knative"] = field(
        ...,
        "How predictors run: as Deployments, or as Knative services.",
        "the annotations for mode and autoscaler of InferenceServices, and who may reach their pods",
        "Standard",
    )

    @property
    def release(self) -> tuple[int, ...]:
        """Major and minor."""
        return tuple(map(int, self.version.split(".")[:2]))

    @property
    def spelled_mode(self) -> str:
        """The mode as this KServe spells it: renamed in 0.16, and from then on the old name is a trap.

        An InferenceService with `RawDeployment` is accepted by 0.16 and can then be neither updated nor deleted.
        """
        old = {"Standard": "RawDeployment", "Knative": "Serverless"}
        return old[self.mode] if self.release < (0, 16) else self.mode


class Seldon(SpecModel):
    """Seldon Core 1.x as installed in the cluster."""

    version: Version = field(..., "Seldon Core's version, `1.16`.", "chooses the schemas", "1.16")


TRAINING: Final = Operator(
    "training",
    Annotated[
        TrainingOperator,
        BeforeValidator(_training),
        WithJsonSchema({"type": "string", "pattern": r"^kubeflow\.org/v1 [0-9]+\.[0-9]+(\.[0-9]+)?$"}),
    ],
    "The training operator of the cluster: `kubeflow.org/v1 1.9`.",
    lambda value: f"training-operator-{minor(value.version)}",
    goes="no object: chooses the schemas of training jobs, which are refused without it",
    example="kubeflow.org/v1 1.9",
)
KSERVE: Final = Operator(
    "kserve",
    KServe,
    "KServe of the cluster: version and mode.",
    lambda value: f"kserve-{minor(value.version)}",
    goes="no object: chooses the schemas of InferenceServices, which are refused without it",
    example={"version": "0.16", "mode": "Standard"},
    serves=True,
)
SELDON: Final = Operator(
    "seldon",
    Seldon,
    "Seldon Core of the cluster.",
    lambda value: f"seldon-{minor(value.version)}",
    goes="no object: chooses the schemas of SeldonDeployments, which are refused without it",
    example={"version": "1.16"},
    serves=True,
)
