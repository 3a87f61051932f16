"""Jobs.

From k8s.io/kubernetes v1.34.4 pkg/apis/batch/validation/validation.go (ValidateJob, validateJobSpec,
validatePodFailurePolicy, validateSuccessPolicy).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import forms, metadata, pods
from mlspec.validation.native.found import INT32, INT64, Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS327"
_COUNTS: Final = (
    *("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished"),
    *("backoffLimitPerIndex", "maxFailedIndexes"),
)
_MOST: Final = 100_000
_MANY: Final = 10_000
"""Most pods at a time and failed indexes, where there are more than 100,000 completions."""
_MANAGED_SINCE: Final = (1, 32)
"""Since when the server keeps `managedBy` (feature JobManagedBy)."""
_ACTIONS: Final = frozenset({"FailJob", "FailIndex", "Count", "Ignore"})
_RULES: Final = 20
_CODES: Final = 255


def judge(found: Found, body: Body) -> None:
    """Judge a Job with its template."""
    spec, path = below(body, "spec"), ("spec",)
    template = below(spec, "template")
    pods.judge(found, template, (*path, "template"))
    _restarts(found, spec, below(template, "spec"), (*path, "template", "spec", "restartPolicy"))
    for field in _COUNTS:
        if field in spec:
            most = INT64 if field == "activeDeadlineSeconds" else INT32
            found.between(CODE, (*path, field), number(spec, field), 0, most)
    if not _RARE.isdisjoint(spec):
        _rare(found, body, spec, path)


_RARE: Final = frozenset(
    {"completionMode", "backoffLimitPerIndex", "maxFailedIndexes", "podFailurePolicy", "successPolicy", "managedBy"}
    | {"podReplacementPolicy", "selector", "manualSelector"}
)


def _restarts(found: Found, spec: Body, pod: Body, path: Path) -> None:
    policy = text(pod, "restartPolicy")
    if policy in ("", "Always"):
        found.add(
            CODE, path, f"{'is missing' if not policy else '`Always` never ends'}", "write `Never` or `OnFailure`"
        )
    elif policy == "OnFailure" and child(spec, "podFailurePolicy") is not None:
        found.add(CODE, path, "is `Never` where there is a `podFailurePolicy`")


def _rare(found: Found, body: Body, spec: Body, path: Path) -> None:
    mode = spec.get("completionMode")
    if mode is not None:
        found.one_of(CODE, (*path, "completionMode"), mode, ("Indexed", "NonIndexed"))
    if mode == "Indexed":
        _indexed(found, body, spec, path)
    else:
        for field in ("backoffLimitPerIndex", "maxFailedIndexes", "successPolicy"):
            if spec.get(field) is not None:
                found.add(CODE, (*path, field), "needs `completionMode: Indexed`")
    if spec.get("maxFailedIndexes") is not None and spec.get("backoffLimitPerIndex") is None:
        found.add(CODE, (*path, "backoffLimitPerIndex"), "is missing, which `maxFailedIndexes` needs")
    manager = spec.get("managedBy")
    if isinstance(manager, str) and found.kubernetes >= _MANAGED_SINCE:
        found.form(CODE, (*path, "managedBy"), manager, forms.domain_and_path)
        if len(manager) > 63:
            found.add(CODE, (*path, "managedBy"), f"has {len(manager)} characters, and may have 63")
    policy, failures = spec.get("podReplacementPolicy"), child(spec, "podFailurePolicy")
    if policy is not None:
        allowed = ("Failed",) if failures is not None else ("Failed", "TerminatingOrFailed")
        found.one_of(CODE, (*path, "podReplacementPolicy"), policy, allowed)
    if failures is not None:
        _failures(found, spec, children(failures, "rules"), (*path, "podFailurePolicy", "rules"))
    _selector(found, spec, path)


def _selector(found: Found, spec: Body, path: Path) -> None:
    selector, labels = child(spec, "selector"), below(below(below(spec, "template"), "metadata"), "labels")
    metadata.selector(found, selector, (*path, "selector"), CODE)
    if spec.get("manualSelector") is not True:
        if selector:
            found.add(CODE, (*path, "selector"), "is the server's, which makes one of the Job's uid")
    elif not selector:
        found.add(CODE, (*path, "selector"), "is missing, which `manualSelector` needs")
    elif any(labels.get(key) != value for key, value in below(selector, "matchLabels").items()):
        found.add(CODE, (*path, "selector"), "does not match the labels of the template")


def _indexed(found: Found, body: Body, spec: Body, path: Path) -> None:
    completions, parallelism, failed = (
        number(spec, name) for name in ("completions", "parallelism", "maxFailedIndexes")
    )
    if completions is None and parallelism is not None:  # both are 1 where none is said (pkg/apis/batch/v1/defaults.go)
        found.add(CODE, (*path, "completions"), "is missing, which `completionMode: Indexed` needs")
    found.between(CODE, (*path, "parallelism"), parallelism, 0, _MOST)
    if failed is not None:
        most = _MOST if completions is None else min(_MOST, completions)
        found.between(CODE, (*path, "maxFailedIndexes"), failed, 0, most)
    if completions is None:
        return
    if completions > _MOST and number(spec, "backoffLimitPerIndex") is not None:
        if failed is None:
            found.add(CODE, (*path, "maxFailedIndexes"), f"is missing, which more than {_MOST} completions need")
        found.between(CODE, (*path, "maxFailedIndexes"), failed, 0, _MANY)
        found.between(CODE, (*path, "parallelism"), parallelism, 0, _MANY)
    last = f"{text(below(body, 'metadata'), 'name')}-{completions - 1}"
    if completions > 0 and (reason := forms.label(last)):
        found.add(CODE, (*path, "completions"), f"the hostname of the last pod, `{last[:80]}`, {reason}")
    success = child(spec, "successPolicy")
    if success is not None:
        _successes(found, children(success, "rules"), (*path, "successPolicy", "rules"), completions)


def _successes(found: Found, rules: list[Body], path: Path, completions: int) -> None:
    if not 1 <= len(rules) <= _RULES:
        found.add(CODE, path, f"are {len(rules)}, and are 1 to {_RULES}")
    for index, rule in enumerate(rules):
        count = number(rule, "succeededCount")
        if count is None and rule.get("succeededIndexes") is None:
            found.add(CODE, (*path, index), "has one of `succeededCount` and `succeededIndexes`")
        found.between(CODE, (*path, index, "succeededCount"), count, 0, completions)


def _failures(found: Found, spec: Body, rules: list[Body], path: Path) -> None:
    if len(rules) > _RULES:
        found.add(CODE, path, f"are {len(rules)}, and may be {_RULES}")
    pod = below(below(spec, "template"), "spec")
    names = {text(item, "name") for sort in ("containers", "initContainers") for item in children(pod, sort)}
    for index, rule in enumerate(rules):
        place, action = (*path, index), text(rule, "action")
        found.one_of(CODE, (*place, "action"), action, _ACTIONS)
        if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
            found.add(CODE, (*place, "action"), "`FailIndex` needs `backoffLimitPerIndex`")
        codes, conditions = child(rule, "onExitCodes"), children(rule, "onPodConditions")
        if (codes is None) == (not conditions):
            found.add(CODE, place, "has one of `onExitCodes` and `onPodConditions`")
        if codes is not None:
            _codes(found, codes, (*place, "onExitCodes"), names)
        for other, item in enumerate(conditions):
            where = (*place, "onPodConditions", other)
            found.form(CODE, (*where, "type"), text(item, "type"), forms.key)
            found.one_of(CODE, (*where, "status"), text(item, "status"), ("True", "False", "Unknown"), "True")


def _codes(found: Found, item: Body, path: Path, names: set[str]) -> None:
    operator, name = text(item, "operator"), item.get("containerName")
    found.one_of(CODE, (*path, "operator"), operator, ("In", "NotIn"))
    if isinstance(name, str) and name not in names:
        found.add(CODE, (*path, "containerName"), f"there is no container `{name[:80]}`")
    values = [int(value) for value in strings(item, "values") if value.removeprefix("-").isdecimal()]
    if not 1 <= len(values) <= _CODES:
        found.add(CODE, (*path, "values"), f"are {len(values)}, and are 1 to {_CODES}")
    if operator == "In" and 0 in values:
        found.add(CODE, (*path, "values"), "hold 0, which is no failure")
    if values != sorted(set(values)):
        found.add(CODE, (*path, "values"), "are not in order, or one stands there twice")
