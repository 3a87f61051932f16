"""What law 8 calls drift is drift: a real API server stores it otherwise, or refuses it."""

from __future__ import annotations

from typing import Any

import pytest

from mlspec.check import quiet
from mlspec.k8s import patch
from tests.cluster.harness.client import Body
from tests.cluster.harness.control_plane import ControlPlane, namespace

pytestmark = pytest.mark.api

_POD: Body = {
    "restartPolicy": "Never",
    "containers": [{"name": "main", "image": "i:1", "resources": {"limits": {"cpu": "2"}, "requests": {"cpu": "2"}}}],
    "volumes": [{"name": "a", "emptyDir": {"sizeLimit": "1Gi"}}],
}
_JOB: Body = {
    "apiVersion": "batch/v1",
    "kind": "Job",
    "metadata": {"name": "quiet", "namespace": "quiet"},
    "spec": {"backoffLimit": 1, "template": {"metadata": {"labels": {"a": "b"}}, "spec": _POD}},
}
_MAIN = "/spec/template/spec/containers/0"
_ROWS: list[tuple[str, Any]] = [
    ("/spec/template/spec/nodeSelector", {}),
    ("/spec/template/spec/tolerations", []),
    ("/metadata/annotations", {}),
    (f"{_MAIN}/args", []),
    (f"{_MAIN}/resources/limits/cpu", "2000m"),
    (f"{_MAIN}/resources/limits/cpu", 2),
    (f"{_MAIN}/resources/limits/cpu", "2 cores"),
    ("/spec/template/spec/volumes/0/emptyDir/sizeLimit", "1024Mi"),
    (f"{_MAIN}/env", [{"name": "A", "value": ""}]),
    (f"{_MAIN}/env", [{"name": "A", "value": "1"}, {"name": "A", "value": "2"}]),
]


@pytest.fixture(scope="module", autouse=True)
def _namespace(api_plane: ControlPlane) -> None:
    assert api_plane.api.apply(namespace("quiet")).accepted


def _stored(api_plane: ControlPlane, body: Body) -> Any:
    answer = api_plane.api.apply(body, dry_run=True)
    return answer.body if answer.accepted else None


def _covers(stored: Any, written: Any) -> bool:
    """Say whether everything that was written is stored as it was, whatever the server adds."""
    if isinstance(written, dict) and isinstance(stored, dict):
        return all(key in stored and _covers(stored[key], item) for key, item in written.items())
    if isinstance(written, list) and isinstance(stored, list):
        return len(stored) == len(written) and all(map(_covers, stored, written))
    return type(stored) is type(written) and bool(stored == written)


def test_a_quiet_job_is_stored_as_it_is(api_plane: ControlPlane) -> None:
    volumes = [{"name": "a", "emptyDir": {}}]
    for body in (_JOB, _with("/spec/template/spec/volumes", volumes), _with(f"{_MAIN}/env", [{"name": "A"}])):
        assert list(quiet.check(body)) == []
        assert _covers(_stored(api_plane, body), body)


@pytest.mark.parametrize(("path", "value"), _ROWS, ids=lambda value: str(value)[-30:])
def test_drift_is_stored_otherwise(path: str, value: Any, api_plane: ControlPlane) -> None:
    body = _with(path, value)
    assert {finding.code for finding in quiet.check(body)} == {"MLS309"}
    assert not _covers(_stored(api_plane, body), body)


def _with(path: str, value: Any) -> Body:
    *_, changed = patch.stages(_JOB, [{"op": "add", "path": path, "value": value}])
    return changed
