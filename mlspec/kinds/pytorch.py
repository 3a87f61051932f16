"""Kind `pytorch`: distributed training, as a kubeflow.org/v1 PyTorchJob."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final, Literal

from pydantic import model_validator

from mlspec import kind_base
from mlspec.ir import Facts, Gvk, Labels, Place, PlannedWorkload, Port, Target
from mlspec.k8s import pod, training
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body, compact
from mlspec.kind_base import Finding, spec_of
from mlspec.kind_specs import StepSpec
from mlspec.model import launch
from mlspec.model.base import SpecModel, field, refused, refused_inside
from mlspec.model.operators import TRAINING
from mlspec.model.scalars import Positive
from mlspec.names import Derived
from mlspec.projection import training_operator

# The operator looks for this container and this port by name (training-operator 1.9, pytorch_defaults.go);
# a port without a name leaves the job without any status (seen on 1.9.3).
_CONTAINER: Final = "pytorch"
_PORT: Final = Port(23456, "TCP", "pytorchjob-port")
# What the operator tells each container, behind what is written; of two entries of one name the last holds
# (training-operator 1.9, pkg/controller.v1/pytorch/{envvar,master,elastic}.go).
_TOLD: Final = frozenset(
    {
        *("MASTER_ADDR", "MASTER_PORT", "PET_MASTER_ADDR", "PET_MASTER_PORT", "PET_NNODES", "PET_NODE_RANK"),
        *("PET_NPROC_PER_NODE", "RANK", "WORLD_SIZE"),
    }
)
_TOLD_ELASTIC: Final = frozenset({"PET_MAX_RESTARTS", "PET_RDZV_BACKEND", "PET_RDZV_ENDPOINT", "PET_RDZV_ID"})
_OWN_HOST: Final = ("localhost", "127.0.0.1", "[::1]", "0.0.0.0")  # noqa: S104  # compared with, not listened on


class Elastic(SpecModel):
    """Between how many pods a job may run."""

    min: Positive = field(
        ..., "Pods with which it starts, and goes on when others are lost.", "`elasticPolicy.minReplicas`", 2
    )
    max: Positive = field(
        ..., "Pods that are asked for.", "`elasticPolicy.maxReplicas`, and `replicas` of the Workers", 4
    )

    @model_validator(mode="after")
    def _in_order(self) -> Elastic:
        if self.min > self.max:
            error = refused(f"`min` {self.min} is more than `max` {self.max}", "exchange the two", "MLS254")
            raise refused_inside([(("min",), error)])
        return self


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
    elastic: Elastic | None = field(
        None,
        "Instead of `nodes`: the job goes on with fewer pods when some are lost, and takes up those that come back.",
        "`elasticPolicy`, with `retries` as restarts; Workers alone, which meet by c10d at the first of them",
        {"min": 2, "max": 4},
    )
    clean_pod_policy: Literal["Running", "None", "All"] = field(
        "Running",
        "Pods deleted when the job ends. Not part of the run's name.",
        "`runPolicy.cleanPodPolicy`",
        "None",
    )

    @property
    def pods(self) -> int:
        """The most pods at the same time."""
        return self.nodes if self.elastic is None else self.elastic.max

    @property
    def gpus(self) -> int:
        """GPUs of a pod."""
        return self.gpu.count if self.gpu is not None else 0


TAG: Final = "pytorch"
SPEC: Final = PyTorchSpec
OPERATOR: Final = TRAINING
GVK: Final = Gvk("kubeflow.org", "v1", "PyTorchJob")
UNHASHED: Final = frozenset({"clean_pod_policy"})
shared_memory = kind_base.quarter_of_memory


def processes(spec: PyTorchSpec) -> int:
    """Return the processes of a pod."""
    return spec.processes or spec.gpus or 1


def facts(workload: PlannedWorkload, target: Target) -> Facts:  # the contract's signature
    """Return what holds for the Master's and Workers' pods; each has a headless Service of the same name."""
    spec = spec_of(workload, PyTorchSpec)
    name = workload.object_name
    workers = spec.pods if spec.elastic else spec.nodes - 1
    derived = (Derived("the pod and Service of the last worker", (name, "-worker-", str(workers - 1))),)
    master = (Derived("the pod and Service of the master", (name, "-master-0")),)
    return Facts(
        gvk=GVK,
        place=Place.PIPELINE,
        pods=spec.pods,
        fewest=spec.elastic.min if spec.elastic else None,
        pod_labels=training.pod_labels(workload.labels, name, "pytorchjob-controller"),
        # NCCL and gloo connect on random ports, so the pods of one job reach each other on all of them.
        talks_to_itself=spec.pods > 1,
        derived=(*(() if spec.elastic else master), *(derived if workers else ())),
        children=(("", "Pod"), ("", "Service")),
    )


def check(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:  # the contract's signature
    """Numbers that go together, a command that starts what the operator expects, variables that reach the program."""
    spec = spec_of(workload, PyTorchSpec)
    if spec.pods > training_operator.MOST_PODS:
        message = f"{spec.pods} pods, but Kubernetes is made for {training_operator.MOST_PODS} in a namespace"
        where = ("elastic", "max") if spec.elastic else ("nodes",)
        yield Finding("MLS105", message, where, f"write fewer `{where[-1]}`, with more GPUs each")
    yield from _check_elastic(spec)
    yield from _check_devices(spec)
    yield from _check_variables(spec)
    if spec.command is not None:
        yield from _check_program(spec, launch.read(spec.command))
        yield from _check_flags(spec, launch.read((*spec.command, *spec.args)))


def _check_elastic(spec: PyTorchSpec) -> Iterator[Finding]:
    if spec.elastic is None:
        return
    if "nodes" in spec.model_fields_set:
        message = "`elastic` beside `nodes`: between how many pods the job may run, and how many it has"
        help = (
            "remove one of the two; an override takes away what stands above it with `nodes: null` or `elastic: null`"
        )
        yield Finding("MLS254", message, ("elastic",), help, ("nodes",))
    if not spec.retries:
        message = "`elastic` beside `retries: 0`: the first pod that is lost ends the job, and nobody goes on"
        yield Finding("MLS254", message, ("elastic",), "write `retries: 3`, or `nodes` instead", ("retries",))


def _check_devices(spec: PyTorchSpec) -> Iterator[Finding]:
    """Each process has a GPU of its own: fewer leave some idle, and NCCL takes no GPU for two of them."""
    count = processes(spec)
    if not spec.gpus or count == spec.gpus:
        return
    few = f"{count} process{'es' if count > 1 else ''} a pod for {spec.gpus} GPUs: "
    what = "the others are idle unless the program shares them out itself" if count < spec.gpus else "not one for each"
    help = "leave `processes` out: a process for each GPU is what it is without"
    yield Finding("MLS257", few + what, ("processes",), help, ("gpu",))


def _check_variables(spec: PyTorchSpec) -> Iterator[Finding]:
    for name in sorted(spec.env.keys() & (_TOLD | _TOLD_ELASTIC if spec.elastic else _TOLD)):
        message = f"{name} is what the operator tells each pod, behind what is written here, which has no effect"
        help = "remove it; `nodes`, `processes` and `elastic` say how many there are"
        yield Finding("MLS258", message, ("env", name), help)


def _check_program(spec: PyTorchSpec, found: launch.Launch) -> Iterator[Finding]:
    """A command that starts python starts one process, whatever is expected; and a signal must reach the program."""
    if found.shell is not None:
        message = (
            f"`{found.shell}` stays in front of `{found.written}`, and hands on no signal: no checkpoint when it ends"
        )
        yield Finding("MLS256", message, ("command",), "put `exec` in front of it, or write `script:`")
    if found.program != launch.PYTHON:
        return
    script = next((word for word in (spec.command or ())[1:] if word.endswith(".py")), "/opt/train.py")
    script = script if " " not in script else "/opt/train.py"
    help = f"write `script: {script}` instead of `command`, or start the command with `torchrun`"
    written, count = found.written, processes(spec)
    if spec.elastic is not None:
        message = f"`{written}` knows nothing of the other pods of an elastic job: each would train on its own"
        yield Finding("MLS215", message, ("command",), help)
    elif count > 1:
        message = f"`{written}` starts one process, but the job has {count} a pod: the others would wait for ever"
        yield Finding("MLS215", message, ("command",), help)
    else:
        message = f"`{written}` starts one process without torchrun's restarts and rendezvous"
        yield Finding("MLS216", message, ("command",), help)


def _check_flags(spec: PyTorchSpec, found: launch.Launch) -> Iterator[Finding]:
    """torchrun's flags win over what the operator tells it by PET_ variables, so they must say the same."""
    own = launch.read(spec.command or ()).flags
    for name, value in found.flags.items():
        problem = _contradiction(spec, name, value)
        if problem is not None:
            message = f"`--{name}{'' if value is None else f'={value}'}`: {problem}"
            help = "remove the flag: the operator says it"
            yield Finding("MLS255", message, ("command",) if name in own else ("args",), help)


