"""PersistentVolumeClaims, and templates of them in a pod's volumes.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (ValidatePersistentVolumeClaimSpec,
ValidatePersistentVolumeClaimTemplate, validateDataSource).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import forms, metadata, quantities
from mlspec.validation.native.found import Body, Found, below, child, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS329"
_MODES: Final = frozenset({"ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany", "ReadWriteOncePod"})
_CLASSES_SINCE: Final = (1, 34)
"""Since when the server keeps `volumeAttributesClassName` (feature VolumeAttributesClass)."""


def judge(found: Found, body: Body) -> None:
    """Judge a PersistentVolumeClaim."""
    _spec(found, below(body, "spec"), ("spec",))


def template(found: Found, template: Body, path: Path) -> None:
    """Judge a claim that is made for a pod; of its metadata only labels and annotations may be written."""
    written = below(template, "metadata")
    metadata.common(found, written, (*path, "metadata"))
    for field in sorted(written.keys() - {"labels", "annotations", "creationTimestamp"}):
        found.add(CODE, (*path, "metadata", field), "cannot be said of a claim of a pod")
    _spec(found, below(template, "spec"), (*path, "spec"))


def _spec(found: Found, spec: Body, path: Path) -> None:
    modes = strings(spec, "accessModes")
    if not modes:
        found.add(CODE, (*path, "accessModes"), "is missing")
    for index, mode in enumerate(modes):
        found.one_of(CODE, (*path, "accessModes", index), mode, _MODES)
    if "ReadWriteOncePod" in modes and set(modes) & (_MODES - {"ReadWriteOncePod"}):
        found.add(CODE, (*path, "accessModes"), "`ReadWriteOncePod` excludes the others")
    metadata.selector(found, child(spec, "selector"), (*path, "selector"), CODE)
    _size(found, spec, path)
    for field, since in (("storageClassName", (1, 0)), ("volumeAttributesClassName", _CLASSES_SINCE)):
        if text(spec, field) and found.kubernetes >= since:
            found.form(CODE, (*path, field), text(spec, field), forms.subdomain)
    if spec.get("volumeMode") is not None:
        found.one_of(CODE, (*path, "volumeMode"), spec["volumeMode"], ("Block", "Filesystem"))
    source = child(spec, "dataSourceRef")
    if source is not None:  # a `dataSource` of another kind is dropped (pkg/api/persistentvolumeclaim/util.go)
        _source(found, source, (*path, "dataSourceRef"))


def _size(found: Found, spec: Body, path: Path) -> None:
    size, place = (
        below(below(spec, "resources"), "requests").get("storage"),
        (*path, "resources", "requests", "storage"),
    )
    amount = quantities.read(found, size, place, CODE)
    if size is None:
        found.add(CODE, place, "is missing")
    elif amount is not None and amount <= 0:
        found.add(CODE, place, f"{size} is not more than 0")


def _source(found: Found, source: Body, path: Path) -> None:
    for field in ("kind", "name"):
        if not text(source, field):
            found.add(CODE, (*path, field), "is missing")
    group = text(source, "apiGroup")
    if group:
        found.form(CODE, (*path, "apiGroup"), group, forms.subdomain)
    elif text(source, "kind") not in ("", "PersistentVolumeClaim"):
        found.add(CODE, (*path, "kind"), "is `PersistentVolumeClaim` where there is no `apiGroup`")
