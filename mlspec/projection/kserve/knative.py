"""What Knative makes of the Knative Service that KServe makes.

All of it is read in the source of Knative Serving 0.51 (knative.dev/serving, release 1.23), with its configuration as
it is installed: pkg/apis/serving/v1/revision_defaults.go, pkg/reconciler/configuration/resources/revision.go,
pkg/reconciler/revision/resources (deploy.go, queue.go, meta.go, env_var.go), pkg/reconciler/serverlessservice/resources
(services.go). The Knative Service itself is recorded (tests/cluster/observed). The queue proxy's image is that of the
Knative which is installed, so it has none here; digests that Knative looks up for tags are not known either.
"""

from __future__ import annotations

import hashlib
import json
from typing import Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import copied

QUEUE_PROXY: Final = "queue-proxy"
_NO_UID: Final = "00000000-0000-0000-0000-000000000000"
_TIMEOUT: Final = 300
_ADMIN_PORT: Final = 8022
_HTTP, _HTTP2, _HTTPS = 8012, 8013, 8112
_DRAIN: Final = "/wait-for-drain"
_LONGEST: Final = 63
_MD5: Final = 32
_SCALING: Final = "autoscaling.knative.dev"
_VISIBILITY: Final = "networking.knative.dev/visibility"
# Annotations that stay at the Knative Service itself (ksvc_reconciler.go, managedKsvcAnnotations).
_OF_SERVICE: Final = ("serving.knative.dev/rollout-duration", "serving.knative.openshift.io/enablePassthrough")
_REVISION_FIELDS: Final = ("containerConcurrency", "responseStartTimeoutSeconds", "timeoutSeconds")
_HANDLERS: Final = ("exec", "grpc", "httpGet", "tcpSocket")
_SECURITY: Final = {
    "allowPrivilegeEscalation": False,
    "capabilities": {"drop": ["ALL"]},
    "readOnlyRootFilesystem": True,
    "runAsNonRoot": True,
    "seccompProfile": {"type": "RuntimeDefault"},
}
_GATEWAY: Final = "knative-local-gateway.istio-system.svc.cluster.local"
"""Where requests inside the cluster go, as KServe is installed (`ingress.localGatewayService`)."""


def child_name(parent: str, suffix: str) -> str:
    """Return the name of what belongs to an object, cut and hashed where it would be too long (kmeta/names.go)."""
    room = _LONGEST - _MD5 - len(suffix)
    if len(parent) + len(suffix) > _LONGEST:
        digest = hashlib.md5(parent.encode(), usedforsecurity=False).hexdigest()
        parent = f"{parent[:room]}{digest}"
    return parent + suffix


def revision_name(service: str) -> str:
    """Return the name of the first revision."""
    return child_name(service, "-00001")


def names(service: Body) -> tuple[str, ...]:
    """Return the names of the Knative Service, its first revision, and the revision's Deployment."""
    name = service["metadata"]["name"]
    revision = revision_name(name)
    return (name, revision, child_name(revision, "-deployment"))


def asked(body: Body, template: Body) -> Body:
    """Return the Knative Service that KServe makes (ksvc_reconciler.go); the first revision gets all the traffic."""
    metadata, predictor = template["metadata"], body["spec"]["predictor"]
    annotations = dict(metadata["annotations"])
    scaling = {"target": predictor.get("scaleTarget"), "metric": predictor.get("scaleMetric")}
    scaling |= {"min-scale": predictor.get("minReplicas", 1), "max-scale": predictor.get("maxReplicas") or None}
    annotations.setdefault(f"{_SCALING}/class", f"kpa.{_SCALING}")
    annotations |= {f"{_SCALING}/{key}": str(value) for key, value in scaling.items() if value is not None}
    own = {key: annotations.pop(key) for key in _OF_SERVICE if key in annotations}
    outer = {key: value for key, value in metadata.items() if key != "annotations"}
    inner = {
        "annotations": annotations,
        "labels": {key: value for key, value in metadata["labels"].items() if key != _VISIBILITY},
    }
    fields = {"timeoutSeconds": "timeout", "containerConcurrency": "containerConcurrency"}
    spec = {**template["spec"], **{key: predictor[field] for key, field in fields.items() if field in predictor}}
    if "timeout" in predictor:
        spec["responseStartTimeoutSeconds"] = predictor["timeout"]
    return {
        "apiVersion": "serving.knative.dev/v1",
        "kind": "Service",
        "metadata": {**outer, **({"annotations": own} if own else {})},
        "spec": {
            "template": {"metadata": inner, "spec": spec},
            "traffic": [{"latestRevision": True, "percent": 100}],
        },
    }


