"""The agent that logs or batches requests, where a `patch` asks for it (agent_injector.go, component.go).

mlspec itself emits neither `logger` nor `batcher`. The third use of the agent, many models in one server, is not
projected.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import copied
from mlspec.projection.kserve import storage
from mlspec.projection.kserve.stock import CONTAINER, Release

PORT: Final = 9081
_PREFIX: Final = "internal.serving.kserve.io"
_QUEUE_PROXY: Final = "queue-proxy"


def asked_for(predictor: Body) -> dict[str, str]:
    """Return the annotations that ask for the agent."""
    found: dict[str, str] = {}
    logger, batcher = predictor.get("logger"), predictor.get("batcher")
    if logger is not None:
        found[f"{_PREFIX}/logger"] = "true"
        found |= {f"{_PREFIX}/logger-sink-url": logger["url"]} if "url" in logger else {}
        found[f"{_PREFIX}/logger-mode"] = logger.get("mode", "")
        for field, key in (("metadataHeaders", "headers"), ("metadataAnnotations", "annotations")):
            if field in logger:
                found[f"{_PREFIX}/logger-metadata-{key}"] = ",".join(logger[field])
    if batcher is not None:
        found[f"{_PREFIX}/batcher"] = "true"
        for field, key in (("maxBatchSize", "max-batchsize"), ("maxLatency", "max-latency")):
            if field in batcher:
                found[f"{_PREFIX}/batcher-{key}"] = str(batcher[field])
    return found


def inject(pod: Body, predictor: Body, release: Release, secrets: Mapping[str, str]) -> None:
    """Add the agent; it runs with the security context of the pod's first container."""
    spec = pod["spec"]
    asked = pod["metadata"]["annotations"]
    if f"{_PREFIX}/logger" not in asked and f"{_PREFIX}/batcher" not in asked:
        return
    said, first = release.configuration["agent"], spec["containers"][0]
    container: Body = {
        "name": "agent",
        "image": said["image"],
        "args": [*_batcher(asked), *_logger(pod, predictor, release), "--component-port", str(_port(spec))],
        "ports": [{"name": "agent-port", "containerPort": PORT, "protocol": "TCP"}],
        "env": _environment(spec, first),
        "resources": {
            "limits": {"cpu": said["cpuLimit"], "memory": said["memoryLimit"]},
            "requests": {"cpu": said["cpuRequest"], "memory": said["memoryRequest"]},
        },
        "readinessProbe": {
            "httpGet": {
                "path": "/",
                "port": PORT,
                "scheme": "HTTP",
                "httpHeaders": [{"name": "K-Network-Probe", "value": "queue"}],
            }
        },
    }
    if "securityContext" in first:
        container["securityContext"] = copied(first["securityContext"])
    storage.authenticate(container, spec, secrets)
    spec["containers"].append({key: value for key, value in container.items() if value != []})


def _batcher(asked: Mapping[str, str]) -> list[str]:
    if f"{_PREFIX}/batcher" not in asked:
        return []
    found = ["--enable-batcher"]
    for key, argument in (("max-batchsize", "--max-batchsize"), ("max-latency", "--max-latency")):
        if (value := asked.get(f"{_PREFIX}/batcher-{key}")) is not None:
            found += [argument, value]
    return found


def _logger(pod: Body, predictor: Body, release: Release) -> list[str]:
    """Return the logger's arguments; what it stores elsewhere than at a URL is not projected."""
    metadata, said = pod["metadata"], release.configuration["logger"]
    asked, labels = metadata["annotations"], metadata["labels"]
    if f"{_PREFIX}/logger" not in asked:
        return []
    found = {
        "--log-url": asked.get(f"{_PREFIX}/logger-sink-url", said["defaultUrl"]),
        # The name is still to be generated where the webhook sees a pod.
        "--source-uri": "",
        "--log-mode": asked.get(f"{_PREFIX}/logger-mode", ""),
        "--inference-service": labels["serving.kserve.io/inferenceservice"],
        "--namespace": metadata.get("namespace", ""),
        "--endpoint": labels.get("endpoint", ""),
        "--component": labels.get("component", ""),
    }
    if (headers := asked.get(f"{_PREFIX}/logger-metadata-headers")) is not None:
        found["--metadata-headers"] = headers
    if (keys := asked.get(f"{_PREFIX}/logger-metadata-annotations")) is not None:
        pairs = [f"{key}={asked[key]}" for key in keys.split(",") if key in asked]
        found["--metadata-annotations"] = ",".join(pairs)
    found["--logger-tls-skip-verify"] = "false"
    return [word for pair in found.items() for word in pair]


def _port(spec: Body) -> int:
    for container in spec["containers"]:
        if container["name"] == CONTAINER and container.get("ports"):
            port: int = container["ports"][0]["containerPort"]
            return port
    return 8080


def _environment(spec: Body, first: Body) -> list[Body]:
    """Return the agent's environment: the queue proxy's, whose requests now go to the agent; else the probe alone."""
    for container in spec["containers"]:
        if container["name"] == _QUEUE_PROXY:
            found: list[Body] = copied(container.get("env", []))
            for variable in container.get("env", []):
                if variable["name"] == "USER_PORT":
                    variable["value"] = str(PORT)
            return found
    probe: Mapping[str, Any] = first.get("readinessProbe", {})
    if "httpGet" not in probe and "tcpSocket" not in probe:
        return []
    return [{"name": "SERVING_READINESS_PROBE", "value": json.dumps(probe, separators=(",", ":"))}]
