"""What steps and services of every kind may say: fields that are shared, so that a kind's file holds only its own."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from pydantic import model_validator

from mlspec.ir import PartPath
from mlspec.model.base import SpecModel, field, refused, refused_inside
from mlspec.model.blocks import Arguments, Command, Env, GpuField, Mounts, Names, Resources
from mlspec.model.handover import Files, Gate, Script
from mlspec.model.patching import Patch
from mlspec.model.scalars import Duration, ImageReference, Name, Natural, StepName
from mlspec.model.security import Allow, Security
from mlspec.model.sources import ModelSource


def one_program(command: Command | None, script: str | None) -> None:
    """Refuse a program that is written twice."""
    if command is not None and script is not None:
        error = refused("`script` beside `command`", "keep one of the two")
        raise refused_inside([(("script", "[key]"), error)])


class Program(NamedTuple):
    """What a pod starts: exec form, or a script; neither is the image's own entry point."""

    command: Command | None
    script: str | None

    @property
    def known(self) -> bool:
        """Say whether it can be started by something else than the image itself."""
        return self.command is not None or self.script is not None


class PodFields(SpecModel):
    """Fields of pods that are alike: all of a step or service, or one part of it."""

    gpu: GpuField | None = field(
        None,
        "GPUs of a pod: `2`, `h100:8`, `{type: h100, count: 8}`. Default: none.",
        "the type's resource in requests and limits; its `nodeSelector` and `tolerations` on the pod",
        "h100:8",
    )
    resources: Resources = field(
        Resources(),
        "CPU, memory, shared memory and extended resources of a pod.",
        "the container's `resources`, limits equal to requests",
        {"cpu": 4, "memory": "16Gi"},
    )
    env: Env = field(
        {},
        "Environment variables: text, or `{secret, key}`.",
        "the container's `env`",
        {"NCCL_DEBUG": "WARN", "HF_TOKEN": {"secret": "hub", "key": "token"}},
    )


class WorkloadSpec(PodFields):
    """Fields of every step and service."""

    egress: Names = field(
        (),
        "Destinations of the environment's `network.destinations` that pods may reach.",
        "an egress rule of the NetworkPolicy each",
        ["huggingface"],
    )

    patch: Patch = field(
        (),
        "JSON6902 operations on the emitted object, for what the spec does not know; judged like everything else.",
        "where each operation's `path` points",
        [{"op": "add", "path": "/metadata/annotations/example.com~1team", "value": "vision"}],
    )

    security: Security = field(
        Security(),
        "What the pods may do beyond what is safe by default; each loosening is a policy finding.",
        "the `securityContext` of its containers and pods",
        {"user": 1000, "writableRoot": True},
    )
    allow: Allow = field(
        {},
        "Policy findings that are accepted here, each with the reason.",
        "no object: the finding is not reported, and `check` counts it",
        {"MLS407": "the model server unpacks plugins into its image"},
    )

    def parts(self) -> Mapping[PartPath, PodFields]:
        """Return the parts whose pods differ, by the field that describes each; most kinds are one part, themselves.

        The plan fills in what a part leaves out: from the step or service, then from the environment.
        """
        return {(): self}

    def images(self) -> Mapping[PartPath, str]:
        """Return the images that are written, by their field."""
        return {}


