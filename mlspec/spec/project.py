"""The project's file: everything that one document of `mlproject.yaml` may say, overrides merged in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, Union

from pydantic import Field

from mlspec.all_kinds import SERVICE_KINDS, STEP_KINDS
from mlspec.kind_base import ServiceSpec, StepSpec
from mlspec.model.base import SpecModel
from mlspec.model.scalars import DataKey, Duration, Memory, Name, ObjectName, StepName, Text
from mlspec.spec.environment import Access

if TYPE_CHECKING:
    Step = StepSpec
    Service = ServiceSpec
else:
    Step = Annotated[Union[tuple(kind.SPEC for kind in STEP_KINDS)], Field(discriminator="kind")]  # noqa: UP007  # built from the table
    Service = (
        Annotated[Union[tuple(kind.SPEC for kind in SERVICE_KINDS)], Field(discriminator="kind")]  # noqa: UP007
        if len(SERVICE_KINDS) > 1
        else SERVICE_KINDS[0].SPEC
    )

ENVIRONMENTS: Final = "environments"


class Volume(SpecModel):
    """A PersistentVolumeClaim, emitted or existing."""

    size: Memory | None = Field(None, description="Size; required unless `claim`. May grow.")
    access: Access = Field("ReadWriteOnce", description="ReadWriteOnce is one node.")
    storage_class: ObjectName | None = Field(
        None,
        alias="class",
        description="A class of the environment's `storage`. Default: its first that offers `access`.",
    )
    claim: ObjectName | None = Field(None, description="An existing claim, instead of size and class.")


class Secret(SpecModel):
    """A Secret that exists in the namespace."""

    keys: tuple[DataKey, ...] = Field(description="Its keys; references are checked.", min_length=1)


class Monitoring(SpecModel):
    """Scraping of services."""

    interval: Duration = Field("30s", description="Time between scrapes.")


class Project(SpecModel):
    """One project."""

    api_version: Literal["mlspec.dev/v1alpha1"] = Field(description="Version of this format.")
    kind: Literal["Project"]
    name: Name = Field(description="Unique in the root; folder under generated/, label, part of the namespace.")
    owner: Text = Field(description="The group that gets the viewer and operator Roles.")
    volumes: dict[Name, Volume] = Field({}, description="Claims by name; never pruned or deleted.")
    secrets: dict[ObjectName, Secret] = Field({}, description="Secrets by name.")
    monitoring: Monitoring = Monitoring()
    steps: dict[StepName, Step] = Field({}, description="Run to completion, one Kubernetes run each.")
    services: dict[Name, Service] = Field({}, description="Long-lived.")
