"""Objects in, dangling references out: what refers to nothing, and selectors that match no pod."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from mlspec.ir import Plan
from mlspec.k8s import meta
from mlspec.k8s.resource import CLUSTER_SCOPED, Body, Resource

Found = tuple[Resource, str]
Path = tuple[str | int, ...]
"""A field of a manifest."""


def check_references(plan: Plan, resources: Sequence[Resource]) -> Iterator[Found]:
    """Yield every object of one project and environment that refers to nothing, with what is wrong."""
    names: dict[str, set[str]] = {}
    for resource in resources:
        names.setdefault(resource.body["kind"], set()).add(resource.body["metadata"]["name"])
    names.setdefault("PersistentVolumeClaim", set()).update(plan.claims)
    names.setdefault("Secret", set()).update((*plan.secrets, *plan.target.pull_secrets))
    for stated in plan.workloads:
        names["Secret"].update(stated.workload.storage_secrets.values())
    projections = [resource.projection for resource in resources if resource.projection is not None]
    pods = [alike.first["metadata"].get("labels") or {} for each in projections for alike in each.pods]
    services = [resource.body for resource in resources if resource.body["kind"] == "Service"]
    for resource in resources:
        for kind, name in _references(resource.body) if resource.body["kind"] not in _WITHOUT else ():
            if name not in names.get(kind, set()):
                yield resource, _dangling(kind, name)
        for selector in _pod_selectors(resource.body):
            if not any(matches(selector, labels) for labels in pods):
                yield resource, f"its selector {dict(selector)} matches no pod"
        if resource.body["kind"] == "ServiceMonitor":
            yield from ((resource, message) for message in _monitor(resource.body, services))


def field(body: Body, message: str) -> Path:
    """Return the field that a finding is about; looked for only where there is one."""
    kind, waiting = body["kind"], list[tuple[Any, Path]]([(body, ())])
    if message.startswith("its port"):
        return ("spec", "endpoints")
    if message.startswith("its selector"):
        return ("spec", "podSelector" if kind == "NetworkPolicy" else "selector")
    while waiting:
        value, path = waiting.pop()
        pairs: Any = value.items() if isinstance(value, dict) else enumerate(value)
        for key, item in pairs:
            if isinstance(value, dict) and any(_dangling(*found) == message for found in _named_in({key: item})):
                named = next((name for name in ("secretName", "name") if isinstance(item, dict) and name in item), None)
                return (*path, key, *((named,) if named is not None else ()))
            if isinstance(item, dict | list):
                waiting.append((item, (*path, key)))
    return ()


def _dangling(kind: str, name: str) -> str:
    return f"refers to {kind} `{name}`, which is neither generated nor declared"


def matches(selector: Mapping[str, str], labels: Mapping[str, str]) -> bool:
    """Say whether matchLabels select something with these labels."""
    return selector.items() <= labels.items()


# These refer to nothing by name; together they are half of all manifests.
_WITHOUT: Final = frozenset(
    {"ConfigMap", "LimitRange", "Namespace", "NetworkPolicy", "PersistentVolumeClaim", "ResourceQuota", "Role"}
)
_REFERENCE_KEYS: Final[dict[str, Callable[[Any], tuple[Any, Any]]]] = {
    "serviceAccountName": lambda value: ("ServiceAccount", value),
    "claimName": lambda value: ("PersistentVolumeClaim", value),
    "configMap": lambda value: ("ConfigMap", _named(value)),
    "configMapKeyRef": lambda value: ("ConfigMap", _named(value)),
    "configMapRef": lambda value: ("ConfigMap", _named(value)),
    "secretKeyRef": lambda value: ("Secret", _named(value)),
    "secretRef": lambda value: ("Secret", _named(value)),
    # A volume says `secretName`, one of several sources of a volume `name`.
    "secret": lambda value: ("Secret", _named(value, "secretName") or _named(value)),
    "envSecretRefName": lambda value: ("Secret", value),
    "roleRef": lambda value: (_named(value, "kind"), _named(value)),
}
_URIS: Final = frozenset({"storageUri", "modelUri"})
_NAMING: Final = frozenset({*_REFERENCE_KEYS, *_URIS, "imagePullSecrets"})


def _named(value: Any, key: str = "name") -> Any:
    """Return the name in a reference; a patched object may hold anything, and schemas say what is wrong with it."""
    return value.get(key) if isinstance(value, dict) else None


def _references(body: Body) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of every reference inside a manifest."""
    waiting: list[Any] = [body]
    while waiting:
        value = waiting.pop()
        if value.__class__ is list:
            inside = value
        else:
            inside = value.values()
            if not _NAMING.isdisjoint(value):
                yield from _named_in(value)
        waiting += [item for item in inside if item.__class__ is dict or item.__class__ is list]


