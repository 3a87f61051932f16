"""A SeldonDeployment as the operator reads it: predictors, their graphs of units, and the pods that are described.

A patch may have brought any shape, which the schema then refuses; what is no map, list or text counts as absent here.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import copied, items, mapping

SEPARATE_ENGINE: Final = "seldon.io/engine-separate-pod"
NO_ENGINE: Final = "seldon.io/no-engine"
SERVICE_NAME: Final = "seldon.io/svc-name"
# Answered by the executor itself (prepack.go, IsPrepack); everything else is a server of the platform's.
_BUILT_IN: Final = frozenset(
    {"", "UNKNOWN_IMPLEMENTATION", "SIMPLE_MODEL", "SIMPLE_ROUTER", "RANDOM_ABTEST", "AVERAGE_COMBINER"}
)


def tables(holder: Body, key: str) -> list[Body]:
    """Return the maps of a list, which then stands in the holder: what is added to it, is there."""
    holder[key] = found = items(holder.get(key))
    return found


def text(value: Any) -> str:
    """Return a text, empty if it is none."""
    return value if isinstance(value, str) else ""


def texts(value: Any) -> dict[str, str]:
    """Return the texts of a map."""
    return {str(key): item for key, item in mapping(value).items() if isinstance(item, str)}


def number(value: Any) -> int | None:
    """Return an integer, None if it is none."""
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def named(among: list[Body], name: str) -> Body | None:
    """Return the first item of a name."""
    return next((item for item in among if item.get("name") == name), None)


@dataclass(slots=True)
class Unit:
    """A node of a graph; its ports are known once the defaults are filled in."""

    name: str
    implementation: str
    kind: str
    """MODEL, ROUTER, …; empty where the node says its methods instead."""
    uri: str
    secret: str
    initializer: str
    """Image of the storage initializer; empty: the platform's."""
    is_grpc: bool
    parameters: list[Body]
    children: tuple[Unit, ...] = ()
    http: int = 0
    grpc: int = 0
    has_engine: bool = False
    """Whether its pod is the one that the executor stands in."""

    @property
    def is_prepackaged(self) -> bool:
        """Whether a model server of the platform's serves it (prepack.go, IsPrepack)."""
        return self.implementation not in _BUILT_IN

    def tree(self) -> Iterator[Unit]:
        """Yield the unit and all below it, itself first (seldondeployment_types.go, GetPredictiveUnitList)."""
        yield self
        for child in self.children:
            yield from child.tree()

    def find(self, name: str) -> Unit | None:
        """Return the unit of a name, itself or below it (GetPredictiveUnit)."""
        return next((unit for unit in self.tree() if unit.name == name), None)


@dataclass(slots=True)
class Component:
    """Pods that are described: one of `componentSpecs`."""

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    spec: Body
    """The pod's, a copy."""
    replicas: int | None

    @property
    def containers(self) -> list[Body]:
        """The containers; more may be appended."""
        return tables(self.spec, "containers")


@dataclass(slots=True)
class Predictor:
    """A graph and the pods that it runs in."""

    name: str
    labels: dict[str, str]
    annotations: dict[str, str]
    shadow: bool
    replicas: int | None
    graph: Unit
    components: list[Component]
    orchestrator: Body
    """`svcOrchSpec`: what is said about the executor."""

    @property
    def no_engine(self) -> bool:
        """Whether requests go to the one unit, without an executor."""
        return self.annotations.get(NO_ENGINE, "").lower() == "true"


@dataclass(slots=True)
class SeldonDeployment:
    """The object as a whole."""

    name: str
    namespace: str | None
    protocol: str
    is_grpc: bool
    server: str
    replicas: int | None
    annotations: dict[str, str]
    """Those of its spec, which its pods carry, too."""
    own_annotations: dict[str, str]
    predictors: list[Predictor] = field(default_factory=list)

    @property
    def in_namespace(self) -> str:
        """The namespace as text (controllers/utils, GetNamespace)."""
        return self.namespace or "default"

    @property
    def separate_engine(self) -> bool:
        """Whether the executor has pods of its own (HasSeparateEnginePod)."""
        return self.annotations.get(SEPARATE_ENGINE, "").lower() == "true"

    def annotation(self, key: str, default: str) -> str:
        """Return an annotation of its spec, else of its own (GetAnnotation)."""
        return self.annotations.get(key, self.own_annotations.get(key, default))


def read(body: Body) -> SeldonDeployment:
    """Return a SeldonDeployment; nothing of the manifest is shared with it."""
    metadata, spec = mapping(body.get("metadata")), copied(mapping(body.get("spec")))
    return SeldonDeployment(
        text(metadata.get("name")),
        text(metadata.get("namespace")) or None,
        text(spec.get("protocol")) or "seldon",
        spec.get("transport") == "grpc",
        text(spec.get("serverType")) or "rpc",
        number(spec.get("replicas")),
        texts(spec.get("annotations")),
        texts(metadata.get("annotations")),
        [_predictor(item) for item in tables(spec, "predictors")],
    )


def _predictor(body: Body) -> Predictor:
    return Predictor(
        text(body.get("name")),
        texts(body.get("labels")),
        texts(body.get("annotations")),
        body.get("shadow") is True,
        number(body.get("replicas")),
        _unit(mapping(body.get("graph"))),
        [_component(item) for item in tables(body, "componentSpecs")],
        mapping(body.get("svcOrchSpec")),
    )


def _component(body: Body) -> Component:
    metadata = mapping(body.get("metadata"))
    return Component(
        text(metadata.get("name")),
        texts(metadata.get("labels")),
        texts(metadata.get("annotations")),
        mapping(body.get("spec")),
        number(body.get("replicas")),
    )


def _unit(body: Body) -> Unit:
    """Return a unit; one that says nothing about what it is, is a model (defaults.go, addDefaultsToGraph)."""
    implementation, kind = text(body.get("implementation")), text(body.get("type"))
    says_nothing = not {"type", "methods", "implementation"} & body.keys()
    found = Unit(
        text(body.get("name")),
        implementation,
        "MODEL" if says_nothing else kind,
        text(body.get("modelUri")),
        text(body.get("envSecretRefName")),
        text(body.get("storageInitializerImage")),
        mapping(body.get("endpoint")).get("type") == "GRPC",
        tables(body, "parameters"),
        tuple(_unit(child) for child in tables(body, "children")),
    )
    if found.is_prepackaged:
        found.kind = "MODEL"
    return found
