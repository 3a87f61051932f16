"""Nothing that makes the output safe can be taken away or weakened unseen: each such field, in each kind of object.

The objects of the goldens are changed as they are emitted, one field at a time, and judged as `mlspec check` judges
them.
An object's own pods are projected anew. Whatever the change, an error that was not there before must come of it.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from typing import Any, Final, NamedTuple

import pytest

from mlspec.all_kinds import KINDS
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Diagnostic, Severity
from mlspec.k8s.resource import Body, Resource
from mlspec.pipeline import compile_workspace, judge
from mlspec.projection import kubernetes
from mlspec.spec.load import load
from tests.cluster.harness.goldens import roots

Path = tuple[int | str, ...]
Edit = Callable[[Body], None]
_GONE: Final = object()


class Case(NamedTuple):
    """One change of one object of one project in one environment."""

    compiled: Compiled
    environment: str
    position: int
    name: str
    edit: Edit | None
    """None: the object is left out."""


class Target(NamedTuple):
    """A place in an object that makes it safe, and what may stand there instead."""

    path: Path
    values: tuple[Any, ...]


@cache
def _compilations() -> tuple[Compilation, ...]:
    return tuple(compile_workspace(load(root)) for root in roots())


def _walk(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    yield path, value
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield from _walk(item, (*path, key))


_WEAKER: Final[dict[str, tuple[Any, ...]]] = {
    "allowPrivilegeEscalation": (_GONE, True),
    "automountServiceAccountToken": (_GONE, True),
    "capabilities": (_GONE, {"add": ["SYS_ADMIN"], "drop": ["ALL"]}, {"drop": ["NET_RAW"]}),
    "enableServiceLinks": (_GONE, True),
    "except": (_GONE,),
    "fsGroup": (_GONE, 0),
    "immutable": (_GONE, False),
    "limits": (_GONE,),
    "pod-security.kubernetes.io/enforce": (_GONE, "privileged"),
    "pod-security.kubernetes.io/warn": (_GONE, "privileged"),
    "policyTypes": ([], ["Ingress"], ["Egress"]),
    "readOnlyRootFilesystem": (_GONE, False),
    "runAsGroup": (_GONE, 0),
    "runAsNonRoot": (_GONE, False),
    "runAsUser": (_GONE, 0, 1000),
    "seccompProfile": (_GONE, {"type": "Unconfined"}),
    "securityContext": (_GONE, {}),
    "serviceAccountName": (_GONE, "default"),
    "sidecar.istio.io/inject": (_GONE, "true"),
    "sizeLimit": (_GONE, "4000Gi"),
    "mlspec.dev/project": (_GONE, "other"),
}
"""By key; what a NetworkPolicy says of peers and ports stands below."""


def _targets(body: Body) -> Iterator[Target]:
    for path, value in _walk(body):
        key = path[-1] if path else ""
        if key in _WEAKER and not _is_elsewhere(body, path):
            yield Target(path, _WEAKER[str(key)])
        if body["kind"] == "NetworkPolicy" and path[:1] == ("spec",):
            yield from _of_policy(path, value)


def _is_elsewhere(body: Body, path: Path) -> bool:
    """Say whether a key means something else there: labels of objects that are no pods, lists in a quota."""
    if path[-1] == "mlspec.dev/project":
        return "template" not in path and body["kind"] != "InferenceService"
    # KServe has limits of its own where a server has none (inference_service_defaults.go, and its runtimes).
    if path[-1] == "limits" and body["kind"] == "InferenceService":
        return True
    return body["kind"] in ("LimitRange", "ResourceQuota", "Role") or (path[-1] == "limits" and "resources" not in path)


def _of_policy(path: Path, value: Any) -> Iterator[Target]:
    if path[-1] in ("podSelector", "namespaceSelector"):
        yield Target(path, ({}, *((_GONE,) if len(path) > 2 else ())))
    if path[-1] == "matchLabels" and path[-3:-1] != ("spec", "podSelector"):
        yield from (Target((*path, key), ("other",)) for key in value)
    if path[-1] in ("ingress", "egress") and isinstance(value, list):
        yield Target(path, ([*value, {}],))
    if path[-1] in ("from", "to"):
        yield Target(path, (_GONE, [*value, {"podSelector": {}}], [*value, {"ipBlock": {"cidr": "0.0.0.0/0"}}]))
    if path[-1] == "ports":
        yield Target(
            path, (_GONE, [*value, {"protocol": "TCP", "port": 22}], [{"protocol": "TCP", "port": 1, "endPort": 65535}])
        )
    if path[-1] == "cidr":
        yield Target(path, ("0.0.0.0/0",))


def _edit(target: Target, value: Any) -> Edit:
    def change(body: Body) -> None:
        place: Any = body
        for key in target.path[:-1]:
            place = place[key]
        if value is _GONE:
            del place[target.path[-1]]
        else:
            place[target.path[-1]] = copy.deepcopy(value)

    return change


def _same(body: Body, target: Target, value: Any) -> bool:
    place: Any = body
    for key in target.path:
        place = place[key]
    return bool(place == value)


def _shape(path: Path) -> str:
    """Return a path without what is only a name or a number, so that each sort of field is tried once a kind."""
    return ".".join("*" if isinstance(key, int) or re.fullmatch(r"claim-\d+", key) else key for key in path)


def _cases() -> Iterator[Case]:
    seen: set[str] = set()
    for compilation in _compilations():
        for compiled in compilation.projects:
            for environment, resources in compiled.resources.items():
                for index, resource in enumerate(resources):
                    for name, edit in _changes(resource.body):
                        where = f"{_sort(resource)}: {name}"
                        if where not in seen:
                            seen.add(where)
                            yield Case(compiled, environment, index, where, edit)


def _sort(resource: Resource) -> str:
    """Return what sort of object it is; a gate is not a run, and default-deny not a workload's policy."""
    body = resource.body
    gate = " of a gate" if "mlspec.dev/gate" in body["metadata"].get("labels", {}) else ""
    closed = (
        " default-deny"
        if body["kind"] == "NetworkPolicy" and body["metadata"]["name"].endswith("-default-deny")
        else ""
    )
    return f"{body['kind']}{gate}{closed}"


