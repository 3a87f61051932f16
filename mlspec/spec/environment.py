"""The platform's file: everything that `environments/<env>.yaml` and `common.yaml` may say."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema, create_model, model_validator

from mlspec.all_kinds import OPERATORS
from mlspec.model.base import SpecModel, refused
from mlspec.model.blocks import Words
from mlspec.model.scalars import (
    Boolean,
    Cidr,
    Cpu,
    Duration,
    Memory,
    Name,
    Natural,
    ObjectName,
    Pattern,
    PortNumber,
    Positive,
    ResourceName,
    Text,
    Version,
    matching,
    text,
)

API_VERSION: Final = "mlspec.dev/v1alpha1"
Access = Literal["ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"]
LabelMap = dict[Text, Text]


def _money(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"[0-9]+(\.[0-9]+)?", written):
        raise refused(f"`{written}` is not a price", "write a decimal number, without a currency: `2.48`")
    return written


_url = matching(r"(https?|ssh)://[^\s@]*[^\s]*|[\w.-]+@[\w.-]+:[^\s]+", "a URL", "write `https://…`")


class Cluster(SpecModel):
    """The cluster that the environment lives in."""

    server: Annotated[
        str, BeforeValidator(matching(r"https://[^\s/]+(/[^\s]*)?", "an https URL", "write `https://…`"))
    ] = Field("https://kubernetes.default.svc", description="API server, the same text in Application and AppProject.")


class NamespaceRules(SpecModel):
    """How namespaces are named and who makes them."""

    pattern: Pattern = Field("{project}-{environment}", description="Name of a project's namespace.")
    manage: Boolean = Field(
        True, description="true: emitted, one project each. false: it exists, projects may share it."
    )
    pod_security: Literal["restricted", "baseline", "privileged"] = Field(
        "baseline", description="The lowest Pod Security level allowed, and the namespace's label."
    )


class Prometheus(SpecModel):
    """prometheus-operator and the Prometheus that scrapes."""

    version: Version = Field(description="Version of prometheus-operator: `0.85`.")
    namespace: Name = Field(description="Namespace of Prometheus.")
    pod_labels: LabelMap = Field(description="Labels of its pods.", min_length=1)


class StorageClass(SpecModel):
    """A StorageClass of the cluster."""

    access: tuple[Access, ...] = Field(description="Access modes that it offers.", min_length=1)
    binding: Literal["Immediate", "WaitForFirstConsumer"] = Field("Immediate", description="Its volumeBindingMode.")


class Toleration(SpecModel):
    """A toleration, as Kubernetes writes it."""

    key: Text | None = Field(None, description="Taint key; none with operator Exists: all.")
    operator: Literal["Exists", "Equal"] | None = Field(None, description="Default: Equal.")
    value: Text | None = Field(None, description="Taint value.")
    effect: Literal["NoSchedule", "PreferNoSchedule", "NoExecute"] | None = Field(
        None, description="Default: all effects."
    )
    toleration_seconds: Natural | None = Field(None, description="How long a NoExecute taint is borne.")


class GpuType(SpecModel):
    """A type of GPU, or of MIG slice."""

    resource: ResourceName = Field("nvidia.com/gpu", description="Extended resource name.")
    per_node: Positive | None = Field(None, description="GPUs of the largest node; more are refused.")
    node_selector: LabelMap = Field({}, description="Labels of its nodes.")
    tolerations: tuple[Toleration, ...] = Field((), description="Taints of its nodes.")
    price_per_hour: Annotated[str, BeforeValidator(_money), WithJsonSchema({"type": ["string", "number"]})] | None = (
        Field(None, description="Price of one GPU an hour.")
    )


class Placement(SpecModel):
    """Where pods without GPU run."""

    node_selector: LabelMap = Field({}, description="Labels of the nodes.")
    tolerations: tuple[Toleration, ...] = Field((), description="Taints of the nodes.")


class Defaults(SpecModel):
    """Used where a step or service says nothing."""

    cpu: Cpu = Field("1", description="CPUs of a pod.")
    memory: Memory = Field("2Gi", description="Memory of a pod.")
    gpu: Name | None = Field(None, description="GPU type of `gpu: 1`. Default: the only type.")


class Images(SpecModel):
    """Rules about images."""

    pull_secrets: tuple[ObjectName, ...] = Field((), description="imagePullSecrets of every ServiceAccount.")


class ServiceAccounts(SpecModel):
    """ServiceAccounts of workloads."""

    annotations: dict[Text, Pattern] = Field({}, description="Cloud identity: IRSA, Workload Identity.")


class PeerSelector(SpecModel):
    """Pods in a namespace."""

    namespace: Name = Field(description="Their namespace.")
    pod_labels: LabelMap = Field(description="Their labels.", min_length=1)


class Destination(SpecModel):
    """Something that pods may reach: networks, or pods of a namespace."""

    cidrs: tuple[Cidr, ...] = Field((), description="Networks.")
    namespace: Name | None = Field(None, description="Namespace of the pods, instead of networks.")
    pod_labels: LabelMap = Field({}, description="Labels of the pods.")
    ports: tuple[PortNumber, ...] = Field((443,), description="TCP ports.", min_length=1)
    secret: ObjectName | None = Field(None, description="Secret with storage credentials for KServe.")

    @model_validator(mode="after")
    def _one_form(self) -> Destination:
        if bool(self.cidrs) == (self.namespace is not None):
            help = "keep one of the two" if self.cidrs else "add `cidrs: [10.0.0.0/8]`"
            raise refused("a destination has either `cidrs` or `namespace` with `podLabels`", help)
        if self.namespace is not None and not self.pod_labels:
            raise refused("`namespace` needs `podLabels`", "say which of its pods")
        return self


class Network(SpecModel):
    """What network policies need to know about the cluster."""

    dns: Literal["kube-dns", "node-local"] = Field("kube-dns", description="Who answers DNS queries.")
    gateway: PeerSelector | None = Field(
        None, description="Pods that bring requests to services; required with kserve."
    )
    destinations: dict[Name, Destination] = Field(
        {}, description="Named destinations; s3, gs, hf, https serve model URIs."
    )


class AccessRules(SpecModel):
    """Who may do what."""

    viewers: tuple[Pattern, ...] = Field(("{owner}",), description="Groups that may read.")
    operators: tuple[Pattern, ...] = Field(("{owner}",), description="Groups that may also delete runs and pods.")


class Quota(SpecModel):
    """Totals of a managed namespace."""

    cpu: Cpu | None = Field(None, description="CPUs.")
    memory: Memory | None = Field(None, description="Memory.")
    gpu: Natural | None = Field(None, description="GPUs, of each resource in the catalogue.")
    storage: Memory | None = Field(None, description="Storage of all claims.")


class SyncWindow(SpecModel):
    """An Argo CD sync window."""

    kind: Literal["allow", "deny"] = Field(description="Whether syncs are allowed or denied in it.")
    schedule: Text = Field(description="Cron schedule of its start.")
    duration: Duration = Field(description="How long it lasts.")
    time_zone: Text | None = Field(None, description="Default: UTC.")
    manual_sync: Boolean | None = Field(None, description="Whether a person may still sync.")


class ArgoCD(SpecModel):
    """Argo CD and the repository that it reads."""

    repo_url: Annotated[str, BeforeValidator(_url)] = Field(alias="repoURL", description="URL of this repository.")
    revision: Text = Field("refs/heads/main", description="Git revision that the environment follows.")
    path: Annotated[
        str,
        BeforeValidator(
            matching(r"(?!/)([^/\s]+(/[^/\s]+)*)?", "a path inside the repository", "write it without leading `/`")
        ),
    ] = Field("", description="Folder of this root inside the repository. Default: the repository itself.")
    namespace: Name = Field("argocd", description="Namespace of Argo CD.")
    version: Version = Field("3.5", description="Argo CD's version.")
    windows: tuple[SyncWindow, ...] = Field((), description="Sync windows of the serving Applications.")


class EnvironmentFields(SpecModel):
    """An environment, without the operators that kinds declare."""

    api_version: Literal["mlspec.dev/v1alpha1"] = Field(description="Version of this format.")
    kind: Literal["Environment"]
    kubernetes: Version = Field(description="Kubernetes' minor version, `1.34`; picks the schemas.")
    cluster: Cluster = Cluster()
    namespace: NamespaceRules = NamespaceRules()
    prometheus: Prometheus | None = Field(None, description="Default: no monitors.")
    storage: dict[ObjectName, StorageClass] = Field({}, description="StorageClasses, in order of preference.")
    gpus: dict[Name, GpuType] = Field({}, description="The catalogue of GPU types.")
    placement: Placement = Placement()
    defaults: Defaults = Defaults()
    images: Images = Images()
    service_accounts: ServiceAccounts = ServiceAccounts()
    network: Network = Network()
    access: AccessRules = AccessRules()
    quota: Quota | None = Field(None, description="Default: none.")
    argocd: ArgoCD
    overrides: Words = Field(("**",), description="Paths that a project may set under `environments.<env>`.")


_operator_fields: Final[dict[str, Any]] = {
    operator.field: (operator.type | None, Field(None, description=operator.description)) for operator in OPERATORS
}
Environment = create_model("Environment", __base__=EnvironmentFields, __doc__="An environment.", **_operator_fields)


class CommonFields(EnvironmentFields):
    """`common.yaml`: every field is optional."""

    api_version: Literal["mlspec.dev/v1alpha1"] | None = None  # type: ignore[assignment]  # wider than in an environment
    kind: Literal["Environment"] | None = None  # type: ignore[assignment]  # wider than in an environment
    kubernetes: Version | None = None  # type: ignore[assignment]  # wider than in an environment
    argocd: ArgoCD | None = None  # type: ignore[assignment]  # wider than in an environment


CommonEnvironment = create_model("CommonEnvironment", __base__=CommonFields, __doc__="common.yaml.", **_operator_fields)


def operators_of(environment: EnvironmentFields) -> dict[str, Any]:
    """Return the operators that an environment declares, by field."""
    found = {operator.field: getattr(environment, operator.field) for operator in OPERATORS}
    return {name: value for name, value in found.items() if value is not None}
