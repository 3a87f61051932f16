"""The forms that Kubernetes wants of texts; each function says why a text has not the form, and nothing where it has.

From k8s.io/apimachinery v0.34.4 pkg/util/validation/validation.go and ip.go, pkg/api/validation/path/name.go, and
k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (paths).
"""

from __future__ import annotations

import base64
import binascii
import re
from functools import lru_cache
from typing import Final

from mlspec import names

_MANY: Final = 8192
_HEADER = re.compile(r"[-A-Za-z0-9]+")
_KEY_OF_DATA = re.compile(r"[-._a-zA-Z0-9]+")
_UNDERSCORED = re.compile(r"[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?(\.[a-z0-9_]([-a-z0-9_]*[a-z0-9_])?)*")
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
_PATH_OF_URL = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+")


def _more(limit: int, value: str) -> str:
    return f"has {len(value)} characters, and may have {limit}"


@lru_cache(maxsize=_MANY)
def label(value: str) -> str:
    """Say why a text is no DNS-1123 label, such as the name of a container (IsDNS1123Label)."""
    if len(value) > names.LABEL_LIMIT:
        return _more(names.LABEL_LIMIT, value)
    return "" if names.is_label(value) else "is not made of lower-case letters, digits and `-` inside"


@lru_cache(maxsize=_MANY)
def name_of_service(value: str) -> str:
    """Say why a text is no DNS-1035 label (IsDNS1035Label)."""
    if len(value) > names.LABEL_LIMIT:
        return _more(names.LABEL_LIMIT, value)
    return "" if names.is_name(value) else "is not made of lower-case letters, digits and `-`, beginning with a letter"


@lru_cache(maxsize=_MANY)
def subdomain(value: str) -> str:
    """Say why a text is no DNS-1123 subdomain, as most names of objects are (IsDNS1123Subdomain)."""
    if len(value) > names.SUBDOMAIN_LIMIT:
        return _more(names.SUBDOMAIN_LIMIT, value)
    formed = all(names.is_label(part) for part in value.split("."))
    return "" if formed else "is not made of lower-case letters, digits, `-` and `.`"


@lru_cache(maxsize=_MANY)
def search_domain(value: str) -> str:
    """Say why a text is no domain to search, where underscores are allowed (IsDNS1123SubdomainWithUnderscore)."""
    if len(value) > names.SUBDOMAIN_LIMIT:
        return _more(names.SUBDOMAIN_LIMIT, value)
    return "" if _UNDERSCORED.fullmatch(value) else "is not made of lower-case letters, digits, `-`, `_` and `.`"


@lru_cache(maxsize=_MANY)
def path_segment(value: str) -> str:
    """Say why a text cannot stand in a URL, as names of Roles do (IsValidPathSegmentName)."""
    return "holds `/` or `%`, or is `.` or `..`" if value in (".", "..") or "/" in value or "%" in value else ""


@lru_cache(maxsize=_MANY)
def key(value: str) -> str:
    """Say why a text is no key of a label (IsQualifiedName)."""
    if names.is_key(value):
        return ""
    behind = len(value.rpartition("/")[2])
    return (
        f"is not a key: at most {names.LABEL_LIMIT} letters, digits, `-`, `_` and `.`, behind `a-domain.example/` or "
        f"alone, and not {behind}"
        if behind > names.LABEL_LIMIT
        else "is not a key: letters, digits, `-`, `_` and `.`, behind `a-domain.example/` or alone"
    )


@lru_cache(maxsize=_MANY)
def annotation(value: str) -> str:
    """Say why a text is no key of an annotation, whose domain may have capitals (ValidateAnnotations)."""
    return key(value.lower())


@lru_cache(maxsize=_MANY)
def label_value(value: str) -> str:
    """Say why a text is no value of a label (IsValidLabelValue)."""
    if len(value) > names.LABEL_LIMIT:
        return _more(names.LABEL_LIMIT, value)
    return "" if names.is_label_value(value) else "is not made of letters, digits and, inside, `-`, `_` and `.`"


@lru_cache(maxsize=_MANY)
def port_name(value: str) -> str:
    """Say why a text is no name of a port (IsValidPortName)."""
    if len(value) > names.PORT_LIMIT:
        return _more(names.PORT_LIMIT, value)
    return "" if names.is_port(value) else "is not made of lower-case letters, digits and single `-`, with a letter"


@lru_cache(maxsize=_MANY)
def relaxed_variable(value: str) -> str:
    """Say why a text is no name of an environment variable from 1.32 on (IsRelaxedEnvVarName)."""
    fits = all(" " <= char <= "~" and char != "=" for char in value)
    return "" if fits else "is not made of printable ASCII characters other than `=`"


@lru_cache(maxsize=_MANY)
def variable(value: str) -> str:
    """Say why a text is no name of an environment variable before 1.32 (IsEnvVarName)."""
    return "" if names.is_variable(value) else "is not made of letters, digits, `_`, `-` and `.`, a digit not first"


@lru_cache(maxsize=_MANY)
def key_of_data(value: str) -> str:
    """Say why a text is no key of a ConfigMap or Secret (IsConfigMapKey)."""
    if len(value) > names.SUBDOMAIN_LIMIT:
        return _more(names.SUBDOMAIN_LIMIT, value)
    formed = _KEY_OF_DATA.fullmatch(value) and value != "." and not value.startswith("..")
    return "" if formed else "is not made of letters, digits, `-`, `_` and `.`, or begins with `..`"


def header(value: str) -> str:
    """Say why a text is no name of an HTTP header (IsHTTPHeaderName)."""
    return "" if _HEADER.fullmatch(value) else "is not made of letters, digits and `-`"


def sysctl(value: str) -> str:
    """Say why a text is no name of a sysctl (IsValidSysctlName)."""
    return "" if len(value) <= names.SUBDOMAIN_LIMIT and _SYSCTL.fullmatch(value) else "is not a name of a sysctl"


def domain_and_path(value: str) -> str:
    """Say why a text is not `domain/path` (IsDomainPrefixedPath)."""
    domain, _, rest = value.partition("/")
    return "" if rest and not subdomain(domain) and _PATH_OF_URL.fullmatch(rest) else "is not `a-domain.example/path`"


def no_steps_up(value: str) -> str:
    """Say why a path leads upwards (validatePathNoBacksteps)."""
    return "leads upwards by `..`" if ".." in value.split("/") else ""


def descending(value: str) -> str:
    """Say why a path does not lead downwards from where it is used (validateLocalDescendingPath)."""
    return "is absolute" if value.startswith("/") else no_steps_up(value)


def local_file(value: str) -> str:
    """Say why a path is no file inside a volume (ValidateLocalNonReservedPath)."""
    reserved = value.startswith("..") and not value.startswith("../")
    return "begins with `..`" if reserved else descending(value)


def encoded(value: str) -> str:
    """Say why a text is not base64, as Go's decoder wants it: standard alphabet, padded, line breaks ignored."""
    try:
        base64.b64decode(value.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return "is not base64"
    return ""