def _changes(body: Body) -> Iterator[tuple[str, Edit | None]]:
    for target in _targets(body):
        for value in target.values:
            if value is _GONE or not _same(body, target, value):
                shown = "gone" if value is _GONE else str(value)[:60]
                yield f"{_shape(target.path)} → {shown}", _edit(target, value)
    if body["kind"] in ("NetworkPolicy", "ServiceAccount", "Namespace"):
        yield "left out", None


CASES = list(_cases())


def _findings(compiled: Compiled, environment: str, resources: list[Resource]) -> list[Diagnostic]:
    changed = replace(compiled, resources={**compiled.resources, environment: resources}, opinions={})
    workspace = next(each.workspace for each in _compilations() if compiled in each.projects)
    return judge(changed, workspace.environments[environment])


@cache
def _before(place: int, environment: str) -> frozenset[tuple[str, str]]:
    compiled = next(item for each in _compilations() for item in each.projects if id(item) == place)
    found = _findings(compiled, environment, compiled.resources[environment])
    return frozenset((finding.code, finding.message) for finding in found if finding.severity is Severity.ERROR)


def _changed(resource: Resource, edit: Edit, compiled: Compiled, environment: str) -> Resource:
    body = copy.deepcopy(resource.body)
    edit(body)
    projection = resource.projection
    kind = next((kind for kind in KINDS.values() if kind.GVK.kind == body["kind"]), None)
    if projection is not None and kind is not None:
        projection = kind.project(body, compiled.plans[environment].target, {})
    elif projection is not None:
        projection = kubernetes.job(body)
    return replace(resource, body=body, projection=projection, patched=None)


def test_there_is_much_to_weaken() -> None:
    sorts = {case.name.partition(":")[0] for case in CASES}
    assert {kind.GVK.kind for kind in KINDS.values()} < sorts
    assert {"Job of a gate", "NetworkPolicy", "NetworkPolicy default-deny", "ServiceAccount", "Namespace"} < sorts
    assert len(CASES) > 300


@pytest.mark.parametrize("case", CASES, ids=[case.name for case in CASES])
def test_what_is_weakened_is_found(case: Case) -> None:
    resources = list(case.compiled.resources[case.environment])
    if case.edit is None:
        del resources[case.position]
    else:
        resources[case.position] = _changed(resources[case.position], case.edit, case.compiled, case.environment)
    before = _before(id(case.compiled), case.environment)
    found = [
        finding
        for finding in _findings(case.compiled, case.environment, resources)
        if finding.severity is Severity.ERROR and (finding.code, finding.message) not in before
    ]
    assert found, case.name
