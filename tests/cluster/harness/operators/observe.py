"""What controllers made of an object, as text that a person reads and a test compares: `tests/cluster/observed/`.

Left out is what differs from run to run (uids, times, addresses, nodes, random endings of names) and what the API
server writes into every pod (`_SERVER_DEFAULTS`). Everything else stays as it was stored.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from mlspec import yamltext
from tests.cluster.harness import build
from tests.cluster.harness.client import Api, Body, Event
from tests.cluster.harness.control_plane import DEFAULT_MINOR
from tests.cluster.harness.nodes.fates import PREFIX

FOLDER: Final = Path(__file__).parents[2] / "observed"
_OPERATOR: Final = f"training-operator-{build.components()['training-operator'].version.removeprefix('v')}"
CONTROLLERS: Final = {"Job": f"kubernetes-{DEFAULT_MINOR}", "PyTorchJob": _OPERATOR, "TFJob": _OPERATOR}
"""Who makes the pods of a run, as the folders of what was observed are called."""
KINDS: Final = (
    ("v1", "Pod"),
    ("v1", "Service"),
    ("v1", "ConfigMap"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("autoscaling/v2", "HorizontalPodAutoscaler"),
)
"""What is looked for unless a test says otherwise."""

_VOLATILE: Final = frozenset(
    ("uid", "resourceVersion", "generation", "creationTimestamp", "managedFields", "selfLink", "deletionTimestamp")
)
_CHOSEN: Final = frozenset(("nodeName", "clusterIP", "clusterIPs", "ipFamilies", "healthCheckNodePort"))
_HEADLESS: Final = ("None", ["None"])
_SERVER_DEFAULTS: Final[Mapping[str, Any]] = {
    "dnsPolicy": "ClusterFirst",
    "internalTrafficPolicy": "Cluster",
    "ipFamilyPolicy": "SingleStack",
    "preemptionPolicy": "PreemptLowerPriority",
    "priority": 0,
    "schedulerName": "default-scheduler",
    "sessionAffinity": "None",
    "terminationGracePeriodSeconds": 30,
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}
_TOLERATED: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
"""Tolerations of 300 seconds that admission (DefaultTolerationSeconds) adds to every pod."""
_HARNESS: Final = (PREFIX, "deployment.kubernetes.io/revision")
_HASH_LABEL: Final = "pod-template-hash"
_TIME: Final = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_TOKEN: Final = re.compile(r"\bkube-api-access-[a-z0-9]{5}\b")


def made(api: Api, roots: Iterable[Body], kinds: Sequence[tuple[str, str]] = KINDS) -> list[Body]:
    """Return what belongs to some stored objects through owner references, directly or not, as stored."""
    roots = list(roots)
    namespaces = sorted({root["metadata"]["namespace"] for root in roots})
    return belonging(roots, [body for namespace in namespaces for body in around(api, kinds, namespace)])


def around(api: Api, kinds: Sequence[tuple[str, str]] = KINDS, namespace: str = "") -> list[Body]:
    """Return all objects of some kinds, in one namespace or everywhere."""
    return [body for version, kind in kinds for body in api.list(version, kind, namespace)]


def belonging(roots: Iterable[Body], around: Sequence[Body]) -> list[Body]:
    """Return those of some objects that belong to others through owner references, directly or not."""
    owners = {root["metadata"]["uid"] for root in roots}
    found: list[Body] = []
    while fresh := [item for item in around if item not in found and owners & set(_owners(item))]:
        owners |= {item["metadata"]["uid"] for item in fresh}
        found += fresh
    return found


def _owners(body: Body) -> Iterator[str]:
    for reference in body["metadata"].get("ownerReferences", []):
        yield reference["uid"]


def normal(bodies: Sequence[Body], *, status: bool = False, words: Mapping[str, str] | None = None) -> list[Body]:
    """Return objects without what differs from run to run, in the order of kind and name.

    `words` are more texts to replace, such as the name of a test's own namespace.
    """
    words = {**dict(_words(bodies)), **(words or {})}
    cleaned = [_clean({key: value for key, value in body.items() if status or key != "status"}) for body in bodies]
    replaced = [_replaced(body, words) for body in cleaned]
    return sorted(replaced, key=lambda body: (body["kind"], body["metadata"]["name"], yamltext.dump_all([body])))


def _words(bodies: Sequence[Body]) -> Iterator[tuple[str, str]]:
    """Yield what is random in some objects, and what stands for it."""
    for body in bodies:
        meta = body["metadata"]
        yield meta["uid"], "(uid)"
        for owner in _owners(body):
            yield owner, "(uid)"
        if "generateName" in meta:
            yield meta["name"], f"{meta['generateName']}(random)"
        if _HASH_LABEL in meta.get("labels", {}):
            yield meta["labels"][_HASH_LABEL], "(hash)"


def _clean(value: Any) -> Any:
    if isinstance(value, list):
        return [_clean(item) for item in value if not _added_toleration(item)]
    if not isinstance(value, dict):
        return value
    kept = {key: (item, _clean(item)) for key, item in value.items() if not _without_meaning(key, item, value)}
    return {
        key: cleaned
        for key, (item, cleaned) in kept.items()
        if cleaned or not isinstance(item, dict | list) or not item
    }


def _without_meaning(key: str, item: Any, around: Mapping[str, Any]) -> bool:
    return (
        item is None
        or key in _VOLATILE
        or (key in _CHOSEN and item not in _HEADLESS)
        or key.startswith(_HARNESS)
        or (key in _SERVER_DEFAULTS and item == _SERVER_DEFAULTS[key])
        or (key == "serviceAccount" and around.get("serviceAccountName") == item)  # the old name of the same
    )


def _added_toleration(item: Any) -> bool:
    return isinstance(item, dict) and item.get("key") in _TOLERATED and item.get("tolerationSeconds") == 300


def _replaced(value: Any, words: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_replaced(item, words) for item in value]
    if isinstance(value, dict):
        return {_replaced(key, words): _replaced(item, words) for key, item in value.items()}
    if isinstance(value, str):
        for word in sorted(words, key=len, reverse=True):  # a pod's name before the hash that is part of it
            value = value.replace(word, words[word])
        return _TOKEN.sub("kube-api-access-(random)", value)
    return value


def statuses(events: Sequence[Event], *, endless: bool = False) -> list[Body]:
    """Return the distinct conditions that an object had, in their order, and its whole status in the end.

    Every time becomes `(time)`: what counts is whether there is one. `endless`: there is no end, only conditions.
    """
    found: list[Body] = []
    for event in events:
        status = event.body.get("status") or {}
        conditions = {"conditions": _timeless(status.get("conditions") or [])}
        if status and conditions not in found:
            found.append(conditions)
    if found and not endless:
        # How many replicas were active last depends on which event the operator saw last.
        status = {key: item for key, item in events[-1].body["status"].items() if key != "replicaStatuses"}
        last = _timeless(status)
        found = [*(one for one in found if one["conditions"] != last.get("conditions", [])), last]
    return found


def _timeless(value: Any) -> Any:
    if isinstance(value, list):
        return [_timeless(item) for item in value]
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if item not in ({}, None)}
    return "(time)" if isinstance(value, str) and _TIME.fullmatch(value) else value


def fixture(operator: str, case: str) -> Path:
    """Return where a case is recorded: `observed/<operator>-<version>/<case>.yaml`."""
    return FOLDER / operator / f"{case.replace('/', '-').replace(':', '.')}.yaml"


def recorded(path: Path) -> list[Body]:
    """Return the objects of a fixture."""
    return yamltext.load_all(path.read_text())


def compare(path: Path, title: str, bodies: Sequence[Body], *, update: bool) -> None:
    """Compare normal objects with a fixture, or rewrite it."""
    text = f"# {title}\n{yamltext.dump_all(bodies)}"
    if update and not (path.exists() and path.read_text() == text):
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    assert path.exists(), f"{path.name} does not exist; run pytest --update-observed and read it"
    before = path.read_text()
    changes = difflib.unified_diff(before.splitlines(), text.splitlines(), "recorded", "now", lineterm="")
    assert text == before, "\n".join([f"{path.name}: the cluster now makes something else", *changes])
