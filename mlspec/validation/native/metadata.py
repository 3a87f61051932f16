"""ObjectMeta and label selectors.

From k8s.io/apimachinery v0.34.4 pkg/api/validation/objectmeta.go (ValidateObjectMetaAccessor) and
pkg/apis/meta/v1/validation/validation.go (ValidateLabels, ValidateLabelSelector), k8s.io/kubernetes v1.34.4
pkg/apis/core/validation/validation.go (ValidateObjectMeta, validateKubeFinalizerName).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mlspec import names
from mlspec.validation.native import forms
from mlspec.validation.native.found import Body, Found, child, children, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS320"
LONG: Final = "MLS210"
ANNOTATIONS: Final = 256 * 1024
"""Bytes of all annotations of an object."""
_KUBERNETES: Final = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
"""Finalizers without a domain."""
_OPERATORS: Final = ("In", "NotIn")
_BARE: Final = ("Exists", "DoesNotExist")


def judge(found: Found, body: Body) -> None:
    """Judge the metadata of an object that is applied; names by its kind."""
    named(found, body)
    metadata = child(body, "metadata")
    if metadata is None:
        return
    common(found, metadata, ("metadata",))
    if "finalizers" in metadata:
        _finalizers(
            found, metadata, "." not in body["apiVersion"] or body["apiVersion"].split("/")[0] in _NATIVE_GROUPS
        )
    if "ownerReferences" in metadata:
        _owners(found, metadata)


def named(found: Found, body: Body) -> None:
    """Judge the name and the namespace of an object, and nothing else."""
    metadata = child(body, "metadata")
    if metadata is None:
        found.add(CODE, ("metadata", "name"), "is missing")
        return
    _name(found, body, text(metadata, "name"))
    space = metadata.get("namespace")
    if isinstance(space, str) and (reason := forms.label(space)):
        found.add(CODE, ("metadata", "namespace"), f"`{space[:80]}` {reason}")


_NATIVE_GROUPS: Final = frozenset({"networking.k8s.io", "rbac.authorization.k8s.io"})
_RELAXED_SERVICES: Final = (1, 36)
"""Since when the name of a Service may begin with a digit (feature RelaxedServiceNameValidation)."""
_FORMS: Final = {"Role": forms.path_segment, "RoleBinding": forms.path_segment, "Namespace": forms.label}


def _name(found: Found, body: Body, name: str) -> None:
    kind, path = body["kind"], ("metadata", "name")
    form = _FORMS.get(kind, forms.subdomain)
    if kind == "Service":
        form = forms.label if found.kubernetes >= _RELAXED_SERVICES else forms.name_of_service
    if not name:
        if not text(body["metadata"], "generateName"):  # law 8 has that against it
            found.add(CODE, path, "is missing")
    elif len(name) > names.LABEL_LIMIT and (kind in ("Job", "Namespace", "Service")):
        # A Job's name becomes a label of its pods (pkg/registry/batch/job/strategy.go, generateSelector).
        too_long(found, path, name, names.LABEL_LIMIT)
    elif reason := form(name):
        found.add(CODE, path, f"`{name[:80]}` {reason}")


def too_long(found: Found, path: Path, name: str, limit: int) -> None:
    """Object to a name that is too long, with the sum."""
    if found.projected:
        return
    told = names.Derived("", (name,), limit)
    shown = told.arithmetic() if len(name) <= names.SUBDOMAIN_LIMIT else f"{len(name)} characters > {limit}"
    found.add(LONG, path, f"is too long: {shown}", f"shorten the name by {len(name) - limit}")


def common(found: Found, metadata: Body, path: Path) -> None:
    """Judge what templates have, too: labels and annotations."""
    if "labels" in metadata:
        labels(found, metadata["labels"], (*path, "labels"))
    annotations = metadata.get("annotations")
    if not isinstance(annotations, Mapping):
        return
    size = 0
    for key, value in annotations.items():
        if reason := forms.annotation(key):
            found.key(CODE, (*path, "annotations", key[:330]), key[:330], reason)
        size += (
            len(key) + len(value)
            if isinstance(value, str) and value.isascii() and key.isascii()
            else _bytes(key, value)
        )
    if size > ANNOTATIONS:
        message = f"have {size} bytes, but an object has at most {ANNOTATIONS}"
        found.add(CODE, (*path, "annotations"), message, f"shorten them by {size - ANNOTATIONS} bytes")


def _bytes(key: str, value: Any) -> int:
    return len(key.encode(errors="replace")) + len(str(value).encode(errors="replace"))


def labels(found: Found, written: Any, path: Path, code: str = CODE) -> None:
    """Judge labels, or what selects by them."""
    if not isinstance(written, Mapping):
        return
    for key, value in written.items():
        if reason := forms.key(key):
            found.key(code, (*path, key[:330]), key[:330], reason)
        if isinstance(value, str) and (reason := forms.label_value(value)):
            if len(value) > names.LABEL_LIMIT and found.projected:
                continue
            found.add(code, (*path, key[:330]), f"`{value[:80]}` {reason}")


def selector(found: Found, written: Body | None, path: Path, code: str = CODE) -> None:
    """Judge a label selector."""
    if not written:
        return
    if "matchLabels" in written:
        labels(found, written["matchLabels"], (*path, "matchLabels"), code)
    for index, item in enumerate(children(written, "matchExpressions")):
        requirement(found, item, (*path, "matchExpressions", index), code, (), values=True)


def requirement(found: Found, item: Body, path: Path, code: str, comparing: tuple[str, ...], *, values: bool) -> None:
    """Judge one expression of a selector; `values`: theirs must have the form of a label's."""
    operator, given = text(item, "operator"), strings(item, "values")
    found.one_of(code, (*path, "operator"), operator, (*_OPERATORS, *_BARE, *comparing))
    if operator in _OPERATORS and not given:
        found.add(code, (*path, "values"), f"is missing, which `{operator}` needs")
    elif operator in _BARE and given:
        found.add(code, (*path, "values"), f"cannot be said with `{operator}`")
    elif operator in comparing and len(given) != 1:
        found.add(code, (*path, "values"), f"`{operator}` wants one value, and there are {len(given)}")
    found.form(code, (*path, "key"), text(item, "key"), forms.key)
    for index, value in enumerate(given if values else ()):
        found.form(code, (*path, "values", index), value, forms.label_value)


def _finalizers(found: Found, metadata: Body, native: bool) -> None:
    written = strings(metadata, "finalizers")
    for index, name in enumerate(written):
        path = ("metadata", "finalizers", index)
        if reason := forms.key(name):
            found.add(CODE, path, f"`{name[:80]}` {reason}")
        elif native and "/" not in name and name not in _KUBERNETES:
            found.add(CODE, path, f"`{name[:80]}` has no domain", "write `a-domain.example/name`")
    if {"orphan", "foregroundDeletion"} <= set(written):
        found.add(CODE, ("metadata", "finalizers"), "`orphan` and `foregroundDeletion` exclude each other")


def _owners(found: Found, metadata: Body) -> None:
    owners = children(metadata, "ownerReferences")
    for index, owner in enumerate(owners):
        for field in ("apiVersion", "kind", "name", "uid"):
            if not text(owner, field):
                found.add(CODE, ("metadata", "ownerReferences", index, field), "is missing")
    if sum(owner.get("controller") is True for owner in owners) > 1:
        found.add(CODE, ("metadata", "ownerReferences"), "two of them are the controller, which is one")
