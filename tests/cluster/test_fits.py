"""What mlspec says of names and budgets is what a real API server says of the same pod."""

from __future__ import annotations

from typing import Final

import pytest

from tests import jobs
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.report import Report
from tests.test_names import BUDGETS

pytestmark = pytest.mark.api

_NAMESPACE: Final = "fits"
_TABLE: Final = "Names and budgets: what does not fit, and whether the server refuses it, too"
_ELSEWHERE: Final = {
    "variable length": "refused by the kernel of the node",
    "argument length": "refused by the kernel of the node",
}
"""What this server takes, and who does not."""
_TEXTS: Final = (
    *("", "a", "A", "1", "-", ".", "_", "a-", "-a", "a.", ".a", "a_", "_a", "a b", "a\n", "aB", "ab1", "1ab", "ä", "٣"),
    *("a--b", "a-b", "a.b", "a..b", "a_b", "a/b", "a/", "/a", "a/b/c", "A/b", "a.b/C", "a_b/c", "11", "1-1", "a:b"),
    *(character * length for character in "xX" for length in (15, 16, 63, 64, 253, 254)),
    *("x" * 63 + "/" + "x" * 63, "x" * 253 + "/x", "x" * 254 + "/x", "a." * 126 + "a/x", "a." * 127 + "a/x"),
)


@pytest.fixture(scope="module")
def api(api_plane: ControlPlane) -> Api:
    """Return the server, with a namespace."""
    assert api_plane.api.apply(namespace(_NAMESPACE)).accepted
    return api_plane.api


def _pod() -> Body:
    body = jobs.job("Job", "train", {}, _NAMESPACE)
    jobs.template(body)["spec"] |= {"serviceAccountName": "default"}
    return body


def _judged(api: Api, body: Body) -> tuple[bool, bool, str]:
    """Return whether mlspec and the server take the pod of a Job, and what the server says."""
    resource = jobs.resource(body)
    assert resource.projection is not None
    answer = api.create(resource.projection.pods[0].first, dry_run=True)
    # Who may use a ServiceAccount that is not there yet is another matter.
    accepted = answer.accepted or "error looking up service account" in answer.message
    return not jobs.faults(resource), accepted, answer.message


@pytest.mark.parametrize("case", BUDGETS)
def test_budgets(case: str, api: Api, report: Report) -> None:
    fitting, beyond, _ = BUDGETS[case]
    body = _pod()
    fitting(jobs.template(body))
    assert _judged(api, body)[:2] == (True, True), _judged(api, body)
    body = _pod()
    beyond(jobs.template(body))
    fits_us, accepted, message = _judged(api, body)
    assert not fits_us
    assert accepted == (case in _ELSEWHERE), message
    report.table(_TABLE, "case", "server").add(case, _ELSEWHERE.get(case, "refuses it"))


@pytest.mark.parametrize("field", ["container", "port", "volume", "label", "label key", "annotation key"])
def test_forms(field: str, api: Api) -> None:
    """Of many texts, each as a name of each sort: no more and no less is accepted."""
    for text in _TEXTS:
        body = _pod()
        template = jobs.template(body)
        spec = template["spec"]
        if field == "container":
            spec["containers"].append({"name": text, "image": "busybox:1"})
        elif field == "port":
            spec["containers"][0]["ports"] = [{"name": text, "containerPort": 80}]
        elif field == "volume":
            spec["volumes"] = [{"name": text, "emptyDir": {}}]
        else:
            keys = {"label": "labels", "label key": "labels", "annotation key": "annotations"}
            template["metadata"] = {keys[field]: {"a": text} if field == "label" else {text: "a"}}
        if field == "port" and not text:
            continue  # no name at all
        fits_us, accepted, message = _judged(api, body)
        assert fits_us == accepted, (field, text, message)
