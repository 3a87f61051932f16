"""Kind `kserve`: a model behind an endpoint, as a serving.kserve.io/v1beta1 InferenceService."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from pydantic import model_validator

from mlspec import kind_base
from mlspec.ir import Facts, Flow, Gvk, PartPath, Peer, Place, PlannedVariable, PlannedWorkload, Port, Reference, Target
from mlspec.ir_sources import Source
from mlspec.k8s import meta, pod
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body, compact
from mlspec.kind_base import Finding, spec_of
from mlspec.kind_specs import ServiceSpec
from mlspec.model.base import field, refused_inside
from mlspec.model.blocks import Arguments, Command
from mlspec.model.operators import KSERVE, KServe
from mlspec.model.scalars import ImageReference, PortNumber
from mlspec.model.scaling import CanaryPercent, Replicas, ReplicasField
from mlspec.model.served import STORAGE_VARIABLE, Model, image_errors, model_errors
from mlspec.model.sources import ModelSource
from mlspec.model.uris import location
from mlspec.names import Derived
from mlspec.projection import kserve as projected

# KServe looks for the main container by name (predictor_custom.go, 0.15 to 0.20).
_CONTAINER: Final = "kserve-container"
# Formats whose runtimes speak only the v2 protocol; without it no runtime is found (seen on 0.16 for onnx).
_V2_FORMATS: Final = frozenset({"onnx", "triton", "tensorrt", "huggingface", "mlflow"})
_HTTP: Final = Port(8080)
_QUEUE_PROXY_METRICS: Final = Port(9091)


class KServeSpec(ServiceSpec):
    """A service that answers requests with a model."""

    kind: Literal["kserve"] = field(
        ..., "A model behind an endpoint.", "a serving.kserve.io/v1beta1 InferenceService", "kserve"
    )
    model: Model | None = field(
        None,
        "The model that is served; required without `image`.",
        "`predictor.model`",
        {"format": "onnx", "uri": "s3://models/classifier"},
    )
    image: ImageReference | None = field(
        None,
        "A container of one's own, instead of `model.format`; the model is in it, or from `model.uri`.",
        "`predictor.containers[].image`",
        "ghcr.io/acme/serve:1.0",
    )
    command: Command | None = field(
        None,
        "With `image`: exec form. Default: the image's entry point.",
        "`predictor.containers[].command`",
        ["python", "/opt/serve.py"],
    )
    args: Arguments = field(
        (), "With `image`: a list, or a map of flags.", "`predictor.containers[].args`", {"workers": 2}
    )
    port: PortNumber | None = field(
        None,
        "With `image`: where it answers requests. Default: 8080.",
        "`predictor.containers[].ports`, always written; the NetworkPolicy opens it",
        8000,
    )
    replicas: ReplicasField = field(
        Replicas(),
        "Pods: `2`, or `{min, max, target}`. Default: 1.",
        "`predictor.minReplicas` and `maxReplicas`, and the autoscaler's class",
        {"min": 1, "max": 5, "target": {"cpu": 70}},
    )
    canary: CanaryPercent | None = field(
        None,
        "Percent of requests for the newest revision (Knative mode); the rest goes to the one before.",
        "`predictor.canaryTrafficPercent`",
        10,
    )

    @model_validator(mode="after")
    def _one_server(self) -> KServeSpec:
        """Either KServe serves a format, or an image serves itself."""
        own = {"command": self.command, "args": self.args, "port": self.port}
        errors = image_errors(self.model, self.env) if self.image is not None else model_errors(self.model, own)
        if errors:
            raise refused_inside(errors)
        return self

    def images(self) -> Mapping[PartPath, str]:
        """Return the image of a server of one's own."""
        return {("image",): self.image} if self.image is not None else {}

    def models(self) -> Mapping[PartPath, ModelSource]:
        """Return the one model."""
        return {(): self.model} if self.model is not None else {}

    def with_models(self, models: Mapping[PartPath, ModelSource]) -> KServeSpec:
        """Return the service with another model."""
        return self.model_copy(update={"model": models[()]}) if models else self


TAG: Final = "kserve"
SPEC: Final = KServeSpec
OPERATOR: Final = KSERVE
GVK: Final = Gvk("serving.kserve.io", "v1beta1", "InferenceService")
UNHASHED: Final[frozenset[str]] = frozenset()
shared_memory = kind_base.no_shared_memory


