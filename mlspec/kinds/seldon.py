"""Kind `seldon`: predictors behind an endpoint, as a machinelearning.seldon.io/v1 SeldonDeployment.

Facts about the operator were read in its source, v1.16.0, in the files named."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, Literal, NamedTuple

from pydantic import model_validator
from pydantic_core import PydanticCustomError

from mlspec import kind_base, names
from mlspec.ir import (
    Facts,
    Gvk,
    Labels,
    PartPath,
    Place,
    PlannedResources,
    PlannedVariable,
    PlannedWorkload,
    Port,
    Reference,
    Target,
)
from mlspec.k8s import meta, pod
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body, compact
from mlspec.kind_base import Finding, spec_of
from mlspec.kind_specs import PodFields, ServiceSpec
from mlspec.model import servers, traffic
from mlspec.model.base import field, refused, refused_inside
from mlspec.model.operators import SELDON
from mlspec.model.scalars import Boolean, Name, Positive
from mlspec.model.scaling import Traffic
from mlspec.model.servers import EXAMPLE, Model
from mlspec.model.sources import ModelSource
from mlspec.model.uris import location
from mlspec.names import Derived
from mlspec.projection import seldon as projected

# One name for every graph unit. It is the model's name in requests (`/v2/models/model/infer`), so predictors that
# share traffic must share it; units of one name get one port (defaults.go); and Deployments, Services and a label
# key are derived from it (seldondeployment_types.go), so a short one leaves room for names that users choose.
_UNIT: Final = "model"
# Beside the unit, which is a proxy then, where TensorFlow Serving speaks Seldon's own protocol
# (seldondeployment_prepackaged_servers.go): the model is in this container.
_SERVING: Final = "tfserving"
# The executor stands in every predictor's pod (seldondeployment_engine.go): REST and gRPC, and Prometheus on the first.
_HTTP: Final = Port(8000)
_GRPC: Final = Port(5001)
_METRICS_PATH: Final = "/prometheus"
# The proxy imports TensorFlow, and does little else; without limits it could take its neighbours' memory.
_PROXY: Final = PlannedResources("500m", "1Gi", None, ())
_CHILDREN: Final = (
    *(("", kind) for kind in ("Pod", "Service")),
    *(("apps", kind) for kind in ("Deployment", "ReplicaSet")),
    *(("getambassador.io", kind) for kind in ("Mapping", "TLSContext")),
    *(("networking.istio.io", kind) for kind in ("DestinationRule", "VirtualService")),
)


class Predictor(PodFields):
    """Pods that serve one model; gpu, resources and env that are left out are the service's."""

    model: Model = field(..., "The model that is served.", "`graph`", EXAMPLE)
    replicas: Positive = field(1, "Pods of the predictor.", "`replicas`, always written", 3)
    traffic: Traffic | None = field(
        None,
        "Percent of the requests; required of several. A shadow gets copies of so many. Default: all.",
        "`traffic`",
        90,
    )
    shadow: Boolean = field(False, "Gets copies of requests; nobody sees its answers.", "`shadow`", True)


class Planned(NamedTuple):
    """A predictor in either form."""

    name: str
    path: PartPath
    predictor: Predictor


