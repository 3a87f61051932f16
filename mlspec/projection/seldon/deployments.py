"""The Deployments that the operator makes, their pods, and the Services in front (seldondeployment_controller.go)."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from mlspec.k8s.projected import Body, ProjectedPods, Projection
from mlspec.k8s.resource import compact
from mlspec.projection import templates
from mlspec.projection.seldon import executor, servers
from mlspec.projection.seldon.defaults import PODINFO, fill_in
from mlspec.projection.seldon.graph import (
    SERVICE_NAME,
    Component,
    Predictor,
    SeldonDeployment,
    Unit,
    named,
    number,
    read,
    tables,
    text,
)
from mlspec.projection.seldon.units import add_to_unit, service

_LIMIT: Final = 63
# Stands for the digest of the pod template, with which the ReplicaSet and its pods are named.
_HASH: Final = "0000000000"
_LABELS: Final = {
    "MODEL": "seldon.io/model",
    "ROUTER": "seldon.io/router",
    "COMBINER": "seldon.io/combiner",
    "TRANSFORMER": "seldon.io/transformer",
    "OUTPUT_TRANSFORMER": "seldon.io/output-transformer",
}
_MANAGED: Final = {"app.kubernetes.io/managed-by": "seldon-core"}
_SCRAPED: Final = {"prometheus.io/path": "/prometheus", "prometheus.io/scrape": "true"}
# DEFAULT_USER_ID of the Helm chart (security.go); manager.yaml sets none, so that pods have no context at all.
_SECURITY: Final = {"runAsUser": 8888}
_PODINFO_VOLUME: Final = {
    "name": PODINFO["name"],
    "downwardAPI": {
        "items": [{"path": "annotations", "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.annotations"}}],
        "defaultMode": 420,
    },
}


@dataclass(slots=True)
class _Deployment:
    """A Deployment on its way: what its pods will carry."""

    name: str
    predictor: Predictor
    role: str
    replicas: int | None
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: Body
    added: set[str] = field(default_factory=set)


def seldon_deployment(body: Body) -> Projection:
    """Return the pods and Services of a SeldonDeployment (createComponents)."""
    found = read(body)
    fill_in(found)
    deployments: list[_Deployment] = []
    services: list[Body] = []
    for predictor in found.predictors:
        own, fronts = _predictor(found, predictor)
        deployments += own
        services += fronts
    return Projection(
        tuple(_pods(found, item) for item in deployments),
        tuple(services),
        tuple(item.name for item in deployments),
    )


def _predictor(found: SeldonDeployment, predictor: Predictor) -> tuple[list[_Deployment], list[Body]]:
    key = predictor.annotations.get(SERVICE_NAME) or _short(f"{found.name}-{predictor.name}")
    services: list[Body] = []
    deployments = [
        _deployment(found, predictor, index, component)
        for index, component in enumerate(predictor.components)
        if component.containers
    ]
    for item in deployments:
        services += _units(found, item, key)
    for unit in predictor.graph.tree() if predictor.components else ():
        home = next((item for item in deployments if named(tables(item.spec, "containers"), unit.name)), None)
        if unit.is_prepackaged and home is not None:
            home.added |= servers.complete(found, unit, home.spec)
    if not predictor.no_engine:
        deployments = _with_engine(found, predictor, deployments, key)
        labels = {"seldon-app": key, "seldon-deployment-id": _id(found), **_MANAGED}
        services.append(_front(found, predictor, key, labels, (executor.HTTP, executor.GRPC)))
    return deployments, services


def _id(found: SeldonDeployment) -> str:
    return _short(found.name)


def _short(name: str) -> str:
    """Return a name, or what stands for one that is too long (seldondeployment_types.go, hash)."""
    if len(name) <= _LIMIT:
        return name
    return f"seldon-{hashlib.md5(name.encode(), usedforsecurity=False).hexdigest()}"


def _deployment(found: SeldonDeployment, predictor: Predictor, index: int, component: Component) -> _Deployment:
    """Return the Deployment of some described pods (createDeploymentWithoutEngine, addLabelsToDeployment)."""
    containers = component.name or "-".join(str(item.get("name")) for item in component.containers)
    name = _short(f"{found.name}-{predictor.name}-{index}-{containers}")
    shadow = {"seldon.io/shadow": "true"} if predictor.shadow else {}
    labels = {
        "seldon-deployment-id": _id(found),
        "app": name,
        "fluentd": "true",
        **shadow,
        **predictor.labels,
        **component.labels,
        **_MANAGED,
    }
    described = {text(item.get("name")) for item in component.containers}
    for unit in predictor.graph.tree():
        if unit.name in described and unit.kind in _LABELS:
            labels[_LABELS[unit.kind]] = "true"
    spec, grace = component.spec, component.spec.get("terminationGracePeriodSeconds")
    spec["securityContext"] = dict(_SECURITY)
    spec["restartPolicy"] = spec.get("restartPolicy") or "Always"
    spec["dnsPolicy"] = spec.get("dnsPolicy") or "ClusterFirst"
    spec["schedulerName"] = spec.get("schedulerName") or "default-scheduler"
    spec["terminationGracePeriodSeconds"] = 20 if grace is None else grace
    if named(tables(spec, "volumes"), PODINFO["name"]) is None:
        tables(spec, "volumes").append(dict(_PODINFO_VOLUME))
    annotations = {**_SCRAPED, **found.annotations, **predictor.annotations, **component.annotations}
    replicas = next((n for n in (component.replicas, predictor.replicas, found.replicas) if n is not None), None)
    return _Deployment(name, predictor, predictor.name, replicas, labels, annotations, spec)


def _units(found: SeldonDeployment, item: _Deployment, key: str) -> Iterator[Body]:
    """Complete the containers of units, and yield the Services by which each can be reached past the executor."""
    predictor = item.predictor
    for container in tables(item.spec, "containers"):
        name = str(container.get("name"))
        unit = predictor.graph.find(name)
        if unit is None or name in (executor.NAME, servers.TFSERVING):
            continue
        label, value = f"seldon-app-svc-{name}", _short(f"{found.name}-{predictor.name}-{name}")
        item.labels[label] = value
        add_to_unit(found, predictor, unit, container)
        common = {"seldon-deployment-id": _id(found), "seldon-app": key, **_kinds(predictor, unit)}
        ports = (unit.http, unit.grpc)
        yield service(value, found.namespace, {label: value, **common}, predictor.annotations, ports, {label: value})
        if predictor.no_engine:
            item.labels["seldon-app"] = key
            yield _front(found, predictor, key, common, ports)


def _kinds(predictor: Predictor, unit: Unit) -> dict[str, str]:
    """Return the labels that say what a unit is (labels.go, addLabelsToService)."""
    shadow = {"seldon.io/shadow": "true"} if predictor.shadow else {}
    return {**({_LABELS[unit.kind]: "true"} if unit.kind in _LABELS else {}), **shadow, **_MANAGED}


def _front(
    found: SeldonDeployment, predictor: Predictor, key: str, labels: dict[str, str], ports: tuple[int, int]
) -> Body:
    """Return the Service of a predictor, which a gateway sends requests to (createPredictorService)."""
    front = service(key, found.namespace, labels, predictor.annotations, ports, {"seldon-app": key})
    if found.annotation("seldon.io/headless-svc", "false") != "false":
        front["spec"]["clusterIP"] = "None"
    return front


def _with_engine(
    found: SeldonDeployment, predictor: Predictor, deployments: list[_Deployment], key: str
) -> list[_Deployment]:
    """Put the executor beside the first unit of the first pods, or into pods of its own (createEngineDeployment)."""
    engine = executor.container(found, predictor)
    if not found.separate_engine:
        unit = next((unit for unit in predictor.graph.tree() if unit.has_engine), None)
        for item in deployments:
            containers = tables(item.spec, "containers")
            if unit is not None and named(containers, unit.name) and not named(containers, executor.NAME):
                containers.append(engine)
                item.labels["seldon-app"] = key
                item.annotations |= predictor.annotations
                item.added.add(executor.NAME)
                break
        return deployments
    name = _short(f"{found.name}-{predictor.name}-svc-orch")
    spec = {
        "serviceAccountName": "default",
        "serviceAccount": "default",
        "securityContext": dict(_SECURITY),
        "containers": [engine],
        "volumes": [dict(_PODINFO_VOLUME)],
        "restartPolicy": "Always",
        "dnsPolicy": "ClusterFirst",
        "schedulerName": "default-scheduler",
        "terminationGracePeriodSeconds": 20,
    }
    labels = {"seldon-app": key, "seldon-deployment-id": key, "app": name, **predictor.labels}
    own = number(predictor.orchestrator.get("replicas"))
    replicas = predictor.replicas if own is None else own
    role = f"{predictor.name} svc-orch"
    return [
        _Deployment(name, predictor, role, replicas, labels, dict(_SCRAPED), spec, {executor.NAME}),
        *deployments,
    ]


def _pods(found: SeldonDeployment, item: _Deployment) -> ProjectedPods:
    """Return the pods of a Deployment: one by default."""
    for kind in ("initContainers", "containers"):
        item.spec[kind] = [compact(container) for container in tables(item.spec, kind)]
    template = {"metadata": {"labels": item.labels, "annotations": item.annotations}, "spec": compact(item.spec)}

    def name(index: int) -> str:
        return templates.generated(f"{item.name}-{_HASH}-")

    def make(index: int) -> Body:
        return templates.pod(name(index), found.namespace, template, {"pod-template-hash": _HASH})

    # The short form of the spec is one predictor of this name, which nobody wrote.
    alone = len(found.predictors) == 1 and item.predictor.name == "default"
    path = () if alone else ("predictors", item.predictor.name)
    count = 1 if item.replicas is None else item.replicas
    return ProjectedPods(item.role, count, make, frozenset(item.added), path, name)
