"""The model behind a `kserve` service: what it is, where it lies, and who serves it."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.model.base import SpecModel, field
from mlspec.model.scalars import Name, Text, matching
from mlspec.model.uris import ModelUri

ModelFormat = Annotated[
    str,
    BeforeValidator(matching(r"[A-Za-z][-A-Za-z0-9]*", "a model format", "KServe knows onnx, sklearn, huggingface, …")),
    WithJsonSchema({"type": "string"}),
]


class Model(SpecModel):
    """The model that is served."""

    uri: ModelUri | None = field(
        None,
        "Where the model lies: s3://, gs://, hf://, pvc://, oci:// or https://. Required with `format`.",
        "`storageUri`, or `STORAGE_URI` of a container of one's own; a NetworkPolicy opens the scheme's destination",
        "s3://models/classifier",
    )
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