class SeldonSpec(ServiceSpec):
    """A service of one or more predictors."""

    kind: Literal["seldon"] = field(
        ..., "Models behind Seldon Core 1.x (legacy).", "a machinelearning.seldon.io/v1 SeldonDeployment", "seldon"
    )
    protocol: Literal["seldon", "tensorflow", "v2"] = field("seldon", "Inference protocol.", "`protocol`", "v2")
    model: Model | None = field(
        None, "The model of one predictor `default`, instead of `predictors`.", "`predictors[].graph`", EXAMPLE
    )
    replicas: Positive = field(1, "Pods of the one predictor, beside `model`.", "`predictors[].replicas`", 3)
    predictors: dict[Name, Predictor] = field(
        {}, "Predictors by name.", "`predictors`", {"main": {"model": EXAMPLE, "replicas": 3}}, min_length=1
    )

    @model_validator(mode="after")
    def _one_form(self) -> SeldonSpec:
        errors = list(self._errors())
        if errors:
            raise refused_inside(errors)
        return self

    def _errors(self) -> Iterator[tuple[tuple[str, ...], PydanticCustomError]]:
        if self.model is None and not self.predictors:
            help = "add `model: {implementation: SKLEARN_SERVER, uri: gs://…}`, or `predictors`"
            yield ("kind", "[key]"), refused("missing key `model`", help, "MLS103")
        if self.model is not None and self.predictors:
            yield ("predictors", "[key]"), refused("`predictors` beside `model`", "keep one of the two")
        if "replicas" in self.model_fields_set and self.predictors:
            yield ("replicas", "[key]"), refused("`replicas` beside `predictors`", "write it in each predictor")
        # Each predictor is a Service `<service>-<predictor>`, and its unit another (seldondeployment_types.go).
        taken = {names.metrics(""): "the metrics of the service"}
        taken |= {f"-{other}-{_UNIT}": f"the model of predictor `{other}`" for other in self.predictors}
        for name in self.predictors:
            if f"-{name}" in taken:
                message = f"the Service of predictor `{name}` would be the one of {taken[f'-{name}']}"
                yield ("predictors", name, "[key]"), refused(message, "choose another name", "MLS213")

    def parts(self) -> Mapping[PartPath, PodFields]:
        """Return the predictors; in the short form the service is its only part."""
        return {("predictors", name): predictor for name, predictor in self.predictors.items()} or {(): self}

    def models(self) -> Mapping[PartPath, ModelSource]:
        """Return the model of each predictor."""
        return {item.path: item.predictor.model for item in self.planned()}

    def with_models(self, models: Mapping[PartPath, ModelSource]) -> SeldonSpec:
        """Return the service with other models."""
        if self.model is not None:
            return self.model_copy(update={"model": models[()]})
        pairs = [(name, old, models["predictors", name]) for name, old in self.predictors.items()]
        return self.model_copy(update={"predictors": {n: old.model_copy(update={"model": m}) for n, old, m in pairs}})

    def planned(self) -> list[Planned]:
        """Return the predictors in the order written, the short form's as `default`."""
        if self.model is not None:
            alone = Predictor.model_construct(model=self.model, replicas=self.replicas)
            return [Planned("default", (), alone)]
        return [Planned(name, ("predictors", name), predictor) for name, predictor in self.predictors.items()]


TAG: Final = "seldon"
SPEC: Final = SeldonSpec
OPERATOR: Final = SELDON
GVK: Final = Gvk("machinelearning.seldon.io", "v1", "SeldonDeployment")
UNHASHED: Final[frozenset[str]] = frozenset()
shared_memory = kind_base.no_shared_memory


def _labels(workload: PlannedWorkload) -> dict[str, str]:
    """Return our labels of the pods, without the one that the operator replaces (controllers/labels.go)."""
    return {key: value for key, value in sorted(workload.labels.items()) if key != meta.MANAGED_BY}


def _proxied(spec: SeldonSpec, model: Model) -> bool:
    return model.implementation == servers.TENSORFLOW and spec.protocol == "seldon"


def facts(workload: PlannedWorkload, target: Target) -> Facts:  # the contract's signature
    """Return what holds for the pods of all predictors (createDeploymentWithoutEngine, addEngineToDeployment)."""
    spec, name = spec_of(workload, SeldonSpec), workload.object_name
    planned = spec.planned()
    # Without a URI the server loads from the Hub, as `hf://` elsewhere; `egress` may name the way there instead.
    places = [
        (location(model.uri or "hf://"), (*item.path, "model", "uri" if model.uri else "implementation"))
        for item in planned
        if (model := item.predictor.model).uri or not spec.egress
    ]
    return Facts(
        gvk=GVK,
        place=Place.SERVING,
        pods=sum(item.predictor.replicas for item in planned),
        pod_labels={
            **_labels(workload),
            meta.MANAGED_BY: "seldon-core",
            "fluentd": "true",
            "seldon-deployment-id": name,
            "seldon.io/model": "true",
        },
        served_from_gateway=(_HTTP, _GRPC),
        metrics=_HTTP,
        metrics_path=_METRICS_PATH,
        claims=tuple(Reference(place.claim, path) for place, path in places if place.claim),
        destinations=tuple(Reference(place.destination, path) for place, path in places if place.destination),
        models=tuple(item.predictor.model.uri for item in planned if item.predictor.model.uri),
        # The longest of the names, which is also the pods' label `app`; beyond the limit the operator hashes it.
        derived=tuple(
            Derived(f"the Deployment of predictor {item.name}", (name, f"-{item.name}", f"-0-{_UNIT}"))
            for item in planned
        ),
        children=_CHILDREN,
    )


