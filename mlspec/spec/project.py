"""The project's file: everything that one document of `mlproject.yaml` may say, overrides merged in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal, Union

from pydantic import BeforeValidator, Field, WithJsonSchema

from mlspec.all_kinds import SERVICE_KINDS, STEP_KINDS
from mlspec.kind_specs import ServiceSpec, StepSpec
from mlspec.model.base import SpecModel, field
from mlspec.model.scalars import DataKey, Duration, Memory, Name, ObjectName, StepName, Text, matching
from mlspec.model.security import Allow
from mlspec.spec.cluster import Access

if TYPE_CHECKING:
    Step = StepSpec
    Service = ServiceSpec
else:
    Step = Annotated[Union[tuple(kind.SPEC for kind in STEP_KINDS)], Field(discriminator="kind")]  # noqa: UP007  # built from the table
    Service = Annotated[Union[tuple(kind.SPEC for kind in SERVICE_KINDS)], Field(discriminator="kind")]  # noqa: UP007  # built from the table

ENVIRONMENTS: Final = "environments"


class Volume(SpecModel):
    """A PersistentVolumeClaim, emitted or existing."""

    size: Memory | None = field(
        None, "Size; required unless `claim`. May grow.", "`resources.requests.storage`", "100Gi"
    )
    access: Access = field("ReadWriteOnce", "ReadWriteOnce is one node.", "`accessModes`", "ReadWriteMany")
    storage_class: ObjectName | None = field(
        None,
        "A class of the environment's `storage`. Default: its first that offers `access`.",
        "`storageClassName`",
        "nfs",
        alias="class",
    )
    claim: ObjectName | None = field(
        None,
        "An existing claim, instead of size and class.",
        "no object: pods name it as `claimName`",
        "shared-datasets",
    )


StoreKey = Annotated[
    str,
    BeforeValidator(
        matching(
            r"(?!.*\.\.)[A-Za-z0-9/][-A-Za-z0-9_./@:+=]{0,510}",
            "a key of a secret store",
            "write such as `ml/hub`: letters, digits and `-_./@:+=`",
        )
    ),
    WithJsonSchema({"type": "string"}),
]


class Secret(SpecModel):
    """A Secret that exists in the namespace, or that external-secrets makes there."""

    keys: tuple[DataKey, ...] = field(
        ..., "Its keys; references are checked.", "no object: `env` may refer to them", ["token"], min_length=1
    )
    external: StoreKey | None = field(
        None,
        "Its key in the environment's `secretStore`, which has the same properties as the Secret has keys.",
        "an ExternalSecret of external-secrets.io/v1; each key is a property below it",
        "ml/hub",
    )


class Monitoring(SpecModel):
    """Scraping of services."""

    interval: Duration = field("30s", "Time between scrapes.", "`endpoints[].interval` of each ServiceMonitor", "1m")


class Runs(SpecModel):
    """What becomes of runs in the cluster."""

    on_supersede: Literal["keep", "delete"] | None = field(
        None,
        "A run that a newer one replaces is left as it is, or pruned. Default: the environment's `runs.onSupersede`.",
        "the annotations of runs, when they are first written",
        "delete",
    )


class Project(SpecModel):
    """One project."""

    api_version: Literal["mlspec.dev/v1alpha1"] = field(
        ..., "Version of this format.", "nowhere: it says how the file is read", "mlspec.dev/v1alpha1"
    )
    kind: Literal["Project"] = field(..., "What the file is.", "nowhere: it says how the file is read", "Project")
    name: Name = field(
        ...,
        "Unique in the root; folder under generated/, label, part of the namespace.",
        "every path and label, the namespace, the AppProject and Applications",
        "image-classifier",
    )
    owner: Text = field(
        ...,
        "The group that gets the viewer and operator Roles.",
        "the groups of the RoleBindings, as the environment's `access` says",
        "team-vision",
    )
    volumes: dict[Name, Volume] = field(
        {},
        "Claims by name; never pruned or deleted.",
        "a PersistentVolumeClaim of that name in foundation/",
        {"data": {"size": "100Gi", "access": "ReadWriteMany"}},
    )
    secrets: dict[ObjectName, Secret] = field(
        {},
        "Secrets of the namespace, by name: they exist there, or with `external` are made from a store.",
        "no object: `env` may refer to them; an ExternalSecret where `external` is written",
        {"hub": {"keys": ["token"]}},
    )
    monitoring: Monitoring = field(
        Monitoring(),
        "How services are scraped, where the environment has `prometheus`.",
        "the ServiceMonitor of every service",
        {"interval": "1m"},
    )
    runs: Runs = field(
        Runs(), "What becomes of runs in the cluster.", "the annotations of runs", {"onSupersede": "delete"}
    )
    allow: Allow = field(
        {},
        "Policy findings that are accepted anywhere in the project, each with the reason.",
        "no object: the finding is not reported, and `check` counts it",
        {"MLS404": "images are pinned by the registry's own policy"},
    )
    steps: dict[StepName, Step] = field(
        {},
        "Run to completion, one Kubernetes run each.",
        "a run in pipeline/, named `<step>-<hash>` after what it computes",
        {"prepare": {"kind": "job", "image": "python:3.12-slim", "script": "/opt/prepare.py"}},
    )
    services: dict[Name, Service] = field(
        {},
        "Long-lived.",
        "an object of that name in serving/",
        {"chat": {"kind": "kserve", "model": {"format": "onnx", "uri": "s3://models/chat"}}},
    )