def _named_in(fields: Body) -> Iterator[tuple[str, str]]:
    """Yield (kind, name) of the references among the fields of one map."""
    for key, item in fields.items():
        if key in _REFERENCE_KEYS:
            kind, name = _REFERENCE_KEYS[key](item)
            if isinstance(kind, str) and isinstance(name, str):
                yield kind, name
        elif key == "imagePullSecrets" and isinstance(item, list):
            yield from (("Secret", name) for entry in item if isinstance(name := _named(entry), str))
        elif key in _URIS and isinstance(item, str) and item.startswith("pvc://"):
            yield "PersistentVolumeClaim", item.removeprefix("pvc://").split("/")[0]


def _pod_selectors(body: Body) -> Iterator[Mapping[str, str]]:
    """Yield the selectors that must match pods of the project; the guard that matches nothing is left out."""
    if body["kind"] == "Service":
        yield body["spec"]["selector"]
    if body["kind"] != "NetworkPolicy":
        return
    spec = body["spec"]
    yield spec["podSelector"].get("matchLabels", {})
    peers = [peer for rule in spec.get("ingress", ()) for peer in rule.get("from", ())]
    peers += [peer for rule in spec.get("egress", ()) for peer in rule.get("to", ())]
    for peer in peers:
        if "namespaceSelector" not in peer and "podSelector" in peer:
            labels = peer["podSelector"].get("matchLabels", {})
            if labels != meta.NOBODY:
                yield labels


def _monitor(body: Body, services: Sequence[Body]) -> Iterator[str]:
    selector = body["spec"]["selector"]["matchLabels"]
    found = [service for service in services if matches(selector, service["metadata"]["labels"])]
    if len(found) != 1:
        yield f"its selector matches {len(found)} Services, not one"
    for endpoint in body["spec"]["endpoints"]:
        if found and endpoint["port"] not in {port.get("name") for port in found[0]["spec"]["ports"]}:
            yield f"its port `{endpoint['port']}` is not a port of Service {found[0]['metadata']['name']}"


class Lost(NamedTuple):
    """What Argo CD would not find, or not allow: an object, what is wrong with it, and the field that says so."""

    of: Resource | Body
    message: str
    path: Path


def check_argocd(
    resources: Sequence[Resource], argocd: Sequence[Body], folders: Mapping[str, object], place: str = ""
) -> Iterator[Lost]:
    """Yield what the AppProject does not allow and what the Applications would not find.

    `folders` are those below `generated/`, which is at `place` in the repository.
    """
    projects = {body["metadata"]["name"]: body["spec"] for body in argocd if body["kind"] == "AppProject"}
    for body in argocd:
        if body["kind"] != "Application":
            continue
        name, spec = body["metadata"]["name"], body["spec"]
        project = projects.get(spec["project"])
        if project is None:
            message = f"Application {name} belongs to AppProject `{spec['project']}`, which is not generated"
            yield Lost(body, message, ("spec", "project"))
            continue
        if spec["source"]["repoURL"] not in project["sourceRepos"]:
            message = f"Application {name} reads a repository that its AppProject does not allow"
            yield Lost(body, message, ("spec", "source", "repoURL"))
        if spec["destination"] not in project["destinations"]:
            message = f"Application {name} writes to a destination that its AppProject does not allow"
            yield Lost(body, message, ("spec", "destination", "server"))
        prefix = f"{place}/generated/" if place else "generated/"
        folder = spec["source"]["path"].removeprefix(prefix)
        if folder not in folders:
            yield Lost(body, f"Application {name} reads `{folder}`, which is not generated", ("spec", "source", "path"))
        yield from _not_allowed(resources, project, spec["project"])


def _not_allowed(resources: Sequence[Resource], project: Body, name: str) -> Iterator[Lost]:
    cluster = {(entry["group"], entry["kind"]) for entry in project.get("clusterResourceWhitelist", ())}
    namespaced = {(entry["group"], entry["kind"]) for entry in project["namespaceResourceWhitelist"]}
    for resource in resources:
        group = resource.body["apiVersion"].rpartition("/")[0]
        kind = resource.body["kind"]
        if (group, kind) not in (cluster if kind in CLUSTER_SCOPED else namespaced):
            yield Lost(resource, f"AppProject {name} does not allow {kind}", ("kind",))
