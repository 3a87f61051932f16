"""What a kind is: a module with a spec model, the facts it states and the object it emits.

Shared fields of steps and services live here, so that a kind's file holds only what is its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Annotated, Protocol, TypeVar

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.ir import Facts, Gvk, PartPath, PlannedWorkload, Port, Target
from mlspec.k8s import pod
from mlspec.k8s.resource import Body
from mlspec.model.base import SpecModel, field, refused, refused_inside
from mlspec.model.blocks import Arguments, Command, Env, GpuField, Mounts, Names, Resources
from mlspec.model.operators import Operator
from mlspec.model.quantity import amount, format_quantity
from mlspec.model.scalars import Duration, ImageReference, Natural, StepName, absolute_path, seconds, text


def _script(value: object) -> str:
    written = text(value)
    if not written.startswith("/"):
        raise refused(
            f"`{written}` is not an absolute path in the image",
            "build the program into the image and write its path there: `/opt/train.py`",
        )
    return absolute_path(written)


def one_program(command: Command | None, script: str | None) -> None:
    """Refuse a program that is written twice."""
    if command is not None and script is not None:
        error = refused("`script` beside `command`", "keep one of the two")
        raise refused_inside([(("script", "[key]"), error)])


Script = Annotated[str, BeforeValidator(_script), WithJsonSchema({"type": "string", "pattern": "^/"})]


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

    def parts(self) -> Mapping[PartPath, PodFields]:
        """Return the parts whose pods differ, by the field that describes each; most kinds are one part, themselves.

        The plan fills in what a part leaves out: from the step or service, then from the environment.
        """
        return {(): self}


class StepSpec(WorkloadSpec):
    """Fields of every step: something that runs to completion."""

    needs: tuple[StepName, ...] = field(
        (), "Steps that must have finished before.", "the run's sync wave, behind theirs", ["preprocess"]
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
        "Absolute path of the program in the image, instead of `command`; launched as the kind does.",
        "the container's `command`, behind the kind's launcher",
        "/opt/train.py",
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


# Fields that do not change what a run computes (spec.md, last section); everything else names the run.
UNHASHED = frozenset({"retries", "deadline", "egress", "needs"})


class ServiceSpec(WorkloadSpec):
    """Fields of every service: something that stays up."""


@dataclass(frozen=True, slots=True)
class Finding:
    """What a kind has against its spec; paths are relative to the step or service.

    Where two fields disagree, `other` is the second; the one that was written last is pointed at.
    """

    code: str
    message: str
    path: tuple[str, ...] = ()
    help: str = ""
    other: tuple[str, ...] = ()


class Kind(Protocol):
    """The contract of a module in `mlspec.kinds`."""

    @property
    def TAG(self) -> str:  # noqa: N802  # a module constant
        """The value of `kind` in the spec."""

    @property
    def SPEC(self) -> type[WorkloadSpec]:  # noqa: N802
        """The model of the spec; a subclass of StepSpec or ServiceSpec."""

    @property
    def OPERATOR(self) -> Operator | None:  # noqa: N802
        """The operator that must be declared; None for what Kubernetes itself runs."""

    @property
    def GVK(self) -> Gvk:  # noqa: N802
        """What is emitted."""

    @property
    def UNHASHED(self) -> frozenset[str]:  # noqa: N802
        """Fields of its own that do not change what a run computes."""

    def shared_memory(self, spec: WorkloadSpec, memory: str) -> str | None:
        """Return the default size of /dev/shm."""

    def facts(self, workload: PlannedWorkload, target: Target) -> Facts:
        """Return what holds for the pods that the operator will make."""

    def emit(self, workload: PlannedWorkload, target: Target) -> Body:
        """Return the manifest."""

    def check(self, workload: PlannedWorkload, target: Target) -> Iterable[Finding]:
        """Yield the kind's own findings."""


SpecT = TypeVar("SpecT", bound=WorkloadSpec)


def spec_of(workload: PlannedWorkload, model: type[SpecT]) -> SpecT:
    """Return the spec of a workload as its kind's model."""
    if not isinstance(workload.spec, model):
        raise TypeError(f"{workload.name} is not a {model.__name__}")
    return workload.spec


def no_shared_memory(spec: WorkloadSpec, memory: str) -> str | None:  # the contract's signature
    """No /dev/shm unless it is asked for."""
    return None


def quarter_of_memory(spec: WorkloadSpec, memory: str) -> str | None:  # the contract's signature
    """A quarter of memory: data loaders and collectives pass tensors through /dev/shm."""
    quarter = amount(memory) / 4
    whole = quarter // 2**20 * 2**20 or quarter // 1
    return format_quantity(Fraction(whole), binary=True)


def no_findings(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:  # the contract's signature
    """Nothing to say."""
    return ()


def program(workload: PlannedWorkload, launcher: str, container: str, ports: tuple[Port, ...] = ()) -> Body:
    """Return the container of a run; `launcher` starts a `script`."""
    spec = spec_of(workload, StepSpec)
    command = (launcher, spec.script) if spec.script is not None else spec.command or ()
    return pod.container(workload, container, spec.image, command, spec.args, ports)


def deadline_seconds(spec: StepSpec) -> int | None:
    """Return `activeDeadlineSeconds`, at least 1."""
    return None if spec.deadline is None else max(1, round(seconds(spec.deadline)))
