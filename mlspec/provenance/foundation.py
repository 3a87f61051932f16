"""Where the fields of what stands around steps and services come from: namespace, claims, accounts, roles, files."""

from __future__ import annotations

from typing import Final

from mlspec.ir_sources import Source
from mlspec.k8s import meta
from mlspec.model.scalars import expand
from mlspec.provenance import pods
from mlspec.provenance.rows import Rows, Table, below
from mlspec.provenance.view import At, Origin, environment, own, project
from mlspec.provenance.workloads import LEVEL, METADATA, RUN

_OWNED: Final[Rows] = {**METADATA, "metadata name": "/name"}


def _weakest(at: At) -> Origin:
    """Return what decides on the level that a namespace enforces: the environment's floor, and what all pods reach."""
    view = at.view
    places = [(each.workload.section, each.workload.name) for each in view.plan.workloads]
    return (environment("namespace", "podSecurity"), *(project(*place, field) for place in places for field in LEVEL))


def _device(at: At) -> Origin:
    """Return the total of a GPU's resource, and the types that are of it."""
    types = at.view.environment.model.gpus
    named = (environment("gpus", name, "resource") for name, kind in types.items() if at.key.endswith(kind.resource))
    return (environment("quota", "gpu"), *named)


_CPU: Final = "@quota cpu"
_MEMORY: Final = "@quota memory"
_LIMITS: Final[Rows] = {
    "default cpu": "@defaults cpu | @quota",
    "default memory": "@defaults memory | @quota",
    "defaultRequest cpu": "@defaults cpu | @quota",
    "defaultRequest memory": "@defaults memory | @quota",
}
NAMESPACE: Final = Table(
    {
        **METADATA,
        "metadata name": METADATA["metadata namespace"],
        f"metadata labels {meta.POD_SECURITY_ENFORCE}": _weakest,
    }
)
QUOTA: Final = Table(
    {
        **_OWNED,
        "spec": "@quota",
        "spec hard *": _device,
        "spec hard requests.cpu": _CPU,
        "spec hard limits.cpu": _CPU,
        "spec hard requests.memory": _MEMORY,
        "spec hard limits.memory": _MEMORY,
        "spec hard requests.storage": "@quota storage",
    }
)
LIMITS: Final = Table({**_OWNED, "spec": "@quota", **below("spec limits *", _LIMITS)})


def _volume(at: At, *fields: str) -> Origin:
    return (project("volumes", str(at.view.body["metadata"]["name"]), *fields),)


def _class(at: At) -> Origin:
    """Return the class that is written, or the environment's that offers the access mode."""
    (written,) = _volume(at, "class")
    return ((*written, *environment("storage", str(at.node))), *_volume(at, "access"), environment("storage"))


def _binding(at: At) -> Origin:
    """Return how the class of a claim binds it."""
    name = str(at.view.body["spec"].get("storageClassName"))
    return (environment("storage", name, "binding"), *_class(at._replace(node=name)))


CLAIM: Final = Table(
    {
        **METADATA,
        f"metadata annotations {meta.IGNORE_HEALTH}": _binding,
        "spec accessModes": lambda at: _volume(at, "access"),
        "spec resources": lambda at: _volume(at, "size"),
        "spec storageClassName": _class,
    }
)


def _annotation(at: At) -> Origin:
    """Return an annotation of the environment's for accounts, whose pattern may name project and owner."""
    return (environment("serviceAccounts", "annotations", at.key), project("name"), project("owner"))


def _pull_secret(at: At) -> Origin:
    return (environment("images", "pullSecrets", at.key),)


def _storage_secret(at: At) -> Origin:
    """Return the destinations that a Secret of an account opens."""
    name = at.node.get("name") if isinstance(at.node, dict) else None
    found = at.view.environment.model.network.destinations
    of_it = tuple(
        environment("network", "destinations", key, "secret") for key, one in found.items() if one.secret == name
    )
    return (*(of_it or (environment("network", "destinations"),)), own(at, "model"))


_KUBERNETES_OWN: Final[Rows] = {
    f"metadata annotations {meta.SYNC_WAVE}": ".",
}
ACCOUNT: Final = Table(
    {
        **METADATA,
        "metadata annotations *": _annotation,
        **_KUBERNETES_OWN,
        "imagePullSecrets": "@images pullSecrets",
        "secrets": "@network destinations + model",
        "imagePullSecrets *": _pull_secret,
        "secrets *": _storage_secret,
    }
)


def _group(at: At) -> Origin:
    """Return the pattern that a group comes from; `{owner}` is the project's owner."""
    view, name = at.view, at.node.get("name") if isinstance(at.node, dict) else None
    field = "viewers" if str(view.body["metadata"]["name"]).endswith("-viewer") else "operators"
    patterns: tuple[str, ...] = getattr(view.environment.model.access, field)
    known = {"project": view.plan.project, "environment": view.environment.name, "owner": view.plan.owner}
    index = next((index for index, pattern in enumerate(patterns) if expand(pattern, **known) == name), 0)
    written = environment("access", field, str(index))
    says_owner = index < len(patterns) and "{owner}" in patterns[index]
    return (project("owner"), written, project("name")) if says_owner else (written, project("name"))


