"""`patch`: JSON6902 operations on the emitted object, for what the spec does not know (RFC 6902)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import SpecModel, field, refused, refused_inside, wrong_type
from mlspec.model.scalars import shown, text
from mlspec.source import PlainText

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")


def _pointer(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"(/([^~/]|~[01])*)+", written):
        help = f"write `/{written.strip('/').replace('.', '/')}`" if not written.startswith("/") else "`~0` is `~`"
        raise refused(f"{shown(written)} is not a JSON pointer", help)
    return written


def _value(value: object) -> Any:
    """Return a value with the types of JSON; what is not plainly a number, true or false is text."""
    if isinstance(value, dict):
        return {str(key): _value(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_value(item) for item in value]
    if isinstance(value, PlainText):
        if value in ("true", "false"):
            return value == "true"
        if _INTEGER.fullmatch(value):
            return int(value)
        if _NUMBER.fullmatch(value):
            help = f'write `"{value[:60]}"` if it is text'
            raise refused(f"{shown(value)} would be a number that is not whole", help)
    if value is None:
        raise wrong_type("expected a value, got null", "use `op: remove`")
    return str(value)


Pointer = Annotated[str, BeforeValidator(_pointer), WithJsonSchema({"type": "string", "pattern": "^/"})]
JsonValue = Annotated[Any, BeforeValidator(_value), WithJsonSchema({})]


class Operation(SpecModel):
    """One operation on the emitted object."""

    op: Literal["add", "remove", "replace", "test"] = field(
        ..., "What is done.", "no field: it is done before the object is written", "add"
    )
    path: Pointer = field(
        ..., "JSON pointer into the emitted object; `-` at its end appends to a list.", "that field", "/spec/paused"
    )
    value: JsonValue = field(
        None, "What is added, put in its place, or expected there; not with `remove`.", "that field", True
    )

    @model_validator(mode="after")
    def _value_where_needed(self) -> Operation:
        written = "value" in self.model_fields_set
        if self.op == "remove" and written:
            raise refused_inside([(("value", "[key]"), refused("`remove` has no value", "remove the key"))])
        if self.op != "remove" and not written:
            raise refused(f"`{self.op}` needs a value", "add `value:`", "MLS103")
        return self


Patch = tuple[Operation, ...]
