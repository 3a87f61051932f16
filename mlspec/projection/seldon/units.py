"""What the operator adds to the container of a unit, and the Service in front of it (createContainerService)."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.k8s.resource import compact
from mlspec.projection.seldon.graph import Predictor, SeldonDeployment, Unit, named, number, tables

MODELS: Final = "/mnt/models"
"""Where the model is (model_initializer_injector.go, DefaultModelLocalMountPath)."""
PARAMETERS: Final = "PREDICTIVE_UNIT_PARAMETERS"
_METRICS_PATH: Final = "/prometheus"


def add_to_unit(found: SeldonDeployment, predictor: Predictor, unit: Unit, container: Body) -> None:
    """Give the container of a unit its ports, probes, a pause before it ends, and variables."""
    ports = tables(container, "ports")
    for name, port in (("http", unit.http), ("grpc", unit.grpc)):
        if named(ports, name) is None:
            ports.append({"name": name, "containerPort": port, "protocol": "TCP"})
    port = unit.grpc if unit.is_grpc or found.is_grpc else unit.http
    for key, delay in (("livenessProbe", 60), ("readinessProbe", 20)):
        if container.get(key) is None:
            container[key] = probe({"tcpSocket": {"port": port}}, delay, period=5, timeout=1)
    if container.get("lifecycle") is None:
        container["lifecycle"] = {"preStop": {"exec": {"command": ["/bin/sh", "-c", "/bin/sleep 10"]}}}
    env = tables(container, "env")
    if named(env, "PREDICTIVE_UNIT_SERVICE_PORT") is None:
        env.append(variable("PREDICTIVE_UNIT_SERVICE_PORT", str(port)))
    container["env"] = _own_variables(unit, env) + _identity(found, predictor, container)


def probe(handler: Body, delay: int, *, period: int, timeout: int) -> Body:
    """Return a probe, its numbers in seconds, as the operator spells it out."""
    return {
        **handler,
        "initialDelaySeconds": delay,
        "periodSeconds": period,
        "timeoutSeconds": timeout,
        "successThreshold": 1,
        "failureThreshold": 3,
    }


def variable(name: str, value: str) -> Body:
    """Return a variable; an empty value is left out, as Go leaves it out."""
    return {"name": name, **({"value": value} if value else {})}


def override(env: list[Body], added: Body) -> None:
    """Write a variable over the one of its name, or behind all (utils.go, SetEnvVar with `override`)."""
    places = [index for index, item in enumerate(env) if item.get("name") == added.get("name")]
    if places:
        env[places[-1]] = added
    else:
        env.append(added)


def as_json(value: Any) -> str:
    """Return JSON as Go's encoder writes it: compact, and safe to stand in HTML."""
    written = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    for char in "<>&\u2028\u2029":
        written = written.replace(char, f"\\u{ord(char):04x}")
    return written


def parameters_json(parameters: list[Body]) -> str:
    """Return parameters in the order of Go's fields (seldondeployment_types.go, Parameter)."""
    return as_json([{key: str(item.get(key, "")) for key in ("name", "value", "type")} for item in parameters])


def _own_variables(unit: Unit, env: list[Body]) -> list[Body]:
    """Return the variables with ports, parameters and the model's place (addPortEnvs, addModelEnvs).

    Where a name is there already, the operator's helper returns no variables at all (utils.go, SetEnvVar without
    `override`), so those in front are lost.
    """
    added = {
        "PREDICTIVE_UNIT_HTTP_SERVICE_PORT": str(unit.http),
        "MLSERVER_HTTP_PORT": str(unit.http),
        "PREDICTIVE_UNIT_GRPC_SERVICE_PORT": str(unit.grpc),
        "MLSERVER_GRPC_PORT": str(unit.grpc),
    }
    if unit.parameters:
        added[PARAMETERS] = parameters_json(unit.parameters)
    if unit.uri:
        added["MLSERVER_MODEL_URI"] = MODELS
    for name, value in added.items():
        env = [*env, variable(name, value)] if named(env, name) is None else []
    return env


def _identity(found: SeldonDeployment, predictor: Predictor, container: Body) -> list[Body]:
    """Return the variables that tell a unit who it is, and where it counts."""
    name = str(container.get("name"))
    added = {
        "PREDICTIVE_UNIT_ID": name,
        "MLSERVER_MODEL_NAME": name,
        "PREDICTIVE_UNIT_IMAGE": str(container.get("image", "")),
        "PREDICTOR_ID": predictor.name,
        "PREDICTOR_LABELS": as_json(dict(sorted(predictor.labels.items()))),
        "SELDON_DEPLOYMENT_ID": found.name,
        "SELDON_EXECUTOR_ENABLED": "true",
    }
    port = number((named(tables(container, "ports"), "metrics") or {}).get("containerPort"))
    if port is not None:
        added |= {
            "PREDICTIVE_UNIT_METRICS_SERVICE_PORT": str(port),
            "PREDICTIVE_UNIT_METRICS_ENDPOINT": _METRICS_PATH,
            "MLSERVER_METRICS_PORT": str(port),
            "MLSERVER_METRICS_ENDPOINT": _METRICS_PATH,
        }
    return [variable(key, value) for key, value in added.items()]


def service(
    name: str,
    namespace: str | None,
    labels: Mapping[str, str],
    annotations: Mapping[str, str],
    ports: tuple[int, int],
    selector: Mapping[str, str],
) -> Body:
    """Return a Service with its two ports, HTTP and gRPC."""
    metadata = {"name": name, "namespace": namespace, "labels": dict(sorted(labels.items()))}
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": compact({**metadata, "annotations": dict(annotations)}),
        "spec": {
            "type": "ClusterIP",
            "sessionAffinity": "None",
            "selector": dict(selector),
            "ports": [
                {"name": name, "protocol": "TCP", "port": port, "targetPort": port}
                for name, port in zip(("http", "grpc"), ports, strict=True)
            ],
        },
    }
