"""Fields that a stored object refuses to change: every one that the server names is one that mlspec never changes.

mlspec's answers: a run's change makes another run (its name is a hash), a claim's change is refused before it is
committed (MLS236), and what else is fixed is made of the name of its object.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest

from tests.cluster.harness import crds
from tests.cluster.harness.cleanup import remove
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.process import poll
from tests.cluster.mutants import NEWEST, Sample, samples, walk, words
from tests.cluster.report import Report

pytestmark = pytest.mark.api

SAMPLES: Final = samples()

ANSWERS: Final = {
    "ConfigMap": (r"(binaryData|data)\..*|immutable", "a part of a run: other bytes are another run, with another one"),
    "Job": (
        r"spec\.template.*",
        "another run, by its hash; what is not hashed stays as it was written (law 4); a gate's Job is deleted before",
    ),
    "LocalQueue": (r"spec\.clusterQueue", "made of the queue's own name: another queue is another object"),
    "PersistentVolumeClaim": (r"spec\..*", "refused while the claim is in generated/ (MLS236)"),
    "RoleBinding": (r"roleRef\..*", "made of the binding's own name and constants: another role is another binding"),
    "Service": (r"spec\.clusterIP", "a constant"),
}
"""By kind: a pattern of the fields that may be fixed, and what mlspec does instead of changing them."""
_FIXED: Final = re.compile(r"immutable|cannot change|may not change|[Ff]orbidden: (is|spec|update|field)")
_LEGAL: Final = {True: False, False: True, "None": "10.0.0.77"}
_IDENTITY: Final = {"apiVersion", "kind", "metadata.name", "metadata.namespace"}


def _other(value: Any) -> Any:
    """Return another value of the same type that is as likely to be legal."""
    if value in _LEGAL:
        return _LEGAL[value]
    if isinstance(value, int):
        return value + 1
    number = re.fullmatch(r"(\d+)(.*)", value)
    return f"{int(number[1]) + 1}{number[2]}" if number else f"{value}x"


def _changes(sample: Sample) -> Iterator[tuple[str, list[Body]]]:
    """Yield each field once with the JSON patch that changes its first value."""
    seen = set(_IDENTITY)
    for path, value in walk(sample.body):
        if not isinstance(value, dict | list) and words(path) in sample.new - seen:
            seen.add(words(path))
            pointer = "".join("/" + str(part).replace("~", "~0").replace("/", "~1") for part in path)
            yield words(path), [{"op": "replace", "path": pointer, "value": _other(value)}]


def _take_away(api: Api, body: Body) -> None:
    """Leave nothing that a dry run of a creation would meet."""
    if body["kind"] != "Namespace":
        remove(api, [body])
        return
    assert api.delete(body).accepted
    poll("the end of the Namespace", lambda: not api.request("GET", api.path_of(body)).accepted, 60)


@pytest.mark.parametrize("kind", SAMPLES)
def test_fixed_fields(kind: str, api_plane: ControlPlane, report: Report) -> None:
    """Change every value of a stored object, one at a time: what the server calls fixed has an answer here."""
    api = api_plane.api
    for release in NEWEST:
        crds.establish(api, crds.definitions(release))
    fixed: set[str] = set()
    tried = 0
    for sample in SAMPLES[kind]:
        assert api.apply(namespace(sample.golden.namespace)).accepted
        assert api.apply(namespace("argocd")).accepted
        assert api.apply(sample.body).accepted
        for field, change in _changes(sample):
            tried += 1
            options = {"content_type": "application/json-patch+json", "dryRun": "All", "brief": True}
            if _FIXED.search(api.request("PATCH", api.path_of(sample.body), change, **options).message):
                fixed.add(field)
        _take_away(api, sample.body)
    pattern, answer = ANSWERS.get(kind, ("", "nothing is fixed"))
    unanswered = sorted(field for field in fixed if not re.fullmatch(pattern, field))
    table = report.table("Values changed in stored objects", "kind", "fields", "fixed", "mlspec's answer")
    table.add(kind, tried, len(fixed), answer)
    assert not unanswered
    assert bool(fixed) == (kind in ANSWERS), f"{ANSWERS.get(kind)} holds no longer"
