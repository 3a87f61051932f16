"""What `environments/<env>.yaml` says about what is around the cluster: registries, networks, people, Argo CD."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import SpecModel, field, refused
from mlspec.model.labels import AnnotationKey, LabelMap
from mlspec.model.scalars import (
    Boolean,
    Cidr,
    Duration,
    ImageReference,
    Name,
    ObjectName,
    Pattern,
    PortNumber,
    Version,
    matching,
)
from mlspec.model.security import Digests

# No part begins with a dash: Git would hand it to ssh as an option (CVE-2017-1000117).
_is_url = matching(
    r"(https?|ssh)://[^\s/@-][^\s@]*(@(?!-)[^\s]+)?|\w[\w.-]*@\w[\w.-]*:(?!-)[^\s]+", "a URL", "write `https://…`"
)


def _url(value: object) -> str:
    written = _is_url(value)
    if re.match(r"[a-z]+://[^/@:]*:[^/@]*@", written):
        raise refused(
            "the URL carries a password, which would be committed", "give it to Argo CD as a repository Secret"
        )
    return written


Registry = Annotated[
    str,
    BeforeValidator(
        matching(
            r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?(:[0-9]{1,5})?(/[a-z0-9]+([._-]+[a-z0-9]+)*)*",
            "a registry",
            "write such as `ghcr.io/acme`, without `https://` and `*`",
        )
    ),
    WithJsonSchema({"type": "string"}),
]


class Images(SpecModel):
    """Rules about images."""

    registries: tuple[Registry, ...] = field(
        (),
        "Registries, or folders of them, that images may come from. Default: any.",
        "no object: every image of every pod is checked, those that operators add included",
        ["ghcr.io/acme", "registry.example.com"],
    )
    digests: Digests = field(
        "warn",
        "Whether images must be named by digest.",
        "no object: images without `@sha256:` are reported",
        "require",
    )
    helper: ImageReference = field(
        "python:3.12-slim",
        "Image with Python 3.8 or later, for gate Jobs.",
        "the container of every gate Job",
        "registry.example.com/python:3.12-slim",
    )
    pull_secrets: tuple[ObjectName, ...] = field(
        (), "imagePullSecrets of every ServiceAccount.", "`imagePullSecrets` of every ServiceAccount", ["registry"]
    )


class ServiceAccounts(SpecModel):
    """ServiceAccounts of workloads."""

    annotations: dict[AnnotationKey, Pattern] = field(
        {},
        "Cloud identity: IRSA, Workload Identity.",
        "`metadata.annotations` of every ServiceAccount",
        {"eks.amazonaws.com/role-arn": "arn:aws:iam::111122223333:role/{project}-{environment}"},
    )


class SecretStore(SpecModel):
    """The store that external-secrets reads."""

    name: ObjectName = field(..., "Name of the store.", "`secretStoreRef.name` of every ExternalSecret", "vault")
    kind: Literal["SecretStore", "ClusterSecretStore"] = field(
        "ClusterSecretStore",
        "Whether it stands in the project's namespace, or serves the cluster.",
        "`secretStoreRef.kind` of every ExternalSecret",
        "SecretStore",
    )


class PeerSelector(SpecModel):
    """Pods in a namespace."""

    namespace: Name = field(..., "Their namespace.", "`namespaceSelector` in NetworkPolicies", "istio-system")
    pod_labels: LabelMap = field(
        ..., "Their labels.", "`podSelector` in NetworkPolicies", {"app": "istio-ingressgateway"}, min_length=1
    )


class Destination(SpecModel):
    """Something that pods may reach: networks, or pods of a namespace."""

    cidrs: tuple[Cidr, ...] = field(
        (), "Networks.", "`to[].ipBlock`, without the cloud's metadata address", ["10.0.0.0/8"]
    )
    namespace: Name | None = field(
        None, "Namespace of the pods, instead of networks.", "`to[].namespaceSelector`", "minio"
    )
    pod_labels: LabelMap = field({}, "Labels of the pods.", "`to[].podSelector`", {"app": "minio"})
    ports: tuple[PortNumber, ...] = field((443,), "TCP ports.", "`ports[].port`", [9000], min_length=1)
    secret: ObjectName | None = field(
        None,
        "Secret with storage credentials for KServe and Seldon.",
        "`secrets` of the ServiceAccount, where a model URI needs the destination; `envSecretRefName` for Seldon",
        "s3-credentials",
    )

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

    dns: Literal["kube-dns", "node-local"] = field(
        "kube-dns",
        "Who answers DNS queries.",
        "an egress rule of every NetworkPolicy: kube-dns, and with node-local the node's cache",
        "node-local",
    )
    gateway: PeerSelector | None = field(
        None,
        "Pods that bring requests to services; required with kserve or seldon.",
        "an ingress rule of every service's NetworkPolicy",
        {"namespace": "istio-system", "podLabels": {"app": "istio-ingressgateway"}},
    )
    destinations: dict[Name, Destination] = field(
        {},
        "Named destinations; s3, gs, hf, https serve model URIs.",
        "an egress rule of workloads that name it in `egress`, or whose model URI begins with it",
        {"s3": {"cidrs": ["10.0.0.0/8"]}},
    )


class AccessRules(SpecModel):
    """Who may do what."""

    viewers: tuple[Pattern, ...] = field(
        ("{owner}",), "Groups that may read.", "the RoleBinding `<project>-viewer`", ["{owner}", "ml-on-call"]
    )
    operators: tuple[Pattern, ...] = field(
        ("{owner}",),
        "Groups that may also delete runs and pods.",
        "the RoleBinding `<project>-operator`",
        ["ml-on-call"],
    )


class SyncWindow(SpecModel):
    """An Argo CD sync window."""

    kind: Literal["allow", "deny"] = field(
        ..., "Whether syncs are allowed or denied in it.", "`syncWindows[].kind`", "allow"
    )
    schedule: Annotated[
        str,
        BeforeValidator(
            matching(r"[-0-9*/,A-Za-z?#]+( +[-0-9*/,A-Za-z?#]+){4}", "a cron schedule", "write `0 8 * * 1-5`")
        ),
    ] = field(..., "Cron schedule of its start.", "`syncWindows[].schedule`", "0 8 * * 1-5")
    duration: Duration = field(..., "How long it lasts.", "`syncWindows[].duration`", "9h")
    time_zone: (
        Annotated[
            str,
            BeforeValidator(
                matching(
                    r"[A-Za-z][A-Za-z0-9]*([_+-][A-Za-z0-9]+)*(/[A-Za-z0-9_+-]+)*",
                    "a time zone",
                    "write `Europe/Berlin`",
                )
            ),
        ]
        | None
    ) = field(None, "Zone of the schedule. Default: UTC.", "`syncWindows[].timeZone`", "Europe/Berlin")
    manual_sync: Boolean | None = field(None, "Whether a person may still sync.", "`syncWindows[].manualSync`", True)


class ArgoCD(SpecModel):
    """Argo CD and the repository that it reads."""

    repo_url: Annotated[str, BeforeValidator(_url)] = field(
        ...,
        "URL of this repository.",
        "`source.repoURL` of Applications, `sourceRepos` of the AppProject",
        "https://git.example.com/ml/models.git",
        alias="repoURL",
    )
    revision: Annotated[
        str,
        BeforeValidator(matching(r"(?!-)(?!.*(\.\.|@\{))[^\s~^:?*\[\\]+", "a Git revision", "write `refs/heads/main`")),
    ] = field(
        "refs/heads/main",
        "Git revision that the environment follows.",
        "`source.targetRevision` of Applications",
        "refs/tags/v1.4",
    )
    path: Annotated[
        str,
        BeforeValidator(
            matching(
                r"(?!/)((?!\.{1,2}(/|\Z))[^/\s]+(/(?!\.{1,2}(/|\Z))[^/\s]+)*)?",
                "a path inside the repository",
                "write it without leading `/`",
            )
        ),
    ] = field(
        "",
        "Folder of this root inside the repository. Default: the repository itself.",
        "the beginning of `source.path` of Applications",
        "teams/vision",
    )
    namespace: Name = field(
        "argocd", "Namespace of Argo CD.", "`metadata.namespace` of Applications and AppProject", "gitops"
    )
    version: Version = field("3.5", "Argo CD's version.", "chooses the schemas, and what the AppProject may say", "3.4")
    windows: tuple[SyncWindow, ...] = field(
        (),
        "Sync windows of the serving Applications.",
        "`syncWindows` of the AppProject",
        [{"kind": "allow", "schedule": "0 8 * * 1-5", "duration": "9h"}],
    )
