"""Quantities, names of resources, and what a container or pod asks for.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validateResourceRequirements,
ValidateResourceQuantityValue, validateContainerResourceName, ValidateResourceQuotaResourceName) and
pkg/apis/core/helper/helpers.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from functools import lru_cache
from typing import Any, Final

from mlspec import names
from mlspec.k8s import alike
from mlspec.model.quantity import parse_quantity
from mlspec.validation.declared import Release
from mlspec.validation.native import forms
from mlspec.validation.native.found import Body, Found, below, children, text
from mlspec.validation.objection import Path

CODE: Final = "MLS323"
_DEVICES_SINCE: Final = (1, 34)
"""Since when the server keeps claims of devices (feature DynamicResourceAllocation)."""
_PAGES: Final = "hugepages-"
_CONTAINER: Final = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED: Final = frozenset(
    {"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims"}
    | {"services.nodeports", "services.loadbalancers"}
)
_STORED: Final = frozenset({"requests.storage"})
QUOTA: Final = frozenset(
    _CONTAINER | {f"{side}.{name}" for side in ("requests", "limits") for name in _CONTAINER} | _COUNTED | _STORED
)
"""What a ResourceQuota counts by a name without a domain; huge pages apart."""
_STANDARD: Final = frozenset(QUOTA | {"storage"})


@lru_cache(maxsize=4096)
def amount(value: str | int | float | None) -> Fraction | None:
    """Return what a quantity amounts to; None where it is none, which schemas tell."""
    if value is None or isinstance(value, bool):
        return None
    if not isinstance(value, str):
        return Fraction(value)
    found = parse_quantity(value.removeprefix("-"))
    return None if found is None else -found[0] if value.startswith("-") else found[0]


def read(found: Found, value: Any, path: Path, code: str = CODE) -> Fraction | None:
    """Return what a quantity amounts to; object to a text that is none (k8s.io/apimachinery pkg/api/resource)."""
    number = amount(value) if isinstance(value, str | int | float) else None
    if number is None and isinstance(value, str):
        found.add(code, path, f"`{value[:80]}` is no quantity", "write `500m`, `4` or `16Gi`")
    return number


def is_native(name: str) -> bool:
    """Say whether a resource is Kubernetes' own (IsNativeResource)."""
    return "/" not in name or "kubernetes.io/" in name


def may_be_overcommitted(name: str) -> bool:
    """Say whether limits may be above requests: not of devices and huge pages (IsOvercommitAllowed)."""
    return is_native(name) and not name.startswith(_PAGES)


def _is_device(name: str) -> bool:
    """Say whether a resource is an extended one (IsExtendedResourceName)."""
    return not is_native(name) and not name.startswith("requests.") and names.is_key(f"requests.{name}")


@lru_cache(maxsize=1024)
def _standard(name: str) -> str:
    if reason := forms.key(name):
        return reason
    pages = name.removeprefix("requests.").startswith(_PAGES)
    known = "/" in name or name in _STANDARD or pages
    return "" if known else "is no resource of Kubernetes, and has no domain"


@lru_cache(maxsize=1024)
def name_for_container(name: str) -> str:
    """Say why a container cannot ask for a resource of this name."""
    if reason := _standard(name):
        return reason
    if "/" not in name:
        known = name in _CONTAINER or name.startswith(_PAGES)
        return "" if known else "is no resource of a container"
    return "" if is_native(name) or _is_device(name) else "is no name of an extended resource"


@lru_cache(maxsize=1024)
def name_for_pod(name: str) -> str:
    """Say why a pod as a whole cannot ask for a resource of this name."""
    return "" if name in ("cpu", "memory") or name.startswith(_PAGES) else "is no resource of a pod as a whole"


@lru_cache(maxsize=1024)
def name_for_quota(name: str) -> str:
    """Say why a ResourceQuota cannot count a resource of this name."""
    if reason := _standard(name):
        return reason
    pages = name.removeprefix("requests.").startswith(_PAGES)
    return "" if "/" in name or name in QUOTA or pages else "is no resource that a quota counts"