def _installed(target: Target) -> KServe | None:
    found = target.operators.get(KSERVE.field)
    return found if isinstance(found, KServe) else None


def _knative(target: Target) -> bool:
    return (installed := _installed(target)) is not None and installed.mode == "Knative"


def _release(target: Target) -> tuple[int, ...]:
    """Return the release that is declared; where none is, which is an error, the oldest that is known."""
    return installed.release if (installed := _installed(target)) is not None else (0, 15)


def _metrics(spec: KServeSpec, target: Target) -> Port:
    """Return where metrics are: where the runtime says that is named, or else the one that KServe picks."""
    if _knative(target):
        return _QUEUE_PROXY_METRICS
    if spec.image is not None or spec.model is None:
        return Port(spec.port) if spec.port else _HTTP
    port = projected.metrics_port(_runtime_of(spec.model), _release(target))
    return Port(port) if port is not None else _HTTP


def _runtime_of(model: Model) -> Body:
    """Return what of `predictor.model` decides on the runtime."""
    return compact(
        {
            "modelFormat": compact({"name": model.format, "version": model.version}),
            "protocolVersion": model.protocol or ("v2" if model.format in _V2_FORMATS else "v1"),
            "runtime": model.runtime,
        }
    )


def facts(workload: PlannedWorkload, target: Target) -> Facts:
    """Return what holds for the predictor's pods."""
    spec = spec_of(workload, KServeSpec)
    knative = _knative(target)
    name, namespace = workload.object_name, target.namespace or ""
    activator = Peer("knative-serving", {"app": "activator"})
    autoscaler = Peer("knative-serving", {"app": "autoscaler"})
    # Knative traffic enters through the queue proxy; the user port would bypass it (knative/serving issue 6520).
    own = (Port(spec.port) if spec.port else _HTTP,)
    gateway_ports = (Port(8012), Port(8013), Port(8112)) if knative else own
    because = (Source(("kserve", "mode"), of_environment=True),)
    knative_flows = (Flow(activator, gateway_ports, because), Flow(autoscaler, (Port(9090),), because))
    children = [("", "Pod"), ("", "Service"), ("apps", "Deployment"), ("apps", "ReplicaSet")]
    children += [("autoscaling", "HorizontalPodAutoscaler"), ("networking.k8s.io", "Ingress")]
    if knative:
        children += [("serving.knative.dev", kind) for kind in ("Configuration", "Revision", "Route", "Service")]
    place = location(spec.model.uri) if spec.model and spec.model.uri else None
    return Facts(
        gvk=GVK,
        place=Place.SERVING,
        pods=spec.replicas.most,
        pod_labels={**workload.labels, "serving.kserve.io/inferenceservice": name, "component": "predictor"},
        served_from_gateway=gateway_ports,
        ingress=knative_flows if knative else (),
        metrics=_metrics(spec, target),
        claims=(Reference(place.claim, ("model", "uri")),) if place and place.claim else (),
        destinations=(Reference(place.destination, ("model", "uri")),) if place and place.destination else (),
        models=(spec.model.uri,) if spec.model and spec.model.uri else (),
        services=(name, f"{name}-predictor"),
        # The host label of the default domain template, `<name>-predictor-<namespace>`; KServe fails beyond 63.
        derived=(Derived("the host", (name, "-predictor", *(("-", namespace) if namespace else ()))),),
        children=tuple(children),
    )


