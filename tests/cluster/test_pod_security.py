"""The real admission refuses the pods that mlspec refuses, for the same reasons, and no other."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest
import yaml

from mlspec import pod_security
from mlspec.k8s.projected import ProjectedPods
from mlspec.model.levels import Level
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import KUBERNETES, ControlPlane, namespace
from tests.cluster.harness.goldens import goldens
from tests.cluster.report import Report
from tests.tools.pod_security import RELEASES, FetchError, fetch
from tests.weakened import weakened

pytestmark = pytest.mark.api

_LEVELS: Final[tuple[Level, ...]] = ("baseline", "restricted")
_MINOR: Final = pod_security.minor_of(KUBERNETES)
_FORBIDDEN: Final = re.compile(r'violates PodSecurity "(?P<level>[a-z]+):latest": (?P<reasons>.*)', re.DOTALL)
_TABLE: Final = "Pods that Pod Security admission judged, and mlspec judged the same"
_UNPROCESSABLE: Final = 422
_UNKNOWN: Final = frozenset(("procMount",) if _MINOR < 33 else ())
"""The feature gate ProcMountType is on since 1.33; before, the server drops the field and lets the pod in."""
_INVALID: Final = {
    "`privileged` to true": "excludes `allowPrivilegeEscalation: false`",
    "hostPort: Duplicate value": "two ports of Seldon's executor have one number, which a node has once",
    "procMount": "needs `hostUsers: false`, which relaxes the standard since 1.35",
    "shareProcessNamespace": "excludes `hostPID`",
}
"""What the server finds invalid of a pod before admission sees it, by a field in its message, and why."""


@pytest.fixture(scope="module")
def api(api_plane: ControlPlane) -> Api:
    """Return the server, with a namespace a level."""
    for level in _LEVELS:
        body = namespace(_namespace(level), {"pod-security.kubernetes.io/enforce": level})
        assert api_plane.api.apply(body).accepted
        metadata = {"name": "any", "namespace": _namespace(level)}
        account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata}
        assert api_plane.api.apply(account).accepted
    return api_plane.api


def _namespace(level: str) -> str:
    return f"pods-{level}"


def _groups() -> Iterator[tuple[str, str, ProjectedPods]]:
    """Yield every group of projected pods of the goldens with its kind."""
    for golden in goldens():
        for resource in golden.resources:
            for group in resource.projection.pods if resource.projection is not None else ():
                yield f"{golden.name} {resource.key} {group.role}", resource.key.kind, group


def _admissible(pod: Body, level: str) -> Body:
    """Return a pod as it can be created in a namespace with the level; its spec stays what it is judged by."""
    spec = copy.deepcopy(pod["spec"])
    for field in ("initContainers", "containers"):
        for container in spec.get(field, ()):
            container.setdefault("image", "unknown")  # that of Knative's queue proxy is not projected
    for field in ("nodeName", "serviceAccount"):
        spec.pop(field, None)
    metadata = {"name": "judged", "namespace": _namespace(level)}
    metadata |= {key: pod["metadata"][key] for key in ("annotations", "labels") if key in pod["metadata"]}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {**spec, "serviceAccountName": "any"}}


def _reasons(message: str) -> set[str]:
    """Return what a refusal names, without the details in parentheses."""
    found = _FORBIDDEN.search(message)
    assert found is not None, message
    named = re.sub(r" \([^()]*\)", "", found["reasons"]).split(", ")
    return {reason.removesuffix("s") if reason.startswith("forbidden AppArmor") else reason for reason in named}


def _compare(api: Api, report: Report, what: str, pods: Mapping[str, Body]) -> None:
    """Let the server judge each pod at both levels, by dry run; the tables and the differences tell what it said."""
    counter = report.counter(_TABLE, ("pods", "level"), ("let in", "refused", "invalid"))
    wrong = []
    for level in _LEVELS:
        with ThreadPoolExecutor(8) as threads:
            bodies = [_admissible(pod, level) for pod in pods.values()]
            answers = threads.map(lambda body: api.create(body, dry_run=True), bodies)
            for (name, pod), answer in zip(pods.items(), answers, strict=True):
                if answer.status == _UNPROCESSABLE:
                    assert any(field in answer.message for field in _INVALID), (name, answer.message)
                    counter.add((what, level), (0, 0, 1))
                    continue
                said = set() if answer.accepted else _reasons(answer.message)
                counter.add((what, level), (int(answer.accepted), int(not answer.accepted), 0))
                ours = {violation.control for violation in pod_security.violations(pod, level, _MINOR)}
                if said != ours - _UNKNOWN:
                    wrong.append(f"{name} at {level}: the server says {said}, and we say {ours}")
    assert wrong == []


def test_kubernetes_own_pods(api: Api, report: Report) -> None:
    """The pods of Kubernetes' own tests, of the version that runs."""
    try:
        folder = fetch(RELEASES[-1])
    except FetchError as error:
        pytest.fail(f"the pods that Kubernetes judges its admission with: {error}")
    paths = sorted(folder.glob(f"*/v1.{_MINOR}/*/*.yaml"))
    pods = {str(path.relative_to(folder)): yaml.load(path.read_text(), yaml.CSafeLoader) for path in paths}
    _compare(api, report, "of Kubernetes' own tests", pods)
    assert len(pods) >= 100


def test_projected_pods(api: Api, report: Report) -> None:
    """The pods of every golden project, as they are projected."""
    pods = {place: group.first for place, _, group in _groups()}
    _compare(api, report, "projected from the goldens", pods)
    assert len(pods) >= 100


def test_weakened_pods(api: Api, report: Report) -> None:
    """One pod of every sort that is projected, with one security field weaker each."""
    sorts: dict[tuple[str, frozenset[str]], str] = {}
    pods: dict[str, Body] = {}
    for place, kind, group in _groups():
        if sorts.setdefault((kind, group.added), place) == place:
            pods |= {f"{place}: {what}": pod for what, pod in weakened(kind, group)}
    _compare(api, report, "projected, one field weaker", pods)
    assert len(pods) >= 200
