"""IP addresses and networks as the API server reads them.

From k8s.io/apimachinery v0.34.4 pkg/util/validation/ip.go: fields from before 1.33 took zeros in front of numbers,
IPv4 addresses written as IPv6 ones, and networks with bits behind their length. Kubernetes refuses these by default
since 1.36 (feature StrictIPCIDRValidation).
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

from mlspec.validation.declared import Release

STRICT_SINCE: Final = (1, 36)
_NO_ADDRESS: Final = "is not an IP address"
_NO_NETWORK: Final = "is not a network, such as 10.9.8.0/24"
_ZEROS = re.compile(r"(?<![0-9a-fA-F:])0+(?=[0-9])")


def address(value: str, kubernetes: Release) -> str:
    """Say why a text is no IP address (IsValidIPForLegacyField)."""
    return _address(value, kubernetes >= STRICT_SINCE)


def network(value: str, kubernetes: Release) -> str:
    """Say why a text is no network in CIDR notation (IsValidCIDRForLegacyField)."""
    return _network(value, kubernetes >= STRICT_SINCE)


def is_strictly_inside(inner: str, outer: str) -> bool:
    """Say whether a network is a smaller part of another; True where one of them is none (ValidateIPBlock)."""
    import ipaddress

    try:
        small = ipaddress.ip_network(_plain(inner), strict=False)
        large = ipaddress.ip_network(_plain(outer), strict=False)
    except ValueError:
        return True
    inside = small.version == large.version and small.network_address in large
    return inside and small.prefixlen > large.prefixlen


def is_version_6(value: str) -> bool:
    """Say whether an address is one of IPv6."""
    return ":" in value


@lru_cache(maxsize=4096)
def _address(value: str, strict: bool) -> str:
    import ipaddress

    if "%" in value:  # Go's parser knows no zones here
        return _NO_ADDRESS
    try:
        found = ipaddress.ip_address(_plain(value))
    except ValueError:
        return _NO_ADDRESS
    if strict and _plain(value) != value:
        return "has zeros in front of a number"
    if strict and isinstance(found, ipaddress.IPv6Address) and found.ipv4_mapped is not None:
        return "is an IPv4 address written as one of IPv6"
    return ""


@lru_cache(maxsize=4096)
def _network(value: str, strict: bool) -> str:
    import ipaddress

    host, slash, length = value.partition("/")
    if not slash or not length.isdecimal() or not length.isascii() or "%" in host:
        return _NO_NETWORK
    try:
        ipaddress.ip_network(_plain(value), strict=False)
    except ValueError:
        return _NO_NETWORK
    if not strict:
        return ""
    if reason := _address(host, True):
        return reason
    try:
        ipaddress.ip_network(_plain(value))
    except ValueError:
        return "has bits set behind its length"
    return "has zeros in front of a number" if length != str(int(length)) else ""


def _plain(value: str) -> str:
    """Return an IPv4 address without zeros in front of its numbers; what is IPv6 stays."""
    return value if ":" in value else _ZEROS.sub("", value)
