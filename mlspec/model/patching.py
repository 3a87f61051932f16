"""`patch`: JSON6902 operations on the emitted object, for what the spec does not know (RFC 6902)."""

from __future__ import annotations

import re
from typing import Annotated, Any, Final, Literal

from pydantic import BeforeValidator, WithJsonSchema, model_validator
from pydantic_core import PydanticCustomError

from mlspec.model.base import SpecModel, field, refused, refused_inside, wrong_type
from mlspec.model.scalars import shown, text
from mlspec.source import PlainText

_INTEGER: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})")
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]*)?([eE][-+]?[0-9]+)?")
_BASED: Final = (
    (re.compile(r"0o?[0-7]{1,20}"), 8),  # modes of files are written so: YAML 1.1 has 0755, YAML 1.2 0o755
    (re.compile(r"0x[0-9a-fA-F]{1,16}"), 16),
)
"""Spellings of whole numbers that not all readers of YAML share, with their base."""
_Place = tuple[int | str, ...]


def _pointer(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"(/([^~/]|~[01])*)+", written):
        help = f"write `/{written.strip('/').replace('.', '/')}`" if not written.startswith("/") else "`~0` is `~`"
        raise refused(f"{shown(written)} is not a JSON pointer", help)
    return written


def _value(value: object) -> Any:
    """Return a value with the types of JSON; what is not plainly a number, true or false is text."""
    errors: list[tuple[_Place, PydanticCustomError]] = []
    found = _typed(value, (), errors)
    if errors:
        raise refused_inside(errors)
    return found


def _typed(value: object, place: _Place, errors: list[tuple[_Place, PydanticCustomError]]) -> Any:
    if isinstance(value, dict):
        return {str(key): _typed(item, (*place, str(key)), errors) for key, item in value.items()}
    if isinstance(value, list):
        return [_typed(item, (*place, index), errors) for index, item in enumerate(value)]
    if isinstance(value, PlainText):
        if value in ("true", "false"):
            return value == "true"
        if _INTEGER.fullmatch(value):
            return int(value)
        error = _no_number(value)
        if error is not None:
            errors.append((place, error))
    elif value is None:
        errors.append((place, wrong_type("expected a value, got null", "use `op: remove`")))
    return str(value)


def _no_number(value: PlainText) -> PydanticCustomError | None:
    """Return why plain text that is like a number is none; None for any other text."""
    text = f'`"{value[:60]}"` if it is text'
    based = next((int(value, base) for pattern, base in _BASED if pattern.fullmatch(value)), None)
    if based is not None:
        return refused(f"{shown(value)} is {based} to some readers of YAML, not to all", f"write `{based}`, or {text}")
    if not _NUMBER.fullmatch(value):
        return None
    zeros = re.fullmatch(r"(-?)0+([0-9]{1,18})", value)
    if zeros is not None:
        return refused(f"{shown(value)} has a zero in front", f"write `{int(value)}`, or {text}")
    if re.fullmatch(r"-?[0-9]+", value):
        return refused(f"{shown(value)} is a longer number than any field holds", f"write {text}")
    return refused(f"{shown(value)} would be a number that is not whole", f"write {text}")


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
