"""What Seldon Core's webhook refuses of a SeldonDeployment.

Source: github.com/seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
read, not run: the module cannot be built. Its defaulting webhook (defaults.go) comes first; what of it decides a rule
stands at the rule.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mlspec.model.scalars import shown
from mlspec.validation.declared import Declared
from mlspec.validation.objection import Objection, Path
from mlspec.validation.objection import words as field_words
from mlspec.validation.webhooks.rule import Rule, maps

_CHOICES: Final = {
    "protocol": ("seldon", "tensorflow", "kfserving", "v2"),
    "transport": ("rest", "grpc"),
    "serverType": ("rpc", "kafka"),
}
_KAFKA: Final = frozenset({"KAFKA_BROKER", "KAFKA_INPUT_TOPIC", "KAFKA_OUTPUT_TOPIC"})
_SERVICE_NAME: Final = "seldon.io/svc-name"
_NO_ENGINE: Final = "seldon.io/no-engine"
_UNKNOWN: Final = "UNKNOWN_IMPLEMENTATION"
_BUILT_IN: Final = ("SIMPLE_MODEL", "SIMPLE_ROUTER", "RANDOM_ABTEST", "AVERAGE_COMBINER")
_HUGGINGFACE: Final = "HUGGINGFACE_SERVER"
_NOT_TENSORFLOW: Final = ("SKLEARN_SERVER", "XGBOOST_SERVER", "MLFLOW_SERVER", _HUGGINGFACE)

Body = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Deployment:
    """The spec of a SeldonDeployment."""

    spec: Body

    @property
    def predictors(self) -> Iterator[tuple[Path, Body]]:
        """The predictors, with the way to each."""
        for index, predictor in enumerate(maps(self.spec.get("predictors"))):
            yield ("spec", "predictors", index), predictor

    @property
    def units(self) -> Iterator[tuple[Path, Body, Body]]:
        """The units of all graphs, with the way to each and its predictor."""
        for path, predictor in self.predictors:
            for way, unit in _below((*path, "graph"), predictor["graph"]):
                yield way, unit, predictor


_SHAPES: Final[Mapping[str, type]] = {
    **dict.fromkeys(("name", "type", "implementation", "modelUri"), str),
    **dict.fromkeys(("logger", "endpoint"), Mapping),
    **dict.fromkeys(("children", "methods"), list),
}
"""What the fields of a unit are (PredictiveUnit in seldondeployment_types.go); the schema ends at the second level."""


def _misread(unit: Any) -> Iterator[Path]:
    """Yield the fields of a unit that Seldon cannot read; the unit itself where it is no map."""
    if not isinstance(unit, Mapping):
        yield ()
        return
    yield from ((key,) for key, shape in _SHAPES.items() if key in unit and not isinstance(unit[key], shape))


def _below(path: Path, unit: Any) -> Iterator[tuple[Path, Body]]:
    """Yield a unit and those below it, each without what cannot be read of it."""
    unread = set(_misread(unit))
    if () not in unread:
        read = {key: value for key, value in unit.items() if (key,) not in unread}
        yield path, read
        for index, child in enumerate(read.get("children", ())):
            yield from _below((*path, "children", index), child)


def _unreadable(path: Path, unit: Any) -> Iterator[Path]:
    unread = set(_misread(unit))
    yield from ((*path, *field) for field in unread)
    if not unread & {(), ("children",)}:
        for index, child in enumerate(unit.get("children", ())):
            yield from _unreadable((*path, "children", index), child)


def choices(found: Deployment) -> Iterator[Objection]:
    """`protocol` is seldon, tensorflow, kfserving or v2; `transport` is rest or grpc; `serverType` is rpc or kafka. The
    schema takes any text.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    ValidateSeldonDeployment. Read, not run.
    """
    for field, allowed in _CHOICES.items():
        written = found.spec.get(field, "")
        if written and written not in allowed:
            message = f"spec.{field}: {shown(written)} is none that Seldon knows"
            yield Objection("MLS360", message, ("spec", field), "write " + ", ".join(allowed))


def kafka(found: Deployment) -> Iterator[Objection]:
    """With `serverType: kafka` each predictor says in `svcOrchSpec.env` where requests come from: KAFKA_BROKER,
    KAFKA_INPUT_TOPIC and KAFKA_OUTPUT_TOPIC.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    validateKafka. Read, not run.
    """
    for path, predictor in found.predictors if found.spec.get("serverType") == "kafka" else ():
        entries = maps(predictor.get("svcOrchSpec", {}).get("env"))
        if sum(entry.get("name") in _KAFKA for entry in entries) < len(_KAFKA):
            where = (*path, "svcOrchSpec", "env")
            message = f"{field_words(where)}: `serverType: kafka` asks for " + ", ".join(sorted(_KAFKA))
            yield Objection("MLS361", message, where, "add the variables")


def shadows(found: Deployment) -> Iterator[Objection]:
    """At most one predictor is a shadow, beside another one, and it gets copies of 0 to 100 percent of the requests.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    validateShadow, checkTraffic. Read, not run.
    """
    every = list(found.predictors)
    mirrored = [(path, predictor) for path, predictor in every if predictor.get("shadow")]
    if mirrored and len(every) == 1:
        path = (*every[0][0], "shadow")
        yield Objection("MLS362", f"{field_words(path)}: nothing is beside the shadow", path, "remove `shadow`")
    for path, _ in mirrored[1:]:
        where = (*path, "shadow")
        yield Objection("MLS362", f"{field_words(where)}: there is a shadow already", where, "keep one shadow")
    for path, predictor in mirrored:
        if not 0 <= predictor.get("traffic", 0) <= 100:
            where = (*path, "traffic")
            message = f"{field_words(where)}: {predictor['traffic']} is no percentage from 0 to 100"
            yield Objection("MLS362", message, where, "write 0 to 100")


def shares(found: Deployment) -> Iterator[Objection]:
    """The `traffic` of predictors that are no shadow is 100 together, where there are several. A single one has 100, 0
    or none written.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    checkTraffic. Read, not run.
    """
    every = list(found.predictors)
    total = sum(predictor.get("traffic", 0) for _, predictor in every if not predictor.get("shadow"))
    serving = sum(not predictor.get("shadow") for _, predictor in every)
    if (serving > 1 and total != 100) or (len(every) == 1 and 0 < total < 100):
        message = f"spec.predictors: {total} percent of the requests"
        yield Objection("MLS363", message, ("spec", "predictors"), "write `traffic` so that it is 100 together")


def names(found: Deployment) -> Iterator[Objection]:
    """There is a predictor. No two have the same name, nor the same name of a Service in the annotation
    `seldon.io/svc-name`: Deployments and Services are named after them.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    ValidateSeldonDeployment, validateSvcNameAnnotations. Read, not run.
    """
    if not maps(found.spec.get("predictors")):
        yield Objection("MLS364", "spec.predictors: nothing serves", ("spec", "predictors"), "add a predictor")
    seen: Counter[tuple[str | int, str]] = Counter()
    for path, predictor in found.predictors:
        written: dict[Path, str] = {("name",): str(predictor.get("name", ""))}
        annotations = predictor.get("annotations", {})
        if _SERVICE_NAME in annotations:
            written["annotations", _SERVICE_NAME] = str(annotations[_SERVICE_NAME])
        for field, value in written.items():
            seen[field[-1], value] += 1
            if seen[field[-1], value] > 1:
                where = (*path, *field)
                message = f"{field_words(where)}: {shown(value)} is another predictor's"
                yield Objection("MLS364", message, where, "choose another one")


def engine(found: Deployment) -> Iterator[Objection]:
    """Without Seldon's executor (annotation `seldon.io/no-engine` of a predictor, whatever its value) nothing hands a
    request from one unit to the next: the graph has one unit.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    ValidateSeldonDeployment, sizeOfGraph. Read, not run.
    """
    for path, predictor in found.predictors:
        if _NO_ENGINE in predictor.get("annotations", {}) and maps(predictor["graph"].get("children")):
            where = (*path, "annotations", _NO_ENGINE)
            message = f"{field_words(where)}: a graph of several units needs the executor"
            yield Objection("MLS365", message, where, "remove the annotation")


def units(found: Deployment) -> Iterator[Objection]:
    """A unit of the graph without an `implementation` is a container of the same name in `componentSpecs`, and one of
    type UNKNOWN_TYPE says its `methods`. Units deep in a graph, where the schema takes anything, must be what
    Seldon can read.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    checkPredictiveUnits; seldondeployment_types.go, PredictiveUnit. Read, not run.
    """
    for way, predictor in found.predictors:
        for path in sorted(_unreadable((*way, "graph"), predictor["graph"]), key=str):
            yield Objection("MLS366", f"{field_words(path)}: Seldon cannot read it", path, "see the unit above it")
    for path, unit, predictor in found.units:
        if unit.get("implementation", _UNKNOWN) != _UNKNOWN:
            continue
        name = str(unit.get("name", ""))
        if name not in _container_names(predictor):
            message = f"{field_words(path)}: no container is named {shown(name)}"
            yield Objection("MLS366", message, path, "name one so, or write the unit's `implementation`")
        if unit.get("type") == "UNKNOWN_TYPE" and not unit.get("methods"):
            where = (*path, "type")
            yield Objection("MLS366", f"{field_words(where)}: UNKNOWN_TYPE has `methods`", where, "write MODEL")


def _container_names(predictor: Body) -> set[str]:
    return {
        str(container.get("name", ""))
        for component in maps(predictor.get("componentSpecs"))
        for container in maps(component.get("spec", {}).get("containers"))
    }


def servers(found: Deployment) -> Iterator[Objection]:
    """A model server of the platform's (an `implementation` that Seldon does not build in) has a `modelUri`; only
    HUGGINGFACE_SERVER can do without. And SKLEARN_SERVER, XGBOOST_SERVER, MLFLOW_SERVER and HUGGINGFACE_SERVER do not
    speak `protocol: tensorflow`.

    That the server is in the installation's ConfigMap `seldon-config` is not asked here, since a platform may add its
    own.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    checkPredictiveUnits; prepack.go, IsPrepack. Read, not run.
    """
    for path, unit, _ in found.units:
        server = unit.get("implementation", _UNKNOWN)
        if not server or server in (_UNKNOWN, *_BUILT_IN):
            continue
        if not unit.get("modelUri") and server != _HUGGINGFACE:
            where = (*path, "modelUri")
            yield Objection("MLS367", f"{field_words(where)}: {server} has a model", where, "write `model.uri`")
        if found.spec.get("protocol") == "tensorflow" and server in _NOT_TENSORFLOW:
            where = (*path, "implementation")
            message = f"{field_words(where)}: {server} does not speak the protocol `tensorflow`"
            yield Objection("MLS367", message, where, "write `protocol: seldon` or `v2` in the service")


def loggers(found: Deployment) -> Iterator[Objection]:
    """A unit's logger says what it logs: its `mode` must be there, which the schema does not ask.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    checkPredictiveUnits. Read, not run.
    """
    for path, unit, _ in found.units:
        if "logger" in unit and not unit["logger"].get("mode"):
            where = (*path, "logger", "mode")
            message = f"{field_words(where)}: a logger says what it logs"
            yield Objection("MLS368", message, where, "write request, response or all")


def endpoints(found: Deployment) -> Iterator[Objection]:
    """All units have the same `endpoint.type`, REST or GRPC, and it agrees with `spec.transport` where that is written.

    Source: seldonio/seldon-core/operator v1.16.0, apis/machinelearning.seldon.io/v1/seldondeployment_webhook.go,
    collectTransports, ValidateSeldonDeployment. Read, not run.
    """
    written = [(path, str(unit.get("endpoint", {}).get("type", ""))) for path, unit, _ in found.units]
    written = [(path, kind) for path, kind in written if kind]
    transport, help = found.spec.get("transport", ""), "write `transport` in the spec instead"
    for path, kind in written:
        where = (*path, "endpoint", "type")
        if kind != written[0][1]:
            yield Objection("MLS369", f"{field_words(where)}: other units have {written[0][1]}", where, help)
        elif transport and kind in ("REST", "GRPC") and kind.lower() != transport:
            yield Objection("MLS369", f"{field_words(where)}: the transport is {shown(transport)}", where, help)


RULES: Final = (
    Rule("MLS360", choices),
    Rule("MLS361", kafka),
    Rule("MLS362", shadows),
    Rule("MLS363", shares),
    Rule("MLS364", names),
    Rule("MLS365", engine),
    Rule("MLS366", units),
    Rule("MLS367", servers),
    Rule("MLS368", loggers),
    Rule("MLS369", endpoints),
)


def judge(body: dict[str, Any], declared: Declared) -> Iterator[Objection]:
    """Yield what the webhook has against a SeldonDeployment; there is one release to declare."""
    found = Deployment(body.get("spec", {}))
    for rule in RULES:
        yield from rule.judge(found)