def check(workload: PlannedWorkload, target: Target) -> Iterable[Finding]:  # the contract's signature
    """Judge what each server can do, and how the predictors share requests."""
    spec = spec_of(workload, SeldonSpec)
    planned = spec.planned()
    for item in planned:
        yield from _server(spec, item)
    paths = {item.name: item.path for item in planned}
    shares = [traffic.Share(item.name, item.predictor.traffic, item.predictor.shadow) for item in planned]
    for problem in traffic.problems(shares):
        other = (*paths[problem.other], problem.field) if problem.other is not None else ()
        yield Finding(problem.code, problem.message, (*paths[problem.name], problem.field), problem.help, other)


def _server(spec: SeldonSpec, item: Planned) -> Iterator[Finding]:
    where = (*item.path, "model")
    for problem in servers.problems(item.predictor.model, spec.protocol):
        other = ("protocol",) if problem.with_protocol else ()
        yield Finding(problem.code, problem.message, (*where, problem.field), problem.help, other)


def project(body: Body, target: Target, secrets: Labels) -> Projection:  # the contract's signature
    """Return the pods that will serve."""
    return projected.seldon_deployment(body)


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the SeldonDeployment."""
    spec = spec_of(workload, SeldonSpec)
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": meta.metadata(workload.object_name, target.namespace, workload.labels, meta.wave(0)),
        "spec": compact(
            {
                "protocol": spec.protocol if spec.protocol != "seldon" else None,
                "predictors": [_predictor(workload, spec, item) for item in spec.planned()],
            }
        ),
    }


def _predictor(workload: PlannedWorkload, spec: SeldonSpec, item: Planned) -> Body:
    pods, predictor = workload.part(item.path), item.predictor
    # The Deployment is named after its containers, or after this: two would only make it longer.
    metadata = {**({"name": _UNIT} if _proxied(spec, predictor.model) else {}), "labels": _labels(workload)}
    component = {
        "serviceAccountName": workload.name,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        **pod.placement_fields(pods.placement),
        "containers": _containers(pods, spec, predictor.model),
        "volumes": pod.volumes(pods),
    }
    return compact(
        {
            "name": item.name,
            # Left out, the scale subresource of the whole SeldonDeployment would decide.
            "replicas": predictor.replicas,
            "traffic": predictor.traffic or None,
            "shadow": predictor.shadow or None,
            "graph": _graph(workload, predictor.model),
            "componentSpecs": [{"metadata": metadata, "spec": compact(component)}],
        }
    )


def _graph(workload: PlannedWorkload, model: Model) -> Body:
    # The storage initializer is configured by variables from this Secret (model_initializer_injector.go).
    destination = location(model.uri).destination if model.uri is not None else None
    return compact(
        {
            "name": _UNIT,
            "implementation": model.implementation,
            "modelUri": model.uri,
            "envSecretRefName": workload.storage_secrets.get(destination or ""),
            "parameters": [
                {"name": name, "type": "STRING", "value": value} for name, value in model.parameters.items()
            ],
        }
    )


def _containers(pods: PlannedWorkload, spec: SeldonSpec, model: Model) -> list[Body]:
    """Return the unit; where it is a proxy, what the model needs goes to the server behind it."""
    # The operator replaces the pod's security context with its own, so the user stands here.
    security = {"securityContext": {**pod.container_security(pods.security), **pod.user(pods.security)}}
    written = {variable.name for variable in pods.env}
    folders = servers.folders(model, spec.protocol, pod.SCRATCH)
    named = (PlannedVariable(name, value) for name, value in folders.items() if name not in written)
    start = {} if pods.security.writable_root else servers.start(model, spec.protocol, pod.SCRATCH)
    unit = {"name": _UNIT, **start, "env": pod.environment(pods.with_env_first(*named).env)}
    mounts = pod.volume_mounts(pods)
    server = {"resources": pod.resources(pods.resources), "volumeMounts": mounts, **security}
    if _proxied(spec, model):
        # Its web server (gunicorn) needs /tmp, too.
        scratch = [mount for mount in mounts if mount["name"] == pod.SCRATCH_VOLUME]
        proxy = {**unit, "resources": pod.resources(_PROXY), "volumeMounts": scratch, **security}
        return [compact(proxy), compact({"name": _SERVING, **server})]
    return [compact({**unit, **server})]
