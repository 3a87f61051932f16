"""Functions that Kubernetes adds to CEL for texts that mean something: quantities, URLs, addresses, networks.

Source: apiserver 1.34, pkg/cel/library/quantity.go, urls.go, ip.go and cidr.go. What such a text means is a map here,
since the library takes no values of types of ours; a quantity is its exact value, so that equal ones are equal maps.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable, Iterator
from fractions import Fraction
from typing import Any, Final
from urllib.parse import parse_qs, urlsplit

from mlspec.model.quantity import parse_quantity
from mlspec.validation.cel.functions import function, member
from mlspec.validation.cel.library import cel

_T: Final = cel.Type
_MOST: Final = 2**63 - 1
_OCTET: Final = r"(0|[1-9]\d{0,2})"
_VERSION_4: Final = re.compile(rf"{_OCTET}(\.{_OCTET}){{3}}")
Parsed = dict[str, Any]


def declared() -> list[Any]:
    """Return the declarations of this module."""
    return [*_quantities(), *_urls(), *_addresses(), *_networks()]


def _is(parse: Callable[[str], Any]) -> Callable[[str], bool]:
    """Return whether a text can be read."""

    def answer(text: str) -> bool:
        try:
            parse(text)
        except ValueError:
            return False
        return True

    return answer


def _quantities() -> Iterator[Any]:
    one, two = (_T.MAP,), (_T.MAP, _T.MAP)
    yield function("quantity", ((_T.STRING,), _T.MAP, lambda text: _quantity(_read(text))))
    yield function("isQuantity", ((_T.STRING,), _T.BOOL, _is(_read)))
    yield function("sign", (one, _T.INT, lambda a: _compared(_amount(a), Fraction(0))))
    yield member("isInteger", (one, _T.BOOL, lambda a: _amount(a).denominator == 1 and abs(_amount(a)) <= _MOST))
    yield member("asInteger", (one, _T.INT, _integer))
    yield member("asApproximateFloat", (one, _T.DOUBLE, lambda a: float(_amount(a))))
    yield member("isGreaterThan", (two, _T.BOOL, lambda a, b: _amount(a) > _amount(b)))
    yield member("isLessThan", (two, _T.BOOL, lambda a, b: _amount(a) < _amount(b)))
    yield member("compareTo", (two, _T.INT, lambda a, b: _compared(_amount(a), _amount(b))))
    yield member(
        "add",
        (two, _T.MAP, lambda a, b: _quantity(_amount(a) + _amount(b))),
        ((_T.MAP, _T.INT), _T.MAP, lambda a, b: _quantity(_amount(a) + b)),
    )
    yield member(
        "sub",
        (two, _T.MAP, lambda a, b: _quantity(_amount(a) - _amount(b))),
        ((_T.MAP, _T.INT), _T.MAP, lambda a, b: _quantity(_amount(a) - b)),
    )


def _read(text: str) -> Fraction:
    found = parse_quantity(text.removeprefix("-") if text.startswith("-") else text.removeprefix("+"))
    if found is None:
        raise ValueError(f"{text!r} is not a quantity")
    return -found[0] if text.startswith("-") else found[0]


def _quantity(value: Fraction) -> Parsed:
    return {"quantity": str(value)}


def _amount(value: Parsed) -> Fraction:
    return Fraction(value["quantity"])


def _compared(one: Fraction, two: Fraction) -> int:
    return (one > two) - (one < two)


def _integer(value: Parsed) -> int:
    amount = _amount(value)
    if amount.denominator != 1 or abs(amount) > _MOST:
        raise ValueError("cannot convert value to integer")
    return int(amount)


def _urls() -> Iterator[Any]:
    yield function("url", ((_T.STRING,), _T.MAP, _url))
    yield function("isURL", ((_T.STRING,), _T.BOOL, _is(_url)))
    for name in ("Scheme", "Host", "Hostname", "Port", "EscapedPath"):
        yield member(f"get{name}", ((_T.MAP,), _T.STRING, lambda a, name=name: a[name]))
    yield member("getQuery", ((_T.MAP,), _T.MAP, lambda a: a["Query"]))


def _url(text: str) -> Parsed:
    """Read a URL as Go's url.ParseRequestURI does: absolute, or an absolute path."""
    parts = urlsplit(text)
    if not text or re.search(r"[\x00-\x20\x7f]", text) or not (parts.scheme or text.startswith("/")):
        raise ValueError(f"invalid URI for request: {text!r}")
    if re.search(r"%(?![0-9A-Fa-f]{2})", text) or not (parts.netloc or parts.path.startswith("/") or parts.scheme):
        raise ValueError(f"invalid URI for request: {text!r}")
    host = parts.netloc.rpartition("@")[2]
    return {
        "Scheme": parts.scheme,
        "Host": host,
        "Hostname": re.sub(r":\d*$", "", host).strip("[]"),
        "Port": str(parts.port) if parts.port is not None else "",
        "EscapedPath": parts.path,
        "Query": parse_qs(parts.query, keep_blank_values=True),
    }


