"""Roles and RoleBindings, and ConfigMaps.

From k8s.io/kubernetes v1.34.4 pkg/apis/rbac/validation/validation.go (ValidatePolicyRule, ValidateRoleBinding,
ValidateRoleBindingSubject) and pkg/apis/core/validation/validation.go (ValidateConfigMap).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import forms
from mlspec.validation.native.found import Body, Found, below, children, text

CODE: Final = "MLS329"
_GROUP: Final = "rbac.authorization.k8s.io"
_DATA: Final = 1024 * 1024
"""Bytes that a ConfigMap holds (core.MaxSecretSize)."""


def role(found: Found, body: Body) -> None:
    """Judge a Role: each rule names verbs, groups and resources."""
    for index, rule in enumerate(children(body, "rules")):
        path = ("rules", index)
        if rule.get("nonResourceURLs"):
            found.add(CODE, (*path, "nonResourceURLs"), "can be said of a ClusterRole only")
            continue
        for field in ("verbs", "apiGroups", "resources"):
            if not rule.get(field):
                found.add(CODE, (*path, field), "is missing")


def role_binding(found: Found, body: Body) -> None:
    """Judge a RoleBinding; groups that are missing are filled in by the server (pkg/apis/rbac/v1/defaults.go)."""
    reference = below(body, "roleRef")
    found.one_of(CODE, ("roleRef", "apiGroup"), text(reference, "apiGroup"), (_GROUP,), _GROUP)
    found.one_of(CODE, ("roleRef", "kind"), text(reference, "kind"), ("Role", "ClusterRole"))
    found.needed(CODE, ("roleRef", "name"), text(reference, "name"), forms.path_segment)
    for index, subject in enumerate(children(body, "subjects")):
        path, sort, group = ("subjects", index), text(subject, "kind"), text(subject, "apiGroup")
        found.one_of(CODE, (*path, "kind"), sort, ("ServiceAccount", "User", "Group"))
        if not text(subject, "name"):
            found.add(CODE, (*path, "name"), "is missing")
        elif sort == "ServiceAccount":
            found.form(CODE, (*path, "name"), text(subject, "name"), forms.subdomain)
        if sort == "ServiceAccount" and group:
            found.add(CODE, (*path, "apiGroup"), "is empty for a ServiceAccount")
        elif sort in ("User", "Group"):
            found.one_of(CODE, (*path, "apiGroup"), group, (_GROUP,), _GROUP)


def config_map(found: Found, body: Body) -> None:
    """Judge a ConfigMap: keys, and bytes in all."""
    data, binary = below(body, "data"), below(body, "binaryData")
    size = 0
    for field, entries in (("data", data), ("binaryData", binary)):
        for key, value in entries.items():
            if reason := forms.key_of_data(key):
                found.key(CODE, (field, key[:330]), key[:80], reason)
            if not isinstance(value, str):
                continue
            if field == "data":
                size += len(value) if value.isascii() else len(value.encode(errors="replace"))
                continue
            size += len(value) * 3 // 4 - value.count("=")
            if reason := forms.encoded(value):
                found.add(CODE, (field, key), reason)
    for key in sorted(data.keys() & binary.keys()):
        found.add(CODE, ("data", key), f"`{key}` is in `binaryData`, too")
    if size > _DATA:
        found.add(CODE, ("data",), f"holds {size} bytes, and a ConfigMap holds {_DATA}")