def pod_template(service: Body) -> Body:
    """Return the template of the pods of a Knative Service's first revision."""
    name, template = service["metadata"]["name"], service["spec"]["template"]
    spec = copied(template["spec"])
    said = {key: spec.pop(key, None) for key in _REVISION_FIELDS}
    proxied = next((each for each in spec["containers"] if each.get("ports")), spec["containers"][0])
    proxy = _queue_proxy(service, said, proxied)
    for container in spec["containers"]:
        _prepare(container, name, serves=container is proxied)
    spec["containers"].append(proxy)
    spec["restartPolicy"] = "Always"
    # Without the feature `kubernetes.podspec-securitycontext` Knative refuses a context of the pod.
    spec.setdefault("securityContext", {})
    spec["terminationGracePeriodSeconds"] = said["timeoutSeconds"] or _TIMEOUT
    spec.setdefault("enableServiceLinks", False)
    written = template["metadata"]["annotations"]
    annotations = {key: value for key, value in written.items() if not key.startswith(_SCALING)}
    annotations["kubectl.kubernetes.io/default-container"] = proxied["name"]
    return {"metadata": {"labels": labels(service), "annotations": annotations}, "spec": spec}


def labels(service: Body) -> dict[str, str]:
    """Return the labels of the revision's pods and Services."""
    name = service["metadata"]["name"]
    revision = revision_name(name)
    found = {
        **service["spec"]["template"]["metadata"]["labels"],
        "serving.knative.dev/configuration": name,
        "serving.knative.dev/configurationGeneration": "1",
        "serving.knative.dev/configurationUID": _NO_UID,
        "serving.knative.dev/revision": revision,
        "serving.knative.dev/revisionUID": _uid(revision),
        "serving.knative.dev/service": name,
        "serving.knative.dev/serviceUID": _NO_UID,
    }
    found.setdefault("app", revision)
    return found


def _uid(revision: str) -> str:
    """Return what stands for the uid of a revision: Services select by it, so that each needs one of its own."""
    return _NO_UID[:-12] + hashlib.md5(revision.encode(), usedforsecurity=False).hexdigest()[:12]


def _readiness(container: Body) -> Body:
    """Return the probe of a serving container, a connection to its port where it has none."""
    probe: Body = copied(container.get("readinessProbe", {}))
    if not any(handler in probe for handler in _HANDLERS):
        probe["tcpSocket"] = {}
    probe.setdefault("successThreshold", 1)
    return probe


def _prepare(container: Body, service: str, *, serves: bool) -> None:
    variables = list(container.get("env", ()))
    if serves:
        port = _user_port(container)
        container["ports"] = [{"name": "user-port", "containerPort": port}]
        variables.append({"name": "PORT", "value": str(port)})
    revision = revision_name(service)
    known = {"K_REVISION": revision, "K_CONFIGURATION": service, "K_SERVICE": service}
    container["env"] = [*variables, *({"name": key, "value": value} for key, value in known.items())]
    container["lifecycle"] = {"preStop": {"httpGet": {"port": _ADMIN_PORT, "path": _DRAIN}}}
    container.setdefault("terminationMessagePolicy", "FallbackToLogsOnError")
    if "exec" not in container.get("readinessProbe", {}):
        container.pop("readinessProbe", None)  # the queue proxy asks instead


def _user_port(container: Body) -> int:
    port: int = (container.get("ports") or [{"containerPort": 8080}])[0]["containerPort"]
    return port


def _queue_proxy(service: Body, said: Body, container: Body) -> Body:
    port, readiness = _user_port(container), _readiness(container)
    first = (container.get("ports") or [{}])[0]
    serving = _HTTP2 if first.get("name") == "h2c" else _HTTP
    asked = {"httpGet": {"port": serving, "httpHeaders": [{"name": "K-Network-Probe", "value": "queue"}]}}
    rest = {key: value for key, value in readiness.items() if key not in _HANDLERS}
    ports = {"http-autometric": 9090, "http-usermetric": 9091, "queue-port": serving, "https-port": _HTTPS}
    variables = {"QUEUE_SERVING_PORT": serving, "USER_PORT": port, "SERVING_READINESS_PROBE": _encoded(readiness, port)}
    return {
        "name": QUEUE_PROXY,
        "env": _environment(service["metadata"], said, variables),
        "ports": [{"name": name, "containerPort": number} for name, number in ports.items()],
        "readinessProbe": {**asked, **rest},
        "resources": {"requests": {"cpu": "25m"}},
        "securityContext": copied(_SECURITY),
    }


