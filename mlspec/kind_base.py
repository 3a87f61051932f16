"""What a kind is: a module with a spec model, the facts it states and the object it emits."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

from mlspec import scripts
from mlspec.ir import Facts, Gvk, Labels, PlannedWorkload, Port, Target
from mlspec.ir_runs import gate_text
from mlspec.k8s import meta, pod
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body
from mlspec.kind_specs import StepSpec, WorkloadSpec
from mlspec.model.handover import in_container
from mlspec.model.operators import Operator
from mlspec.model.quantity import amount, format_quantity
from mlspec.model.scalars import seconds


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

    def project(self, body: Body, target: Target, secrets: Labels) -> Projection:
        """Return the pods and Services that the operator makes of the object, patched or not.

        `secrets` are those with storage credentials, by the destination that they open.
        """

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


def run_metadata(workload: PlannedWorkload, target: Target) -> Body:
    """Return the metadata of a run's object: with what its file must tell once the spec has moved on."""
    run = workload.run
    annotations = {
        **meta.run_annotations(workload.wave, keep=run.keep),
        meta.INPUTS: ",".join(sorted(item.run for item in run.upstream)),
        meta.OUTPUT: run.claim if run.marked else None,
        meta.GATE: gate_text(run.gate) if run.gate else None,
    }
    labels = {**workload.labels, **({meta.QUEUE_NAME: run.queue} if run.queue else {})}
    written = {key: value for key, value in annotations.items() if value}
    return meta.metadata(workload.object_name, target.namespace, labels, written)


def program(workload: PlannedWorkload, launcher: str, container: str, ports: tuple[Port, ...] = ()) -> Body:
    """Return the container of a run; `launcher` starts a `script`, and the wrapper stands in front of both."""
    spec, run = spec_of(workload, StepSpec), workload.run
    command = (launcher, in_container(spec.script)) if spec.script is not None else spec.command or ()
    if run.wrapped:
        awaited = [item.directory for item in run.upstream if item.awaited and item.directory is not None]
        # Kubernetes appends the arguments to the command, so they reach the program (they are its last words).
        command = ("/bin/sh", "-c", scripts.text("handover.sh"), "mlspec", *awaited, "--", *command)
    return pod.container(workload, container, spec.image, command, spec.args, ports)


def deadline_seconds(spec: StepSpec) -> int | None:
    """Return `activeDeadlineSeconds`, at least 1."""
    return None if spec.deadline is None else max(1, round(seconds(spec.deadline)))
