"""The model behind a `kserve` service: what it is, where it lies, and who serves it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import field, refused_inside
from mlspec.model.scalars import Name, Text, matching
from mlspec.model.sources import ModelSource

ModelFormat = Annotated[
    str,
    BeforeValidator(matching(r"[A-Za-z][-A-Za-z0-9]*", "a model format", "KServe knows onnx, sklearn, huggingface, …")),
    WithJsonSchema({"type": "string"}),
]


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
