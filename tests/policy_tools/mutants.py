"""Objects that are made worse on purpose: what a tool must find, and what it cannot find in a custom resource."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any, Final

from mlspec.all_kinds import KINDS
from mlspec.report import stream
from tests.cluster.harness.goldens import Golden
from tests.policy_tools.seen import BLIND, Subject

Body = dict[str, Any]
_KINDS: Final = {kind.GVK.kind: kind for kind in KINDS.values()}


def dangerous(golden: Golden) -> dict[str, tuple[Body, list[Body]]]:
    """Return by kind an object of a golden whose pods are privileged, root, in the node's network, and those pods."""
    found = {}
    for resource in golden.resources:
        if resource.key.kind in BLIND and resource.key.kind not in found:
            body = copy.deepcopy(resource.body)
            for spec in _pod_specs(body):
                _open(spec)
            projection = _KINDS[resource.key.kind].project(body, golden.plan.target, {})
            found[resource.key.kind] = (body, [document.body for document in stream.projected("", projection)])
    return found


def _pod_specs(body: Body) -> Iterator[Body]:
    """Yield every description of pods in an object."""
    spec = body["spec"]
    if body["kind"] == "InferenceService":
        yield spec["predictor"]
    elif body["kind"] == "SeldonDeployment":
        yield from (component["spec"] for predictor in spec["predictors"] for component in predictor["componentSpecs"])
    else:
        roles = spec["pytorchReplicaSpecs" if body["kind"] == "PyTorchJob" else "tfReplicaSpecs"]
        yield from (role["template"]["spec"] for role in roles.values())


def _open(spec: Body) -> None:
    spec["hostNetwork"] = True
    spec["securityContext"] = {"runAsNonRoot": False, "runAsUser": 0}
    for container in (spec["model"],) if "model" in spec else spec["containers"]:
        container["securityContext"] = {"privileged": True, "runAsNonRoot": False, "runAsUser": 0}


def _without_read_only_root(bodies: list[Body]) -> None:
    for body in _of_kind(bodies, "Pod"):
        for container in body["spec"]["containers"]:
            container.get("securityContext", {}).pop("readOnlyRootFilesystem", None)


def _without_policies(bodies: list[Body]) -> None:
    bodies[:] = [body for body in bodies if body["kind"] != "NetworkPolicy"]


def _with_stray_services(bodies: list[Body]) -> None:
    for body in _of_kind(bodies, "Service"):
        if "selector" in body["spec"]:
            body["spec"]["selector"] = {"app": "other"}


def _with_stray_policies(bodies: list[Body]) -> None:
    for body in _of_kind(bodies, "NetworkPolicy"):
        body["spec"]["podSelector"] = {"matchLabels": {"app": "other"}}


def _with_tokens(bodies: list[Body]) -> None:
    for body in (*_of_kind(bodies, "Pod"), *_of_kind(bodies, "ServiceAccount")):
        body.get("spec", body).pop("automountServiceAccountToken", None)


def _with_wide_roles(bodies: list[Body]) -> None:
    for body in _of_kind(bodies, "Role"):
        body["rules"] = [{"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}]


def _without_limits(bodies: list[Body]) -> None:
    for body in _of_kind(bodies, "Pod"):
        for container in body["spec"]["containers"]:
            container.get("resources", {}).pop("limits", None)


def _of_kind(bodies: list[Body], kind: str) -> Iterator[Body]:
    return (body for body in bodies if body["kind"] == kind)


WEAKENED: Final[dict[str, tuple[Callable[[list[Body]], None], frozenset[tuple[str, str, str]]]]] = {
    "read-only-root": (
        _without_read_only_root,
        frozenset(
            {
                ("checkov", "CKV_K8S_22", "container of a run"),
                ("checkov", "CKV_K8S_22", "model server of KServe"),
                ("kube-score", "container-security-context-readonlyrootfilesystem", "container of a run"),
                ("kube-score", "container-security-context-readonlyrootfilesystem", "model server of KServe"),
            }
        ),
    ),
    "policies": (
        _without_policies,
        frozenset(
            {
                ("checkov", "CKV2_K8S_6", "pod of a run"),
                ("checkov", "CKV2_K8S_6", "pod of KServe"),
                ("kube-score", "pod-networkpolicy", "pod of a run"),
                ("kube-score", "pod-networkpolicy", "pod of KServe"),
            }
        ),
    ),
    "selectors-of-services": (_with_stray_services, frozenset({("kube-score", "service-targets-pod", "Service")})),
    "selectors-of-policies": (
        _with_stray_policies,
        frozenset({("kube-score", "networkpolicy-targets-pod", "NetworkPolicy")}),
    ),
    "tokens": (_with_tokens, frozenset({("checkov", "CKV_K8S_38", "pod of a run")})),
    "roles": (_with_wide_roles, frozenset({("checkov", "CKV_K8S_49", "Role")})),
    "limits": (
        _without_limits,
        frozenset(
            {
                ("checkov", "CKV_K8S_11", "container of a run"),
                ("checkov", "CKV_K8S_13", "model server of KServe"),
                ("kube-score", "container-resources", "container of a run"),
            }
        ),
    ),
}
"""What is taken away from what will be there, and findings that must come of it, none of them in the table."""


def weakened(subject: Subject, name: str) -> Subject:
    """Return a subject without one thing that makes it safe."""
    bodies = copy.deepcopy(list(subject.bodies))
    WEAKENED[name][0](bodies)
    return replace(subject, name=f"without {name}", bodies=tuple(bodies))
