"""The base of everything a user may write: frozen, camelCase, unknown keys refused."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from pydantic.alias_generators import to_camel
from pydantic_core import InitErrorDetails, PydanticCustomError


class SpecModel(BaseModel):
    """A map in a spec; instances are frozen and hold parsed values only."""

    model_config = ConfigDict(
        alias_generator=to_camel,
        extra="forbid",
        frozen=True,
        populate_by_name=False,
        validate_by_name=False,
        validate_by_alias=True,
        serialize_by_alias=True,
    )


@dataclass(frozen=True, slots=True)
class Goes:
    """Where a field goes in the manifests: for `mlspec explain` and the reference, not for editors.

    pydantic lets a field carry a function that adds to its JSON Schema; this one adds nothing.
    """

    place: str

    def __call__(self, schema: dict[str, Any]) -> None:
        """Leave the JSON Schema as it is."""


def field(default: Any, meaning: str, goes: str, example: Any, **more: Any) -> Any:
    """Return a field that can explain itself; the default is `...` for a required one, `more` goes to pydantic.

    A default that is no constant is told at the end of the meaning: `Default: the only type.` The example is a value
    as users write it.
    """
    return Field(default, description=meaning, examples=[example], json_schema_extra=Goes(goes), **more)


def refused(message: str, help: str = "", code: str = "MLS105") -> PydanticCustomError:
    """Return an error that carries our own words through pydantic; `mlspec.spec.problems` renders it."""
    # The message is passed as data, not as the template, so that braces in a user's text stay literal.
    return PydanticCustomError("mlspec", "{text}", {"text": message, "help": help, "code": code})


def wrong_type(message: str, help: str = "") -> PydanticCustomError:
    """Return the error for a value of another type than the field's."""
    return refused(message, help, "MLS104")


def refused_inside(errors: Iterable[tuple[tuple[int | str, ...], PydanticCustomError]]) -> ValidationError:
    """Return several errors, each at its place inside the value; a place that ends in `[key]` means the key."""
    details = [InitErrorDetails(type=error, loc=place, input=None) for place, error in errors]
    return ValidationError.from_exception_data("mlspec", details)
