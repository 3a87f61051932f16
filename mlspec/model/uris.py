"""Where a model lies: URIs that the storage initializers of KServe and Seldon know, without credentials.

A URI is handed to an init container as an argument, and a loader fetches what it says with the pod's rights: it must
name one place, to every reader the same, and hold nothing that Kubernetes, a shell or a server would expand.
"""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.model.base import refused
from mlspec.model.scalars import LONGEST, shown, text

SCHEMES: Final = ("s3", "gs", "hf", "pvc", "oci", "https")
# A claim is mounted and an OCI image is pulled by the node: neither is reached over the pod's network.
_OVER_NETWORK: Final = frozenset({"s3", "gs", "hf", "https"})
_URI: Final = re.compile(r"(?P<scheme>[a-z0-9+]{1,8})://(?P<rest>.+)", re.DOTALL)
_CLAIM: Final = re.compile(r"[a-z0-9]([-a-z0-9.]*[a-z0-9])?")
# A bucket, an owner on a hub, a host: what a name server and S3 take (RFC 1123), and `_`, which old buckets have.
_AUTHORITY: Final = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?(:[0-9]{1,5})?")
_HOST: Final = re.compile(r"(?=[^:]*[A-Za-z])[^:]+(:[0-9]+)?|[1-9][0-9]{0,2}(\.(0|[1-9][0-9]{0,2})){3}(:[0-9]+)?")
# Addresses that only this pod or its node answers, the metadata service of a cloud among them.
_OWN: Final = re.compile(
    r"(?i:localhost|(.*\.)?localhost|metadata(\.google\.internal)?|127\..*|0x.*|169\.254\..*)(:[0-9]+)?"
)
# Encodings of what would be another path once decoded, and of the sign that encodes; twice encoded is the same trick.
_DISGUISED: Final = re.compile(r"(?i:%(2e|2f|5c|25|0|1|7f)|%(?![0-9a-f]{2}))")


class Location(NamedTuple):
    """A model URI in parts."""

    scheme: str
    rest: str

    @property
    def claim(self) -> str | None:
        """The claim that it lies in."""
        return self.rest.split("/", 1)[0] if self.scheme == "pvc" else None

    @property
    def destination(self) -> str | None:
        """The destination of the environment that a pod must reach to load it."""
        return self.scheme if self.scheme in _OVER_NETWORK else None


def model_uri(value: object) -> str:
    """Accept a model URI of a known scheme; refuses credentials, queries, `..` and everything that is expanded."""
    written = text(value)
    found = _URI.fullmatch(written) if len(written) <= LONGEST else None
    if found is None or found["scheme"] not in SCHEMES:
        raise refused(
            f"{shown(written)} is not a model URI", "write one of " + ", ".join(f"{scheme}://…" for scheme in SCHEMES)
        )
    authority, _, path = found["rest"].partition("/")
    if "@" in authority:
        raise refused("the URI carries credentials", "name a Secret in the destination of the environment instead")
    _check_characters(written, found["rest"])
    _check_authority(written, found["scheme"], authority)
    for part in path.split("/"):
        if part in ("..", "."):
            raise refused(f"{shown(written)} contains `{part}`", "write the path that it means")
    if found["scheme"] == "pvc" and "//" in found["rest"]:
        raise refused(f"{shown(written)} is not a path in a claim", "write `pvc://<claim>/<path>`")
    return written


def _check_characters(written: str, rest: str) -> None:
    """Refuse what ends a URI early, what is expanded on its way to a loader, and what looks like another path."""
    if "?" in rest or "#" in rest:
        raise refused(f"{shown(written)} holds a query or a fragment", "a loader takes a place, and credentials apart")
    if "$" in rest:
        raise refused(f"{shown(written)} holds a `$`, with which Kubernetes begins variables", "write the place itself")
    if not rest.isprintable() or any(char in ' \\"`<>{}|^' for char in rest):
        raise refused(f"{shown(written)} holds a character that no URI does", "no blanks, quotes or braces")
    if _DISGUISED.search(rest):
        raise refused(f"{shown(written)} hides a `.`, `/` or `%` as `%…`", "write the path as it is")


def _check_authority(written: str, scheme: str, authority: str) -> None:
    """Refuse a bucket, host or claim that is none, or that only the pod itself or its node answers."""
    if scheme == "pvc":
        if len(authority) > 253 or not _CLAIM.fullmatch(authority):
            raise refused(f"{shown(written)} is not a path in a claim", "write `pvc://<claim>/<path>`")
        return
    if not authority or len(authority) > 259 or not _AUTHORITY.fullmatch(authority) or ".." in authority:
        what = "host" if scheme in ("https", "oci") else "owner" if scheme == "hf" else "bucket"
        raise refused(f"{shown(written)} names no {what}", f"write `{scheme}://<{what}>/<path>`")
    # A node may well have a registry of its own; a pod that loads a model from itself is up to something else.
    is_own = scheme == "https" and _OWN.fullmatch(authority) is not None
    if scheme in ("https", "oci") and (is_own or not _HOST.fullmatch(authority)):
        message = f"{shown(written)} leads to the pod itself, to its node, or to a number that hides an address"
        raise refused(message, "name the host that serves the model")


def location(uri: str) -> Location:
    """Return the parts of a parsed URI."""
    scheme, rest = uri.split("://", 1)
    return Location(scheme, rest)


ModelUri = Annotated[
    str, BeforeValidator(model_uri), WithJsonSchema({"type": "string", "pattern": "^(" + "|".join(SCHEMES) + ")://"})
]
