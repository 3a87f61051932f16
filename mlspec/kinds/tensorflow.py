"""Kind `tensorflow`: training in roles, as a kubeflow.org/v1 TFJob."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, Final, Literal

from pydantic import ConfigDict, model_validator

from mlspec import kind_base
from mlspec.ir import Facts, Gvk, Labels, PartPath, Place, PlannedWorkload, Port, Target
from mlspec.k8s import pod, training
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body
from mlspec.kind_base import Finding, spec_of
from mlspec.kind_specs import PodFields, Program, StepSpec, one_program
from mlspec.model.base import SpecModel, field, refused, refused_inside
from mlspec.model.blocks import Arguments, Command
from mlspec.model.handover import Script
from mlspec.model.operators import TRAINING
from mlspec.model.scalars import ImageReference, Positive
from mlspec.names import Derived
from mlspec.projection import training_operator

# The operator looks for this container and this port by name (training-operator 1.8 and 1.9, tensorflow_types.go).
_CONTAINER: Final = "tensorflow"
_PORT: Final = Port(2222, "TCP", "tfjob-port")
# As users write them, and as the operator does; the operator names pods after the second in lower case.
_ROLES: Final = {"chief": "Chief", "worker": "Worker", "ps": "PS", "evaluator": "Evaluator"}
# The job ends when its chief does, or else its first worker (tfjob_controller.go, UpdateJobStatus).
_ENDING: Final = ("chief", "worker")


class Role(PodFields):
    """Pods of one role; what is left out is the step's."""

    replicas: Positive = field(1, "Pods of the role.", "`replicas`, always written", 3)
    image: ImageReference | None = field(
        None, "Image of the role. Default: the step's.", "the container's `image`", "tensorflow/tensorflow:2.19.0"
    )
    command: Command | None = field(
        None,
        "Exec form, instead of the step's `command` or `script`. Default: the step's.",
        "the container's `command`",
        ["python", "/opt/serve.py"],
    )
    script: Script | None = field(
        None,
        "A Python program, of the repository or in the image, instead of the step's. Default: the step's.",
        "the container's `command`, behind `python`",
        "/opt/evaluate.py",
    )
    args: Arguments | None = field(
        None,
        "A list, or a map of flags, instead of the step's. Default: the step's.",
        "the container's `args`",
        {"split": "test"},
    )

    @model_validator(mode="after")
    def _one_program(self) -> Role:
        one_program(self.command, self.script)
        return self


class Roles(SpecModel):
    """The roles of a job, at least one."""

    model_config = ConfigDict(json_schema_extra={"minProperties": 1})

    chief: Role | None = field(
        None, "Leads the training and ends the job; at most one pod.", "`tfReplicaSpecs.Chief`", {}
    )
    worker: Role | None = field(
        None, "Trains; the first ends the job where there is no chief.", "`tfReplicaSpecs.Worker`", {"replicas": 3}
    )
    ps: Role | None = field(
        None,
        "Parameter servers.",
        "`tfReplicaSpecs.PS`",
        {"replicas": 2, "gpu": 0, "resources": {"cpu": 2, "memory": "4Gi"}},
    )
    evaluator: Role | None = field(
        None, "Evaluates checkpoints beside the training.", "`tfReplicaSpecs.Evaluator`", {"script": "/opt/evaluate.py"}
    )

    @model_validator(mode="after")
    def _together(self) -> Roles:
        found = self.by_name()
        if not found:
            raise refused("a job needs at least one role", "write `{worker: {}}`")
        if self.chief is not None and self.chief.replicas > 1:
            error = refused(
                f"a job has one chief, not {self.chief.replicas}",
                "write `replicas: 1`; more pods that train are workers",
                "MLS231",
            )
            raise refused_inside([(("chief", "replicas"), error)])
        if not any(name in found for name in _ENDING):
            name = next(iter(found))
            error = refused(
                f"`{name}` without a chief or a worker: the job would never end",
                "add `worker: {}` to `roles`",
                "MLS231",
            )
            raise refused_inside([((name, "[key]"), error)])
        return self

    def by_name(self) -> dict[str, Role]:
        """Return the roles that there are, in the operator's order."""
        found = {name: getattr(self, name) for name in _ROLES}
        return {name: role for name, role in found.items() if role is not None}


