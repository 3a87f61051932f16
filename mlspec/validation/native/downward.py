"""What a pod tells its containers of itself: in variables, and in files of a volume.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validateObjectFieldSelector,
validateContainerResourceFieldSelector, validateContainerResourceDivisor) and pkg/apis/core/pods/helpers.go.
"""

from __future__ import annotations

import re
from typing import Final

from mlspec.validation.native import forms, quantities
from mlspec.validation.native.found import Body, Found, child, text
from mlspec.validation.objection import Path

_VOLUME: Final = "MLS324"
_VARIABLE: Final = "MLS322"
_FILES: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "metadata.annotations", "metadata.labels"}
)
_VARIABLES: Final = frozenset(
    {"metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName", "spec.serviceAccountName"}
    | {"status.hostIP", "status.hostIPs", "status.podIP", "status.podIPs", "spec.host"}
)
_RESOURCES: Final = frozenset(
    f"{side}.{name}" for side in ("limits", "requests") for name in ("cpu", "memory", "ephemeral-storage")
)
_PAGES: Final = ("limits.hugepages-", "requests.hugepages-")
_SUBSCRIPT = re.compile(r"(.*)\['(.*)'\]")
_DIVISORS: Final = frozenset(
    quantities.amount(f"1{suffix}") for suffix in ("", *"kMGTPE", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")
)


def of_variable(found: Found, source: Body, path: Path) -> None:
    """Judge the source of a variable that is a field or a resource."""
    field, resource = child(source, "fieldRef"), child(source, "resourceFieldRef")
    if field is not None:
        _field(found, field, (*path, "fieldRef"), _VARIABLES, _VARIABLE)
    if resource is not None:
        _resource(found, resource, (*path, "resourceFieldRef"), _VARIABLE)


def of_volume(found: Found, item: Body, path: Path) -> None:
    """Judge the source of a file."""
    field, resource = child(item, "fieldRef"), child(item, "resourceFieldRef")
    if (field is None) == (resource is None):
        found.add(_VOLUME, path, "has one of `fieldRef` and `resourceFieldRef`")
    if field is not None:
        _field(found, field, (*path, "fieldRef"), _FILES, _VOLUME)
    elif resource is not None:
        _resource(found, resource, (*path, "resourceFieldRef"), _VOLUME)
        if not text(resource, "containerName"):
            found.add(_VOLUME, (*path, "resourceFieldRef", "containerName"), "is missing")


def _field(found: Found, field: Body, path: Path, known: frozenset[str], code: str) -> None:
    version, written = text(field, "apiVersion") or "v1", text(field, "fieldPath")
    if version != "v1":
        found.add(code, (*path, "apiVersion"), f"`{version[:80]}` is not `v1`")
    subscript = _SUBSCRIPT.fullmatch(written)
    if subscript is None:
        found.one_of(code, (*path, "fieldPath"), written, known)
    elif subscript[1] not in ("metadata.annotations", "metadata.labels"):
        found.add(code, (*path, "fieldPath"), f"`{subscript[1][:80]}` has no keys")
    else:
        form = forms.annotation if subscript[1].endswith("annotations") else forms.key
        found.form(code, (*path, "fieldPath"), subscript[2], form)


def _resource(found: Found, field: Body, path: Path, code: str) -> None:
    name, divisor = text(field, "resource"), field.get("divisor")
    if not name.startswith(_PAGES):
        found.one_of(code, (*path, "resource"), name, _RESOURCES)
    amount = quantities.read(found, divisor, (*path, "divisor"), code)
    if not amount:
        return
    allowed = {quantities.amount("1"), quantities.amount("1m")} if name.endswith(".cpu") else _DIVISORS
    if amount not in allowed:
        found.add(code, (*path, "divisor"), f"`{divisor}` is no unit of `{name[:80]}`")
