"""Model servers of Seldon Core 1.x by name: those that the operator knows, and those that a platform may add."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Annotated, Any, Final, NamedTuple

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import field, refused, refused_inside
from mlspec.model.scalars import Text, matching, shown, text
from mlspec.model.sources import ModelSource
from mlspec.model.uris import location

TENSORFLOW: Final = "TENSORFLOW_SERVER"
HUGGINGFACE: Final = "HUGGINGFACE_SERVER"
TRITON: Final = "TRITON_SERVER"
# With the protocols that the operator has an image for (operator v1.16.0, config/manager/configmap.yaml).
PROTOCOLS: Final[dict[str, tuple[str, ...]]] = {
    TENSORFLOW: ("seldon", "tensorflow"),
    "SKLEARN_SERVER": ("seldon", "v2"),
    "XGBOOST_SERVER": ("seldon", "v2"),
    "MLFLOW_SERVER": ("seldon", "v2"),
    TRITON: ("v2",),
    HUGGINGFACE: ("v2",),
    "TEMPO_SERVER": ("v2",),
}
# Answered by the executor itself, for routers and stubs: no container serves them (prepack.go, IsPrepack).
_BUILT_IN: Final = frozenset(
    {"AVERAGE_COMBINER", "RANDOM_ABTEST", "SIMPLE_MODEL", "SIMPLE_ROUTER", "UNKNOWN_IMPLEMENTATION"}
)
# The storage initializer of Seldon Core 1.8 and later is rclone, which knows neither; KServe's does.
NOT_LOADED: Final = {
    "hf": "leave `uri` out: HUGGINGFACE_SERVER takes `parameters: {pretrained_model: …}`",
    "oci": "write s3://…, gs://…, pvc://… or https://…",
}
_PATTERN: Final = r"[A-Z][A-Z0-9_]*"
# Alike enough for a slip of the pen: `SKLEARN_SEVER`, but not `TORCH_SERVER`, which a platform may have.
_MISSPELT: Final = 0.9
_form: Final = matching(_PATTERN, "the name of a model server", "upper-case letters, digits and `_`: `SKLEARN_SERVER`")


def _server(value: object) -> str:
    written = text(value)
    if written in _BUILT_IN:
        raise refused(f"{shown(written)} serves no model", "write a server such as `SKLEARN_SERVER`")
    if written.upper() != written and written.upper() in PROTOCOLS:
        raise refused(f"{shown(written)} is not the name of a model server", f"write `{written.upper()}`")
    return _form(written)


def misspelling(server: str) -> str | None:
    """Return the server that was probably meant; None for a known one and for one that is like none."""
    found = get_close_matches(server, PROTOCOLS, n=1, cutoff=_MISSPELT) if server not in PROTOCOLS else []
    return found[0] if found else None


Server = Annotated[str, BeforeValidator(_server), WithJsonSchema({"type": "string", "pattern": f"^{_PATTERN}$"})]
EXAMPLE: Final[dict[str, Any]] = {"implementation": "SKLEARN_SERVER", "uri": "gs://models/iris"}


class Model(ModelSource):
    """The model that is served, and its server."""

    implementation: Server = field(
        ...,
        f"Model server: {', '.join(PROTOCOLS)}, or one that the platform has configured.",
        "`graph.implementation`",
        "SKLEARN_SERVER",
    )
    parameters: dict[Text, Text] = field(
        {}, "Parameters of the server.", "`graph.parameters`, of type STRING", {"method": "predict_proba"}
    )

    @model_validator(mode="after")
    def _lies_somewhere(self) -> Model:
        errors = self.source_errors()
        if self.uri is None and self.step is None and self.implementation != HUGGINGFACE:
            errors.append((("[key]",), refused("missing key `uri`", "add `uri: gs://…`, or `from: <step>`", "MLS103")))
        if errors:
            raise refused_inside(errors)
        return self


class Problem(NamedTuple):
    """What a server cannot do, at a field of its model; `with_protocol`: it does not go with the service's protocol."""

    code: str
    message: str
    field: str
    help: str
    with_protocol: bool = False


def problems(model: Model, protocol: str) -> Iterator[Problem]:
    """Yield what is wrong with a server, its protocol, and the place of its model."""
    meant, spoken = misspelling(model.implementation), PROTOCOLS.get(model.implementation)
    if meant is not None:
        message = f"`{model.implementation}` is none of Seldon's own servers"
        yield Problem("MLS232", message, "implementation", f"did you mean `{meant}`?")
    if spoken is not None and protocol not in spoken:
        message = f"{model.implementation} does not speak the protocol `{protocol}`"
        help = "write " + " or ".join(f"`protocol: {name}`" for name in spoken) + " in the service"
        yield Problem("MLS235", message, "implementation", help, with_protocol=True)
    scheme = location(model.uri).scheme if model.uri is not None else ""
    if scheme in NOT_LOADED:
        message = f"Seldon's storage initializer cannot load from {scheme}://"
        yield Problem("MLS235", message, "uri", NOT_LOADED[scheme])


def is_mlserver(model: Model, protocol: str) -> bool:
    """Say whether the operator starts a server as an MLServer (createStandaloneModelServers)."""
    return protocol == "v2" and model.implementation not in (TENSORFLOW, TRITON)


def folders(model: Model, protocol: str, scratch: str) -> dict[str, str]:
    """Return the variables by which a server writes below `scratch` instead of into its image.

    MLServer 1.3.0 makes folders in its working directory (mlserver/settings.py). For models of the Hub its image sets
    TRANSFORMERS_CACHE and the operator XDG_CACHE_HOME, which yields to one that is written (mlserver.go). The other
    servers write to /tmp and HOME alone: wrapped Python, TensorFlow Serving, Triton, and the conda of MLflow's.
    """
    if not is_mlserver(model, protocol):
        return {}
    found = {"MLSERVER_ENVIRONMENTS_DIR": f"{scratch}/environments", "MLSERVER_METRICS_DIR": f"{scratch}/metrics"}
    if model.implementation == HUGGINGFACE:
        found |= {"TRANSFORMERS_CACHE": f"{scratch}/transformers", "XDG_CACHE_HOME": scratch}
    return found


def start(model: Model, protocol: str, scratch: str) -> dict[str, Any]:
    """Return how a container starts a server where the image's own command cannot.

    That of MLServer's image first unpacks `environment.tar.gz` of the model into /opt/mlserver, its home, which only
    the image's user and group 0 may enter (its Dockerfile: mode 776). What follows there needs no home.
    """
    if not is_mlserver(model, protocol) or model.implementation not in PROTOCOLS:
        return {}
    return {"command": ["mlserver", "start", "/mnt/models"], "workingDir": scratch}
