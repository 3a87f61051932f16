"""Where a model lies: URIs that the storage initializers of KServe and Seldon know, without credentials."""

from __future__ import annotations

import re
from typing import Annotated, Final, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.model.base import refused
from mlspec.model.scalars import text

SCHEMES: Final = ("s3", "gs", "hf", "pvc", "oci", "https")
# A claim is mounted and an OCI image is pulled by the node: neither is reached over the pod's network.
_OVER_NETWORK: Final = frozenset({"s3", "gs", "hf", "https"})


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
    """Accept a model URI of a known scheme; refuses credentials, queries and `..`."""
    written = text(value)
    found = re.fullmatch(r"(?P<scheme>[a-z0-9+]+)://(?P<rest>[^\s?#]+)", written)
    if found is None or found["scheme"] not in SCHEMES:
        raise refused(
            f"`{written}` is not a model URI", "write one of " + ", ".join(f"{scheme}://…" for scheme in SCHEMES)
        )
    if "@" in found["rest"].split("/", 1)[0]:
        raise refused("the URI carries credentials", "name a Secret in the destination of the environment instead")
    if found["scheme"] == "pvc" and not re.fullmatch(r"[a-z0-9][-a-z0-9.]*(/[^/]+)*/?", found["rest"]):
        raise refused(f"`{written}` is not a path in a claim", "write `pvc://<claim>/<path>`")
    if ".." in found["rest"].split("/"):
        raise refused(f"`{written}` contains `..`", "write the path that it means")
    return written


def location(uri: str) -> Location:
    """Return the parts of a parsed URI."""
    scheme, rest = uri.split("://", 1)
    return Location(scheme, rest)


ModelUri = Annotated[
    str, BeforeValidator(model_uri), WithJsonSchema({"type": "string", "pattern": "^(" + "|".join(SCHEMES) + ")://"})
]
