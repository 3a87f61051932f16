"""Pods, and templates of them in Jobs.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (ValidatePodCreate, ValidatePodSpec,
ValidatePodTemplateSpec, ValidatePodSpecificAnnotations, validatePodDNSConfig, ValidateHostAliases,
validatePodResources).
What the server wants of pods alone is wanted of a Job's template, too: its pods could not be made.
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

from mlspec.validation.native import addresses, containers, forms, metadata, quantities, scheduling, security, volumes
from mlspec.validation.native.found import Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS321"
_RESTARTS: Final = frozenset({"Always", "OnFailure", "Never"})
_DNS: Final = frozenset({"ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"})
_NAMESERVERS: Final = 3
_SEARCHES: Final = (32, 2048)
"""How many domains are searched, and how many characters they have together."""
_UNDERSCORES_SINCE: Final = (1, 33)
"""Since when a domain to search may have underscores (feature RelaxedDNSSearchValidation)."""
_WHOLE_SINCE: Final = (1, 34)
"""Since when a pod asks for resources as a whole (feature PodLevelResources), and for devices (resource.k8s.io/v1)."""
_HOSTNAMES_SINCE: Final = (1, 35)
"""Since when `hostnameOverride` is kept."""
_COST: Final = "controller.kubernetes.io/pod-deletion-cost"
_APPARMOR: Final = "container.apparmor.security.beta.kubernetes.io/"
_PROFILES: Final = frozenset({"", "runtime/default", "unconfined"})


def judge(found: Found, pod: Body, path: Path = ()) -> None:
    """Judge a Pod, or a template of one at a path."""
    written, spec = below(pod, "metadata"), below(pod, "spec")
    metadata.common(found, written, (*path, "metadata"))
    if "annotations" in written:
        _annotations(found, below(written, "annotations"), spec, (*path, "metadata", "annotations"))
    _spec(found, pod, spec, (*path, "spec"))


def _spec(found: Found, pod: Body, spec: Body, path: Path) -> None:
    known = volumes.volumes(found, pod, spec, path) if "volumes" in spec else {}
    containers.judge(found, spec, path, known)
    security.pod(found, spec, path)
    if not _SCHEDULED.isdisjoint(spec):
        scheduling.judge(found, spec, path)
    found.one_of(CODE, (*path, "restartPolicy"), text(spec, "restartPolicy"), _RESTARTS, "Always")
    for field, form in _FORMS.items():
        if field in spec and text(spec, field):
            found.form(CODE, (*path, field), text(spec, field), form)
    if "activeDeadlineSeconds" in spec:
        found.between(CODE, (*path, "activeDeadlineSeconds"), number(spec, "activeDeadlineSeconds"), 1, 2**31 - 1)
    if not _RARE.isdisjoint(spec):
        _rare(found, spec, path)


_SCHEDULED: Final = frozenset({"nodeSelector", "tolerations", "affinity", "topologySpreadConstraints"})
_FORMS: Final = {
    "serviceAccountName": forms.subdomain,
    "nodeName": forms.subdomain,
    "hostname": forms.label,
    "subdomain": forms.label,
    "priorityClassName": forms.subdomain,
    "runtimeClassName": forms.subdomain,
}
_RARE: Final = frozenset(
    {"dnsPolicy", "dnsConfig", "hostAliases", "readinessGates", "schedulingGates", "preemptionPolicy", "overhead"}
    | {"resources", "resourceClaims", "ephemeralContainers", "hostnameOverride"}
)


def _rare(found: Found, spec: Body, path: Path) -> None:
    """Judge fields that most pods do not have."""
    found.one_of(CODE, (*path, "dnsPolicy"), text(spec, "dnsPolicy"), _DNS, "ClusterFirst")
    if "dnsConfig" in spec or spec.get("dnsPolicy") == "None":
        _names(found, spec, below(spec, "dnsConfig"), (*path, "dnsConfig"))
    for index, item in enumerate(children(spec, "hostAliases")):
        place = (*path, "hostAliases", index)
        found.form(CODE, (*place, "ip"), text(item, "ip"), lambda value: addresses.address(value, found.kubernetes))
        for other, name in enumerate(strings(item, "hostnames")):
            found.form(CODE, (*place, "hostnames", other), name, forms.subdomain)
    _gates(found, spec, path)
    if spec.get("preemptionPolicy") is not None:
        allowed = ("PreemptLowerPriority", "Never")
        found.one_of(CODE, (*path, "preemptionPolicy"), spec["preemptionPolicy"], allowed)
    if "overhead" in spec:
        quantities.requirements(found, {"limits": spec["overhead"]}, (*path, "overhead"), frozenset())
    if spec.get("ephemeralContainers"):
        found.add(CODE, (*path, "ephemeralContainers"), "can only be added to a pod that runs")
    if "hostnameOverride" in spec and found.kubernetes >= _HOSTNAMES_SINCE:
        _hostname(found, spec, (*path, "hostnameOverride"))
    if found.kubernetes >= _WHOLE_SINCE:
        _whole(found, spec, child(spec, "resources"), (*path, "resources"))
        _devices(found, children(spec, "resourceClaims"), (*path, "resourceClaims"))


def _names(found: Found, spec: Body, config: Body, path: Path) -> None:
    servers, searches = strings(config, "nameservers"), strings(config, "searches")
    if spec.get("dnsPolicy") == "None" and not servers:
        found.add(CODE, (*path, "nameservers"), "is missing, which `dnsPolicy: None` needs")
    if len(servers) > _NAMESERVERS:
        found.add(CODE, (*path, "nameservers"), f"are {len(servers)}, and may be {_NAMESERVERS}")
    for index, server in enumerate(servers):
        found.form(
            CODE, (*path, "nameservers", index), server, lambda value: addresses.address(value, found.kubernetes)
        )
    most, characters = _SEARCHES
    if len(searches) > most or len(" ".join(searches)) > characters:
        found.add(CODE, (*path, "searches"), f"are more than {most}, or {characters} characters together")
    relaxed = found.kubernetes >= _UNDERSCORES_SINCE
    for index, search in enumerate(searches):
        if not (relaxed and search == "."):
            form = forms.search_domain if relaxed else forms.subdomain
            found.form(CODE, (*path, "searches", index), search.removesuffix("."), form)
    for index, option in enumerate(children(config, "options")):
        if not text(option, "name"):
            found.add(CODE, (*path, "options", index, "name"), "is missing")


def _gates(found: Found, spec: Body, path: Path) -> None:
    for index, item in enumerate(children(spec, "readinessGates")):
        found.form(CODE, (*path, "readinessGates", index, "conditionType"), text(item, "conditionType"), forms.key)
    names = [text(item, "name") for item in children(spec, "schedulingGates")]
    for index, name in enumerate(names):
        place = (*path, "schedulingGates", index, "name")
        found.form(CODE, place, name, forms.key)
        if name in names[:index]:
            found.add(CODE, place, f"`{name}` stands there twice")
    if names and spec.get("nodeName"):
        found.add(CODE, (*path, "nodeName"), "cannot be said while there are `schedulingGates`")


def _hostname(found: Found, spec: Body, path: Path) -> None:
    name = spec["hostnameOverride"]
    if not isinstance(name, str):
        return
    found.form(CODE, path, name, forms.subdomain)
    if len(name) > 64:
        found.add(CODE, path, f"has {len(name)} characters, and may have 64")
    for field in ("setHostnameAsFQDN", "hostNetwork"):
        if spec.get(field) is True:
            found.add(CODE, path, f"excludes `{field}`")


def _whole(found: Found, spec: Body, resources: Body | None, path: Path) -> None:
    """Judge what a pod asks for as a whole: at least what its containers ask for together."""
    if resources is None:
        return
    if resources.get("claims"):
        found.add(quantities.CODE, (*path, "claims"), "are said of containers, not of the pod as a whole")
    asked = {"limits": resources.get("limits"), "requests": resources.get("requests")}
    quantities.requirements(found, asked, path, frozenset(), quantities.name_for_pod)
    requests, limits = below(resources, "requests"), below(resources, "limits")
    for name, value in requests.items():
        total, whole = _total(spec, name), quantities.amount(value) if isinstance(value, str | int) else None
        if whole is not None and total > whole:
            found.add(
                quantities.CODE, (*path, "requests", name), f"{value} is less than the containers request together"
            )
    for index, item in enumerate(children(spec, "containers")):
        for name, value in below(below(item, "resources"), "limits").items():
            own, whole = _amount(value), _amount(limits.get(name))
            if own is not None and whole is not None and own > whole:
                place = (*path[:-1], "containers", index, "resources", "limits", name)
                found.add(quantities.CODE, place, f"{value} is more than the limit of the pod, {limits[name]}")


def _amount(value: Any) -> Fraction | None:
    return quantities.amount(value) if isinstance(value, str | int | float) else None


def _total(spec: Body, name: str) -> Fraction:
    """Return what the containers of a pod request together; init containers count where they ask for more."""

    def of(item: Body) -> Fraction:
        resources = below(item, "resources")
        asked = below(resources, "requests").get(name, below(resources, "limits").get(name))
        return _amount(asked) or Fraction(0)

    initial = children(spec, "initContainers")
    sidecars = sum((of(item) for item in initial if item.get("restartPolicy") == "Always"), Fraction(0))
    together = sum((of(item) for item in children(spec, "containers")), sidecars)
    return max([together, *(of(item) for item in initial)])


def _devices(found: Found, claims: list[Body], path: Path) -> None:
    seen = set()
    for index, claim in enumerate(claims):
        name, place = text(claim, "name"), (*path, index)
        found.needed(CODE, (*place, "name"), name, forms.label)
        if name in seen:
            found.add(CODE, (*place, "name"), f"`{name}` stands there twice")
        seen.add(name)
        fields = ("resourceClaimName", "resourceClaimTemplateName")
        given = [field for field in fields if claim.get(field) is not None]
        if len(given) != 1:
            found.add(CODE, place, "has one of `resourceClaimName` and `resourceClaimTemplateName`")
        for field in given:
            found.form(CODE, (*place, field), text(claim, field), forms.subdomain)


def _annotations(found: Found, annotations: Mapping[str, Any], spec: Body, path: Path) -> None:
    """Judge annotations that the server reads."""
    cost = annotations.get(_COST)
    if isinstance(cost, str) and not _is_cost(cost):
        found.add(CODE, (*path, _COST), f"`{cost[:80]}` is not a whole number of 32 bits")
    for key, value in annotations.items():
        if not key.startswith(_APPARMOR):
            continue
        name = key.removeprefix(_APPARMOR)
        items = (*children(spec, "containers"), *children(spec, "initContainers"))
        if all(text(item, "name") != name for item in items):
            found.add(CODE, (*path, key), f"there is no container `{name[:80]}`")
        if isinstance(value, str) and value not in _PROFILES and not value.startswith("localhost/"):
            found.add(CODE, (*path, key), f"`{value[:80]}` is no profile of AppArmor")


def _is_cost(value: str) -> bool:
    """Say whether a text is a number as Go reads it here: no sign `+`, no zeros in front."""
    digits = value.removeprefix("-")
    if not (digits.isascii() and digits.isdecimal()) or (digits != "0" and digits.startswith("0")):
        return False
    return -(2**31) <= int(value) < 2**31
