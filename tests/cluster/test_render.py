"""Every projected Pod and Service of every golden project is what a real API server takes, as it is printed."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pytest

from mlspec.report import stream
from tests.cluster.harness.cleanup import remove
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.report import Report
from tests.cluster.test_accepted import differences

pytestmark = pytest.mark.api

_SPACE: Final = "mlspec-rendered"
_PRIVILEGED: Final = {"pod-security.kubernetes.io/enforce": "privileged"}
_TABLE: Final = "Projected Pods and Services that kube-apiserver judged in a dry run"
_COUNTS: Final = ("judged", "refused", "with an image that only the platform knows")
_ADDED: Final = frozenset({"node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"})
"""Tolerations that the server appends to every pod (the DefaultTolerationSeconds admission plugin)."""
_GOLDENS: Final = [
    golden for golden in goldens() if any(resource.projection is not None for resource in golden.resources)
]


def _projected(golden: Golden) -> Iterator[Body]:
    """Yield what `render --projected` prints, in a namespace of the test's own."""
    for resource in golden.resources:
        if resource.projection is not None:
            for document in stream.projected(str(resource.key), resource.projection):
                yield {**document.body, "metadata": {**document.body["metadata"], "namespace": _SPACE}}


def _accounts(api: Api, bodies: list[Body]) -> list[Body]:
    """Make the ServiceAccounts without which the server refuses pods (the ServiceAccount admission plugin)."""
    names = {body["spec"].get("serviceAccountName", "default") for body in bodies if body["kind"] == "Pod"}
    made = [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": name, "namespace": _SPACE}}
        for name in sorted(names)
    ]
    for account in made:
        assert api.apply(account).accepted
    return made


def _with_images(body: Body) -> Body:
    """Give a container an image where it has none, since only the platform knows it: a pod without is refused."""
    if body["kind"] != "Pod":
        return body
    containers = [{"image": "example.com/unknown:1", **container} for container in body["spec"]["containers"]]
    return {**body, "spec": {**body["spec"], "containers": containers}}


def _as_sent(stored: Body) -> Body:
    """Return a stored object without what the server appends to a list."""
    tolerations = stored["spec"].get("tolerations")
    if tolerations:
        stored["spec"]["tolerations"] = [item for item in tolerations if item.get("key") not in _ADDED]
    return stored


@pytest.mark.parametrize("golden", _GOLDENS, ids=[golden.name for golden in _GOLDENS])
def test_projected(golden: Golden, api_plane: ControlPlane, report: Report) -> None:
    """As `kubectl apply --dry-run=server` creates it; nothing refused, no field dropped or changed."""
    api = api_plane.api
    assert api.apply(namespace(_SPACE, _PRIVILEGED)).accepted
    bodies = list(_projected(golden))
    assert bodies
    accounts = _accounts(api, bodies)
    problems: list[str] = []
    for printed in bodies:
        body = _with_images(printed)
        answer = api.create(body, dry_run=True)
        what = f"{body['kind']} {body['metadata']['name']}"
        counts = (1, int(not answer.accepted), int(body != printed))
        report.counter(_TABLE, ("kind",), _COUNTS).add((body["kind"],), counts)
        if not answer.accepted:
            problems.append(f"{what}: refused: {answer.message}")
        else:
            problems += [f"{what}: {difference}" for difference in differences(body, _as_sent(answer.body))]
    remove(api, [account for account in accounts if account["metadata"]["name"] != "default"])
    assert not problems, "\n".join(problems)
