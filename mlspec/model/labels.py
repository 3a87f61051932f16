"""Labels and annotations of other people's objects, as Kubernetes wants them written."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema

from mlspec.model.scalars import TEXT_TYPES, matching

_NAME: Final = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
_PREFIX: Final = r"([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?"
_HELP: Final = "letters, digits, `-`, `_` and `.`, with an optional `prefix/`"

LabelKey = Annotated[
    str, BeforeValidator(matching(_PREFIX + _NAME, "a key of a label", _HELP)), WithJsonSchema({"type": "string"})
]
AnnotationKey = Annotated[
    str, BeforeValidator(matching(_PREFIX + _NAME, "a key of an annotation", _HELP)), WithJsonSchema({"type": "string"})
]
LabelValue = Annotated[
    str,
    BeforeValidator(matching(f"({_NAME})?", "a value of a label", "at most 63 letters, digits, `-`, `_` and `.`")),
    WithJsonSchema({"type": TEXT_TYPES}),
]
LabelMap = dict[LabelKey, LabelValue]
