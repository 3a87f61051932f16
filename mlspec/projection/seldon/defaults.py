"""What the operator fills in before it makes anything (defaults.go, DefaultSeldonDeployment)."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from typing import Final

from mlspec.k8s.projected import Body
from mlspec.projection.seldon.graph import Component, Predictor, SeldonDeployment, Unit, named, number, tables
from mlspec.projection.seldon.images import server_image

PODINFO: Final = {"name": "seldon-podinfo", "mountPath": "/etc/podinfo"}
"""Mount of the pod's annotations (PODINFO_VOLUME_NAME, PODINFO_VOLUME_PATH)."""
# PREDICTIVE_UNIT_HTTP_SERVICE_PORT and …_GRPC_… of manager.yaml, FirstMetricsPortNumber of constants.go: each name of a
# container has one pair of ports in the whole object, each container a port for metrics of its own.
_FIRST_HTTP: Final = 9000
_FIRST_GRPC: Final = 9500
_FIRST_METRICS: Final = 6000


def fill_in(found: SeldonDeployment) -> None:
    """Give every unit its ports and every unit's container what it lacks."""
    numbers: dict[str, int] = {}
    metrics = count(_FIRST_METRICS)
    for predictor in found.predictors:
        predictor.labels.setdefault("version", predictor.name)
        for index, component in enumerate(predictor.components):
            for container in component.containers:
                offset = numbers.setdefault(str(container.get("name")), len(numbers))
                unit = predictor.graph.find(str(container.get("name")))
                if unit is not None:
                    _unit(unit, container, offset, metrics)
                    unit.has_engine = index == 0 and not found.separate_engine
        for unit in predictor.graph.tree():
            if unit.is_prepackaged:
                _prepackaged(found, predictor, unit, numbers.setdefault(unit.name, len(numbers)), metrics)


def _unit(unit: Unit, container: Body, offset: int, metrics: Iterator[int]) -> None:
    """Fill in the container of a unit (setContainerPredictiveUnitDefaults)."""
    for key, value in (
        ("imagePullPolicy", "IfNotPresent"),
        ("terminationMessagePath", "/dev/termination-log"),
        ("terminationMessagePolicy", "File"),
    ):
        container[key] = container.get(key) or value
    mounts, ports = tables(container, "volumeMounts"), tables(container, "ports")
    if named(mounts, PODINFO["name"]) is None:
        mounts.append(dict(PODINFO))
    unit.http = _number(named(ports, "http")) or _FIRST_HTTP + offset
    unit.grpc = _number(named(ports, "grpc")) or _FIRST_GRPC + offset
    if named(ports, "metrics") is None:
        ports.append({"name": "metrics", "containerPort": next(metrics), "protocol": "TCP"})


def _number(port: Body | None) -> int | None:
    return None if port is None else number(port.get("containerPort"))


def _prepackaged(
    found: SeldonDeployment, predictor: Predictor, unit: Unit, offset: int, metrics: Iterator[int]
) -> None:
    """Give a server of the platform's a container, and its image, unless TensorFlow's protocol is spoken."""
    places = [(index, named(item.containers, unit.name)) for index, item in enumerate(predictor.components)]
    index, container = next(((index, item) for index, item in places if item is not None), (0, None))
    if container is None:
        container = {"name": unit.name, "volumeMounts": [dict(PODINFO)]}
        if not predictor.components:
            predictor.components.append(Component("", {}, {}, {}, None))
        predictor.components[0].containers.append(container)
    _unit(unit, container, offset, metrics)
    unit.has_engine = index == 0 and not found.separate_engine
    image = server_image(unit.implementation, found.protocol)
    if found.protocol != "tensorflow" and not container.get("image") and image is not None:
        container["image"] = image
