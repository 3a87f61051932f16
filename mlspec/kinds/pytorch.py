"""Kind `pytorch`: distributed training, as a kubeflow.org/v1 PyTorchJob."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final, Literal

from mlspec import kind_base
from mlspec.ir import Facts, Gvk, Labels, Place, PlannedWorkload, Port, Target
from mlspec.k8s import pod, training
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body
from mlspec.kind_base import Finding, spec_of
from mlspec.kind_specs import StepSpec
from mlspec.model.base import field
from mlspec.model.operators import TRAINING
from mlspec.model.scalars import Positive
from mlspec.names import Derived
from mlspec.projection import training_operator

# The operator looks for this container and this port by name (training-operator 1.9, pytorch_defaults.go);
# a port without a name leaves the job without any status (seen on 1.9.3).
_CONTAINER: Final = "pytorch"
_PORT: Final = Port(23456, "TCP", "pytorchjob-port")


class PyTorchSpec(StepSpec):
    """A step of one or more pods that train together."""

    kind: Literal["pytorch"] = field(
        ..., "Pods that train together with torch.distributed.", "a kubeflow.org/v1 PyTorchJob", "pytorch"
    )
    nodes: Positive = field(
        1, "Pods, the Master counted in, as torchrun counts them.", "`replicas`: 1 Master, the rest Workers", 4
    )
    processes: Positive | None = field(
        None, "Processes of a pod. Default: its GPUs, else 1.", "`nprocPerNode`, always written", 8
    )
    clean_pod_policy: Literal["Running", "None", "All"] = field(
        "Running",
        "Pods deleted when the job ends. Not part of the run's name.",
        "`runPolicy.cleanPodPolicy`",
        "None",
    )


TAG: Final = "pytorch"
SPEC: Final = PyTorchSpec
OPERATOR: Final = TRAINING
GVK: Final = Gvk("kubeflow.org", "v1", "PyTorchJob")
UNHASHED: Final = frozenset({"clean_pod_policy"})
shared_memory = kind_base.quarter_of_memory


def processes(spec: PyTorchSpec) -> int:
    """Return the processes of a pod."""
    return spec.processes or (spec.gpu.count if spec.gpu and spec.gpu.count else 1)


def facts(workload: PlannedWorkload, target: Target) -> Facts:  # the contract's signature
    """Return what holds for the Master's and Workers' pods; each has a headless Service of the same name."""
    spec = spec_of(workload, PyTorchSpec)
    name = workload.object_name
    last = (
        (Derived("the pod and Service of the last worker", (name, "-worker-", str(spec.nodes - 2))),)
        if spec.nodes > 1
        else ()
    )
    return Facts(
        gvk=GVK,
        place=Place.PIPELINE,
        pods=spec.nodes,
        pod_labels=training.pod_labels(workload.labels, name, "pytorchjob-controller"),
        # NCCL and gloo connect on random ports, so the pods of one job reach each other on all of them.
        talks_to_itself=spec.nodes > 1,
        derived=(Derived("the pod and Service of the master", (name, "-master-0")), *last),
        children=(("", "Pod"), ("", "Service")),
    )


def check(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:  # the contract's signature
    """As many pods as a namespace holds; and a command that starts python starts one process, whatever is expected."""
    spec = spec_of(workload, PyTorchSpec)
    if spec.nodes > training_operator.MOST_PODS:
        message = f"{spec.nodes} pods, but Kubernetes is made for {training_operator.MOST_PODS} in a namespace"
        yield Finding("MLS105", message, ("nodes",), "write fewer `nodes`, with more GPUs each")
    program = (spec.command or ("",))[0].rsplit("/", 1)[-1]
    if not program.startswith("python"):
        return
    script = next((word for word in (spec.command or ())[1:] if word.endswith(".py")), "/opt/train.py")
    help = f"write `script: {script}` instead of `command`, or start the command with `torchrun`"
    if processes(spec) > 1:
        message = (
            f"`{program}` starts one process, but the job has {processes(spec)} a pod: the others would wait for ever"
        )
        yield Finding("MLS215", message, ("command",), help)
    else:
        message = f"`{program}` starts one process without torchrun's restarts and rendezvous"
        yield Finding("MLS216", message, ("command",), help)


def project(body: Body, target: Target, secrets: Labels) -> Projection:  # the contract's signature
    """Return the pods that will run."""
    return training_operator.pytorch(body)


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the PyTorchJob; `replicas` is always written, and no Worker at all for one node."""
    spec = spec_of(workload, PyTorchSpec)
    counts = {"Master": 1} | ({"Worker": spec.nodes - 1} if spec.nodes > 1 else {})
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": kind_base.run_metadata(workload, target),
        "spec": {
            "nprocPerNode": str(processes(spec)),
            "runPolicy": training.run_policy(
                spec.clean_pod_policy, spec.retries, spec.nodes, kind_base.deadline_seconds(spec)
            ),
            "pytorchReplicaSpecs": {role: _replica(workload, spec, count) for role, count in counts.items()},
        },
    }


def _replica(workload: PlannedWorkload, spec: PyTorchSpec, count: int) -> Body:
    main = kind_base.program(workload, "torchrun", _CONTAINER, (_PORT,))
    return training.replica(count, spec.retries, pod.template(workload, main, None), kind_base.deadline_seconds(spec))
