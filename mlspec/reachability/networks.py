"""Networks in CIDR form, and the addresses that no opening may include."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, collapse_addresses, ip_network
from typing import Final

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

METADATA: Final[tuple[Network, ...]] = (IPv4Network("169.254.169.254/32"), IPv6Network("fd00:ec2::254/128"))
"""Where clouds hand out the credentials of the node to whatever runs on it: most at the first, AWS at both."""
_CREDENTIALS: Final[tuple[Network, ...]] = (
    *METADATA,
    # Link-local: the services of the node itself, such as 169.254.170.2 (ECS) and 169.254.170.23 (EKS Pod Identity).
    IPv4Network("169.254.0.0/16"),
    IPv6Network("fe80::/10"),
    IPv6Network("fd00:ec2::23/128"),  # EKS Pod Identity
    IPv6Network("fd20:ce::254/128"),  # Google Cloud
    IPv4Network("100.100.100.200/32"),  # Alibaba Cloud
    IPv4Network("168.63.129.16/32"),  # the wire server of Azure
    IPv4Network("192.0.0.192/32"),  # Oracle Cloud, Classic
)
"""Where nothing but the node's and the cloud's own services answer."""
_NODE_LOCAL_DNS: Final = IPv4Network("169.254.20.10/32")
_MAPPED: Final = 96
"""Bits before the IPv4 address in one that is mapped into IPv6, `::ffff:10.0.0.1`."""


@lru_cache(maxsize=4096)
def network(cidr: str) -> Network:
    """Return a network; one of mapped IPv4 addresses is the IPv4 network, as implementations in Go take it.

    Raises ValueError for what is none.
    """
    found = ip_network(cidr, strict=False)
    if isinstance(found, IPv6Network) and found.prefixlen >= _MAPPED:
        mapped = found.network_address.ipv4_mapped
        if mapped is not None:
            return IPv4Network((mapped, found.prefixlen - _MAPPED))
    return found


def holds(outer: Network, inner: Network) -> bool:
    """Say whether all of a network lies in another."""
    if isinstance(outer, IPv4Network):
        return isinstance(inner, IPv4Network) and inner.subnet_of(outer)
    return isinstance(inner, IPv6Network) and inner.subnet_of(outer)


@lru_cache(maxsize=4096)
def left_out(whole: Network) -> tuple[Network, ...]:
    """Return the metadata services that a network holds beside others, which its opening must leave out."""
    return tuple(service for service in METADATA if service != whole and holds(whole, service))


def is_metadata(whole: Network) -> bool:
    """Say whether a network is a metadata service, or the like of another cloud, and nothing else.

    The node's DNS cache is none, though it is link-local, too.
    """
    return whole != _NODE_LOCAL_DNS and any(holds(service, whole) for service in _CREDENTIALS)


def is_world(networks: Iterable[Network]) -> bool:
    """Say whether networks are together every address of IPv4, or of IPv6, however they are cut."""
    found = list(networks)
    v4 = list(collapse_addresses(each for each in found if isinstance(each, IPv4Network)))
    v6 = list(collapse_addresses(each for each in found if isinstance(each, IPv6Network)))
    return any(each.prefixlen == 0 for each in v4) or any(each.prefixlen == 0 for each in v6)