@lru_cache(maxsize=1024)
def name_for_anything(name: str) -> str:
    """Say why nothing can be limited by this name (validateResourceName)."""
    return _standard(name)


def quantity(found: Found, name: str, value: Any, path: Path) -> Fraction | None:
    """Judge how much there is of a resource, and return it: never negative, and whole where it counts things."""
    number = read(found, value, path)
    if number is None:
        return None
    if number.numerator < 0:
        found.add(CODE, path, f"{value} is negative")
    elif number.denominator != 1 and (-(-number * 1000 // 1)) % 1000 and (name in _COUNTED or _is_device(name)):
        found.add(CODE, path, f"{value} is not a whole number")
    return number


def requirements(
    found: Found,
    resources: Body,
    path: Path,
    claims: frozenset[str],
    name_form: Callable[[str], str] = name_for_container,
) -> None:
    """Judge the requests and limits of a container, or of a pod as a whole."""
    written = None if "claims" in resources else alike.written(resources)
    if written is None or not _is_sound(written, found.kubernetes, name_form):
        _judge(found, resources, path, claims, name_form)


@lru_cache(maxsize=1024)  # most containers have one of few amounts
def _is_sound(resources: bytes, kubernetes: Release, name_form: Callable[[str], str]) -> bool:
    """Say whether nothing is against what is asked for, which claims no devices."""
    found = Found(kubernetes)
    _judge(found, alike.read(resources), (), frozenset(), name_form)
    return not found.objections


def _judge(found: Found, resources: Body, path: Path, claims: frozenset[str], name_form: Callable[[str], str]) -> None:
    limits = _side(found, below(resources, "limits"), (*path, "limits"), name_form)
    requests = _side(found, below(resources, "requests"), (*path, "requests"), name_form)
    for name, asked in requests.items():
        where = (*path, "requests", name)
        if name in limits:
            most = limits[name]
            if asked is most or asked is None or most is None or asked == most:  # texts that are alike have one amount
                continue
            if not may_be_overcommitted(name):
                found.add(CODE, where, f"{_shown(resources, name)}: a device's request equals its limit")
            elif asked > most:
                found.add(CODE, where, f"{_shown(resources, name)}: a request is at most its limit")
        elif not may_be_overcommitted(name):
            found.add(CODE, where, "needs the same limit beside it, as every request of devices does")
    together = limits.keys() | requests.keys()
    if any(name.startswith(_PAGES) for name in together) and not together & {"cpu", "memory"}:
        found.add(CODE, path, "huge pages need cpu or memory beside them")
    if "claims" in resources and found.kubernetes >= _DEVICES_SINCE:
        _claims(found, children(resources, "claims"), (*path, "claims"), claims)


def _shown(resources: Body, name: str) -> str:
    return f"requests {resources['requests'][name]}, limit {resources['limits'][name]}"


def _side(
    found: Found, written: Mapping[str, Any], path: Path, name_form: Callable[[str], str]
) -> dict[str, Fraction | None]:
    side = {}
    for name, value in written.items():
        where = (*path, name)
        if reason := name_form(name):
            found.key(CODE, where, name[:80], reason)
        number = side[name] = quantity(found, name, value, where)
        if name.startswith(_PAGES) and number is not None:
            size = amount(name.removeprefix(_PAGES))
            if not size or size <= 0 or number % size:
                found.add(CODE, where, f"{value} is no multiple of the pages' size")
    return side


def _claims(found: Found, claims: list[Body], path: Path, known: frozenset[str]) -> None:
    """Judge which devices of the pod a container uses (validateResourceClaimNames)."""
    seen: set[tuple[str, str]] = set()
    for index, claim in enumerate(claims):
        name, request = text(claim, "name"), text(claim, "request")
        if name not in known:
            found.add(CODE, (*path, index), f"`{name}` is none of `spec.resourceClaims`")
        if request:
            found.form(CODE, (*path, index, "request"), request, forms.label)
        if any(name == other and "" in (request, asked) for other, asked in seen) or (name, request) in seen:
            found.add(CODE, (*path, index), f"`{name}` stands there twice")
        seen.add((name, request))