class TensorFlowSpec(StepSpec):
    """A step of pods in roles, which find one another by TF_CONFIG."""

    kind: Literal["tensorflow"] = field(
        ..., "Pods in roles that train together with tf.distribute.", "a kubeflow.org/v1 TFJob", "tensorflow"
    )
    roles: Roles = field(
        ...,
        "Pods by role: chief, worker, ps, evaluator.",
        "`tfReplicaSpecs`",
        {"chief": {}, "worker": {"replicas": 3}},
    )
    clean_pod_policy: Literal["Running", "None", "All"] = field(
        "Running",
        "Pods deleted when the job ends. Not part of the run's name.",
        "`runPolicy.cleanPodPolicy`",
        "None",
    )

    def parts(self) -> Mapping[PartPath, PodFields]:
        """Return the roles."""
        return {("roles", name): role for name, role in self.roles.by_name().items()}

    def images(self) -> Mapping[PartPath, str]:
        """Return the image of the step, and those of roles that have their own."""
        found = dict(super().images())
        for name, role in self.roles.by_name().items():
            found |= {("roles", name, "image"): role.image} if role.image is not None else {}
        return found

    def programs(self) -> Mapping[PartPath, Program]:
        """Return what the pods of each role start."""
        own = Program(self.command, self.script)
        written = {name: Program(role.command, role.script) for name, role in self.roles.by_name().items()}
        return {("roles", name): program if program.known else own for name, program in written.items()}

    @property
    def pods(self) -> int:
        """The pods of all roles."""
        return sum(role.replicas for role in self.roles.by_name().values())


TAG: Final = "tensorflow"
SPEC: Final = TensorFlowSpec
OPERATOR: Final = TRAINING
GVK: Final = Gvk("kubeflow.org", "v1", "TFJob")
UNHASHED: Final = frozenset({"clean_pod_policy"})
shared_memory = kind_base.quarter_of_memory


def facts(workload: PlannedWorkload, target: Target) -> Facts:  # the contract's signature
    """Return what holds for the pods of all roles; each has a headless Service of the same name."""
    spec, name = spec_of(workload, TensorFlowSpec), workload.object_name
    return Facts(
        gvk=GVK,
        place=Place.PIPELINE,
        pods=spec.pods,
        pod_labels=training.pod_labels(workload.labels, name, "tfjob-controller"),
        # Parameters and gradients go over the named port, collectives over random ones.
        talks_to_itself=spec.pods > 1,
        derived=tuple(
            Derived(f"the pod and Service of the last {role}", (name, f"-{role}-", str(written.replicas - 1)))
            for role, written in spec.roles.by_name().items()
        ),
        children=(("", "Pod"), ("", "Service")),
    )


def check(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:  # the contract's signature
    """As many pods as a namespace holds."""
    spec = spec_of(workload, TensorFlowSpec)
    if spec.pods > training_operator.MOST_PODS:
        largest = max(spec.roles.by_name().items(), key=lambda role: role[1].replicas)[0]
        message = f"{spec.pods} pods, but Kubernetes is made for {training_operator.MOST_PODS} in a namespace"
        yield Finding("MLS105", message, ("roles", largest, "replicas"), "write fewer `replicas`, with more GPUs each")


def project(body: Body, target: Target, secrets: Labels) -> Projection:  # the contract's signature
    """Return the pods that will run."""
    return training_operator.tensorflow(body)


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the TFJob; `replicas` is always written."""
    spec = spec_of(workload, TensorFlowSpec)
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": kind_base.run_metadata(workload, target),
        "spec": {
            "runPolicy": training.run_policy(
                spec.clean_pod_policy, spec.retries, spec.pods, kind_base.deadline_seconds(spec)
            ),
            "tfReplicaSpecs": {
                _ROLES[name]: _replica(workload, spec, name, role) for name, role in spec.roles.by_name().items()
            },
        },
    }


def _replica(workload: PlannedWorkload, spec: TensorFlowSpec, name: str, role: Role) -> Body:
    pods = replace(workload.part(("roles", name)), spec=_as_role(spec, role))
    main = kind_base.program(pods, "python", _CONTAINER, (_PORT,))
    deadline = kind_base.deadline_seconds(spec)
    return training.replica(role.replicas, spec.retries, pod.template(pods, main, None), deadline)


def _as_role(spec: TensorFlowSpec, role: Role) -> TensorFlowSpec:
    """Return the step with the program of a role: its image, its command or script, its arguments."""
    own: dict[str, Any] = {"image": role.image or spec.image, "args": spec.args if role.args is None else role.args}
    if role.command is not None or role.script is not None:
        own |= {"command": role.command, "script": role.script}
    return spec.model_copy(update=own)
