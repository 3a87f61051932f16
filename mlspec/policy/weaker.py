"""What of a pod is weaker than mlspec writes it, field by field, given what `security` asks for."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product
from typing import Any, Final, NamedTuple

from mlspec import pod_security
from mlspec.ir_safety import LOWEST_USER, PlannedSecurity
from mlspec.k8s import meta
from mlspec.k8s.projected import Body
from mlspec.k8s.values import at, words
from mlspec.pod_security.baseline import is_filtered
from mlspec.policy.added import containers, has_other_user
from mlspec.policy.places import in_container
from mlspec.policy.subject import Judged, Path

_COMPARED: Final = (
    *("allowPrivilegeEscalation != false", "unrestricted capabilities"),
    *("runAsNonRoot != true", "runAsUser=0", "seccompProfile"),
)
"""Controls whose fields are compared here with what `security` asks for."""
_INHERITED: Final = ("spec", "securityContext")
"""The context that containers without one of their own have."""
_NUMBERS: Final = ("runAsUser", "runAsGroup")
"""Fields that a container without its own takes from the pod's context."""
_ANNOTATIONS: Final = ("metadata", "annotations")
_NETWORKS: Final = ("k8s.v1.cni.cncf.io/networks", "v1.multus-cni.io/default-network")
"""Annotations of pods by which Multus gives them more interfaces."""
_INJECTED: Final = {
    "linkerd.io/inject": ("enabled", "ingress"),
    "vault.hashicorp.com/agent-inject": ("true",),
    "dapr.io/enabled": ("true",),
}
"""Annotations of pods, and their values, by which webhooks add a container."""
_Fault = tuple[str, str]
"""A field of a security context, and what is wrong with it."""


class Weak(NamedTuple):
    """What is weaker, and the field of the Pod that it is about."""

    text: str
    field: Path
    of_object: bool = False
    """True where the field is one of the object itself."""


def weaker(judged: Judged, security: PlannedSecurity, minor: int) -> Iterator[Weak]:
    """Yield what is weaker about the containers that mlspec describes, and about the pod itself.

    Nothing of pods that are an operator's alone, such as those of a separate executor of Seldon.
    """
    names = [(name, added) for name, _, added in containers(judged)]
    if names and all(added and not has_other_user(name, judged.pods.added) for name, added in names):
        return
    inherited = at(judged.pod, "spec", "securityContext")
    yield from _standard(judged, minor)
    for name, container, added in containers(judged):
        if added:
            continue
        context = container.get("securityContext")
        found = [*_container(context, security)]
        if not has_other_user(name, judged.pods.added):
            found += _users(context, inherited, security)
        for key, text in found:
            inherits = key in _NUMBERS and at(context, key) is None and at(inherited, key) is not None
            field = _INHERITED if inherits else in_container(judged.pod, name, "securityContext")
            yield Weak(f"container {name}: {text}", (*field, key))
    yield from _written(judged.resource.body, security)
    yield from _pod(judged, inherited, security)


def _written(body: Body, security: PlannedSecurity) -> Iterator[Weak]:
    """Yield what an InferenceService's own context lacks, even if the runtime of today fills it in."""
    model = at(body, "spec", "predictor", "model")
    if body["kind"] == "InferenceService" and isinstance(model, dict):
        for key, text in _container(model.get("securityContext"), security):
            yield Weak(f"model: {text}", ("spec", "predictor", "model", "securityContext", key), of_object=True)


def _standard(judged: Judged, minor: int) -> Iterator[Weak]:
    """Yield what falls short of the standard, but for what is compared with `security`."""
    for control, at_fault, message, field in pod_security.judged(judged.pods, "restricted", minor):
        names = [name for name in at_fault if name not in judged.pods.added]
        if control in _COMPARED or (at_fault and not names):
            continue
        where = f"container {', '.join(names)}: " if names else ""
        yield Weak(f"{where}{message}", in_container(judged.pod, names[0] if names else "", *field))


def _container(context: Any, security: PlannedSecurity) -> Iterator[_Fault]:
    """Yield what a container's own context lacks; it holds wherever the pod's is replaced."""
    if at(context, "allowPrivilegeEscalation") is not False:
        yield "allowPrivilegeEscalation", "allowPrivilegeEscalation must be false"
    if "ALL" not in words(context, "capabilities", "drop"):
        yield "capabilities", "capabilities.drop must have ALL"
    more = sorted(set(words(context, "capabilities", "add")) - set(security.capabilities))
    if more:
        yield "capabilities", f"capabilities.add has {', '.join(more)}"
    if at(context, "readOnlyRootFilesystem") is not True and not security.writable_root:
        yield "readOnlyRootFilesystem", "readOnlyRootFilesystem must be true"
    if at(context, "runAsNonRoot") is not True and security.user != 0:
        yield "runAsNonRoot", "runAsNonRoot must be true"
    if not is_filtered(context):
        yield "seccompProfile", "seccompProfile.type must be RuntimeDefault or Localhost"


