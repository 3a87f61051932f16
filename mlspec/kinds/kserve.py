"""Kind `kserve`: a model behind an endpoint, as a serving.kserve.io/v1beta1 InferenceService."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, Field, WithJsonSchema

from mlspec import kind_base
from mlspec.ir import Facts, Flow, Gvk, Peer, Place, PlannedWorkload, Port, Reference, Target
from mlspec.k8s import meta, pod
from mlspec.k8s.resource import Body, compact
from mlspec.kind_base import Finding, ServiceSpec, spec_of
from mlspec.model.base import SpecModel, refused
from mlspec.model.operators import KSERVE, KServe
from mlspec.model.scalars import Name, Text, text
from mlspec.model.scaling import Replicas, ReplicasField
from mlspec.names import Derived

_SCHEMES: Final = ("s3", "gs", "hf", "pvc", "oci", "https")
# Formats whose runtimes speak only the v2 protocol; without it no runtime is found (seen on 0.16 for onnx).
_V2_FORMATS: Final = frozenset({"onnx", "triton", "tensorrt", "huggingface", "mlflow"})
_HTTP: Final = Port(8080)
_TRITON_METRICS: Final = Port(8002)
_TORCHSERVE_METRICS: Final = Port(8082)
_RUNTIME_METRICS: Final = {"kserve-tritonserver": _TRITON_METRICS, "kserve-torchserve": _TORCHSERVE_METRICS}
_QUEUE_PROXY_METRICS: Final = Port(9091)


def model_uri(value: object) -> str:
    """Accept a model URI of a scheme that KServe's storage initializer knows and that carries no credentials."""
    written = text(value)
    found = re.fullmatch(r"(?P<scheme>[a-z0-9+]+)://(?P<rest>[^\s?#]+)", written)
    if found is None or found["scheme"] not in _SCHEMES:
        raise refused(
            f"`{written}` is not a model URI", "write one of " + ", ".join(f"{scheme}://…" for scheme in _SCHEMES)
        )
    if "@" in found["rest"].split("/", 1)[0]:
        raise refused("the URI carries credentials", "name a Secret in the destination of the environment instead")
    if found["scheme"] == "pvc" and not re.fullmatch(r"[a-z0-9][-a-z0-9.]*(/[^/]+)*/?", found["rest"]):
        raise refused(f"`{written}` is not a path in a claim", "write `pvc://<claim>/<path>`")
    if ".." in found["rest"].split("/"):
        raise refused(f"`{written}` contains `..`", "write the path that it means")
    return written


class Model(SpecModel):
    """The model that is served."""

    uri: Annotated[
        str,
        BeforeValidator(model_uri),
        WithJsonSchema({"type": "string", "pattern": "^(" + "|".join(_SCHEMES) + ")://"}),
    ] = Field(description="Where the model lies: s3://, gs://, hf://, pvc://, oci:// or https://.")
    format: Name = Field(description="KServe's model format: onnx, sklearn, huggingface, tensorflow, …")
    version: Text | None = Field(None, description="Version of the format.")
    runtime: Name | None = Field(None, description="A ServingRuntime by name. Default: KServe picks one.")
    protocol: Literal["v1", "v2", "grpc-v2"] | None = Field(
        None, description="Inference protocol. Default: v2 for onnx, triton, tensorrt, huggingface and mlflow, else v1."
    )


class KServeSpec(ServiceSpec):
    """A service that answers requests with a model."""

    kind: Literal["kserve"]
    model: Model = Field(description="The model that is served.")
    replicas: ReplicasField = Field(Replicas(), description="Pods: `2`, or `{min, max, target}`. Default: 1.")


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


def deployment_mode(installed: KServe) -> str:
    """Return the mode as this KServe spells it: renamed in 0.16, and from then on the old name is a trap.

    An InferenceService with `RawDeployment` is accepted by 0.16 and can then be neither updated nor deleted.
    """
    old = _release(installed) < (0, 16)
    return {"Standard": "RawDeployment", "Knative": "Serverless"}[installed.mode] if old else installed.mode


def _release(installed: KServe) -> tuple[int, ...]:
    return tuple(map(int, installed.version.split(".")[:2]))


def _protocol(model: Model) -> str:
    return model.protocol or ("v2" if model.format in _V2_FORMATS else "v1")


def _metrics(spec: KServeSpec, installed: KServe | None) -> Port:
    """Return where metrics are: of the runtime that is named, else of the one that KServe picks (its config/runtimes).

    From 0.17 on OpenVINO outranks Triton for onnx.
    """
    if installed is not None and installed.mode == "Knative":
        return _QUEUE_PROXY_METRICS
    if spec.model.runtime is not None:
        return _RUNTIME_METRICS.get(spec.model.runtime, _HTTP)
    openvino = installed is not None and _release(installed) >= (0, 17)
    if spec.model.format in ("tensorrt", "triton") or (spec.model.format == "onnx" and not openvino):
        return _TRITON_METRICS
    return _TORCHSERVE_METRICS if spec.model.format == "pytorch" else _HTTP


