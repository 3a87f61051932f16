"""The executor in front of every graph, which answers requests and counts them (seldondeployment_engine.go)."""

from __future__ import annotations

from typing import Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import mapping
from mlspec.projection.seldon.defaults import PODINFO
from mlspec.projection.seldon.graph import Predictor, SeldonDeployment, tables, text
from mlspec.projection.seldon.images import EXECUTOR
from mlspec.projection.seldon.units import probe, variable

NAME: Final = "seldon-container-engine"
HTTP: Final = 8000
GRPC: Final = 5001
# EXECUTOR_CONTAINER_USER of manager.yaml; with it comes the one field beside the user (createEngineContainer).
_SECURITY: Final = {"allowPrivilegeEscalation": False, "runAsUser": 8888}
_AMOUNTS: Final = {"cpu": "500m", "memory": "512Mi"}


def container(found: SeldonDeployment, predictor: Predictor) -> Body:
    """Return the executor's container (createExecutorContainer).

    `ENGINE_PREDICTOR` holds the predictor as JSON in base64, which tells nothing new: its value is left out.
    """
    env = [
        variable("ENGINE_PREDICTOR", ""),
        variable("REQUEST_LOGGER_DEFAULT_ENDPOINT", "http://default-broker"),
        *tables(predictor.orchestrator, "env"),
    ]
    known = {text(item.get("name")) for item in env[2:]}
    env += [item for item in _from_annotations(found) if item["name"] not in known]
    return {
        "name": NAME,
        "image": EXECUTOR,
        "imagePullPolicy": "IfNotPresent",
        "args": _arguments(found, predictor),
        "env": env,
        "ports": [
            {"name": name, "containerPort": port, "protocol": "TCP"}
            for name, port in (("http", HTTP), ("metrics", HTTP), ("grpc", GRPC))
        ],
        "resources": mapping(predictor.orchestrator.get("resources"))
        or {"requests": dict(_AMOUNTS), "limits": dict(_AMOUNTS)},
        "volumeMounts": [dict(PODINFO)],
        "readinessProbe": _probe("/ready"),
        "livenessProbe": _probe("/live"),
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
        "securityContext": dict(_SECURITY),
    }


def _probe(path: str) -> Body:
    return probe({"httpGet": {"path": path, "port": HTTP, "scheme": "HTTP"}}, 20, period=5, timeout=60)


def _arguments(found: SeldonDeployment, predictor: Predictor) -> list[str]:
    options = {
        "--sdep": found.name,
        "--namespace": found.in_namespace,
        "--predictor": predictor.name,
        "--http_port": str(HTTP),
        "--grpc_port": str(GRPC),
        "--protocol": found.protocol,
        "--transport": "grpc" if found.is_grpc else "rest",
        "--prometheus_path": "/prometheus",
        "--server_type": found.server,
        "--log_work_buffer_size": found.annotation("seldon.io/executor-logger-queue-size", "10000"),
        "--log_write_timeout_ms": found.annotation("seldon.io/executor-logger-write-timeout-ms", "2000"),
    }
    return [word for option in options.items() for word in option] + ["--full_health_checks=false"]


def _from_annotations(found: SeldonDeployment) -> list[Body]:
    """Return the variables that annotations stand for (controllers/utils, GetEngineEnvAnnotations)."""
    prefix = "seldon.io/engine-"
    return [
        variable(key.removeprefix(prefix).replace("-", "_").upper(), value)
        for key, value in sorted(found.annotations.items())
        if key.startswith(prefix) and key != "seldon.io/engine-separate-pod"
    ]
