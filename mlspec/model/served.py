"""The model behind a `kserve` service: what it is, where it lies, and who serves it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from typing import Annotated, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mlspec.model.base import field, refused, refused_inside
from mlspec.model.scalars import Name, Text, matching
from mlspec.model.sources import ModelSource

ModelFormat = Annotated[
    str,
    BeforeValidator(matching(r"[A-Za-z][-A-Za-z0-9]*", "a model format", "KServe knows onnx, sklearn, huggingface, …")),
    WithJsonSchema({"type": "string"}),
]


STORAGE_VARIABLE: Final = "STORAGE_URI"
"""Where a server of one's own finds its model's place: KServe reads it from there (predictor_custom.go, 0.15 to 0.20).

The storage initializer then puts the model at /mnt/models.
"""
Unfit = tuple[tuple[str, ...], PydanticCustomError]


class Model(ModelSource):
    """The model that is served."""

    format: ModelFormat | None = field(
        None,
        "KServe's model format: onnx, sklearn, huggingface, tensorflow, …",
        "`predictor.model.modelFormat.name`",
        "onnx",
    )
    version: Text | None = field(None, "Version of the format.", "`predictor.model.modelFormat.version`", "1")
    runtime: Name | None = field(
        None,
        "A ServingRuntime by name. Default: KServe picks one.",
        "`predictor.model.runtime`; it also decides where metrics are scraped",
        "kserve-tritonserver",
    )
    protocol: Literal["v1", "v2", "grpc-v2"] | None = field(
        None,
        "Inference protocol. Default: v2 for onnx, triton, tensorrt, huggingface and mlflow, else v1.",
        "`predictor.model.protocolVersion`, always written",
        "v2",
    )

    @model_validator(mode="after")
    def _one_source(self) -> Model:
        errors = self.source_errors()
        if errors:
            raise refused_inside(errors)
        return self


def image_errors(model: Model | None, variables: Container[str]) -> list[Unfit]:
    """Return what a service with an `image` may not say of its model; `variables` are the names in its `env`."""
    wrong = refused("this is for models that KServe serves; `image` is a server of its own", "remove it, or `image`")
    fields = ("format", "version", "runtime", "protocol")
    found: list[Unfit] = [(("model", name, "[key]"), wrong) for name in fields if model and getattr(model, name)]
    if model and STORAGE_VARIABLE in variables:
        error = refused(f"KServe reads the model's URI from {STORAGE_VARIABLE}", "remove the variable, or `model`")
        found.append((("env", STORAGE_VARIABLE, "[key]"), error))
    return found


def model_errors(model: Model | None, own: Mapping[str, object]) -> list[Unfit]:
    """Return what is missing of a model that KServe serves; `own` are the fields that only an `image` may have."""
    wrong = refused("this needs a container of its own", "add `image:`")
    found: list[Unfit] = [((name, "[key]"), wrong) for name, value in own.items() if value]
    if model is None:
        error = refused("missing key `model`", "add `model: {format: onnx, uri: s3://…}`", "MLS103")
        return [*found, (("kind", "[key]"), error)]
    missing = {} if model.uri or model.step else {"uri": "add `uri:` or `from:` under `model`"}
    missing |= {} if model.format else {"format": "add `format:` under `model`"}
    found += [(("model", "[key]"), refused(f"missing key `{key}`", help, "MLS103")) for key, help in missing.items()]
    return found
