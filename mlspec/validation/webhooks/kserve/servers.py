"""Rules of KServe's validating webhook about names, and about what serves."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.model.scalars import shown
from mlspec.validation.objection import Objection, Path
from mlspec.validation.webhooks.kserve.defaults import CONTAINER, FRAMEWORKS, MODE
from mlspec.validation.webhooks.kserve.service import Body, Component, Service, first_variable
from mlspec.validation.webhooks.rule import DNS_LABEL, Rule, maps

_MODES: Final = {"RawDeployment": "Standard", "Serverless": "Knative"}
_LOG_MODES: Final = ("all", "request", "response")
_PROTOCOLS: Final = ("v1", "v2")
_BLOCKED: Final = "PYTHONPATH"


def name(service: Service) -> Iterator[Objection]:
    """The name of an InferenceService is lower-case letters, digits and `-`, a letter first: it begins the names of
    Services and a host. Kubernetes itself would also take a digit first, and dots.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateInferenceServiceName.
    """
    written = str(service.body["metadata"].get("name", ""))
    if not DNS_LABEL.fullmatch(written):
        message = f"metadata.name: {shown(written)} is no name of an InferenceService"
        help = "lower-case letters, digits and `-`, a letter first"
        yield Objection("MLS340", message, ("metadata", "name"), help)


def one_server(service: Service) -> Iterator[Objection]:
    """In each component exactly one thing serves. Of a predictor that is `model`, or the container `kserve-container`,
    or, where neither is there, any containers; a sidecar beside a model must have another name. A key of a framework
    (`sklearn`, …) becomes `model` before this is looked at, and takes the place of one that was written.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/component.go,
    validateExactlyOneImplementation; predictor.go, transformer.go, explainer.go, GetImplementations.
    """
    for component in service.components:
        servers = component.servers
        if len(servers) != 1:
            found = " and ".join(f"`{server}`" for server in servers) or "nothing"
            _, text = component.at()
            help = f"keep `model`, or one container named `{CONTAINER}`"
            yield Objection("MLS341", f"{text}: one thing serves, but there is {found}", component.path, help)


def model_name(service: Service) -> Iterator[Objection]:
    """`predictor.model` has no `name`: it is a container whose name is KServe's. Since KServe 0.16; 0.15 takes it and
    looks for a container of that name in the runtime.

    Source: kserve/kserve v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/inference_service_validation.go,
    validatePredictor.
    """
    for server in ("model", *FRAMEWORKS) if service.release >= (0, 16) else ():
        if service.predictor.spec.get(server, {}).get("name"):
            path, text = service.predictor.at(server, "name")
            yield Objection("MLS342", f"{text}: KServe names the container itself", path, "remove it")


def logger(service: Service) -> Iterator[Objection]:
    """A logger says what it logs: `mode` is all, request or response, and must be there, which the schema does not ask.
    One that writes to a store (since KServe 0.16) says `path`, `parameters` and `key`.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/component.go,
    validateLogger.
    """
    for component in service.components:
        found = component.spec.get("logger")
        if found is None:
            continue
        if found.get("mode") not in _LOG_MODES:
            path, text = component.at("logger", "mode")
            yield Objection("MLS350", f"{text}: a logger says what it logs", path, "write " + ", ".join(_LOG_MODES))
        for key in ("path", "parameters", "key") if "storage" in found and service.release >= (0, 16) else ():
            if key not in found["storage"]:
                path, text = component.at("logger", "storage", key)
                yield Objection("MLS350", f"{text}: a logger that writes to a store has it", path, f"add `{key}`")


def protocol(service: Service) -> Iterator[Objection]:
    """The variable `PROTOCOL` of a server of one's own tells KServe which protocol it speaks: v1 or v2, written as it
    is, not taken from a ConfigMap or Secret. The first of that name in the first container counts.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/predictor_custom.go,
    validateCustomProtocol.
    """
    component = service.predictor
    found = first_variable(component.spec["containers"][0], "PROTOCOL") if component.servers == [CONTAINER] else None
    if found is not None and found[1].get("value", "") not in _PROTOCOLS:
        path, text = component.at("containers", 0, "env", found[0], "value")
        message = f"{text}: {shown(str(found[1].get('value', '')))} is no protocol that KServe knows of a server"
        yield Objection("MLS351", message, path, "write `PROTOCOL: v1` or `v2`, or leave the variable out")


def blocked(service: Service) -> Iterator[Objection]:
    """No container has a variable PYTHONPATH: it would let KServe's own servers load code from elsewhere. Since KServe
    0.19 at the latest (0.17 takes it; there was no 0.18 to read).

    Source: kserve/kserve v0.19.0, v0.20.0, pkg/validation/env_policy.go, ValidateBlockedEnvVars;
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateBlockedEnvVars.
    """
    for component in service.components if service.release >= (0, 18) else ():
        for field, container in _containers(component):
            found = first_variable(container, _BLOCKED)
            if found is not None:
                path, text = component.at(*field, "env", found[0])
                help = "install the package in the image, or extend `sys.path` in the program"
                yield Objection("MLS355", f"{text}: KServe allows no variable {_BLOCKED}", path, help)


def _containers(component: Component) -> Iterator[tuple[Path, Body]]:
    """Yield each container of a component, with the way to it."""
    places: tuple[tuple[Path, Body], ...] = (
        ((), component.spec),
        (("workerSpec",), component.spec.get("workerSpec", {})),
    )
    for way, spec in places:
        for field in ("containers", "initContainers"):
            for index, container in enumerate(maps(spec.get(field))):
                yield (*way, field, index), container
    for server in ("model", *FRAMEWORKS, "art"):
        if server in component.spec:
            yield (server,), component.spec[server]


def old_mode(service: Service) -> Iterator[Objection]:
    """The names of modes that KServe gave up in 0.16, RawDeployment and Serverless, are a trap in that release: the
    object is taken, its controller notes the new name in the status, and from then on the webhook refuses every change
    as one of the mode, the deletion too, since that takes a finalizer away. 0.17 exchanges them for the new names.

    A mode that is stored cannot be changed in any release: delete the InferenceService, or give it another name.

    Source: kserve/kserve v0.16.0, pkg/apis/serving/v1beta1/inference_service_validation.go, validateDeploymentMode;
    pkg/controller/v1beta1/inferenceservice/utils/utils.go, GetDeploymentMode. Seen on 0.16.0 with RawDeployment.
    """
    found = service.annotations.get(MODE)
    if service.release == (0, 16) and found in _MODES:
        message = f"annotation `{MODE}`: with {found}, KServe 0.16 lets nobody change or delete the object"
        yield Objection("MLS359", message, ("metadata", "annotations", MODE), f"write {_MODES[found]}")


RULES: Final = (
    Rule("MLS340", name),
    Rule("MLS341", one_server),
    Rule("MLS342", model_name),
    Rule("MLS350", logger),
    Rule("MLS351", protocol),
    Rule("MLS355", blocked),
    Rule("MLS359", old_mode),
)
