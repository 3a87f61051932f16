"""What the training operator's webhooks refuse of a PyTorchJob or a TFJob.

Sources: github.com/kubeflow/training-operator, pkg/webhooks, read at v1.8.1 and v1.9.3. It has no defaulting webhook:
what its controllers fill in (pkg/apis/kubeflow.org/v1/*_defaults.go) comes after these rules and helps no object
through them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mlspec.model.scalars import shown
from mlspec.validation.declared import Declared, Release
from mlspec.validation.objection import Objection, Path
from mlspec.validation.webhooks.rule import DNS_LABEL, Rule, maps

_NEWEST: Final[Release] = (1, 9)
_MANAGERS: Final = ("kubeflow.org/training-operator", "kueue.x-k8s.io/multikueue")
_PYTORCH_ROLES: Final = ("Master", "Worker")
_LONGEST: Final = 63


@dataclass(frozen=True, slots=True)
class Job:
    """A PyTorchJob or TFJob, and the release of the operator that judges it."""

    body: Mapping[str, Any]
    release: Release
    container: str
    """The name of the container that trains."""

    @property
    def spec(self) -> Mapping[str, Any]:
        """What is wanted; no schema asks that there is anything."""
        spec: Mapping[str, Any] = self.body.get("spec", {})
        return spec

    @property
    def field(self) -> str:
        """The field that holds the roles."""
        return "pytorchReplicaSpecs" if self.body["kind"] == "PyTorchJob" else "tfReplicaSpecs"

    @property
    def roles(self) -> Mapping[str, Any]:
        """The roles by name."""
        roles: Mapping[str, Any] = self.spec.get(self.field, {})
        return roles

    def pods(self) -> Iterator[tuple[Path, list[dict[str, Any]]]]:
        """Yield the containers of each role, with the way to them."""
        for role, replica in self.roles.items():
            containers = replica.get("template", {}).get("spec", {}).get("containers")
            yield ("spec", self.field, role, "template", "spec", "containers"), maps(containers)


def name(job: Job) -> Iterator[Objection]:
    """The name of a PyTorchJob or TFJob starts with a letter and is a label of at most 63 characters (RFC 1035), since
    it begins the name of each pod's Service. Kubernetes itself would also take digits first, dots and 253 characters.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go, validatePyTorchJob,
    and pkg/webhooks/tensorflow/tfjob_webhook.go, validateTFJob.
    """
    written = str(job.body.get("metadata", {}).get("name", ""))
    if not DNS_LABEL.fullmatch(written) or len(written) > _LONGEST:
        message = f"metadata.name: {shown(written)} is no name of a {job.body['kind']}"
        help = "lower-case letters, digits and `-`, a letter first, at most 63 characters"
        yield Objection("MLS330", message, ("metadata", "name"), help)


def manager(job: Job) -> Iterator[Objection]:
    """`runPolicy.managedBy` names who runs the job: the training operator itself, or MultiKueue. Anything else would
    leave the job to nobody. Since training-operator 1.9; the schema of 1.8 does not know the field.

    Of a stored TFJob it cannot be changed either; of a PyTorchJob 1.9.3 compares the new object with itself, so that
    nothing is refused.

    Source: kubeflow/training-operator v1.9.3, pkg/common/util/webhooks.go, ValidateRunPolicy and
    ValidateRunPolicyUpdate.
    """
    written = job.spec.get("runPolicy", {}).get("managedBy")
    if job.release >= (1, 9) and written is not None and written not in _MANAGERS:
        message = f"spec.runPolicy.managedBy: {shown(written)} runs no training jobs"
        yield Objection(
            "MLS331", message, ("spec", "runPolicy", "managedBy"), f"leave it out, or write `{_MANAGERS[0]}`"
        )


def pytorch_roles(job: Job) -> Iterator[Objection]:
    """The roles of a PyTorchJob are `Master` and `Worker`, spelled so: the webhook comes before the controller turns
    `worker` into `Worker`. The schema takes any key. A TFJob's roles are not looked at.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go,
    validatePyTorchReplicaSpecs.
    """
    for role in job.roles if job.field == "pytorchReplicaSpecs" else ():
        if role not in _PYTORCH_ROLES:
            message = f"spec.{job.field}: {shown(role)} is no role of a PyTorchJob"
            yield Objection("MLS332", message, ("spec", job.field, role), "write `Master` or `Worker`")


def images(job: Job) -> Iterator[Objection]:
    """Every container of a PyTorchJob or TFJob has an image, sidecars too; the schema does not ask for one. Init
    containers are not looked at here.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go,
    validatePyTorchReplicaSpecs, and pkg/webhooks/tensorflow/tfjob_webhook.go, validateTFReplicaSpecs.
    """
    for path, containers in job.pods():
        for index, container in enumerate(containers):
            if not container.get("image"):
                message = f"{'.'.join(map(str, path))}[{index}]: a container without an image"
                yield Objection("MLS333", message, (*path, index, "image"), "add `image`")


def containers(job: Job) -> Iterator[Objection]:
    """Every role has a container of the name that the operator looks for: `pytorch` in a PyTorchJob, `tensorflow` in a
    TFJob. It adds ports and variables to that one, and goes by its exit code.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go,
    validatePyTorchReplicaSpecs, and pkg/webhooks/tensorflow/tfjob_webhook.go, validateTFReplicaSpecs.
    """
    for path, found in job.pods():
        if not any(container.get("name") == job.container for container in found):
            message = f"{'.'.join(map(str, path))}: no container is named `{job.container}`"
            yield Objection("MLS334", message, path, f"name the one that trains `{job.container}`")


def replicas(job: Job) -> Iterator[Objection]:
    """A PyTorchJob has exactly one Master, and says so: `replicas: 1`, since nothing fills it in before the rule. Of
    other roles there is at least one pod, where a number is written (since training-operator 1.9).

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go,
    validatePyTorchReplicaSpecs.
    """
    for role, replica in job.roles.items() if job.field == "pytorchReplicaSpecs" else ():
        path, count = ("spec", job.field, role, "replicas"), replica.get("replicas")
        if role == "Master" and count != 1:
            yield Objection("MLS335", f"{'.'.join(path)}: a PyTorchJob has exactly one Master", path, "write 1")
        elif role != "Master" and count is not None and count < 1 and job.release >= (1, 9):
            yield Objection("MLS335", f"{'.'.join(path)}: {count} pods", path, "write 1 or more, or leave the role out")


def elastic(job: Job) -> Iterator[Objection]:
    """An elastic PyTorchJob has Workers, whose number is what may change (since training-operator 1.9; 1.8 takes the
    job, and its controller then fails on the missing role unless `minReplicas` or `maxReplicas` is written, so that
    there are no pods). And processes of a pod are counted once: by `nprocPerNode`, or by the older
    `elasticPolicy.nProcPerNode`, not by both; mlspec always writes the first.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go, validateSpec;
    pkg/apis/kubeflow.org/v1/pytorch_defaults.go, setElasticPolicy.
    """
    policy = job.spec.get("elasticPolicy")
    if policy is None or job.field != "pytorchReplicaSpecs":
        return
    counted = "minReplicas" in policy or "maxReplicas" in policy
    if "Worker" not in job.roles and (job.release >= (1, 9) or not counted):
        message = "spec.elasticPolicy: an elastic job needs Workers, whose number may change"
        yield Objection("MLS336", message, ("spec", "elasticPolicy"), "write `elastic:` in the step instead")
    if "nProcPerNode" in policy and "nprocPerNode" in job.spec:
        path = ("spec", "elasticPolicy", "nProcPerNode")
        message = f"{'.'.join(path)}: `spec.nprocPerNode` counts the processes of a pod already"
        yield Objection("MLS336", message, path, "remove it, and write `processes` in the step")


def chief(job: Job) -> Iterator[Objection]:
    """A TFJob has a `Chief` or a `Master`, which are the same, not both: the job ends when it does.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/tensorflow/tfjob_webhook.go, validateTFReplicaSpecs;
    pkg/apis/kubeflow.org/v1/tensorflow_types.go, IsChiefOrMaster.
    """
    if job.field == "tfReplicaSpecs" and {"Chief", "Master"} <= job.roles.keys():
        path = ("spec", "tfReplicaSpecs", "Master")
        yield Objection("MLS337", "spec.tfReplicaSpecs: both a Chief and a Master", path, "remove `Master`")


def specified(job: Job) -> Iterator[Objection]:
    """A training job has roles. The schema asks for them in `spec`, but not for `spec`.

    Source: kubeflow/training-operator v1.8.1, v1.9.3, pkg/webhooks/pytorch/pytorchjob_webhook.go,
    validatePyTorchReplicaSpecs, and pkg/webhooks/tensorflow/tfjob_webhook.go, validateTFReplicaSpecs.
    """
    if job.field not in job.spec:
        path = ("spec", job.field)
        yield Objection("MLS338", f"{'.'.join(path)}: nothing trains", path, "leave `spec` as it was")


RULES: Final = (
    Rule("MLS330", name),
    Rule("MLS331", manager),
    Rule("MLS332", pytorch_roles),
    Rule("MLS333", images),
    Rule("MLS334", containers),
    Rule("MLS335", replicas),
    Rule("MLS336", elastic),
    Rule("MLS337", chief),
    Rule("MLS338", specified),
)
_CONTAINERS: Final = {"PyTorchJob": "pytorch", "TFJob": "tensorflow"}


def judge(body: dict[str, Any], declared: Declared) -> Iterator[Objection]:
    """Yield what the webhooks have against a PyTorchJob or TFJob."""
    job = Job(body, declared.operators.get("training-operator", _NEWEST), _CONTAINERS[body["kind"]])
    for rule in RULES:
        yield from rule.judge(job)
