"""What kube-apiserver checks in its own code, for the kinds that mlspec emits and the Pods and Services they become.

Each module is about one topic and names its sources in k8s.io/kubernetes. Where releases differ, a rule asks
`Found.kubernetes`; features are taken to be as each release has them by default.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mlspec.validation.declared import Declared, Release
from mlspec.validation.native import access, claims, custom, jobs, metadata, network_policies, pods, quotas, services
from mlspec.validation.native.found import Body, Found
from mlspec.validation.objection import Objection

_KINDS: Final[Mapping[tuple[str, str], Callable[[Found, Body], None]]] = {
    ("batch/v1", "Job"): jobs.judge,
    ("kubeflow.org/v1", "PyTorchJob"): custom.judge,
    ("machinelearning.seldon.io/v1", "SeldonDeployment"): custom.judge,
    ("networking.k8s.io/v1", "NetworkPolicy"): network_policies.judge,
    ("rbac.authorization.k8s.io/v1", "Role"): access.role,
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): access.role_binding,
    ("v1", "ConfigMap"): access.config_map,
    ("v1", "LimitRange"): quotas.limit_range,
    ("v1", "PersistentVolumeClaim"): claims.judge,
    ("v1", "Pod"): pods.judge,
    ("v1", "ResourceQuota"): quotas.quota,
    ("v1", "Service"): services.judge,
}


def judge(body: dict[str, Any], declared: Declared) -> Iterator[Objection]:
    """Yield what is against an object; of other kinds only the metadata is judged."""
    found = Found(declared.kubernetes)
    metadata.judge(found, body)
    if rule := _KINDS.get((body["apiVersion"], body["kind"])):
        rule(found, body)
    yield from found.objections


def judge_named(body: dict[str, Any], declared: Declared) -> list[Objection]:
    """Return what is against the name and the namespace of an object; `judge` asks for these, too."""
    found = Found(declared.kubernetes)
    metadata.named(found, body)
    return found.objections


def judge_projected(body: Body, kubernetes: Release) -> list[Objection]:
    """Return what is against a Pod or Service that an operator will make.

    The length of its name and of its labels' values is left to law 6 (mlspec/check/fits.py), which tells the sum. An
    image that is missing is one that only the platform knows; that a training job lacks one, its webhook says.
    """
    found = Found(kubernetes, projected=True)
    if body["kind"] == "Pod":
        pods.judge(found, body)
    else:
        metadata.judge(found, body)
        services.judge(found, body)
    return found.objections
