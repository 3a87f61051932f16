"""ResourceQuotas and LimitRanges.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (ValidateResourceQuotaSpec, ValidateLimitRange)
and pkg/apis/core/helper/helpers.go (IsResourceQuotaScopeValidForResource).
"""

from __future__ import annotations

from fractions import Fraction
from typing import Final

from mlspec.validation.native import forms, quantities
from mlspec.validation.native.found import Body, Found, below, children, strings, text
from mlspec.validation.objection import Path

CODE: Final = quantities.CODE
_COMPUTE: Final = frozenset({"pods", "cpu", "memory", "limits.cpu", "limits.memory", "requests.cpu", "requests.memory"})
_SCOPES: Final = {
    "Terminating": _COMPUTE,
    "NotTerminating": _COMPUTE,
    "NotBestEffort": _COMPUTE,
    "PriorityClass": _COMPUTE,
    "CrossNamespacePodAffinity": _COMPUTE,
    "BestEffort": frozenset({"pods"}),
    "VolumeAttributesClass": frozenset({"persistentvolumeclaims", "requests.storage"}),
}
"""What each scope can be counted for."""
_EXCLUSIVE: Final = (("BestEffort", "NotBestEffort"), ("Terminating", "NotTerminating"))
_VALUED: Final = frozenset({"PriorityClass", "VolumeAttributesClass"})
_TYPES: Final = frozenset({"Pod", "Container", "PersistentVolumeClaim"})
_SIDES: Final = ("max", "min", "default", "defaultRequest", "maxLimitRequestRatio")
_ORDER: Final = (
    *(("min", "max"), ("min", "defaultRequest"), ("defaultRequest", "max"), ("defaultRequest", "default")),
    *(("min", "default"), ("default", "max")),
)
"""Bounds, of which the first is at most the second."""


def quota(found: Found, body: Body) -> None:
    """Judge a ResourceQuota."""
    spec = below(body, "spec")
    hard = below(spec, "hard")
    for name, value in hard.items():
        path = ("spec", "hard", name)
        if reason := quantities.name_for_quota(name):
            found.add(CODE, path, f"`{name[:80]}` {reason}")
        quantities.quantity(found, name, value, path)
    scopes = strings(spec, "scopes")
    for index, scope in enumerate(scopes):
        _scope(found, scope, hard, ("spec", "scopes", index))
    _exclusive(found, scopes, ("spec", "scopes"))
    _selector(found, children(below(spec, "scopeSelector"), "matchExpressions"), hard, ("spec", "scopeSelector"))


def _selector(found: Found, expressions: list[Body], hard: Body, path: Path) -> None:
    for index, item in enumerate(expressions):
        place = (*path, "matchExpressions", index)
        scope, operator, values = text(item, "scopeName"), text(item, "operator"), strings(item, "values")
        _scope(found, scope, hard, (*place, "scopeName"))
        allowed = ("In", "NotIn", "Exists", "DoesNotExist") if scope in _VALUED or scope not in _SCOPES else ("Exists",)
        found.one_of(CODE, (*place, "operator"), operator, allowed)
        if bool(values) != (operator in ("In", "NotIn")):
            found.add(CODE, (*place, "values"), "are said with `In` and `NotIn`, and with nothing else")
    _exclusive(found, [text(item, "scopeName") for item in expressions], path)


def _scope(found: Found, scope: str, hard: Body, path: Path) -> None:
    found.one_of(CODE, path, scope, _SCOPES)
    for name in sorted(hard.keys() & quantities.QUOTA):
        if scope in _SCOPES and name not in _SCOPES[scope]:
            found.add(CODE, path, f"`{scope}` cannot be counted for `{name}`")


def _exclusive(found: Found, scopes: list[str], path: Path) -> None:
    for pair in _EXCLUSIVE:
        if set(pair) <= set(scopes):
            found.add(CODE, path, f"`{pair[0]}` and `{pair[1]}` exclude each other")


def limit_range(found: Found, body: Body) -> None:
    """Judge a LimitRange."""
    seen = set()
    for index, limit in enumerate(children(below(body, "spec"), "limits")):
        sort, path = text(limit, "type"), ("spec", "limits", index)
        if "/" in sort:
            found.form(CODE, (*path, "type"), sort, forms.key)
        else:
            found.one_of(CODE, (*path, "type"), sort, _TYPES)
        if sort in seen:
            found.add(CODE, (*path, "type"), f"`{sort}` stands there twice")
        seen.add(sort)
        _limit(found, limit, sort, path)


def _limit(found: Found, limit: Body, sort: str, path: Path) -> None:
    name_form = quantities.name_for_container if sort in ("Pod", "Container") else quantities.name_for_anything
    sides: dict[str, dict[str, Fraction]] = {}
    for side in _SIDES:
        written = below(limit, side)
        if sort == "Pod" and written and side in ("default", "defaultRequest"):
            found.add(CODE, (*path, side), "cannot be said of the type `Pod`")
            continue
        for name in written:
            if reason := name_form(name):
                found.add(CODE, (*path, side, name), f"`{name[:80]}` {reason}")
        amounts = {name: quantities.read(found, value, (*path, side, name)) for name, value in written.items()}
        sides[side] = {name: value for name, value in amounts.items() if value is not None}
    if sort == "PersistentVolumeClaim" and "storage" not in {**below(limit, "max"), **below(limit, "min")}:
        found.add(CODE, (*path, "max"), "is missing: `storage` has a `max` or a `min`")
    _bounds(found, limit, sides, path)


def _bounds(found: Found, limit: Body, sides: dict[str, dict[str, Fraction]], path: Path) -> None:
    """Judge that bounds do not cross."""
    for small, large in _ORDER:
        for name, value in sides.get(small, {}).items():
            if (most := sides.get(large, {}).get(name)) is not None and value > most:
                found.add(
                    CODE, (*path, small, name), f"{limit[small][name]} is more than `{large}`, {limit[large][name]}"
                )
    for name, value in sides.get("defaultRequest", {}).items():
        default = sides.get("default", {}).get(name, value)
        if default != value and not quantities.may_be_overcommitted(name):
            found.add(CODE, (*path, "defaultRequest", name), "is not `default`, as it is for devices")
    for name, ratio in sides.get("maxLimitRequestRatio", {}).items():
        least, most = sides.get("min", {}).get(name), sides.get("max", {}).get(name)
        if ratio < 1 or (least and most is not None and ratio > most / least):
            found.add(
                CODE, (*path, "maxLimitRequestRatio", name), f"{ratio} is less than 1, or more than `max` by `min`"
            )
