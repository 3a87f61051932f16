"""What `environments/<env>.yaml` says about a cluster: namespaces, storage, GPUs, nodes, defaults, totals."""

from __future__ import annotations

import re
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.diagnostics import suggestion
from mlspec.model.base import SpecModel, field, refused, refused_inside
from mlspec.model.labels import LabelKey, LabelMap, LabelValue
from mlspec.model.scalars import (
    Boolean,
    Cpu,
    Memory,
    Name,
    Natural,
    Pattern,
    Positive,
    ResourceName,
    Version,
    matching,
    shown,
    text,
)

Access = Literal["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]


def _money(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", written):
        raise refused(f"{shown(written)} is not a price", "write a decimal number, without a currency: `2.48`")
    return written


IN_CLUSTER: Final = "https://kubernetes.default.svc"
"""The address of its own cluster, for every Argo CD."""


class Cluster(SpecModel):
    """The cluster that the environment lives in."""

    server: Annotated[
        str, BeforeValidator(matching(r"https://[^\s/@]+(/[^\s]*)?", "an https URL", "write `https://…`"))
    ] = field(
        IN_CLUSTER,
        "API server, the same text in Application and AppProject.",
        "`destination.server` of Applications and AppProject",
        "https://prod.example.com:6443",
    )


class NamespaceRules(SpecModel):
    """How namespaces are named and who makes them."""

    pattern: Pattern = field(
        "{project}-{environment}",
        "Name of a project's namespace.",
        "`metadata.name` of the Namespace, `metadata.namespace` of every other object",
        "ml-{project}",
    )
    manage: Boolean = field(
        True,
        "true: emitted, one project each. false: it exists, projects may share it.",
        "the Namespace, and with it the ResourceQuota and LimitRange",
        False,
    )
    pod_security: Literal["restricted", "baseline", "privileged"] = field(
        "baseline",
        "The lowest Pod Security level allowed; the label is the strictest that all pods reach.",
        "the Namespace's label `pod-security.kubernetes.io/enforce`",
        "restricted",
    )


class Prometheus(SpecModel):
    """prometheus-operator and the Prometheus that scrapes."""

    version: Version = field(
        ..., "Version of prometheus-operator: `0.85`.", "no object: chooses the schema of ServiceMonitors", "0.85"
    )
    namespace: Name = field(
        ..., "Namespace of Prometheus.", "`namespaceSelector` of who may scrape, in NetworkPolicies", "monitoring"
    )
    pod_labels: LabelMap = field(
        ...,
        "Labels of its pods.",
        "`podSelector` of who may scrape, in NetworkPolicies",
        {"app.kubernetes.io/name": "prometheus"},
        min_length=1,
    )


class StorageClass(SpecModel):
    """A StorageClass of the cluster."""

    access: tuple[Access, ...] = field(
        ...,
        "Access modes that it offers.",
        "no object: chooses the class of volumes that name none",
        ["ReadWriteMany", "ReadOnlyMany"],
        min_length=1,
    )
    binding: Literal["Immediate", "WaitForFirstConsumer"] = field(
        "Immediate",
        "Its volumeBindingMode.",
        "an annotation: Argo CD does not wait for a claim that waits for its consumer",
        "WaitForFirstConsumer",
    )


class Toleration(SpecModel):
    """A toleration, as Kubernetes writes it."""

    key: LabelKey | None = field(
        None, "Taint key; none with operator Exists: all.", "`tolerations[].key`", "nvidia.com/gpu"
    )
    operator: Literal["Exists", "Equal"] | None = field(
        None, "How key and value are compared. Default: Equal.", "`tolerations[].operator`", "Exists"
    )
    value: LabelValue | None = field(None, "Taint value.", "`tolerations[].value`", "training")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = field(
        None, "What the taint does. Default: all effects.", "`tolerations[].effect`", "NoSchedule"
    )
    toleration_seconds: Natural | None = field(
        None, "How long a NoExecute taint is borne.", "`tolerations[].tolerationSeconds`", 300
    )

    @model_validator(mode="after")
    def _as_kubernetes_wants(self) -> Toleration:
        """Kubernetes refuses the pod otherwise, which Argo CD shows as a job that never starts."""
        if self.operator == "Exists" and self.value is not None:
            raise refused_inside([(("value", "[key]"), refused("operator Exists has no value", "remove `value`"))])
        if self.key is None and self.operator != "Exists":
            raise refused("a toleration without `key` needs `operator: Exists`", "add `key:`, or `operator: Exists`")
        if self.toleration_seconds is not None and self.effect != "NoExecute":
            error = refused("only effect NoExecute is borne for a time", "write `effect: NoExecute`, or remove it")
            raise refused_inside([(("tolerationSeconds", "[key]"), error)])
        return self


class GpuType(SpecModel):
    """A type of GPU, or of MIG slice."""

    resource: ResourceName = field(
        "nvidia.com/gpu", "Extended resource name.", "the name in requests and limits", "nvidia.com/mig-1g.10gb"
    )
    per_node: Positive | None = field(
        None, "GPUs of the largest node; more are refused.", "no object: it is a check", 8
    )
    node_selector: LabelMap = field(
        {}, "Labels of its nodes.", "`nodeSelector` of pods that use it", {"nvidia.com/gpu.product": "Tesla-T4"}
    )
    tolerations: tuple[Toleration, ...] = field(
        (),
        "Taints of its nodes.",
        "`tolerations` of pods that use it",
        [{"key": "nvidia.com/gpu", "operator": "Exists", "effect": "NoSchedule"}],
    )
    price_per_hour: Annotated[str, BeforeValidator(_money), WithJsonSchema({"type": ["string", "number"]})] | None = (
        field(None, "Price of one GPU an hour.", "no object", "2.48")
    )


class Placement(SpecModel):
    """Where pods without GPU run."""

    node_selector: LabelMap = field({}, "Labels of the nodes.", "`nodeSelector` of pods without GPU", {"pool": "cpu"})
    tolerations: tuple[Toleration, ...] = field(
        (),
        "Taints of the nodes.",
        "`tolerations` of pods without GPU",
        [{"key": "pool", "value": "batch", "effect": "NoSchedule"}],
    )


class Defaults(SpecModel):
    """Used where a step or service says nothing."""

    cpu: Cpu = field("1", "CPUs of a pod.", "`cpu` in requests and limits; with `quota` the LimitRange", 2)
    memory: Memory = field(
        "2Gi", "Memory of a pod.", "`memory` in requests and limits; with `quota` the LimitRange", "4Gi"
    )
    gpu: Name | None = field(
        None, "GPU type of `gpu: 1`. Default: the only type.", "chooses the entry of `gpus`", "a100"
    )


class Quota(SpecModel):
    """Totals of a managed namespace."""

    cpu: Cpu | None = field(None, "CPUs.", "`requests.cpu` and `limits.cpu` of the ResourceQuota", 256)
    memory: Memory | None = field(None, "Memory.", "`requests.memory` and `limits.memory` of the ResourceQuota", "1Ti")
    gpu: Natural | None = field(
        None, "GPUs, of each resource in the catalogue.", "`requests.<resource>` of the ResourceQuota", 16
    )
    storage: Memory | None = field(None, "Storage of all claims.", "`requests.storage` of the ResourceQuota", "5Ti")


_FRAMEWORKS: Final = (
    "batch/job",
    "deployment",
    "jobset.x-k8s.io/jobset",
    "kubeflow.org/jaxjob",
    "kubeflow.org/mpijob",
    "kubeflow.org/paddlejob",
    "kubeflow.org/pytorchjob",
    "kubeflow.org/tfjob",
    "kubeflow.org/xgboostjob",
    "leaderworkerset.x-k8s.io/leaderworkerset",
    "pod",
    "ray.io/raycluster",
    "ray.io/rayjob",
    "ray.io/rayservice",
    "sparkoperator.k8s.io/sparkapplication",
    "statefulset",
    "trainer.kubeflow.org/trainjob",
    "workload.codeflare.dev/appwrapper",
)
"""Every name that Kueue 0.14 to 0.19 registers (`FrameworkName` in pkg/controller/jobs); it refuses any other."""


def _framework(value: object) -> str:
    written = text(value)
    if written not in _FRAMEWORKS:
        raise refused(f"`{written[:60]}` is not a framework of Kueue", suggestion(written, _FRAMEWORKS))
    return written


Framework = Annotated[str, BeforeValidator(_framework), WithJsonSchema({"type": "string", "enum": list(_FRAMEWORKS)})]


class Kueue(SpecModel):
    """Kueue as installed in the cluster."""

    version: Version = field(..., "Kueue's version: `0.17`.", "chooses API version and schema of LocalQueues", "0.17")
    queue: Name | None = field(
        None,
        "The queue of steps that name none. Default: they are not queued.",
        "the label `kueue.x-k8s.io/queue-name` of runs; in a managed namespace the LocalQueue of that name",
        "research",
    )
    frameworks: tuple[Framework, ...] = field(
        (),
        "What Kueue's configuration enables (`integrations.frameworks`) and its defaults do not: from 0.19 on those "
        "leave out the training jobs of kubeflow.org/v1.",
        "no object: a queued step that nothing would queue is refused",
        ["kubeflow.org/pytorchjob", "kubeflow.org/tfjob"],
    )

    @property
    def release(self) -> tuple[int, ...]:
        """Major and minor."""
        return tuple(map(int, self.version.split(".")[:2]))


class RunRules(SpecModel):
    """What becomes of runs in the cluster."""

    on_supersede: Literal["keep", "delete"] = field(
        "keep",
        "A run that a newer one replaces is left as it is, running or finished, or pruned by Argo CD.",
        "the annotations of runs, when they are first written",
        "delete",
    )
