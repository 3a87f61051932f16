"""Where pods may run: node selectors, tolerations, affinity, spreading.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (ValidateTolerations, validateAffinity,
ValidateNodeSelector, validatePodAffinityTerm, validateTopologySpreadConstraints).
"""

from __future__ import annotations

from typing import Final

from mlspec.validation.native import forms, metadata
from mlspec.validation.native.found import Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS325"
_EFFECTS: Final = frozenset({"NoSchedule", "PreferNoSchedule", "NoExecute"})
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"


def judge(found: Found, spec: Body, path: Path) -> None:
    """Judge where a pod may run."""
    if "nodeSelector" in spec:
        metadata.labels(found, spec["nodeSelector"], (*path, "nodeSelector"), CODE)
    for index, item in enumerate(children(spec, "tolerations")):
        _toleration(found, item, (*path, "tolerations", index))
    affinity = child(spec, "affinity")
    if affinity:
        _affinity(found, affinity, (*path, "affinity"))
    if "topologySpreadConstraints" in spec:
        _spread(found, children(spec, "topologySpreadConstraints"), (*path, "topologySpreadConstraints"))


def _toleration(found: Found, item: Body, path: Path) -> None:
    key, operator, value, effect = (text(item, field) for field in ("key", "operator", "value", "effect"))
    if key:
        found.form(CODE, (*path, "key"), key, forms.key)
    elif operator != "Exists":
        found.add(CODE, (*path, "operator"), "without a key only `Exists` can be said, which tolerates everything")
    found.one_of(CODE, (*path, "operator"), operator, ("Equal", "Exists"), "Equal")
    if operator == "Exists" and value:
        found.add(CODE, (*path, "value"), "cannot be said with `Exists`")
    elif operator in ("", "Equal"):
        found.form(CODE, (*path, "value"), value, forms.label_value)
    if effect:
        found.one_of(CODE, (*path, "effect"), effect, _EFFECTS)
    if item.get("tolerationSeconds") is not None and effect != "NoExecute":
        found.add(CODE, (*path, "effect"), "is `NoExecute` where `tolerationSeconds` is said")


def _affinity(found: Found, affinity: Body, path: Path) -> None:
    nodes, where = below(affinity, "nodeAffinity"), (*path, "nodeAffinity")
    required = child(nodes, _REQUIRED)
    if required is not None:
        terms = children(required, "nodeSelectorTerms")
        if not terms:
            found.add(CODE, (*where, _REQUIRED, "nodeSelectorTerms"), "is missing")
        for index, term in enumerate(terms):
            _nodes(found, term, (*where, _REQUIRED, "nodeSelectorTerms", index), values=True)
    for index, item in enumerate(children(nodes, _PREFERRED)):
        place = (*where, _PREFERRED, index)
        found.between(CODE, (*place, "weight"), number(item, "weight") or 0, 1, 100)
        _nodes(found, below(item, "preference"), (*place, "preference"), values=False)
    for field in ("podAffinity", "podAntiAffinity"):
        pods = below(affinity, field)
        for index, item in enumerate(children(pods, _REQUIRED)):
            _pods(found, item, (*path, field, _REQUIRED, index))
        for index, item in enumerate(children(pods, _PREFERRED)):
            place = (*path, field, _PREFERRED, index)
            found.between(CODE, (*place, "weight"), number(item, "weight") or 0, 1, 100)
            _pods(found, below(item, "podAffinityTerm"), (*place, "podAffinityTerm"))


def _nodes(found: Found, term: Body, path: Path, *, values: bool) -> None:
    for index, item in enumerate(children(term, "matchExpressions")):
        metadata.requirement(found, item, (*path, "matchExpressions", index), CODE, ("Gt", "Lt"), values=values)
    for index, item in enumerate(children(term, "matchFields")):
        place = (*path, "matchFields", index)
        found.one_of(CODE, (*place, "operator"), text(item, "operator"), ("In", "NotIn"))
        given = strings(item, "values")
        if len(given) != 1:
            found.add(CODE, (*place, "values"), f"is one name of a node, and not {len(given)}")
        found.one_of(CODE, (*place, "key"), text(item, "key"), ("metadata.name",))
        for number_, value in enumerate(given):
            found.form(CODE, (*place, "values", number_), value, forms.subdomain)


def _pods(found: Found, term: Body, path: Path) -> None:
    for field in ("labelSelector", "namespaceSelector"):
        metadata.selector(found, child(term, field), (*path, field), CODE)
    for index, name in enumerate(strings(term, "namespaces")):
        found.form(CODE, (*path, "namespaces", index), name, forms.label)
    _keys(found, term, path)
    found.needed(CODE, (*path, "topologyKey"), text(term, "topologyKey"), forms.key)


def _keys(found: Found, term: Body, path: Path) -> None:
    """Judge the keys by which pods of one revision are told from others.

    Of a template the server takes a key that is selected besides; of the pod, into whose selector it merges the keys,
    not.
    """
    selected = child(term, "labelSelector")
    matched, mismatched = strings(term, "matchLabelKeys"), strings(term, "mismatchLabelKeys")
    names = [
        *below(selected or {}, "matchLabels"),
        *(text(i, "key") for i in children(selected or {}, "matchExpressions")),
    ]
    for field, keys in (("matchLabelKeys", matched), ("mismatchLabelKeys", mismatched)):
        if keys and selected is None:
            found.add(CODE, (*path, field), "needs a `labelSelector` beside it")
        for index, key in enumerate(keys):
            found.form(CODE, (*path, field, index), key, forms.key)
            if field == "matchLabelKeys" and key in names:
                found.add(CODE, (*path, field, index), f"`{key[:80]}` is in `labelSelector`, too")
    for index, key in enumerate(matched):
        if key in mismatched:
            found.add(CODE, (*path, "matchLabelKeys", index), f"`{key[:80]}` is in `mismatchLabelKeys`, too")


def _spread(found: Found, constraints: list[Body], path: Path) -> None:
    seen = set()
    for index, item in enumerate(constraints):
        place = (*path, index)
        key, otherwise = text(item, "topologyKey"), text(item, "whenUnsatisfiable")
        found.between(CODE, (*place, "maxSkew"), number(item, "maxSkew") or 0, 1)
        if not key:
            found.add(CODE, (*place, "topologyKey"), "is missing")
        found.one_of(CODE, (*place, "whenUnsatisfiable"), otherwise, ("DoNotSchedule", "ScheduleAnyway"))
        if (key, otherwise) in seen:
            found.add(CODE, (*place, "topologyKey"), f"`{key}` with `{otherwise}` stands there twice")
        seen.add((key, otherwise))
        least = number(item, "minDomains")
        found.between(CODE, (*place, "minDomains"), least, 1)
        if least is not None and otherwise != "DoNotSchedule":
            found.add(CODE, (*place, "minDomains"), "is said only with `DoNotSchedule`")
        for field in ("nodeAffinityPolicy", "nodeTaintsPolicy"):
            if item.get(field) is not None:
                found.one_of(CODE, (*place, field), item[field], ("Ignore", "Honor"))
        _keys(found, item, place)
        metadata.selector(found, child(item, "labelSelector"), (*place, "labelSelector"), CODE)