def check(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:
    """Bounds of the replicas, and what the mode can scale to and on."""
    spec = spec_of(workload, KServeSpec)
    replicas, knative, place = spec.replicas, _knative(target), target.environment
    if replicas.max is not None and replicas.max < replicas.min:
        message = f"max {replicas.max} is less than min {replicas.min}"
        yield Finding("MLS220", message, ("replicas", "max"), "raise `max`, or lower `min`", ("replicas", "min"))
    if _installed(target) is None:
        return
    if spec.canary is not None and not knative:
        message = f"a canary needs Knative mode; environment {place} runs KServe in Standard mode"
        help = f"remove it, or set `canary: null` under `environments.{place}`"
        yield Finding("MLS220", message, ("canary",), help)
    if replicas.min == 0 and not knative:
        message = f"0 replicas need Knative mode; environment {place} runs KServe in Standard mode"
        yield Finding("MLS220", message, ("replicas", "min"), "write `min: 1`")
    if replicas.target is None:
        return
    fitting = ("concurrency", "rps") if knative else ("cpu", "memory")
    if replicas.target.metric not in fitting:
        mode = "Knative" if knative else "Standard"
        message = f"{mode} mode, which {place} runs, does not scale on {replicas.target.metric}"
        path = ("replicas", "target", replicas.target.metric)
        yield Finding("MLS220", message, path, f"aim at {fitting[0]} or {fitting[1]}")
    if replicas.most == replicas.min:
        message = "a target without room to scale: max equals min"
        yield Finding("MLS220", message, ("replicas", "target"), "write a `max` above `min`, or remove the target")


def _annotations(spec: KServeSpec, target: Target) -> dict[str, str]:
    installed = _installed(target)
    scales = spec.replicas.most > spec.replicas.min
    if installed is None:
        return {}
    mode = {"serving.kserve.io/deploymentMode": installed.spelled_mode}
    if installed.mode == "Knative":
        # KServe's webhook refuses `kpa` as its own autoscalerClass (inference_service_validation.go, 0.15 to 0.20).
        return {"autoscaling.knative.dev/class": "kpa.autoscaling.knative.dev", **mode}
    return {"serving.kserve.io/autoscalerClass": "hpa" if scales else "none", **mode}


def project(body: Body, target: Target, secrets: Mapping[str, str]) -> Projection:
    """Return the pods that will serve."""
    return projected.inference_service(body, _release(target), secrets)


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the InferenceService: `predictor.model`, the form that KServe's defaulter keeps, or one container."""
    spec = spec_of(workload, KServeSpec)
    target_metric = spec.replicas.target
    server = {"containers": [_container(workload, spec)]} if spec.image else {"model": _model(workload, spec, target)}
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": meta.metadata(workload.object_name, target.namespace, workload.labels, _annotations(spec, target)),
        "spec": {
            "predictor": compact(
                {
                    "minReplicas": spec.replicas.min,
                    "maxReplicas": spec.replicas.most,
                    "scaleMetric": target_metric.metric if target_metric else None,
                    "scaleTarget": target_metric.value if target_metric else None,
                    "canaryTrafficPercent": spec.canary,
                    "serviceAccountName": workload.name,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    **pod.placement_fields(workload.placement),
                    "securityContext": None if _knative(target) else _pod_security(workload, spec),
                    "volumes": pod.volumes(workload),
                    **server,
                }
            )
        },
    }


def _model(workload: PlannedWorkload, spec: KServeSpec, target: Target) -> Body:
    model = spec.model or Model()
    runtime = _runtime_of(model)
    scratch = {} if workload.security.writable_root else projected.scratch_variables(runtime, _release(target))
    written = {variable.name for variable in workload.env}
    added = (PlannedVariable(name, value) for name, value in scratch.items() if name not in written)
    return compact(
        {
            **runtime,
            "storageUri": model.uri,
            "env": pod.environment((*workload.env, *added)),
            "resources": pod.resources(workload.resources),
            "volumeMounts": pod.volume_mounts(workload),
            "securityContext": _container_security(workload),
        }
    )


def _container(workload: PlannedWorkload, spec: KServeSpec) -> Body:
    """Return a server of one's own; the port is always written, so that the Service finds it."""
    uri = spec.model.uri if spec.model else None
    pods = workload.with_env(PlannedVariable(STORAGE_VARIABLE, uri)) if uri else workload
    ports = (Port(spec.port) if spec.port else _HTTP,)
    container = pod.container(pods, _CONTAINER, spec.image or "", spec.command or (), spec.args, ports)
    return {**container, "securityContext": _container_security(workload)}


def _pod_security(workload: PlannedWorkload, spec: KServeSpec) -> Body:
    """Return the pod's context in Standard mode: it also holds for what KServe adds, which keeps its image's user.

    Not where the model is an image: such images name no user, so that they would run as root, which is refused.
    """
    context = pod.pod_security(workload.security)
    if spec.model and spec.model.uri and location(spec.model.uri).scheme == "oci":
        return context
    return {key: context[key] for key in context if key not in ("runAsGroup", "runAsUser")} | {"runAsNonRoot": True}


def _container_security(workload: PlannedWorkload) -> Body:
    """Return the server's context, user included: Knative knows no context of a pod."""
    return {**pod.container_security(workload.security), **pod.user(workload.security)}
