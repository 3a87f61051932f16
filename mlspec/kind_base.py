"""What a kind is: a module with a spec model, the facts it states and the object it emits.

Shared fields of steps and services live here, so that a kind's file holds only what is its own.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Annotated, Protocol, TypeVar

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from mlspec.ir import Facts, Gvk, PlannedWorkload, Port, Target
from mlspec.k8s import pod
from mlspec.k8s.resource import Body
from mlspec.model.base import SpecModel, refused, refused_inside
from mlspec.model.blocks import Arguments, Command, Env, GpuField, Mounts, Names, Resources
from mlspec.model.operators import Operator
from mlspec.model.scalars import Duration, ImageReference, Natural, StepName, absolute_path, seconds, text


def _script(value: object) -> str:
    written = text(value)
    if not written.startswith("/"):
        raise refused(
            f"`{written}` is not an absolute path in the image",
            "build the program into the image and write its path there: `/opt/train.py`",
        )
    return absolute_path(written)


class WorkloadSpec(SpecModel):
    """Fields of every step and service."""

    gpu: GpuField | None = Field(
        None, description="GPUs of a pod: `2`, `h100:8`, `{type: h100, count: 8}`. Default: none."
    )
    resources: Resources = Field(Resources(), description="CPU, memory, shared memory and extended resources of a pod.")
    env: Env = Field({}, description="Environment variables: text, or `{secret, key}`.")
    egress: Names = Field(
        (), description="Destinations of the environment's `network.destinations` that pods may reach."
    )


class StepSpec(WorkloadSpec):
    """Fields of every step: something that runs to completion."""

    needs: tuple[StepName, ...] = Field((), description="Steps that must have finished before.")
    image: ImageReference = Field(description="Image reference; docker.io is implied, as in Docker.")
    command: Command | None = Field(None, description="Exec form, as it is. Default: the image's entry point.")
    script: Annotated[str, BeforeValidator(_script), WithJsonSchema({"type": "string", "pattern": "^/"})] | None = (
        Field(
            None,
            description="Absolute path of the program in the image, instead of `command`; launched as the kind does.",
        )
    )
    args: Arguments = Field(
        (), description="A list, or a map of flags: `{epochs: 10, bf16: true}` is `--epochs 10 --bf16`."
    )
    mounts: Mounts = Field({}, description="Volumes by name: a path, or `{path, readOnly}`.")
    retries: Natural = Field(3, description="Restarts of the whole run after a failure. Not part of the run's name.")
    deadline: Duration | None = Field(None, description="Longest time a run may take. Not part of the run's name.")

    @model_validator(mode="after")
    def _one_program(self) -> StepSpec:
        if self.command is not None and self.script is not None:
            error = refused("`script` beside `command`", "keep one of the two")
            raise refused_inside([(("script", "[key]"), error)])
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