def _encoded(readiness: Body, port: int) -> str:
    """Return the server's probe as the queue proxy is told it, with the address that it asks."""
    probe = copied(readiness)
    if "httpGet" in probe:
        probe["httpGet"] |= {"host": "127.0.0.1", "port": probe["httpGet"].get("port") or port}
        probe["httpGet"].setdefault("scheme", "HTTP")
    elif "grpc" in probe:
        probe["grpc"]["port"] = probe["grpc"].get("port") or port
    else:
        probe.pop("exec", None)
        probe["tcpSocket"] = {"port": probe.get("tcpSocket", {}).get("port") or port, "host": "127.0.0.1"}
    return json.dumps(probe, separators=(",", ":"))


def _environment(metadata: Body, said: Body, variables: Body) -> list[Body]:
    """Return the queue proxy's variables; what says how Knative logs and observes is left out: it is configuration."""
    name = metadata["name"]
    plain: Body = {
        "SERVING_NAMESPACE": metadata.get("namespace", ""),
        "SERVING_SERVICE": name,
        "SERVING_CONFIGURATION": name,
        "SERVING_REVISION": revision_name(name),
        "QUEUE_SERVING_TLS_PORT": _HTTPS,
        "CONTAINER_CONCURRENCY": said["containerConcurrency"] or 0,
        "REVISION_TIMEOUT_SECONDS": said["timeoutSeconds"] or _TIMEOUT,
        "REVISION_RESPONSE_START_TIMEOUT_SECONDS": said["responseStartTimeoutSeconds"] or 0,
        "REVISION_IDLE_TIMEOUT_SECONDS": 0,
        "SYSTEM_NAMESPACE": "knative-serving",
        "ENABLE_HTTP2_AUTO_DETECTION": "false",
        "ENABLE_HTTP_FULL_DUPLEX": "false",
        "ENABLE_MULTI_CONTAINER_PROBES": "false",
        **variables,
    }
    of_pod = {"SERVING_POD": "metadata.name", "SERVING_POD_IP": "status.podIP", "HOST_IP": "status.hostIP"}
    values: list[Body] = [{"name": key, "value": str(value)} for key, value in plain.items()]
    return values + [{"name": key, "valueFrom": {"fieldRef": {"fieldPath": path}}} for key, path in of_pod.items()]


def services(body: Body, service: Body) -> tuple[Body, ...]:
    """Return the Services: KServe's own, which leads to the gateway, and the two of the revision.

    Only the private one selects pods; endpoints of the public one are written by Knative: the activator's, or theirs.
    """
    revision, namespace = revision_name(service["metadata"]["name"]), service["metadata"].get("namespace")
    place: Body = {"namespace": namespace} if namespace is not None else {}
    http = {"name": "http", "protocol": "TCP", "port": 80, "targetPort": _HTTP}
    https = {"name": "https", "protocol": "TCP", "port": 443, "targetPort": _HTTPS}
    others: dict[str, tuple[int, int | str]] = {
        "http-autometric": (9090, "http-autometric"),
        "http-usermetric": (9091, "http-usermetric"),
        "http-istio": (_HTTP, _HTTP),
    }
    rows = [
        {"name": name, "protocol": "TCP", "port": port, "targetPort": target} for name, (port, target) in others.items()
    ]
    sks = {**labels(service), "networking.internal.knative.dev/serverlessservice": revision}
    kind = "networking.internal.knative.dev/serviceType"
    of_revision = [
        ({"name": revision, **place, "labels": {**sks, kind: "Public"}}, {"ports": [http, https]}),
        (
            {"name": child_name(revision, "-private"), **place, "labels": {**sks, kind: "Private"}},
            {"ports": [http, https, *rows], "selector": {"serving.knative.dev/revisionUID": _uid(revision)}},
        ),
    ]
    outer = ({"name": body["metadata"]["name"], **place}, {"type": "ExternalName", "externalName": _GATEWAY})
    return tuple(
        {"apiVersion": "v1", "kind": "Service", "metadata": found, "spec": spec}
        for found, spec in (outer, *of_revision)
    )