def _addresses() -> Iterator[Any]:
    yield function("isIP", ((_T.STRING,), _T.BOOL, _is(_address)))
    yield function("ip.isCanonical", ((_T.STRING,), _T.BOOL, lambda text: str(_address(text)) == text))
    yield member("family", ((_T.MAP,), _T.INT, lambda a: ipaddress.ip_address(a["ip"]).version))
    for name, of in {
        "isUnspecified": lambda ip: ip.is_unspecified,
        "isLoopback": lambda ip: ip.is_loopback,
        "isLinkLocalUnicast": lambda ip: ip.is_link_local,
        "isLinkLocalMulticast": lambda ip: _is_link_local_multicast(ip),
        "isGlobalUnicast": lambda ip: _is_global_unicast(ip),
    }.items():
        yield member(name, ((_T.MAP,), _T.BOOL, lambda a, of=of: of(ipaddress.ip_address(a["ip"]))))


def _address(text: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address:
    found = ipaddress.ip_address(text)
    if (
        "%" in text
        or (found.version == 6 and found.ipv4_mapped)
        or (found.version == 4 and not _VERSION_4.fullmatch(text))
    ):
        raise ValueError(f"IP address {text!r} is not allowed")
    return found


def _is_link_local_multicast(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if ip.version == 4:
        return ip in ipaddress.ip_network("224.0.0.0/24")
    return ip.packed[0] == 0xFF and ip.packed[1] & 0x0F == 2


def _is_global_unicast(ip: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    none = ip.is_unspecified or ip.is_loopback or ip.is_multicast or ip.is_link_local
    return not none and str(ip) != "255.255.255.255"


def _networks() -> Iterator[Any]:
    text, own = (_T.MAP, _T.STRING), (_T.MAP, _T.MAP)
    yield function("cidr", ((_T.STRING,), _T.MAP, lambda a: {"cidr": str(_network(a))}))
    yield function("isCIDR", ((_T.STRING,), _T.BOOL, _is(_network)))
    yield _ip()
    yield member("prefixLength", ((_T.MAP,), _T.INT, lambda a: _network(a["cidr"]).network.prefixlen))
    yield member("masked", ((_T.MAP,), _T.MAP, lambda a: {"cidr": str(_network(a["cidr"]).network)}))
    yield member(
        "containsIP",
        (text, _T.BOOL, lambda a, b: _address(b) in _network(a["cidr"]).network),
        (own, _T.BOOL, lambda a, b: _address(b["ip"]) in _network(a["cidr"]).network),
    )
    yield member(
        "containsCIDR",
        (text, _T.BOOL, lambda a, b: _within(_network(b), _network(a["cidr"]))),
        (own, _T.BOOL, lambda a, b: _within(_network(b["cidr"]), _network(a["cidr"]))),
    )


def _ip() -> Any:
    """Declare `ip`, which is a function of a text and a method of a network."""
    of_text = cel.Overload(
        "ip_of_text",
        return_type=_T.MAP,
        parameters=[_T.STRING],
        is_member=False,
        impl=lambda a: {"ip": str(_address(a))},
    )
    of_network = cel.Overload(
        "ip_of_network",
        return_type=_T.MAP,
        parameters=[_T.MAP],
        is_member=True,
        impl=lambda a: {"ip": str(_network(a["cidr"]).ip)},
    )
    return cel.FunctionDecl("ip", [of_text, of_network])


def _network(text: str) -> ipaddress.IPv4Interface | ipaddress.IPv6Interface:
    if not re.fullmatch(r"[^/]+/(0|[1-9]\d{0,2})", text):
        raise ValueError(f"{text!r} is not a network")
    _address(text.partition("/")[0])
    return ipaddress.ip_interface(text)


def _within(inner: Any, outer: Any) -> bool:
    return bool(inner.version == outer.version and inner.network.subnet_of(outer.network))
