"""What KServe's webhook makes of each of its pods, in its own order.

Sources (kserve/kserve, pkg/webhook/admission/pod): mutator.go, storage_initializer_injector.go, agent_injector.go,
metrics_aggregate_injector.go, accelerator_injector.go; pkg/utils/storage.go (modelcar). The security context for
Istio's CNI plugin is not projected: it depends on what Istio did to the pod before.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.projection.kserve import agent, storage
from mlspec.projection.kserve.stock import Release

_GKE: Final = "serving.kserve.io/gke-accelerator"
_AGGREGATION: Final = "serving.kserve.io/enable-metric-aggregation"
_SCRAPING: Final = "serving.kserve.io/enable-prometheus-scraping"
_RUNTIME_PORT: Final = "prometheus.kserve.io/port"
_RUNTIME_PATH: Final = "prometheus.kserve.io/path"
_QUEUE_PROXY: Final = "queue-proxy"
_AGGREGATED: Final = 9088


def admit(pod: Body, predictor: Body, release: Release, secrets: Mapping[str, str]) -> frozenset[str]:
    """Change a pod as the webhook does; return the names of the containers that it put in or changed.

    `secrets` are the Secrets of the pod's ServiceAccount by the store that they are for: `s3`, `gs`.
    """
    before = {each["name"]: each.get("securityContext") for each in _containers(pod)}
    _select_accelerator(pod)
    storage.initialize(pod, release, secrets)
    agent.inject(pod, predictor, release, secrets)
    _annotate_metrics(pod, release.configuration["metricsAggregator"])
    replaced = storage.mount_image(pod, release)
    return frozenset(each["name"] for each in _containers(pod) if each["name"] not in before) | replaced


def _containers(pod: Body) -> Iterator[Body]:
    yield from pod["spec"].get("initContainers", ())
    yield from pod["spec"]["containers"]


def _select_accelerator(pod: Body) -> None:
    wanted = pod["metadata"]["annotations"].get(_GKE)
    containers = pod["spec"]["containers"]
    if wanted is not None and any(
        "nvidia.com/gpu" in each.get("resources", {}).get("limits", {}) for each in containers
    ):
        selector = {**pod["spec"].get("nodeSelector", {}), "cloud.google.com/gke-accelerator": wanted}
        pod["spec"]["nodeSelector"] = selector


def _annotate_metrics(pod: Body, configuration: Mapping[str, Any]) -> None:
    annotations = pod["metadata"]["annotations"]
    aggregated = annotations.setdefault(_AGGREGATION, configuration["enableMetricAggregation"]) == "true"
    if aggregated:
        for container in pod["spec"]["containers"]:
            if container["name"] == _QUEUE_PROXY:
                _aggregate(container, annotations)
    if annotations.setdefault(_SCRAPING, configuration["enablePrometheusScraping"]) == "true":
        annotations["prometheus.io/port"] = str(_AGGREGATED) if aggregated else "9091"
        annotations["prometheus.io/path"] = "/metrics"


def _aggregate(proxy: Body, annotations: Mapping[str, str]) -> None:
    """Let the queue proxy serve the server's metrics beside its own."""
    added = {
        "KSERVE_CONTAINER_PROMETHEUS_METRICS_PORT": annotations.get(_RUNTIME_PORT, "8080"),
        "KSERVE_CONTAINER_PROMETHEUS_METRICS_PATH": annotations.get(_RUNTIME_PATH, "/metrics"),
        "AGGREGATE_PROMETHEUS_METRICS_PORT": str(_AGGREGATED),
    }
    proxy["env"] = [*proxy.get("env", ()), *({"name": name, "value": value} for name, value in added.items())]
    port = {"name": "aggr-metric", "containerPort": _AGGREGATED, "protocol": "TCP"}
    proxy["ports"] = [*proxy.get("ports", ()), port]
