"""What KServe's controller hands on to a Deployment or to Knative: one template of the pods, and its metadata.

Sources (kserve/kserve, pkg/controller/v1beta1/inferenceservice): components/predictor.go (Reconcile, buildObjectMeta),
reconcilers/deployment/deployment_reconciler.go (setDefaultPodSpec), reconcilers/service/service_reconciler.go,
reconcilers/hpa/hpa_reconciler.go; pkg/constants/constants.go.
"""

from __future__ import annotations

from typing import Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import copied
from mlspec.projection.kserve import agent, runtimes, storage
from mlspec.projection.kserve.stock import CONTAINER, Release

_DROPPED: Final = frozenset(
    (
        "autoscaling.knative.dev/min-scale",
        "autoscaling.knative.dev/max-scale",
        storage.SOURCE,
        "kubectl.kubernetes.io/last-applied-configuration",
    )
)
"""Annotations that KServe does not hand on (ServiceAnnotationDisallowedList)."""
MODE: Final = "serving.kserve.io/deploymentMode"
AUTOSCALER: Final = "serving.kserve.io/autoscalerClass"
_STANDARD: Final = frozenset(("Standard", "RawDeployment"))
_PROBE: Final = {"timeoutSeconds": 1, "periodSeconds": 10, "successThreshold": 1, "failureThreshold": 3}


def is_standard(body: Body) -> bool:
    """Say whether it becomes a Deployment; without an annotation the stock configuration chooses Knative."""
    return body["metadata"].get("annotations", {}).get(MODE) in _STANDARD


def template(body: Body, release: Release) -> Body:
    """Return `metadata` and `spec` of the pods, as KServe makes them for either mode."""
    metadata, predictor = body["metadata"], body["spec"]["predictor"]
    server = (
        runtimes.serve(metadata, predictor, release)
        if "model" in predictor
        else runtimes.of_its_own(predictor, release)
    )
    containers = copied([server.container, *server.others])
    if release.number >= (0, 17):
        for container in containers:
            others = [each for each in container.get("env", ()) if each["name"] != "INFERENCE_SERVICE_NAME"]
            container["env"] = [*others, {"name": "INFERENCE_SERVICE_NAME", "value": metadata["name"]}]
    labels = {
        **metadata.get("labels", {}),
        **(server.labels or {}),
        **predictor.get("labels", {}),
        "serving.kserve.io/inferenceservice": metadata["name"],
        "component": "predictor",
    }
    found: Body = {"name": name(body), "labels": labels, "annotations": _annotations(body, server, release)}
    if "namespace" in metadata:
        found["namespace"] = metadata["namespace"]
    return {"metadata": found, "spec": {**copied(server.pod), "containers": containers}}


def name(body: Body) -> str:
    """Return the name of the Deployment or Knative Service, and of the Service in front of it."""
    return f"{body['metadata']['name']}-predictor"


def _annotations(body: Body, server: runtimes.Server, release: Release) -> dict[str, str]:
    metadata, predictor = body["metadata"], body["spec"]["predictor"]
    handed_on = {key: value for key, value in metadata.get("annotations", {}).items() if key not in _dropped(release)}
    uri = predictor["model"].get("storageUri") if "model" in predictor else _own_source(server.container)
    source = {storage.SOURCE: uri} if uri is not None else {}
    own = {key: value for key, value in predictor.get("annotations", {}).items() if key not in _dropped(release)}
    return {**(server.annotations or {}), **handed_on, **agent.asked_for(predictor), **source, **own}


def _dropped(release: Release) -> frozenset[str]:
    """Return the annotations that stay at the InferenceService; its webhook writes the last one since 0.17."""
    return _DROPPED | ({"modelFormat"} if release.number >= (0, 17) else set())


def _own_source(container: Body) -> str | None:
    found = (each for each in container.get("env", ()) if each["name"] == storage.VARIABLE)
    return next((each.get("value", "") for each in found), None)


def for_deployment(found: Body) -> None:
    """Fill in what KServe does for a Deployment: the label that is selected, and a probe of the port."""
    found["metadata"]["labels"]["app"] = f"isvc.{found['metadata']['name']}"
    spec = found["spec"]
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    for container in spec["containers"]:
        container.setdefault("imagePullPolicy", "IfNotPresent")
        if container["name"] == CONTAINER and "readinessProbe" not in container:
            ports = container.get("ports") or [{"containerPort": 8080}]
            container["readinessProbe"] = {"tcpSocket": {"port": ports[0]["containerPort"]}, **_PROBE}


def service(body: Body, found: Body) -> Body:
    """Return the Service in front of a Deployment's pods."""
    metadata = found["metadata"]
    predictor, containers = body["spec"]["predictor"], found["spec"]["containers"]
    rows = []
    for number, port in enumerate(containers[0].get("ports") or [{"name": metadata["name"], "containerPort": 8080}]):
        row = {"name": port.get("name"), "port": 80 if number == 0 else port["containerPort"]}
        row |= {"protocol": port.get("protocol", "TCP"), "targetPort": port["containerPort"]}
        if any(word in port.get("name", "") for word in ("grpc", "h2c")):
            row["appProtocol"] = "kubernetes.io/h2c"
        rows.append({key: value for key, value in row.items() if value is not None})
    if "batcher" in predictor or "logger" in predictor:
        rows[0]["targetPort"] = agent.PORT
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": copied(metadata),
        "spec": {"ports": rows, "selector": {"app": metadata["labels"]["app"]}, "type": "ClusterIP"},
    }


def most(body: Body) -> int:
    """Return how many pods there are at most: what an autoscaler may ask for, else the fixed number."""
    predictor = body["spec"]["predictor"]
    least: int = predictor.get("minReplicas", 1)
    fixed = is_standard(body) and body["metadata"].get("annotations", {}).get(AUTOSCALER) == "none"
    return max(least, 1) if fixed else max(predictor.get("maxReplicas", 0), least, 1)