def facts(workload: PlannedWorkload, target: Target) -> Facts:
    """Return what holds for the predictor's pods."""
    spec = spec_of(workload, KServeSpec)
    scheme, rest = spec.model.uri.split("://", 1)
    knative = _knative(target)
    name, namespace = workload.object_name, target.namespace or ""
    activator = Peer("knative-serving", {"app": "activator"})
    autoscaler = Peer("knative-serving", {"app": "autoscaler"})
    # Knative traffic enters through the queue proxy; the user port would bypass it (knative/serving issue 6520).
    gateway_ports = (Port(8012), Port(8013), Port(8112)) if knative else (_HTTP,)
    knative_flows = (Flow(activator, gateway_ports), Flow(autoscaler, (Port(9090),)))
    children = [
        ("", "Pod"),
        ("", "Service"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("autoscaling", "HorizontalPodAutoscaler"),
    ]
    if knative:
        children += [("serving.knative.dev", kind) for kind in ("Configuration", "Revision", "Route", "Service")]
    return Facts(
        gvk=GVK,
        place=Place.SERVING,
        pods=spec.replicas.most,
        pod_labels={**workload.labels, "serving.kserve.io/inferenceservice": name, "component": "predictor"},
        served_from_gateway=gateway_ports,
        ingress=knative_flows if knative else (),
        metrics=_metrics(spec, _installed(target)),
        claims=(Reference(rest.split("/", 1)[0], ("model", "uri")),) if scheme == "pvc" else (),
        destinations=(Reference(scheme, ("model", "uri")),) if scheme in ("s3", "gs", "hf", "https") else (),
        # The host label of the default domain template, `<name>-predictor-<namespace>`; KServe fails beyond 63.
        derived=(Derived("the host", (name, "-predictor", *(("-", namespace) if namespace else ()))),),
        children=tuple(children),
    )


def check(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:
    """Bounds of the replicas, and what the mode can scale to and on."""
    spec = spec_of(workload, KServeSpec)
    replicas, knative = spec.replicas, _knative(target)
    if replicas.max is not None and replicas.max < replicas.min:
        message = f"max {replicas.max} is less than min {replicas.min}"
        yield Finding("MLS220", message, ("replicas", "max"), "raise `max`, or lower `min`", ("replicas", "min"))
    if _installed(target) is None:
        return
    if replicas.min == 0 and not knative:
        message = "a minimum of 0 replicas needs Knative mode; this environment runs KServe in Standard mode"
        yield Finding("MLS220", message, ("replicas", "min"), "write `min: 1`")
    if replicas.target is None:
        return
    fitting = ("concurrency", "rps") if knative else ("cpu", "memory")
    if replicas.target.metric not in fitting:
        mode = "Knative" if knative else "Standard"
        message = f"{mode} mode does not scale on {replicas.target.metric}"
        yield Finding(
            "MLS220", message, ("replicas", "target", replicas.target.metric), f"aim at {fitting[0]} or {fitting[1]}"
        )
    if replicas.most == replicas.min:
        message = "a target without room to scale: max equals min"
        yield Finding("MLS220", message, ("replicas", "target"), "write a `max` above `min`, or remove the target")


def _annotations(spec: KServeSpec, target: Target) -> dict[str, str]:
    installed = _installed(target)
    scales = spec.replicas.most > spec.replicas.min
    if installed is None:
        return {}
    mode = {"serving.kserve.io/deploymentMode": deployment_mode(installed)}
    if installed.mode == "Knative":
        # KServe's webhook refuses `kpa` as its own autoscalerClass (inference_service_validation.go, 0.15 to 0.20).
        return {"autoscaling.knative.dev/class": "kpa.autoscaling.knative.dev", **mode}
    return {"serving.kserve.io/autoscalerClass": "hpa" if scales else "none", **mode}


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the InferenceService: always `predictor.model`, the form that KServe's defaulter keeps."""
    spec = spec_of(workload, KServeSpec)
    model, target_metric = spec.model, spec.replicas.target
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": meta.metadata(
            workload.object_name, target.namespace, workload.labels, {**meta.wave(0), **_annotations(spec, target)}
        ),
        "spec": {
            "predictor": compact(
                {
                    "minReplicas": spec.replicas.min,
                    "maxReplicas": spec.replicas.most,
                    "scaleMetric": target_metric.metric if target_metric else None,
                    "scaleTarget": target_metric.value if target_metric else None,
                    "serviceAccountName": workload.name,
                    "automountServiceAccountToken": False,
                    "enableServiceLinks": False,
                    **pod.placement_fields(workload.placement),
                    "volumes": pod.volumes((), workload.resources),
                    "model": _model(workload, model),
                }
            )
        },
    }


def _model(workload: PlannedWorkload, model: Model) -> Body:
    return compact(
        {
            "modelFormat": compact({"name": model.format, "version": model.version}),
            "protocolVersion": _protocol(model),
            "runtime": model.runtime,
            "storageUri": model.uri,
            "env": pod.environment(workload.env),
            "resources": pod.resources(workload.resources),
            "volumeMounts": pod.volume_mounts((), workload.resources),
            "securityContext": pod.container_security(),
        }
    )