def _contradiction(spec: PyTorchSpec, name: str, value: str | None) -> str | None:
    """Return what a flag of torchrun says against the job; what is only known in the pod is left alone."""
    several, count = spec.pods > 1, processes(spec)
    if name == "standalone":
        return f"each of {spec.pods} pods would train on its own" if several else None
    if value is None or "$" in value:
        return None
    nodes = f"{spec.elastic.min}:{spec.elastic.max}" if spec.elastic else str(spec.nodes)
    if name == "nnodes" and value not in (nodes, f"{nodes}:{nodes}"):
        return f"the job has {nodes} pod{'s' if several else ''}"
    same = spec.gpus if value in ("auto", "gpu") and spec.gpus else value
    if name == "nproc-per-node" and str(same) != str(count):
        return f"the job has {count} process{'es' if count > 1 else ''} a pod; `processes` says how many"
    if name == "node-rank" and several:
        return "all pods would have the same rank"
    if name == "master-addr" and several and spec.elastic is None:
        return "the Master is called by the run's name, which is not known beforehand"
    if name == "rdzv-endpoint" and several and value.rsplit(":", 1)[0] in _OWN_HOST:
        return "each pod would meet nobody but itself"
    return None


def project(body: Body, target: Target, secrets: Labels) -> Projection:  # the contract's signature
    """Return the pods that will run."""
    return training_operator.pytorch(body)


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the PyTorchJob; `replicas` is always written, and no Worker at all for one node."""
    spec = spec_of(workload, PyTorchSpec)
    counts = {"Master": 1} | ({"Worker": spec.nodes - 1} if spec.nodes > 1 else {})
    if spec.elastic is not None:
        counts = {"Worker": spec.elastic.max}
    deadline = kind_base.deadline_seconds(spec)
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": kind_base.run_metadata(workload, target),
        "spec": compact(
            {
                "nprocPerNode": str(processes(spec)),
                "elasticPolicy": _policy(workload.object_name, spec),
                "runPolicy": training.run_policy(spec.clean_pod_policy, spec.retries, spec.pods, deadline),
                "pytorchReplicaSpecs": {role: _replica(workload, spec, count) for role, count in counts.items()},
            }
        ),
    }


def _policy(name: str, spec: PyTorchSpec) -> Body | None:
    """Return `elasticPolicy`; where one bound is left out it is the other, and c10d is what is meant without a word.

    No `metrics`: an autoscaler would own `replicas`. The id keeps the rendezvous of one run apart from any other's.
    """
    if spec.elastic is None:
        return None
    least, most = spec.elastic.min, spec.elastic.max
    return compact(
        {
            "minReplicas": least if least < most else None,
            "maxReplicas": most,
            "maxRestarts": spec.retries or None,
            "rdzvId": name,
        }
    )


def _replica(workload: PlannedWorkload, spec: PyTorchSpec, count: int) -> Body:
    variables, grace = training.launching(workload, processes(spec), spec.gpus)
    main = kind_base.program(workload.with_env_first(*variables), "torchrun", _CONTAINER, (_PORT,))
    # torchrun cannot leave its error in the file that the kubelet reads, and the last lines of its log tell it anyway:
    # it removes the file first, which is a mount (TORCHELASTIC_ERROR_FILE; torch 2.15, errors/error_handler.py).
    template = pod.template(workload, {**main, "terminationMessagePolicy": "FallbackToLogsOnError"}, None)
    template = {**template, "spec": {**template["spec"], "terminationGracePeriodSeconds": grace}}
    return training.replica(count, spec.retries, template, kind_base.deadline_seconds(spec))