class StepSpec(WorkloadSpec):
    """Fields of every step: something that runs to completion."""

    needs: tuple[StepName, ...] = field(
        (),
        "Steps that must have finished before; where their output is mounted, MLSPEC_INPUT_<STEP> says where.",
        "the wrapper waits for their markers; the run's sync wave, behind theirs, where GPUs must not be held idle",
        ["preprocess"],
    )
    image: ImageReference = field(
        ...,
        "Image reference; docker.io is implied, as in Docker.",
        "the container's `image`",
        "ghcr.io/acme/train:1.0",
    )
    command: Command | None = field(
        None,
        "Exec form, as it is. Default: the image's entry point.",
        "the container's `command`",
        ["torchrun", "/opt/train.py"],
    )
    script: Script | None = field(
        None,
        "The program, instead of `command`: a file of the repository, relative to mlproject.yaml, which is shipped "
        "with the run, or an absolute path in the image; launched as the kind does.",
        "the container's `command`, behind the kind's launcher; a file of the repository in the run's ConfigMap",
        "training/train.py",
    )
    args: Arguments = field(
        (),
        "A list, or a map of flags: `{epochs: 10, bf16: true}` is `--epochs 10 --bf16`.",
        "the container's `args`",
        {"epochs": 10, "lr": "1e-4", "bf16": True},
    )
    mounts: Mounts = field(
        {},
        "Volumes by name: a path, or `{path, readOnly}`.",
        "the pod's `volumes` and the container's `volumeMounts`",
        {"data": {"path": "/data", "readOnly": True}, "models": "/models"},
    )
    files: Files = field(
        {},
        "Files of the repository, relative to mlproject.yaml, by where they are in the container; read only, 1 MiB in "
        "all.",
        "the run's immutable ConfigMap, each mounted at its path",
        {"training/model.json": "/etc/train/model.json"},
    )
    output: Name | None = field(
        None,
        "The volume where the run's directory lies. Default: the only one that is mounted for writing.",
        "MLSPEC_RUN_DIR, `<mount>/<project>/<run>`; a marker there says that the run succeeded",
        "models",
    )
    queue: Name | None = field(
        None,
        "LocalQueue of Kueue. Default: the environment's `kueue.queue`.",
        "the label `kueue.x-k8s.io/queue-name`",
        "research",
    )
    gate: Gate = field(
        {},
        "Thresholds on the run's metrics.json, by metric; what does not meet them is not served.",
        "MLSPEC_GATE; the gate Job of every service whose `model.from` this step needs, or is",
        {"accuracy": {"atLeast": "0.9"}},
    )
    rerun: Natural = field(
        0, "Change it to run again with the same inputs.", "no field: it is part of the run's name", 1
    )
    handoff: Literal["auto", "none"] = field(
        "auto",
        "auto: a wrapper, which needs /bin/sh, waits for inputs, ends at once if the run has succeeded before, and "
        "marks its success. none: the program is started as it is.",
        "the container's `command`, in front of the program",
        "none",
    )
    retries: Natural = field(
        3,
        "Restarts of the whole run after a failure. Not part of the run's name.",
        "`backoffLimit`: as it is in a Job; times pods, plus 1, in a training job, where 0 means `Never`",
        1,
    )
    deadline: Duration | None = field(
        None,
        "Longest time a run may take. Not part of the run's name.",
        "`activeDeadlineSeconds`, in a training job under `runPolicy` and in its pods",
        "12h",
    )

    @model_validator(mode="after")
    def _one_program(self) -> StepSpec:
        one_program(self.command, self.script)
        return self

    def images(self) -> Mapping[PartPath, str]:
        """Return the image of the step."""
        return {("image",): self.image}

    def programs(self) -> Mapping[PartPath, Program]:
        """Return what the pods of each part start; of most kinds all are alike."""
        return {(): Program(self.command, self.script)}


# Fields that do not change what a run computes (spec.md, last section); everything else names the run.
UNHASHED = frozenset({"retries", "deadline", "egress", "needs", "allow"})


class ServiceSpec(WorkloadSpec):
    """Fields of every service: something that stays up."""

    def models(self) -> Mapping[PartPath, ModelSource]:
        """Return the models that are served, by the field that holds `model`; none where the server has its own."""
        return {}

    def with_models(self, models: Mapping[PartPath, ModelSource]) -> ServiceSpec:
        """Return the service with other models, of the same fields; raises TypeError where a kind forgot to say how."""
        if models:
            raise TypeError(f"{type(self).__name__} serves models, but does not exchange them")
        return self
