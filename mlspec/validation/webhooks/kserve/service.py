"""An InferenceService as the rules of KServe's webhook read it: after its defaults, component by component."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from mlspec.validation.declared import Release
from mlspec.validation.objection import Path
from mlspec.validation.webhooks.kserve.defaults import CONTAINER, MODE, implementations
from mlspec.validation.webhooks.rule import maps

Body = Mapping[str, Any]

AUTOSCALER: Final = "serving.kserve.io/autoscalerClass"
KNATIVE_CLASS: Final = "autoscaling.knative.dev/class"
STORAGE_VARIABLE: Final = "STORAGE_URI"


@dataclass(frozen=True, slots=True)
class Component:
    """The predictor, transformer or explainer of a service."""

    name: str
    spec: Body

    @property
    def path(self) -> Path:
        """Where it stands."""
        return ("spec", self.name)

    def at(self, *field: str | int) -> tuple[Path, str]:
        """Return the way to one of its fields, and how people write it."""
        path = (*self.path, *field)
        text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
        return path, text.removeprefix(".")

    @property
    def servers(self) -> list[str]:
        """What serves in it, as KServe counts it."""
        if self.name == "predictor":
            return implementations(self.spec)
        own = ["art"] if self.name == "explainer" and "art" in self.spec else []
        return own + [CONTAINER] * bool(self.spec.get("containers"))

    @property
    def storage(self) -> tuple[Path, str] | None:
        """The URI of its one model and where it stands, or None."""
        if not self.servers:
            return None
        server = self.servers[0]
        if server != CONTAINER:
            uri = self.spec[server].get("storageUri")
            return ((*self.path, server, "storageUri"), uri) if uri or (uri is not None and server != "art") else None
        for index, container in enumerate(maps(self.spec.get("containers"))):
            if self.name != "predictor" or container.get("name") == CONTAINER:
                variable = first_variable(container, STORAGE_VARIABLE)
                if variable is None:
                    return None
                at, entry = variable
                return (*self.path, "containers", index, "env", at, "value"), str(entry.get("value", ""))
        return None


@dataclass(frozen=True, slots=True)
class Service:
    """An InferenceService with KServe's defaults, and the release that judges it."""

    body: Body
    release: Release

    @property
    def annotations(self) -> Mapping[str, str]:
        """Its annotations."""
        found: Mapping[str, str] = self.body["metadata"].get("annotations", {})
        return found

    @property
    def predictor(self) -> Component:
        """The component that every service has."""
        return Component("predictor", self.body["spec"]["predictor"])

    @property
    def components(self) -> Iterator[Component]:
        """The components that there are."""
        for name in ("predictor", "transformer", "explainer"):
            if name in self.body["spec"]:
                yield Component(name, self.body["spec"][name])

    @property
    def scaler(self) -> str | None:
        """Whose rules for scaling hold: `hpa`, `keda`, `kpa` (Knative's), or None where KServe asks nothing.

        Where no mode is written it is the installation's, which is not known here.
        """
        mode = self.annotations.get(MODE)
        if mode is None:
            return None
        if mode == ("Standard" if self.release >= (0, 16) else "RawDeployment"):
            found = self.annotations.get(AUTOSCALER)
            return found if found in ("hpa", "keda") else None
        return "hpa" if self.annotations.get(KNATIVE_CLASS) == "hpa.autoscaling.knative.dev" else "kpa"


def first_variable(container: Body, name: str) -> tuple[int, Body] | None:
    """Return the first variable of a name, with its place in `env`."""
    return next(((at, entry) for at, entry in enumerate(maps(container.get("env"))) if entry.get("name") == name), None)
