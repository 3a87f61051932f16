"""Concern monitoring: a headless Service on the metrics port of every service, and a ServiceMonitor on it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec import names
from mlspec.ir import Place, Plan, Port, Stated
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource
from mlspec.model.scalars import prometheus_duration

KINDS: Final = (("", "Service"), ("monitoring.coreos.com", "ServiceMonitor"))
"""(group, kind) of everything that this concern may emit."""
_PORT = "metrics"
_DEFAULT_PATH = "/metrics"  # prometheus-operator's own


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield nothing where the environment has no Prometheus."""
    if plan.target.prometheus is None:
        return
    for stated in plan.services:
        port = stated.facts.metrics
        if port is not None:
            origin = ("services", stated.workload.name)
            yield Resource(_service(plan, stated, port), Place.SERVING, origin)
            yield Resource(_monitor(plan, stated), Place.SERVING, origin)


def _labels(plan: Plan, stated: Stated) -> dict[str, str]:
    return {**meta.project_labels(plan.project), meta.METRICS_OF: stated.workload.name}


def _service(plan: Plan, stated: Stated, port: Port) -> Body:
    name, namespace = names.metrics(stated.workload.name), plan.target.namespace
    selector = meta.workload_selector(plan.project, stated.workload.section, stated.workload.name)
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": meta.metadata(name, namespace, _labels(plan, stated), meta.wave(0)),
        "spec": {
            "clusterIP": "None",
            "ports": [{"name": _PORT, "port": port.number, "protocol": port.protocol, "targetPort": port.number}],
            "selector": selector,
        },
    }


def _monitor(plan: Plan, stated: Stated) -> Body:
    name, namespace = names.metrics(stated.workload.name), plan.target.namespace
    # The monitor is the one optional kind: without its CRD the rest of the application still syncs.
    annotations = {**meta.wave(0), meta.SYNC_OPTIONS: "SkipDryRunOnMissingResource=true"}
    endpoint = {"interval": prometheus_duration(plan.monitoring_interval), "port": _PORT}
    if stated.facts.metrics_path != _DEFAULT_PATH:
        endpoint["path"] = stated.facts.metrics_path
    return {
        "apiVersion": "monitoring.coreos.com/v1",
        "kind": "ServiceMonitor",
        "metadata": meta.metadata(name, namespace, _labels(plan, stated), annotations),
        "spec": {
            "endpoints": [endpoint],
            "selector": {"matchLabels": {meta.PROJECT: plan.project, meta.METRICS_OF: stated.workload.name}},
        },
    }
