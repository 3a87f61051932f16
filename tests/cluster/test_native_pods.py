"""Pods and Services that operators make, with one fault each: the real API server refuses those that mlspec refuses.

A definition of a custom resource does not judge the pods inside it, so nobody but mlspec says before a run starts that
the server will refuse them.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Final

import pytest

from mlspec.k8s.resource import Resource
from mlspec.schemas import kubernetes_folder
from mlspec.validation import native
from mlspec.validation.declared import declared
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import KUBERNETES, ControlPlane, namespace
from tests.cluster.harness.goldens import goldens
from tests.cluster.mutants import Mutant, changed_at, mutants, walk, words
from tests.cluster.report import Report
from tests.native_cases import BASES, CASES, Case, changed

pytestmark = pytest.mark.api

_SPACE: Final = "native-pods"
_PRIVILEGED: Final = {"pod-security.kubernetes.io/enforce": "privileged"}
_FORBIDDEN: Final = 403
_TABLE: Final = "Projected Pods and Services with one fault each, by who refuses them"
_OF_TYPES: Final = ("extra field", "typing error", "wrong type (text)", "wrong type (map)", "wrong type (number)")
"""Faults that schemas refuse: what is projected is made of an object that has one."""
_REASONS: Final = {
    "spec.initContainers[].envFrom[].secretRef.name": "a name that ends with `-`, which no Secret can have",
}
"""Fields of which mlspec alone refuses a value, and why."""
_KUBERNETES: Final = declared((kubernetes_folder(KUBERNETES),))


@pytest.fixture(scope="module")
def api(api_plane: ControlPlane) -> Api:
    """Return the server, with a namespace and the ServiceAccounts without which it refuses pods."""
    assert api_plane.api.apply(namespace(_SPACE, _PRIVILEGED)).accepted
    pods = [body for _, body in _samples() if body["kind"] == "Pod"]
    for name in {"default", *(body["spec"].get("serviceAccountName", "default") for body in pods)}:
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": _SPACE}}
        assert api_plane.api.apply(account).accepted
    return api_plane.api


def _samples() -> list[tuple[str, Body]]:
    """Return, by kind of object, the projected Pods and Services that have fields which none before had."""
    seen: set[tuple[str, str]] = set()
    found = []
    for golden in goldens():
        for resource in golden.resources:
            for body in _projected(resource):
                new = {(resource.key.kind, f"{body['kind']} {words(path)}") for path, _ in walk(body)}
                if not new <= seen:
                    seen |= new
                    found.append((resource.key.kind, _placed(body)))
    return found


def _projected(resource: Resource) -> Iterator[Body]:
    projection = resource.projection
    for group in projection.pods if projection is not None else ():
        if group.count > 0:
            yield group.first
    yield from projection.services if projection is not None else ()


def _placed(body: Body) -> Body:
    """Return an object in the test's namespace, with the images that only the platform knows."""
    placed = copy.deepcopy(body)
    placed["metadata"]["namespace"] = _SPACE
    for field in ("initContainers", "containers"):
        for container in placed["spec"].get(field, ()):
            container.setdefault("image", "example.com/unknown:1")
    return placed


def _mutants(body: Body) -> Iterator[Mutant]:
    """Yield one fault after the other that is none of types."""
    for mutant in mutants(body):
        if mutant.fault not in _OF_TYPES and mutant.field not in ("metadata", "metadata.name", "kind", "apiVersion"):
            yield mutant
    kind = body["kind"]
    for path, value in walk(body["spec"], ("spec",)):
        for fault, other in _others(value):
            yield Mutant(kind, fault, words(path), changed_at(body, path, other))
    for key, text in (("a b", "x"), ("a", "x y"), ("-a", ""), ("a.b/c", "x" * 64), ("x" * 64, "x")):
        labels = {**body["metadata"].get("labels", {}), key: text}
        yield Mutant(kind, f"label {key[:9]}", "metadata.labels", changed_at(body, ("metadata", "labels"), labels))


def _others(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, list):
        yield "nothing in it", []
        if value and value[-1] != value[0]:
            yield "turned round", value[::-1]
        if value:
            yield "twice", [*value, value[-1]]
    elif isinstance(value, dict):
        yield "nothing in it", {}
    elif isinstance(value, str):
        yield "empty text", ""
        yield "one letter more", f"{value}-"
        yield "upper case", value.upper()
        yield "long", f"{value}{'x' * 64}"
        yield "upwards", f"../{value}"
    elif isinstance(value, int) and not isinstance(value, bool):
        yield "zero", 0
        yield "large number", 70000
        yield "very large number", 2**31


def _verdicts(api: Api, mutant: Mutant) -> tuple[str, str, int]:
    """Return what mlspec and the server object, and the server's status."""
    ours = next((objection.message for objection in native.judge(mutant.body, _KUBERNETES)), "")
    answer = api.create(mutant.body, dry_run=True)
    return ours, "" if answer.accepted else answer.message, answer.status


def test_mutants_of_projected(api: Api, report: Report) -> None:
    """At least 1,000 of the pods of every kind together; what admission refuses, the rules need not know."""
    by_kind: dict[str, dict[str, Mutant]] = {}
    for kind, body in _samples():
        for mutant in _mutants(body):
            by_kind.setdefault(f"{kind}'s {body['kind']}", {}).setdefault(f"{mutant.fault} {mutant.field}", mutant)
    wrong, total = [], 0
    for kind, chosen in by_kind.items():
        counts = [0] * 5
        with ThreadPoolExecutor(8) as threads:
            verdicts = list(threads.map(lambda mutant: _verdicts(api, mutant), chosen.values()))
        for name, (ours, server, status) in zip(chosen, verdicts, strict=True):
            if server and not ours and status == _FORBIDDEN:
                counts[4] += 1
                continue
            counts[0 if ours and server else 1 if not ours and not server else 2 if server else 3] += 1
            if bool(ours) != bool(server) and not (ours and chosen[name].field in _REASONS):
                wrong.append(f"{kind}: {name}: mlspec: {ours[:200]} server: {server[-300:]}")
        columns = ("both refuse", "both accept", "server only", "mlspec only", "refused by admission")
        report.counter(_TABLE, ("made of",), columns).add((kind,), tuple(counts))
        total += len(chosen)
    assert not wrong, f"{len(wrong)} of {total}:\n" + "\n".join(wrong)
    assert total >= 1000


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case: Case, api: Api) -> None:
    """The cases of tests/test_native.py are what the server says, too."""
    for value in (case.good, case.bad):
        body = changed(BASES[case.kind], case.path, value)
        body["metadata"]["namespace"] = _SPACE
        ours = [objection.message for objection in native.judge(body, _KUBERNETES)]
        answer = api.create(body, dry_run=True)
        unknown = case.since > _KUBERNETES.kubernetes and "unknown field" in answer.message
        judged = answer.status != _FORBIDDEN and not unknown
        assert not judged or case.ours or bool(ours) == (not answer.accepted), (ours, answer.message)