def _users(context: Any, inherited: Any, security: PlannedSecurity) -> Iterator[_Fault]:
    for field in _NUMBERS:
        number = at(context, field)
        yield from _number(field, at(inherited, field) if number is None else number, security)


def _number(field: str, number: Any, security: PlannedSecurity) -> Iterator[_Fault]:
    if number is None:
        yield field, f"{field} is missing"
    elif number != security.user and not (isinstance(number, int) and number >= LOWEST_USER):
        yield field, f"{field} is {number}, which `security.user` does not say"


def _pod(judged: Judged, inherited: Any, security: PlannedSecurity) -> Iterator[Weak]:
    """Yield what is weaker about the pod itself."""
    spec, account = judged.pod["spec"], judged.place[-1]
    if at(spec, "automountServiceAccountToken") is None:  # one that is mounted is MLS411
        text = "automountServiceAccountToken must be false, whatever the ServiceAccount says"
        yield Weak(text, ("spec", "automountServiceAccountToken"))
    if at(spec, "serviceAccountName") != account:
        text = f"serviceAccountName must be `{account}`: any other may have rights"
        yield Weak(text, ("spec", "serviceAccountName"))
    if at(spec, "enableServiceLinks") is not False:
        text = "enableServiceLinks must be false: variables tell every address of the namespace"
        yield Weak(text, ("spec", "enableServiceLinks"))
    if at(spec, "shareProcessNamespace") is True and "modelcar" not in judged.pods.added:
        text = "shareProcessNamespace must not be true: containers see one another's processes"
        yield Weak(text, ("spec", "shareProcessNamespace"))
    yield from _sidecars(at(judged.pod, "metadata"))
    yield from _scheduled(spec)
    for group in words(inherited, "supplementalGroups"):
        if group.isdecimal() and int(group) < LOWEST_USER and int(group) != security.user:
            text = f"supplementalGroups has {group}, which may be a group of the node"
            yield Weak(text, (*_INHERITED, "supplementalGroups"))
    if judged.resource.key.kind != "SeldonDeployment":  # it writes a context of its own
        yield from (Weak(text, (*_INHERITED, key)) for key, text in _context(judged, inherited, security))


def _scheduled(spec: Any) -> Iterator[Weak]:
    """Yield what goes past the scheduler, or before what the cluster itself needs."""
    if at(spec, "nodeName") is not None:
        text = "nodeName goes past the scheduler, and with it past taints and quotas of nodes"
        yield Weak(text, ("spec", "nodeName"))
    priority = str(at(spec, "priorityClassName"))
    if priority.startswith("system-"):
        text = f"priorityClassName {priority} is for what the cluster itself needs"
        yield Weak(text, ("spec", "priorityClassName"))


def _sidecars(metadata: Any) -> Iterator[Weak]:
    """Yield what lets a sidecar into pods that run to completion, or another network into any."""
    annotations = at(metadata, "annotations")
    for key in _NETWORKS:
        if at(annotations, key) is not None:
            text = f"annotation `{key}` gives pods a network on which NetworkPolicies do not hold"
            yield Weak(text, (*_ANNOTATIONS, key))
    if not any(at(metadata, "labels", key) for key in (meta.RUN, meta.GATE_OF)):
        return
    for where, (key, value) in product(("labels", "annotations"), meta.NO_SIDECAR.items()):
        if at(metadata, where, key) != value:
            text = f"{where} must say `{key}: {value}`: a sidecar outlives what it stands beside"
            yield Weak(text, ("metadata", where, key))
    for key, values in _INJECTED.items():
        if at(annotations, key) in values:
            text = f"annotation `{key}` adds a sidecar, which outlives what it stands beside"
            yield Weak(text, (*_ANNOTATIONS, key))


def _context(judged: Judged, inherited: Any, security: PlannedSecurity) -> Iterator[_Fault]:
    """Yield what is weaker about the pod's own security context."""
    for field in ("fsGroup", "runAsGroup", "runAsUser"):
        if at(inherited, field) is not None:
            yield from ((name, f"of the pod: {text}") for name, text in _number(field, at(inherited, field), security))
    if "queue-proxy" not in judged.pods.added:  # Knative takes the pod's away
        # What KServe adds keeps its image's user, unless that image is a model, which has none.
        keeps = judged.resource.key.kind == "InferenceService" and "modelcar" not in judged.pods.added
        yield from _inherited(inherited, security, with_user=not keeps)


def _inherited(inherited: Any, security: PlannedSecurity, *, with_user: bool) -> Iterator[_Fault]:
    """Yield what the pod's context lacks: it also holds for containers that come later, as by `kubectl debug`."""
    if at(inherited, "runAsNonRoot") is not True and (security.user != 0 or not with_user):
        yield "runAsNonRoot", "runAsNonRoot of the pod must be true"
    if not is_filtered(inherited):
        yield "seccompProfile", "seccompProfile.type of the pod must be RuntimeDefault or Localhost"
    for field in ("fsGroup", "runAsGroup", "runAsUser") if with_user else ("fsGroup",):
        if at(inherited, field) is None:
            yield field, f"{field} of the pod is missing"
