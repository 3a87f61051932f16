"""What a `patch` must leave as it is: names, labels and numbers that other objects, or the operator, go by.

Objects are compared before and after, whatever the operations' paths say: a whole map that is replaced counts, too.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator
from typing import Any, Final, NamedTuple

from mlspec.k8s import meta, options
from mlspec.k8s.kept_fields import KEPT, Path
from mlspec.k8s.resource import Body
from mlspec.k8s.values import items

_OURS: Final = "mlspec.dev/"
_KSERVE: Final = "internal.serving.kserve.io/"


class Objection(NamedTuple):
    """What is wrong with an operation, and what to write instead."""

    message: str
    help: str


def objection(before: Body, after: Body) -> Objection | None:
    """Return the first thing that must not have changed."""
    for check in _CHECKS:
        for found in check(before, after):
            return found
    return None


def _identity(before: Body, after: Body) -> Iterator[Objection]:
    for path in (("apiVersion",), ("kind",), ("metadata", "name"), ("metadata", "namespace")):
        if _at(before, path) != _at(after, path):
            yield Objection(f"`{'.'.join(path)}` identifies the object", "a patch must leave it as it is")
    if "status" in after:
        yield Objection("`status` is written by controllers, never from Git", "remove the operation")


def _labels(before: Body, after: Body) -> Iterator[Objection]:
    yield from _kept_labels(_at(before, ("metadata", "labels")), _at(after, ("metadata", "labels")), "metadata.labels")


def _kept_labels(before: Any, after: Any, where: str) -> Iterator[Objection]:
    old, new = _map(before), _map(after)
    for key in old:
        if new.get(key) != old[key]:
            message = f"{where}: label `{key}` is mlspec's: policies, monitors and queues select by it"
            yield Objection(message, "add labels beside it, one operation each")
    for key in new.keys() - old.keys():
        if str(key).startswith(_OURS):
            yield Objection(f"{where}: labels below `{_OURS}` are mlspec's own", "choose another prefix")
        if key == meta.QUEUE_NAME:
            message = f"{where}: with label `{key}` Kueue would hold back what the plan takes for running"
            yield Objection(message, "write `queue:` in the step")


def _internal(before: Body, after: Body) -> Iterator[Objection]:
    for way in (("metadata", "annotations"), ("spec", "predictor", "annotations")):
        old, new = (_map(_at(body, way)) for body in (before, after))
        for key in sorted(old.keys() | new.keys(), key=str):
            if str(key).startswith(_KSERVE) and old.get(key) != new.get(key):
                message = f"annotation `{key}` is KServe's own word for what adds containers, or loads models"
                yield Objection(message, "remove the operation")


def _annotations(before: Body, after: Body) -> Iterator[Objection]:
    old, new = (_map(_at(body, ("metadata", "annotations"))) for body in (before, after))
    for key in sorted(old.keys() | new.keys(), key=str):
        if old.get(key) == new.get(key):
            continue
        if str(key).startswith(_OURS):
            yield Objection(f"annotation `{key}` tells mlspec about the object later", "leave it as it is")
        elif key in _ANNOTATIONS and (key in old or key == meta.SYNC_WAVE):
            yield Objection(f"annotation `{key}` {_ANNOTATIONS[key][0]}", _ANNOTATIONS[key][1])
        elif key in (meta.SYNC_OPTIONS, meta.COMPARE_OPTIONS) and options.kept_changed(old.get(key), new.get(key)):
            message = f"annotation `{key}` decides whether Argo CD deletes the object, or misses it"
            yield Objection(message, "for runs, write `runs: {onSupersede: keep}` or `delete`")


_ANNOTATIONS: Final = {
    meta.SYNC_WAVE: ("orders the objects by what they need", "write `needs:` in the step"),
    meta.IGNORE_HEALTH: ("keeps an old failed run from colouring the Application", "leave it as it is"),
    "serving.kserve.io/deploymentMode": (
        "decides which ports and pods there are",
        "the environment's `kserve: {mode: …}` says it",
    ),
}


def _kept(before: Body, after: Body) -> Iterator[Objection]:
    for path, reason, help in KEPT.get(before["kind"], ()):
        old, new = dict(_values(before, path)), dict(_values(after, path))
        changed = next((way for way in {**old, **new} if old.get(way) != new.get(way)), None)
        if changed is not None:
            yield Objection(f"`{'.'.join(changed)}` {reason}", help)


class _Pods(NamedTuple):
    labels: Body
    spec: Body


_TEMPLATES: Final[dict[str, Path]] = {
    "Job": ("spec", "template"),
    "PyTorchJob": ("spec", "pytorchReplicaSpecs", "*", "template"),
    "TFJob": ("spec", "tfReplicaSpecs", "*", "template"),
    # A transformer or explainer beside the predictor would be pods of their own.
    "InferenceService": ("spec", "*"),
    "SeldonDeployment": ("spec", "predictors", "*", "componentSpecs", "*"),
}


def _templates(body: Body) -> dict[Path, _Pods]:
    found = {}
    for way, value in _values(body, _TEMPLATES[body["kind"]]):
        flat = body["kind"] == "InferenceService"
        labels = _map(value).get("labels") if flat else _at(value, ("metadata", "labels"))
        found[way] = _Pods(_map(labels), _map(value if flat else _map(value).get("spec")))
    return found


def _pods(before: Body, after: Body) -> Iterator[Objection]:
    old, new = _templates(before), _templates(after)
    for way in old.keys() | new.keys():
        # The graph of a SeldonDeployment may have more units; each predictor says how often they run.
        if way not in new or (way not in old and before["kind"] != "SeldonDeployment"):
            what = "adds pods that the plan does not know" if way in new else "takes pods away that the plan counts on"
            yield Objection(f"`{'.'.join(way)}`: the patch {what}", "describe them by fields of the spec")
    for way, pods in new.items():
        known = old.get(way) or next(iter(old.values()))
        where = ".".join(way)
        yield from _kept_labels(known.labels, pods.labels, f"the pods of {where}")
        if pods.spec.get("serviceAccountName") != known.spec.get("serviceAccountName"):
            message = f"{where}: the pods have a ServiceAccount of their own, without rights"
            help = f"leave `serviceAccountName: {known.spec.get('serviceAccountName')}`"
            yield Objection(message, help)
        if "ephemeralContainers" in pods.spec:
            yield Objection(f"{where}: no template may have ephemeral containers", "remove the operation")
        if pods.spec.get("serviceAccount", known.spec.get("serviceAccount")) != known.spec.get("serviceAccount"):
            yield Objection(f"{where}: `serviceAccount` is the same as `serviceAccountName`", "remove the operation")
        if pods.spec.get("hostNetwork", False) is not False:
            yield Objection(f"{where}: NetworkPolicies do not hold in the host's network", "leave `hostNetwork` out")
        if way in old:
            yield from _containers(_by_name(known.spec), _by_name(pods.spec), where)
            yield from _volumes(known.spec, pods.spec, where)


def _by_name(spec: Body) -> dict[str, Body]:
    return {str(item["name"]): item for item in items(spec.get("containers")) if "name" in item}


def _normal(path: Any) -> str:
    return posixpath.normpath("/" + str(path).lstrip("/"))


def _volumes(before: Body, after: Body, where: str) -> Iterator[Objection]:
    """Everything that mlspec mounts stays what and where it is: run directories, inputs and shipped files are there."""
    new = _by_name(after)
    for name, container in _by_name(before).items():
        found = items(new.get(name, {}).get("volumeMounts"))
        for mount in items(container.get("volumeMounts")):
            path = mount["mountPath"]
            there = [item for item in found if _normal(item.get("mountPath")) == _normal(path)]
            if there != [mount]:
                message = (
                    f"{where}: what container `{name}` has mounted at {path} is the spec's, by which its files lie"
                )
                yield Objection(message, "write `mounts:` or `files:` in the step; more may be mounted elsewhere")
    for volume in items(before.get("volumes")):
        if [item for item in items(after.get("volumes")) if item.get("name") == volume["name"]] != [volume]:
            message = f"{where}: volume `{volume['name']}` is the spec's, by which its files lie"
            yield Objection(message, "write `mounts:` or `files:` in the step; more volumes may stand beside it")


def _containers(before: dict[str, Body], after: dict[str, Body], where: str) -> Iterator[Objection]:
    for name, container in before.items():
        if name not in after:
            message = f"{where}: container `{name}` is the one that the spec describes, found by its name"
            yield Objection(message, "leave it and its name; more containers may stand behind it")
            continue
        if container.get("command") != after[name].get("command"):
            message = f"{where}: the command of container `{name}` waits for inputs and marks success, or is the spec's"
            yield Objection(message, "write `command:` or `script:` in the step or service")
        kept, found = _own_variables(container), _own_variables(after[name])
        if kept != found:
            names = ", ".join(f"`{entry['name']}`" for entry in kept if entry not in found)
            names = names or ", ".join(f"`{entry['name']}`" for entry in found if entry not in kept) or "their order"
            message = f"{where}: variables of container `{name}` by which the program finds its run change: {names}"
            help = "leave those that begin with `MLSPEC_` as they are; an `add` to `…/env/-` puts one more behind them"
            yield Objection(message, help)
        ports, found = container.get("ports", []), after[name].get("ports", [])
        if not isinstance(found, list) or found[: len(ports)] != ports:
            message = f"{where}: operator and NetworkPolicies go by the ports of container `{name}`"
            yield Objection(message, "add ports behind them")


def _own_variables(container: Body) -> list[Body]:
    """Return the variables by which a program finds its run."""
    return [entry for entry in items(container.get("env")) if str(entry.get("name")).startswith("MLSPEC_")]


def _models(before: Body, after: Body) -> Iterator[Objection]:
    unknown = set(_uris(after)) - set(_uris(before))
    if unknown:
        message = f"`{min(unknown)[:100]}`: models are loaded through a network that is opened for their URIs"
        yield Objection(message, "write `model.uri:` in the service")


def _uris(value: Any) -> Iterator[str]:
    if isinstance(value, list):
        for item in value:
            yield from _uris(item)
    elif isinstance(value, dict):
        for key, item in value.items():
            if key in ("storageUri", "modelUri") or (key == "value" and value.get("name") == "STORAGE_URI"):
                yield str(item)
            elif isinstance(item, dict | list):
                yield from _uris(item)


def _map(value: Any) -> Body:
    return value if isinstance(value, dict) else {}


def _at(value: Any, path: Path) -> Any:
    for part in path:
        value = _map(value).get(part)
    return value


def _values(value: Any, path: Path, way: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield every value that a path leads to, with the way to it."""
    if not path:
        yield way, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        if path[0] in ("*", key):
            yield from _values(item, path[1:], (*way, str(key)))


_CHECKS: Final[tuple[Callable[[Body, Body], Iterator[Objection]], ...]] = (
    _identity,
    _labels,
    _annotations,
    _internal,
    _pods,
    _kept,
    _models,
)
