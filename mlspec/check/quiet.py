"""Law 8, quiet: what an object must not say, so that its first sync is Synced and stays so.

Where no source is named, what the rules prevent was seen on Argo CD 3.5 with server-side apply and client-side diff.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final, NamedTuple

from mlspec.k8s import meta, options
from mlspec.k8s.resource import Body
from mlspec.model.quantity import format_quantity, parse_quantity

FIGHT: Final = "MLS308"
DRIFT: Final = "MLS309"

Path = tuple[str | int, ...]
Rule = Callable[[Body, Any, Path], Iterator["Finding"]]
"""What is said of one field of an object, wherever the field is."""


class Finding(NamedTuple):
    """A rule that an object breaks; `path` leads to the field."""

    code: str
    path: Path
    message: str
    help: str


def check(body: Body) -> Iterator[Finding]:
    """Yield everything that would be drift, a fight with a controller, or a run that runs again."""
    core = _group(body) in _CORE
    waiting: list[tuple[Any, Path]] = [(body, ())]
    while waiting:
        value, path = waiting.pop()
        pairs = enumerate(value) if value.__class__ is list else value.items()
        for key, item in pairs:
            kind = item.__class__
            if kind is dict or kind is list:
                here = (*path, key)
                if not item:
                    yield from _empty(key, path, kind is dict)
                elif key not in _OPAQUE:
                    waiting.append((item, here))
                if key in _RULES:
                    yield from _RULES[key](body, item, here)
                elif key == "ports" and not core and kind is list:
                    yield from _ports(item, here)
                continue
            if item is None:
                help = "leave the key out; in a patch, `op: remove`"
                yield Finding(DRIFT, (*path, key), "null is never stored", help)
            if key in _RULES:
                yield from _RULES[key](body, item, (*path, key))


def words(path: Path) -> str:
    """Return a field as people write it."""
    text = ""
    for part in path:
        text += f"[{part}]" if isinstance(part, int) else f".{part}" if text else part
    return text


_CORE: Final = frozenset({"", "apps", "batch", "networking.k8s.io", "rbac.authorization.k8s.io"})
_ARGO: Final = "argoproj.io"
# The keys of these are people's own: a label named `suspend` suspends nothing.
_OPAQUE: Final = frozenset({"data", "binaryData", "labels", "annotations", "matchLabels", "nodeSelector"})
# An empty selector selects everything, and none at all nothing; `emptyDir: {}` is a volume, and none at all a mistake.
_MEANT_EMPTY: Final = frozenset({"podSelector", "namespaceSelector", "labelSelector", "selector", "emptyDir"})


def _group(body: Body) -> str:
    group, slash, _ = str(body.get("apiVersion", "")).partition("/")
    return group if slash else ""


def _empty(key: str | int, path: Path, is_map: bool) -> Iterator[Finding]:
    if is_map and (key in _MEANT_EMPTY or path[-1:] in (("ingress",), ("egress",))):
        return  # the last two are rules of a NetworkPolicy that let everything through
    what = "map" if is_map else "list"
    help = "leave it out: that means the same"
    yield Finding(DRIFT, (*path, key), f"an empty {what} is dropped by the server, or kept where Git has none", help)


def _owned(message: str, help: str = "leave it out") -> Rule:
    def rule(body: Body, value: Any, path: Path) -> Iterator[Finding]:
        yield Finding(FIGHT, path, message, help)

    return rule


def _in_metadata(message: str) -> Rule:
    def rule(body: Body, value: Any, path: Path) -> Iterator[Finding]:
        if path[-2:-1] == ("metadata",):
            yield Finding(FIGHT, path, message, "leave it out")

    return rule


def _status(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    if len(path) == 1:
        yield Finding(FIGHT, path, "controllers write the status; Argo CD would take it back each time", "leave it out")


def _finalizers(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    # Applications and AppProjects have finalizers of Argo CD, which it never changes.
    if path[-2:-1] == ("metadata",) and _group(body) != _ARGO:
        yield Finding(
            FIGHT,
            path,
            "a controller takes its finalizer away, and Argo CD puts it back; without one deletion never ends",
            "leave it out",
        )


def _selector(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    if body.get("kind") == "Job" and path == ("spec", "selector"):
        message = "Kubernetes makes the selector of a Job; one of your own adopts the pods of others"
        yield Finding(FIGHT, path, message, "leave it out")


_TRACKED: Final = {
    "app.kubernetes.io/instance": "Argo CD may track objects by this label, and writes its own value",
    "controller-uid": "Kubernetes writes this label",
    "batch.kubernetes.io/controller-uid": "Kubernetes writes this label",
    "job-name": "Kubernetes writes this label",
    "batch.kubernetes.io/job-name": "Kubernetes writes this label",
    "pod-template-hash": "Kubernetes writes this label",
}


def _labels(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    for key in value if isinstance(value, dict) else ():
        if key in _TRACKED:
            yield Finding(FIGHT, (*path, key), _TRACKED[key], "leave the label out")


_WRITTEN_BY_OTHERS: Final = {
    "kubectl.kubernetes.io/last-applied-configuration": "kubectl writes it at each client-side apply",
    meta.TRACKING_ID: "Argo CD writes it",
}
_HOOK_LIKE: Final = (meta.HOOK, meta.HOOK_DELETION, "helm.sh/hook")


def _annotations(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    if path != ("metadata", "annotations") or not isinstance(value, dict):
        return  # on pods they mean nothing to Argo CD
    for key, text in value.items():
        here = (*path, key)
        if key in _WRITTEN_BY_OTHERS:
            yield Finding(FIGHT, here, f"{_WRITTEN_BY_OTHERS[key]}; from Git it is never up to date", "leave it out")
        elif key.startswith(_HOOK_LIKE) and not _is_gate(body):
            message = "a hook is deleted and made again by each sync: a run would start anew with every commit"
            yield Finding(FIGHT, here, message, "leave it out; `needs:` orders steps, `gate:` keeps a bad model back")
        elif key in (meta.SYNC_OPTIONS, meta.COMPARE_OPTIONS):
            for option, reason in options.harmful(options.options(text)):
                yield Finding(FIGHT, here, f"`{option}` {reason}", "leave the option out")


def _is_gate(body: Body) -> bool:
    """Say whether it is the one hook that mlspec writes: it makes nothing, and each sync must ask it anew."""
    metadata = body["metadata"]
    hook = (metadata["annotations"].get(meta.HOOK), metadata["annotations"].get(meta.HOOK_DELETION))
    gate = body.get("kind") == "Job" and meta.GATE_OF in metadata.get("labels", {})
    return gate and hook == ("PreSync", "BeforeHookCreation")


def _sync_options(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    if _group(body) == _ARGO and isinstance(value, list):
        for option, reason in options.harmful([item for item in value if isinstance(item, str)]):
            yield Finding(FIGHT, path, f"`{option}` {reason}", "leave the option out")


def _ignored(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    """An ignored path inside a list is applied as the whole list of the cluster (argo-cd issue 27480)."""
    for index, entry in enumerate(value if isinstance(value, list) else ()):
        written = entry if isinstance(entry, dict) else {}
        pointers = [item for item in written.get("jsonPointers") or () if re.search(r"/(\d+|-)(/|$)", str(item))]
        queries = [item for item in written.get("jqPathExpressions") or () if "[" in str(item)]
        for item in (*pointers, *queries):
            message = f"`{item}` leads into a list: edits of its other items would never be applied"
            yield Finding(DRIFT, (*path, index), message, "ignore a single field, or the whole list")


@lru_cache(4096)
def _canonical(written: str) -> str | None:
    """Return the canonical text of a quantity; None where it is none."""
    parsed = parse_quantity(written)
    return None if parsed is None else format_quantity(parsed[0], binary=parsed[1])


def _quantity(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    if isinstance(value, int | float):
        message = f"{value} is a number, which is stored as text"
        yield Finding(DRIFT, path, message, f'write `"{value}"`, in quotes')
    elif isinstance(value, str) and value != (canonical := _canonical(value)):
        if canonical is None:
            yield Finding(DRIFT, path, f"`{value[:60]}` is not a quantity", "write one such as `500m` or `16Gi`")
        else:
            message = f"`{value[:60]}` may be stored as `{canonical}`, and is compared as text"
            yield Finding(DRIFT, path, message, f'write `"{canonical}"`')


def _quantities(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    for key, amount in value.items() if isinstance(value, dict) else ():
        yield from _quantity(body, amount, (*path, key))


def _env(body: Body, value: Any, path: Path) -> Iterator[Finding]:
    seen: set[str] = set()
    for index, entry in enumerate(value if isinstance(value, list) else ()):
        if not isinstance(entry, dict):
            continue
        if entry.get("value") == "":
            help = "leave `value` out: the variable is empty then, too"
            yield Finding(DRIFT, (*path, index, "value"), "an empty text is dropped by the server", help)
        name = str(entry.get("name"))
        if name in seen:
            message = f"variable `{name}` stands twice, which server-side apply refuses: entries are told by name"
            yield Finding(DRIFT, (*path, index), message, "keep one of the two")
        seen.add(name)


def _ports(value: list[Any], path: Path) -> Iterator[Finding]:
    for index, port in enumerate(value):
        if isinstance(port, dict) and "containerPort" in port and "protocol" not in port:
            message = "the server fills in the protocol, inside a list, where it is a difference"
            yield Finding(DRIFT, (*path, index), message, "add `protocol: TCP`")


_SUSPENDED: Final = "Kueue and the operator set it: written, self-heal starts pods beyond the quota, or kills them"
_RULES: Final[dict[str | int, Rule]] = {
    "ttlSecondsAfterFinished": _owned(
        "what has finished would be deleted, and Argo CD would run it again",
        "leave it out; `runs: {onSupersede: delete}` removes runs that are superseded",
    ),
    "suspend": _owned(_SUSPENDED, "leave it out; `queue:` makes a run wait"),
    "generateName": _in_metadata("each sync would make another object, which is another run"),
    "status": _status,
    "manualSelector": _owned("Kubernetes makes the selector of a Job", "leave it out"),
    "selector": _selector,
    "finalizers": _finalizers,
    "managedNamespaceMetadata": _owned("each sync would overwrite all labels of the namespace, pod security included"),
    **{
        name: _in_metadata("Kubernetes and its controllers write it")
        for name in (
            *("creationTimestamp", "deletionTimestamp", "resourceVersion", "uid", "generation"),
            *("managedFields", "ownerReferences", "selfLink"),
        )
    },
    "labels": _labels,
    "annotations": _annotations,
    "syncOptions": _sync_options,
    "ignoreDifferences": _ignored,
    "env": _env,
    "sizeLimit": _quantity,
    "divisor": _quantity,
    **dict.fromkeys(("requests", "limits", "hard", "default", "defaultRequest", "overhead"), _quantities),
}
