"""The base of everything a user may write: frozen, camelCase, unknown keys refused."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import BaseModel, ConfigDict, ValidationError
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
