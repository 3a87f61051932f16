"""Kind `kserve`: a model behind an endpoint, as a serving.kserve.io/v1beta1 InferenceService."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final, Literal

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from mlspec import kind_base
from mlspec.ir import Facts, Flow, Gvk, PartPath, Peer, Place, PlannedVariable, PlannedWorkload, Port, Reference, Target
from mlspec.k8s import meta, pod
from mlspec.k8s.resource import Body, compact
from mlspec.kind_base import Finding, spec_of
from mlspec.kind_specs import ServiceSpec
from mlspec.model.base import field, refused, refused_inside
from mlspec.model.blocks import Arguments, Command
from mlspec.model.operators import KSERVE, KServe
from mlspec.model.scalars import ImageReference, PortNumber
from mlspec.model.scaling import CanaryPercent, Replicas, ReplicasField
from mlspec.model.served import Model
from mlspec.model.sources import ModelSource
from mlspec.model.uris import location
from mlspec.names import Derived

# KServe looks for the main container by name, and reads the model's place from this variable of it
# (predictor_custom.go, 0.15 to 0.20): the storage initializer then puts the model at /mnt/models.
_CONTAINER: Final = "kserve-container"
_STORAGE_VARIABLE: Final = "STORAGE_URI"
# Formats whose runtimes speak only the v2 protocol; without it no runtime is found (seen on 0.16 for onnx).
_V2_FORMATS: Final = frozenset({"onnx", "triton", "tensorrt", "huggingface", "mlflow"})
_HTTP: Final = Port(8080)
_TRITON_METRICS: Final = Port(8002)
_TORCHSERVE_METRICS: Final = Port(8082)
_RUNTIME_METRICS: Final = {"kserve-tritonserver": _TRITON_METRICS, "kserve-torchserve": _TORCHSERVE_METRICS}
_QUEUE_PROXY_METRICS: Final = Port(9091)
# What else KServe adds by the scheme of the model: a claim is mounted as it is (tests/cluster/observed/kserve-0.16.0).
_ADDED: Final = {"pvc": "", "oci": "KServe's modelcar"}

Unfit = tuple[tuple[str, ...], PydanticCustomError]


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
        errors = _image_errors(self) if self.image is not None else _model_errors(self)
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


def _image_errors(spec: KServeSpec) -> list[Unfit]:
    wrong = refused("this is for models that KServe serves; `image` is a server of its own", "remove it, or `image`")
    fields = ("format", "version", "runtime", "protocol")
    found: list[Unfit] = [
        (("model", name, "[key]"), wrong) for name in fields if spec.model and getattr(spec.model, name)
    ]
    if spec.model and _STORAGE_VARIABLE in spec.env:
        error = refused(f"KServe reads the model's URI from {_STORAGE_VARIABLE}", "remove the variable, or `model`")
        found.append((("env", _STORAGE_VARIABLE, "[key]"), error))
    return found


def _model_errors(spec: KServeSpec) -> list[Unfit]:
    wrong = refused("this needs a container of its own", "add `image:`")
    alone = (("command", spec.command), ("args", spec.args), ("port", spec.port))
    found: list[Unfit] = [((name, "[key]"), wrong) for name, value in alone if value]
    if spec.model is None:
        error = refused("missing key `model`", "add `model: {format: onnx, uri: s3://…}`", "MLS103")
        return [*found, (("kind", "[key]"), error)]
    missing = {} if spec.model.uri or spec.model.step else {"uri": "add `uri:` or `from:` under `model`"}
    missing |= {} if spec.model.format else {"format": "add `format:` under `model`"}
    found += [(("model", "[key]"), refused(f"missing key `{key}`", help, "MLS103")) for key, help in missing.items()]
    return found


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
    installed = _installed(target)
    return installed is not None and installed.mode == "Knative"


def _metrics(spec: KServeSpec, installed: KServe | None) -> Port:
    """Return where metrics are: of the runtime that is named, else of the one that KServe picks (its config/runtimes).

    From 0.17 on OpenVINO outranks Triton for onnx.
    """
    if installed is not None and installed.mode == "Knative":
        return _QUEUE_PROXY_METRICS
    if spec.image is not None or spec.model is None:
        return Port(spec.port) if spec.port else _HTTP
    if spec.model.runtime is not None:
        return _RUNTIME_METRICS.get(spec.model.runtime, _HTTP)
    openvino = installed is not None and installed.release >= (0, 17)
    if spec.model.format in ("tensorrt", "triton") or (spec.model.format == "onnx" and not openvino):
        return _TRITON_METRICS
    return _TORCHSERVE_METRICS if spec.model.format == "pytorch" else _HTTP


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
    knative_flows = (Flow(activator, gateway_ports), Flow(autoscaler, (Port(9090),)))
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
        metrics=_metrics(spec, _installed(target)),
        claims=(Reference(place.claim, ("model", "uri")),) if place and place.claim else (),
        destinations=(Reference(place.destination, ("model", "uri")),) if place and place.destination else (),
        models=(spec.model.uri,) if spec.model and spec.model.uri else (),
        services=(name, f"{name}-predictor"),
        added=_ADDED.get(place.scheme, "KServe's storage initializer") if place else "",
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


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the InferenceService: `predictor.model`, the form that KServe's defaulter keeps, or one container."""
    spec = spec_of(workload, KServeSpec)
    target_metric = spec.replicas.target
    server = {"containers": [_container(workload, spec)]} if spec.image else {"model": _model(workload, spec)}
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
                    "volumes": pod.volumes((), workload.resources),
                    **server,
                }
            )
        },
    }


def _model(workload: PlannedWorkload, spec: KServeSpec) -> Body:
    model = spec.model or Model()
    return compact(
        {
            "modelFormat": compact({"name": model.format, "version": model.version}),
            "protocolVersion": model.protocol or ("v2" if model.format in _V2_FORMATS else "v1"),
            "runtime": model.runtime,
            "storageUri": model.uri,
            "env": pod.environment(workload.env),
            "resources": pod.resources(workload.resources),
            "volumeMounts": pod.volume_mounts((), workload.resources),
            "securityContext": pod.container_security(),
        }
    )


def _container(workload: PlannedWorkload, spec: KServeSpec) -> Body:
    """Return a server of one's own; the port is always written, so that the Service finds it."""
    uri = spec.model.uri if spec.model else None
    pods = workload.with_env(PlannedVariable(_STORAGE_VARIABLE, uri)) if uri else workload
    ports = (Port(spec.port) if spec.port else _HTTP,)
    return pod.container(pods, _CONTAINER, spec.image or "", spec.command or (), spec.args, ports)
