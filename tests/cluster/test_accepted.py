"""Every object of every golden project is what a real API server takes, and stores as it was written."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.cluster.harness import crds
from tests.cluster.harness.cleanup import remove
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.report import Report

pytestmark = pytest.mark.api

NAMED_WARNINGS: Final = {
    (
        "AppProject",
        'metadata.finalizers: "resources-finalizer.argocd.argoproj.io": prefer a domain-qualified finalizer name',
    ): "Argo CD knows an AppProject's finalizer under this name only",
}
"""What the server warns about, by how it begins (the rest differs between versions), and why we mean it."""

_ENVIRONMENTS: Final = ("dev", "staging", "prod")
_TABLE: Final = "Objects that kube-apiserver judged, by the environment that they were applied for"
_COUNTS: Final = ("accepted", "refused", "warnings", "of these unnamed")

NOTES: Final = {"seldon-1.16": "refused as shipped: three `items` without a type (the graph's last level) were typed"}
"""What had to be done to a definition."""


def _by_releases() -> list[Golden]:
    """Order the goldens so that definitions are changed seldom."""
    return sorted(goldens(), key=lambda golden: (golden.releases, golden.name))


def declare(plane: ControlPlane, golden: Golden, report: Report) -> None:
    """Make the server know the kinds of the operators that an environment declares, at their declared versions."""
    table = report.table("Definitions that the server knew", "release", "kinds", "note")
    for release in golden.releases:
        bodies = crds.definitions(release)
        crds.establish(plane.api, bodies)
        kinds = ", ".join(body["spec"]["names"]["kind"] for body in bodies)
        row = (release, kinds, NOTES.get(release, "as shipped"))
        if row not in table.rows:
            table.add(*row)


@pytest.fixture(scope="module", autouse=True)
def _argocd_namespace(api_plane: ControlPlane) -> None:
    assert api_plane.api.apply(namespace("argocd")).accepted


@pytest.mark.parametrize("golden", _by_releases(), ids=lambda golden: golden.name)
def test_accepted(golden: Golden, api_plane: ControlPlane, report: Report) -> None:
    """Strict dry run of everything, then the real thing, foundation first; nothing refused, nothing changed.

    Public reports: cases 3, 9 and 10.
    """
    api = api_plane.api
    declare(api_plane, golden, report)
    if not golden.plan.target.manage_namespace:
        assert api.apply(namespace(golden.namespace)).accepted
    problems: list[str] = []
    for body in golden.bodies:
        if body["kind"] == "Namespace":
            problems += _judge(api, body, golden, report, dry_run=True)
            assert api.apply(body).accepted
    for body in golden.bodies:
        problems += _judge(api, body, golden, report, dry_run=True)
    for body in golden.bodies:
        problems += _judge(api, body, golden, report, dry_run=False)
    remove(api, golden.bodies)
    assert not problems, "\n".join(problems)


def _judge(api: Api, body: Body, golden: Golden, report: Report, *, dry_run: bool) -> list[str]:
    """Return what is wrong with an object, and count it for the table where it is the real thing."""
    answer = api.apply(body, dry_run=dry_run)
    kind, what = body["kind"], f"{body['kind']} {body['metadata']['name']}"
    unnamed = [
        warning
        for warning in answer.warnings
        if not any(kind == named and warning.startswith(words) for named, words in NAMED_WARNINGS)
    ]
    problems = [f"{what}: warning: {warning}" for warning in unnamed]
    if not answer.accepted:
        problems.append(f"{what}: refused: {answer.message}")
    else:
        problems += [f"{what}: {difference}" for difference in differences(body, answer.body)]
    if not dry_run:
        applied = tuple(int(golden.environment == environment) for environment in _ENVIRONMENTS)
        rest = (int(answer.accepted), int(not answer.accepted), len(answer.warnings), len(unnamed))
        report.counter(_TABLE, ("kind",), (*_ENVIRONMENTS, *_COUNTS)).add((kind,), applied + rest)
    return problems


def differences(written: Any, stored: Any, place: str = "") -> Iterator[str]:
    """Yield every field that is not stored as it was written; what the server adds is its own."""
    if isinstance(written, dict) and isinstance(stored, dict):
        for key, value in written.items():
            if key in stored:
                yield from differences(value, stored[key], f"{place}.{key}")
            else:
                yield f"{place}.{key} was dropped"
    elif isinstance(written, list) and isinstance(stored, list) and len(written) == len(stored):
        for index, (ours, theirs) in enumerate(zip(written, stored, strict=True)):
            yield from differences(ours, theirs, f"{place}[{index}]")
    elif written != stored or type(written) is not type(stored):
        yield f"{place} was written {written!r} and stored {stored!r}"


def test_differences_are_seen() -> None:
    """The comparison itself can fail: a dropped field, a changed value, another type, a list that grew."""
    written = {"a": 1, "b": {"c": "1000m"}, "d": ["x"], "e": "1"}
    stored = {"b": {"c": "1", "own": True}, "d": ["x", "y"], "e": 1}
    assert list(differences(written, stored)) == [
        ".a was dropped",
        ".b.c was written '1000m' and stored '1'",
        ".d was written ['x'] and stored ['x', 'y']",
        ".e was written '1' and stored 1",
    ]
