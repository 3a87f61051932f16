"""Whether a container is started anew, and how its resources may be changed while it runs.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validateContainerRestartPolicy,
validateInitContainerRestartPolicy, validateResizePolicy) and pkg/features/kube_features.go (ContainerRestartRules).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native.found import Body, Found, child, children, text
from mlspec.validation.objection import Path

CODE: Final = "MLS322"
_DROPPED_SINCE: Final = (1, 34)
"""Since when the server drops a policy that it does not know yet instead of refusing it."""
_RULES_SINCE: Final = (1, 35)
_RESIZED_SINCE: Final = (1, 33)
"""Since when the server keeps `resizePolicy` (feature InPlacePodVerticalScaling)."""
_POLICIES: Final = frozenset({"Always", "Never", "OnFailure"})
_MOST_RULES: Final = 20
_MOST_CODES: Final = 255


def judge(found: Found, item: Body, path: Path, spec: Body, *, initial: bool) -> None:
    """Judge when a container is started anew; `initial`: it is an init container."""
    policy, rules = item.get("restartPolicy"), children(item, "restartPolicyRules")
    if policy is not None or rules:
        if found.kubernetes >= _RULES_SINCE:
            _policy(found, policy, rules, path, initial=initial)
        elif found.kubernetes >= _DROPPED_SINCE:
            pass
        elif initial and policy is not None:
            found.one_of(CODE, (*path, "restartPolicy"), policy, ("Always",))
        elif policy is not None:
            found.add(CODE, (*path, "restartPolicy"), "can only be said of an init container, to make it a sidecar")
    if "resizePolicy" in item and found.kubernetes >= _RESIZED_SINCE:
        _resizing(found, children(item, "resizePolicy"), (*path, "resizePolicy"), spec)


def _policy(found: Found, policy: object, rules: list[Body], path: Path, *, initial: bool) -> None:
    if policy is None:
        found.add(CODE, (*path, "restartPolicy"), "is missing, which `restartPolicyRules` need")
    else:
        found.one_of(CODE, (*path, "restartPolicy"), policy, _POLICIES)
    if initial and policy == "Always" and rules:
        found.add(CODE, (*path, "restartPolicyRules"), "cannot be said of a sidecar")
    if len(rules) > _MOST_RULES:
        found.add(CODE, (*path, "restartPolicyRules"), f"are {len(rules)}, and may be {_MOST_RULES}")
    for index, rule in enumerate(rules):
        place, codes = (*path, "restartPolicyRules", index), child(rule, "exitCodes")
        found.one_of(CODE, (*place, "action"), text(rule, "action"), ("Restart", "RestartAllContainers"))
        if codes is None:
            found.add(CODE, (*place, "exitCodes"), "is missing")
            continue
        found.one_of(CODE, (*place, "exitCodes", "operator"), text(codes, "operator"), ("In", "NotIn"))
        values = codes.get("values")
        if isinstance(values, list) and len(values) > _MOST_CODES:
            found.add(CODE, (*place, "exitCodes", "values"), f"are {len(values)}, and may be {_MOST_CODES}")


def _resizing(found: Found, policies: list[Body], path: Path, spec: Body) -> None:
    seen = set()
    for index, item in enumerate(policies):
        name, policy = text(item, "resourceName"), text(item, "restartPolicy")
        found.one_of(CODE, (*path, index, "resourceName"), name, ("cpu", "memory"))
        found.one_of(CODE, (*path, index, "restartPolicy"), policy, ("NotRequired", "RestartContainer"))
        if name in seen:
            found.add(CODE, (*path, index, "resourceName"), f"`{name}` stands there twice")
        seen.add(name)
        if spec.get("restartPolicy") == "Never" and policy == "RestartContainer":
            found.add(CODE, (*path, index, "restartPolicy"), "is `NotRequired` where the pod never restarts")