def _rules(at: At) -> Origin:
    """Return what decides on the kinds that people may see: those of steps and services, queues, Secrets of a store."""
    model = at.view.variant.model
    places = [*(("steps", name) for name in model.steps), *(("services", name) for name in model.services)]
    kinds = (project(*place, "kind") for place in places)
    queues = (project("steps", name, "queue") for name in model.steps)
    stores = (project("secrets", name, "external") for name in model.secrets)
    return (project("name"), *kinds, *queues, environment("kueue", "queue"), *stores)


ROLE: Final = Table({**_OWNED, "rules": _rules})
BINDING: Final = Table(
    {**_OWNED, "roleRef name": "/name", "subjects": "@access | /owner", "subjects *": _group},
)


def _file(at: At) -> Origin:
    """Return the field that ships a file, by its key in the ConfigMap."""
    found = (chain for file in pods.files(at.view) if file.key == at.key for chain in pods.shipped(at, file))
    return tuple(found) or (own(at, "files"),)


_SHIPPED: Final[Rows] = {"": "files + script", "*": _file}
FILES: Final = Table({**RUN, **below("data", _SHIPPED), **below("binaryData", _SHIPPED)})


def _queue(at: At) -> Origin:
    """Return the steps that stand in a queue, or else the environment's own."""
    name = str(at.view.body["metadata"]["name"])
    steps = at.view.variant.model.steps.items()
    written = tuple(Source(("steps", step, "queue")) for step, spec in steps if spec.queue == name)
    return ((*written, *environment("kueue", "queue")), environment("kueue", "queue"))


QUEUE: Final = Table(
    {
        **METADATA,
        "apiVersion": "@kueue version",
        "metadata name": _queue,
        "spec clusterQueue": _queue,
    }
)


def _secret(at: At, *fields: str) -> Origin:
    return (project("secrets", str(at.view.body["metadata"]["name"]), *fields),)


def _secret_key(at: At) -> Origin:
    """Return the key of a Secret that an entry of an ExternalSecret is for."""
    name = str(at.view.body["metadata"]["name"])
    secret = at.view.variant.model.secrets.get(name)
    wanted = at.node.get("secretKey") if isinstance(at.node, dict) else None
    index = secret.keys.index(wanted) if secret is not None and wanted in secret.keys else 0
    return _secret(at, "external") if at.rest[-1:] == ("key",) else _secret(at, "keys", str(index))


EXTERNAL_SECRET: Final = Table(
    {
        **METADATA,
        "spec secretStoreRef": "@secretStore",
        "spec secretStoreRef name": "@secretStore name",
        "spec secretStoreRef kind": "@secretStore kind",
        "spec data": lambda at: _secret(at, "keys"),
        "spec data *": _secret_key,
    }
)


def _judged(at: At) -> Origin:
    """Return what a gate asks: of which model, and by which thresholds."""
    found = pods.model(at)
    steps = [each.workload.name for each in at.view.plan.steps]
    judging = (project("steps", name, field) for name in steps for field in ("gate", "needs", "mounts"))
    return (*_models(at), *found, *judging)


def _models(at: At) -> Origin:
    """Return the models of a service, one a predictor where it has several."""
    parts = at.view.spec.parts() if at.view.spec is not None else {}
    return tuple(own(at, *part, "model", field) for part in parts for field in ("from", "run", "path"))


GATE: Final = Table(
    {
        **METADATA,
        "spec template spec nodeSelector": "@placement",
        "spec template spec tolerations": "@placement",
        "spec template spec nodeSelector *": pods.gate_placement,
        "spec template spec tolerations *": pods.gate_placement,
        "spec template spec volumes": _judged,
        "spec template spec containers * image": "@images helper",
        "spec template spec containers * args": _judged,
        "spec template spec containers * volumeMounts": _judged,
        **below(
            "spec template metadata", {"labels app.kubernetes.io/part-of": "/name", f"labels {meta.PROJECT}": "/name"}
        ),
    }
)
METRICS: Final = Table(
    {
        **METADATA,
        "metadata": ".",
        "spec": "port | . + @prometheus + @kserve mode + @kserve version + model runtime + model format",
        "spec ports": "port | . + @kserve mode + model runtime + model format + model version + @kserve version",
        f"spec selector {meta.PROJECT}": "/name",
    }
)
MONITOR: Final = Table(
    {
        **METADATA,
        "spec": "@prometheus",
        "spec endpoints * interval": "/monitoring interval",
        f"spec selector matchLabels {meta.PROJECT}": "/name",
    }
)
