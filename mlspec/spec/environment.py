"""The platform's file: everything that `environments/<env>.yaml` and `common.yaml` may say."""

from __future__ import annotations

from typing import Any, Final, Literal

from pydantic import create_model

from mlspec.all_kinds import OPERATORS
from mlspec.model.base import SpecModel, field
from mlspec.model.blocks import Words
from mlspec.model.scalars import Name, ObjectName, Version
from mlspec.model.security import Policy
from mlspec.spec.cluster import (
    Cluster,
    Defaults,
    GpuType,
    Kueue,
    NamespaceRules,
    Placement,
    Prometheus,
    Quota,
    RunRules,
    StorageClass,
)
from mlspec.spec.surroundings import AccessRules, ArgoCD, Images, Network, SecretStore, ServiceAccounts

API_VERSION: Final = "mlspec.dev/v1alpha1"
_FORMAT: Final = "nowhere: it says how the file is read"


class EnvironmentFields(SpecModel):
    """An environment, without the operators that kinds declare."""

    api_version: Literal["mlspec.dev/v1alpha1"] = field(..., "Version of this format.", _FORMAT, "mlspec.dev/v1alpha1")
    kind: Literal["Environment"] = field(..., "What the file is.", _FORMAT, "Environment")
    kubernetes: Version = field(
        ...,
        "Kubernetes' minor version, `1.34`; picks the schemas.",
        "no object: chooses the schemas of every core kind",
        "1.34",
    )
    cluster: Cluster = field(
        Cluster(),
        "The cluster that the environment lives in.",
        "`destination` of Applications and AppProject",
        {"server": "https://prod.example.com:6443"},
    )
    namespace: NamespaceRules = field(
        NamespaceRules(),
        "How namespaces are named and who makes them.",
        "the Namespace, and the namespace of every object",
        {"pattern": "ml-{project}", "podSecurity": "restricted"},
    )
    prometheus: Prometheus | None = field(
        None,
        "prometheus-operator and the Prometheus that scrapes. Default: no monitors.",
        "a headless Service and a ServiceMonitor a service; an ingress rule for the scraper",
        {"version": "0.85", "namespace": "monitoring", "podLabels": {"app.kubernetes.io/name": "prometheus"}},
    )
    kueue: Kueue | None = field(
        None,
        "Kueue, which lets queued runs start when there is room. Default: none.",
        "the queue's label on runs; in a managed namespace its LocalQueues, each of the ClusterQueue of its name",
        {"version": "0.17", "queue": "research"},
    )
    storage: dict[ObjectName, StorageClass] = field(
        {},
        "StorageClasses, in order of preference.",
        "`storageClassName` of PersistentVolumeClaims",
        {"nfs": {"access": ["ReadWriteMany"]}},
    )
    gpus: dict[Name, GpuType] = field(
        {},
        "The catalogue of GPU types.",
        "requests, limits, `nodeSelector` and `tolerations` of pods with `gpu`",
        {"a100": {"perNode": 8, "nodeSelector": {"nvidia.com/gpu.product": "NVIDIA-A100-SXM4-40GB"}}},
    )
    placement: Placement = field(
        Placement(),
        "Where pods without GPU run.",
        "`nodeSelector` and `tolerations` of pods without GPU",
        {"nodeSelector": {"pool": "cpu"}},
    )
    defaults: Defaults = field(
        Defaults(),
        "Used where a step or service says nothing.",
        "requests and limits of containers",
        {"cpu": 2, "memory": "4Gi", "gpu": "a100"},
    )
    images: Images = field(
        Images(), "Rules about images.", "every ServiceAccount, and what is checked", {"registries": ["ghcr.io/acme"]}
    )
    service_accounts: ServiceAccounts = field(
        ServiceAccounts(),
        "ServiceAccounts of workloads.",
        "every ServiceAccount",
        {"annotations": {"iam.gke.io/gcp-service-account": "{project}@example.iam.gserviceaccount.com"}},
    )
    network: Network = field(
        Network(),
        "What network policies need to know about the cluster.",
        "rules of NetworkPolicies",
        {"gateway": {"namespace": "istio-system", "podLabels": {"app": "istio-ingressgateway"}}},
    )
    secret_store: SecretStore | None = field(
        None,
        "The store of external-secrets that `secrets.<name>.external` names a key of. Default: none.",
        "`secretStoreRef` of every ExternalSecret",
        {"name": "vault", "kind": "ClusterSecretStore"},
    )
    access: AccessRules = field(
        AccessRules(),
        "Who may do what.",
        "RoleBindings to the viewer and operator Roles",
        {"operators": ["ml-on-call"]},
    )
    quota: Quota | None = field(
        None,
        "Totals of a managed namespace. Default: none.",
        "the ResourceQuota and LimitRange `<project>-quota`",
        {"cpu": 256, "memory": "1Ti", "gpu": 16, "storage": "5Ti"},
    )
    argocd: ArgoCD = field(
        ...,
        "Argo CD and the repository that it reads.",
        "the AppProject and Applications in generated/argocd/",
        {"repoURL": "https://git.example.com/ml/models.git"},
    )
    promotion: Literal["pinned", "follow"] = field(
        "pinned",
        "How services with `model.from` choose a run: the one that is pinned, or the newest as soon as it has passed.",
        "which run's model is served; the retries of the serving Application",
        "follow",
    )
    runs: RunRules = field(
        RunRules(), "What becomes of runs in the cluster.", "the annotations of runs", {"onSupersede": "delete"}
    )
    policy: Policy = field(
        {},
        "How much a policy finding weighs here: off, warn or error. Default: the code's own.",
        "no object: it decides what `check` and `generate` report",
        {"MLS404": "error"},
    )
    overrides: Words = field(
        ("**",),
        "Paths that a project may set under `environments.<env>`.",
        "no object: other overrides are refused",
        ["steps.*.args.*", "services.*.replicas.**"],
    )


_operator_fields: Final[dict[str, Any]] = {
    operator.field: (operator.type | None, field(None, operator.description, operator.goes, operator.example))
    for operator in OPERATORS
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
