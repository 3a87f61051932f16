"""Rules of KServe's validating webhook about replicas and autoscalers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from mlspec.model.quantity import parse_quantity
from mlspec.model.scalars import shown
from mlspec.validation.objection import Objection, Path
from mlspec.validation.webhooks.kserve.service import AUTOSCALER, Service
from mlspec.validation.webhooks.rule import Rule, maps

_CLASSES: Final = ("hpa", "external", "keda", "none")
_METRICS: Final = {"hpa": ("cpu", "memory"), "kpa": ("concurrency", "rps")}
_MEBIBYTE: Final = 2**20
_TARGET: Final = "write `replicas: {target: …}` in the service"

Metric = Mapping[str, Any]
Fault = tuple[Path, str]
"""The field below a metric, and what is wrong with it."""


def replicas(service: Service) -> Iterator[Objection]:
    """No component has fewer than 0 replicas, nor more at least than at most. `minReplicas` is 1 where it is left out,
    and `maxReplicas: 0` bounds nothing.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/component.go,
    validateReplicas.
    """
    for component in service.components:
        least, most = component.spec.get("minReplicas", 1), component.spec.get("maxReplicas", 0)
        for field, count in (("minReplicas", least), ("maxReplicas", most)):
            if count < 0:
                path, text = component.at(field)
                yield Objection("MLS343", f"{text}: {count} is less than 0", path, "write `replicas:` in the service")
        if least > most > 0:
            path, text = component.at("maxReplicas")
            yield Objection(
                "MLS343", f"{text}: at most {most}, but at least {least}", path, "write `replicas:` in the service"
            )


def autoscaler(service: Service) -> Iterator[Objection]:
    """The annotation `serving.kserve.io/autoscalerClass` is one of hpa, keda, external and none. `kpa` is not among
    them: Knative's autoscaler is chosen by `autoscaling.knative.dev/class`.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateInferenceServiceAutoscaler;
    pkg/constants/constants.go, AutoscalerAllowedClassList.
    """
    found = service.annotations.get(AUTOSCALER)
    if found is not None and found not in _CLASSES:
        message = f"annotation `{AUTOSCALER}`: {shown(found)} is no autoscaler of KServe's"
        yield Objection("MLS344", message, ("metadata", "annotations", AUTOSCALER), "write " + ", ".join(_CLASSES))


def metric(service: Service) -> Iterator[Objection]:
    """Each autoscaler scales on its own metrics: in Standard mode class hpa on cpu and memory, and class keda on none
    of `scaleMetric` (it has `autoScaling.metrics`); in Knative mode, which is every mode that is not exactly Standard
    (RawDeployment before 0.16), on concurrency and rps, or on cpu and memory with the Knative class
    `hpa.autoscaling.knative.dev`. The schema allows all four everywhere. Class none and external are not asked.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateAutoScalingCompExtension, validateHPAMetrics,
    validateKPAMetrics, validateScalingKedaCompExtension.
    """
    scaler = service.scaler
    for component in service.components if scaler else ():
        found = component.spec.get("scaleMetric")
        allowed = _METRICS.get(str(scaler), ())
        if found is not None and found not in allowed:
            path, text = component.at("scaleMetric")
            help = "write " + " or ".join(allowed) if allowed else "write `autoScaling.metrics` instead"
            yield Objection("MLS345", f"{text}: the autoscaler `{scaler}` does not scale on {found}", path, help)


def target(service: Service) -> Iterator[Objection]:
    """A `scaleTarget` fits its metric. For Kubernetes' autoscaler it is 1 to 100 for cpu and for memory: KServe takes
    memory for a percentage, too, although its words for a low one speak of MiB. For Knative's rps it is at least 1.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateScalingHPACompExtension,
    validateScalingKPACompExtension.
    """
    scaler = service.scaler
    for component in service.components:
        found = component.spec.get("scaleTarget")
        if found is None or scaler not in _METRICS:
            continue
        path, text = component.at("scaleTarget")
        if scaler == "hpa" and not 1 <= found <= 100:
            yield Objection("MLS346", f"{text}: {found} is no percentage from 1 to 100", path, _TARGET)
        elif scaler == "kpa" and component.spec.get("scaleMetric") == "rps" and found < 1:
            yield Objection("MLS346", f"{text}: {found} requests per second", path, "write 1 or more")


def strategy(service: Service) -> Iterator[Objection]:
    """`deploymentStrategy` is for Deployments, which only Standard mode makes.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateScalingKPACompExtension.
    """
    for component in service.components if service.scaler == "kpa" else ():
        if "deploymentStrategy" in component.spec:
            path, text = component.at("deploymentStrategy")
            yield Objection("MLS348", f"{text}: Knative mode makes no Deployment of it", path, "remove it")


def concurrency(service: Service) -> Iterator[Objection]:
    """`containerConcurrency` is 0, which is without a limit, or more.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/component.go,
    validateContainerConcurrency.
    """
    for component in service.components:
        found = component.spec.get("containerConcurrency", 0)
        if found < 0:
            path, text = component.at("containerConcurrency")
            yield Objection("MLS349", f"{text}: {found} requests at a time", path, "write 0, or more")


def metrics(service: Service) -> Iterator[Objection]:
    """Each entry of `autoScaling.metrics` is one that the autoscaler reads. Class hpa reads metrics of type Resource
    alone. Class keda reads Resource (cpu by Utilization; memory by Utilization, or by an AverageValue of at least
    1Mi), External and PodMetric (with a query and a target value); the value that a target's type names must be there,
    and a utilization is 1 to 100. Knative mode ignores them all.

    A target has a `type` in every mode, though the schema does not ask for one: KServe's defaulting webhook writes the
    object anew with an empty one, which the schema then refuses. Seen on 0.16.0.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateScalingHPACompExtension,
    validateScalingKedaCompExtension, validateScaleTarget; component.go, MetricTarget.
    """
    faults = _SCALERS.get(str(service.scaler), _ignored)
    for component in service.components:
        for index, entry in enumerate(maps(component.spec.get("autoScaling", {}).get("metrics"))):
            for field, words in list(_untyped(entry)) or faults(entry):
                path, text = component.at("autoScaling", "metrics", index, *field)
                yield Objection("MLS347", f"{text}: {words}", path, "see `mlspec explain MLS347`")


def _untyped(entry: Metric) -> Iterator[Fault]:
    for field in ("resource", "external", "podmetric"):
        if field in entry and not entry[field].get("target", {}).get("type"):
            yield (field, "target", "type"), "a target has a type: Utilization, Value or AverageValue"


def _ignored(entry: Metric) -> Iterator[Fault]:
    yield from ()


def _hpa(entry: Metric) -> Iterator[Fault]:
    if entry.get("type") != "Resource":
        yield ("type",), f"Kubernetes' autoscaler reads no metric of type {shown(entry.get('type', ''))}"
    elif "resource" not in entry:
        yield ("resource",), "a metric of type Resource names its `resource`"


def _keda(entry: Metric) -> Iterator[Fault]:
    kind = str(entry.get("type", ""))
    field = {"Resource": "resource", "External": "external", "PodMetric": "podmetric"}.get(kind)
    if field is None:
        yield ("type",), f"KEDA reads no metric of type {shown(kind)}"
    elif field not in entry:
        yield (field,), f"a metric of type {kind} has its `{field}`"
    elif field == "resource":
        yield from _resource(entry[field])
    else:
        source = entry[field]
        if not source.get("metric", {}).get("query"):
            yield (field, "metric", "query"), "a query is missing"
        if "value" not in source.get("target", {}):
            yield (field, "target", "value"), "a value is missing"
        yield from _value(field, source.get("target", {}))


def _resource(source: Mapping[str, Any]) -> Iterator[Fault]:
    name, wanted = source.get("name"), source.get("target", {})
    types = {"cpu": ("Utilization",), "memory": ("Utilization", "AverageValue")}.get(str(name))
    if types is None:
        yield ("resource", "name"), f"KEDA scales on cpu and memory, not on {shown(str(name))}"
    elif wanted.get("type") not in types:
        yield ("resource", "target", "type"), f"the target of {name} is by " + " or ".join(types)
    elif wanted["type"] == "AverageValue" and _quantity(wanted.get("averageValue")) < _MEBIBYTE:
        yield ("resource", "target", "averageValue"), "at least 1Mi of memory"
    else:
        yield from _value("resource", wanted)


def _value(field: str, wanted: Mapping[str, Any]) -> Iterator[Fault]:
    """Yield what is wrong with the value of a target that its type names."""
    named = {"Utilization": "averageUtilization", "AverageValue": "averageValue", "Value": "value"}
    name = named.get(str(wanted.get("type", "")))
    if name is not None and name not in wanted:
        yield (field, "target", name), f"a target of type {wanted['type']} has it"
    elif name == "averageUtilization" and not 1 <= wanted[name] <= 100:
        yield (field, "target", name), f"{wanted[name]} is no percentage from 1 to 100"


def _quantity(written: Any) -> float:
    found = parse_quantity(str(written)) if written is not None else None
    return float(found[0]) if found is not None else 0.0


_SCALERS: Final[dict[str, Callable[[Metric], Iterator[Fault]]]] = {"hpa": _hpa, "keda": _keda}
RULES: Final = (
    Rule("MLS343", replicas),
    Rule("MLS344", autoscaler),
    Rule("MLS345", metric),
    Rule("MLS346", target),
    Rule("MLS347", metrics),
    Rule("MLS348", strategy),
    Rule("MLS349", concurrency),
)
