"""Services.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validateService, validateServicePort,
ValidateServiceClusterIPsRelatedFields, validateServiceExternalTrafficPolicy, validateServiceTrafficDistribution).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import addresses, forms, metadata, probes
from mlspec.validation.native.found import Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS328"
_TYPES: Final = frozenset({"ClusterIP", "NodePort", "LoadBalancer", "ExternalName"})
_PROTOCOLS: Final = frozenset({"TCP", "UDP", "SCTP"})
_PORTS: Final = 65535
_DAY: Final = 86400
"""Seconds that a client may be kept with one pod."""
_NEAR_SINCE: Final = (1, 34)
"""Since when traffic may prefer the zone or node by name (feature PreferSameTrafficDistribution)."""
_COMMON: Final = frozenset({"clusterIP", "ports", "selector", "type", "publishNotReadyAddresses"})
"""Fields that most Services have no others beside."""


def judge(found: Found, body: Body) -> None:
    """Judge a Service."""
    spec, path = below(body, "spec"), ("spec",)
    sort, address = text(spec, "type") or "ClusterIP", text(spec, "clusterIP")
    ports = children(spec, "ports")
    if not ports and address != "None" and sort != "ExternalName":
        found.add(CODE, (*path, "ports"), "is missing")
    found.one_of(CODE, (*path, "type"), sort, _TYPES)
    _ports(found, ports, (*path, "ports"), sort)
    if "selector" in spec:
        metadata.labels(found, spec["selector"], (*path, "selector"), CODE)
    if sort == "ExternalName":
        name = text(spec, "externalName").removesuffix(".")
        found.needed(CODE, (*path, "externalName"), name, forms.subdomain)
    elif address == "None":
        if sort in ("NodePort", "LoadBalancer"):
            found.add(CODE, (*path, "clusterIP"), f"cannot be `None` for a {sort}")
    elif address:
        found.form(CODE, (*path, "clusterIP"), address, lambda value: addresses.address(value, found.kubernetes))
    if spec.keys() - _COMMON:
        _rare(found, spec, path, sort)


def _ports(found: Found, ports: list[Body], path: Path, sort: str) -> None:
    names: set[str] = set()
    numbers: set[tuple[str, int]] = set()
    nodes: set[tuple[str, int]] = set()
    for index, port in enumerate(ports):
        place, name = (*path, index), text(port, "name")
        protocol, value, node = (
            text(port, "protocol") or "TCP",
            number(port, "port") or 0,
            number(port, "nodePort") or 0,
        )
        if name or len(ports) > 1:
            found.needed(CODE, (*place, "name"), name, forms.label)
        if name and name in names:
            found.add(CODE, (*place, "name"), f"`{name}` stands there twice")
        found.between(CODE, (*place, "port"), value, 1, _PORTS)
        found.one_of(CODE, (*place, "protocol"), protocol, _PROTOCOLS)
        if port.get("targetPort") not in (None, 0, ""):
            probes.port(found, port["targetPort"], (*place, "targetPort"), CODE)
        if isinstance(port.get("appProtocol"), str):
            found.form(CODE, (*place, "appProtocol"), port["appProtocol"], forms.key)
        if (protocol, value) in numbers:
            found.add(CODE, (*place, "port"), f"{value} stands there twice")
        if node and sort == "ClusterIP":
            found.add(CODE, (*place, "nodePort"), "cannot be said of a ClusterIP")
        elif node and (protocol, node) in nodes:
            found.add(CODE, (*place, "nodePort"), f"{node} stands there twice")
        names.add(name)
        numbers.add((protocol, value))
        nodes.add((protocol, node))


def _rare(found: Found, spec: Body, path: Path, sort: str) -> None:
    _affinity(found, spec, path)
    _families(found, spec, path, sort)
    for index, value in enumerate(strings(spec, "externalIPs")):
        place = (*path, "externalIPs", index)
        found.form(CODE, place, value, lambda text_: addresses.address(text_, found.kubernetes))
    for field in ("loadBalancerSourceRanges", "loadBalancerClass", "allocateLoadBalancerNodePorts"):
        if spec.get(field) not in (None, []) and sort != "LoadBalancer":
            found.add(CODE, (*path, field), "is said only of a LoadBalancer")
    for index, value in enumerate(strings(spec, "loadBalancerSourceRanges")):
        place = (*path, "loadBalancerSourceRanges", index)
        found.form(CODE, place, value.strip(), lambda text_: addresses.network(text_, found.kubernetes))
    outside = sort in ("NodePort", "LoadBalancer") or (sort == "ClusterIP" and strings(spec, "externalIPs"))
    policy = text(spec, "externalTrafficPolicy")
    if policy and not outside:
        found.add(CODE, (*path, "externalTrafficPolicy"), "is said only of what is reached from outside")
    elif policy:
        found.one_of(CODE, (*path, "externalTrafficPolicy"), policy, ("Cluster", "Local"))
    if number(spec, "healthCheckNodePort") and not (sort == "LoadBalancer" and policy == "Local"):
        found.add(CODE, (*path, "healthCheckNodePort"), "is said only of a LoadBalancer with the policy `Local`")
    if spec.get("internalTrafficPolicy") is not None:
        found.one_of(CODE, (*path, "internalTrafficPolicy"), spec["internalTrafficPolicy"], ("Cluster", "Local"))
    if spec.get("trafficDistribution") is not None:
        near = ("PreferSameZone", "PreferSameNode") if found.kubernetes >= _NEAR_SINCE else ()
        found.one_of(CODE, (*path, "trafficDistribution"), spec["trafficDistribution"], ("PreferClose", *near))


def _affinity(found: Found, spec: Body, path: Path) -> None:
    affinity, config = text(spec, "sessionAffinity") or "None", child(spec, "sessionAffinityConfig")
    found.one_of(CODE, (*path, "sessionAffinity"), affinity, ("ClientIP", "None"))
    if affinity == "ClientIP" and config is not None:  # otherwise the server drops it (pkg/apis/core/v1/defaults.go)
        seconds = number(below(config, "clientIP"), "timeoutSeconds")
        found.between(CODE, (*path, "sessionAffinityConfig", "clientIP", "timeoutSeconds"), seconds, 1, _DAY)


def _families(found: Found, spec: Body, path: Path, sort: str) -> None:
    addresses_ = strings(spec, "clusterIPs")
    if sort == "ExternalName":
        for field in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
            if spec.get(field):
                found.add(CODE, (*path, field), "cannot be said of an ExternalName")
        return
    if addresses_ and addresses_[0] != text(spec, "clusterIP"):
        found.add(CODE, (*path, "clusterIPs"), "does not begin with `clusterIP`")
    if len(addresses_) > 2 or ("None" in addresses_ and len(addresses_) > 1):
        found.add(CODE, (*path, "clusterIPs"), "is `None` alone, or at most two addresses")
    for index, value in enumerate(addresses_):
        if value != "None":
            place = (*path, "clusterIPs", index)
            found.form(CODE, place, value, lambda text_: addresses.address(text_, found.kubernetes))
    _stacks(found, spec, path)


def _stacks(found: Found, spec: Body, path: Path) -> None:
    families = strings(spec, "ipFamilies")
    for index, family in enumerate(families):
        found.one_of(CODE, (*path, "ipFamilies", index), family, ("IPv4", "IPv6"))
        if family in families[:index]:
            found.add(CODE, (*path, "ipFamilies", index), f"`{family}` stands there twice")
    if spec.get("ipFamilyPolicy") is not None:
        allowed = ("SingleStack", "PreferDualStack", "RequireDualStack")
        found.one_of(CODE, (*path, "ipFamilyPolicy"), spec["ipFamilyPolicy"], allowed)
