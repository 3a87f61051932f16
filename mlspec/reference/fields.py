"""The models of project, kinds and environment in, one definition a field out, with every path that leads to it."""

from __future__ import annotations

import inspect
import re
import types
import typing
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mlspec.all_kinds import KINDS
from mlspec.kind_specs import UNHASHED, PodFields, ServiceSpec, StepSpec, WorkloadSpec
from mlspec.model.base import Goes, SpecModel
from mlspec.model.base import field as described
from mlspec.model.blocks import TextValue
from mlspec.model.scalars import Boolean, Name
from mlspec.spec.environment import Environment
from mlspec.spec.project import Project

ENVIRONMENT: Final = "environment"
"""The first part of paths into `environments/<env>.yaml`."""
_KINDS: Final = {kind.SPEC: tag for tag, kind in KINDS.items()}
_SHARED: Final = (PodFields, WorkloadSpec, StepSpec, ServiceSpec)
# What stands for a name that users choose; `<name>` for every other table.
_PLACEHOLDERS: Final = {
    "env": "<NAME>",
    "environments": "<env>",
    "gpus": "<type>",
    "mounts": "<volume>",
    "roles": "<role>",
    "storage": "<class>",
}
_ANOTHER_RESOURCE: Final = "<vendor/resource>"


class _Override(SpecModel):
    """What a project may say about one environment beside its own fields."""

    enabled: Boolean = described(
        True, "false: nothing is generated for this environment.", "the whole overlay, or none", False
    )


class _Overrides(SpecModel):
    """The part of mlproject.yaml that is merged into the rest before the rest is read."""

    environments: dict[Name, _Override] = described(
        {},
        "What differs in an environment: any field but apiVersion, kind, name and owner, merged key by key; "
        "`null` takes a field away.",
        "the overlay of that environment, as patches of the base",
        {"dev": {"steps": {"train": {"nodes": 1}}}, "staging": {"enabled": False}},
    )


@dataclass(frozen=True, slots=True)
class Use:
    """One path that leads to a field, for one kind of step or service (empty elsewhere)."""

    path: tuple[str, ...]
    kind: str = ""
    section: tuple[str, str] = ("", "")
    """Of the page: the table it is in (steps, services, environment, or nothing) and the kind whose own it is."""
    top: str = ""
    """The field of the step or service that holds it, by its name in Python."""

    @property
    def dotted(self) -> str:
        """The path as a user would say it."""
        return ".".join(self.path)

    @property
    def hashed(self) -> bool | None:
        """Say whether the field names the run; None where there is no run."""
        if self.path[0] != "steps" or not self.kind:
            return None
        return self.top not in UNHASHED | KINDS[self.kind].UNHASHED


@dataclass(frozen=True, slots=True)
class Definition:
    """One field, as its model defines it."""

    owner: type[BaseModel]
    name: str
    type: Any
    info: FieldInfo
    uses: list[Use] = field(default_factory=list)

    @property
    def meaning(self) -> str:
        """What it means, without what is said about its default."""
        return re.sub(r" ?Default: .*", "", self.info.description or "")

    @property
    def told_default(self) -> str:
        """What the description says about a default that is no constant."""
        found = re.search(r"Default: (.*?)\.?$", self.info.description or "")
        return found[1] if found else ""

    @property
    def goes(self) -> str:
        """Where it goes in the manifests."""
        extra = self.info.json_schema_extra
        return extra.place if isinstance(extra, Goes) else ""

    @property
    def examples(self) -> list[Any]:
        """Values as users write them."""
        return list(self.info.examples or ())


@cache
def pairs() -> tuple[tuple[Definition, Use], ...]:
    """Return every path that users write with the definition of its field, in the order of the models."""
    found: dict[tuple[type[BaseModel], str], Definition] = {}
    walked = []
    for model, path, section in (
        (Project, (), ("", "")),
        (_Overrides, (), ("", "")),
        (Environment, (ENVIRONMENT,), (ENVIRONMENT, "")),
    ):
        for definition, use in _walk(model, Use(path, section=section)):
            one = found.setdefault((definition.owner, definition.name), definition)
            one.uses.append(use)
            walked.append((one, use))
    return tuple(walked)


def definitions() -> tuple[Definition, ...]:
    """Return every field once."""
    return tuple({id(definition): definition for definition, _ in pairs()}.values())


def _walk(model: type[BaseModel], inside: Use) -> Iterator[tuple[Definition, Use]]:
    hints = typing.get_type_hints(model, include_extras=True)
    kind = _KINDS.get(model) if issubclass(model, WorkloadSpec) else None
    for name in _in_order(model):
        info, owner = model.model_fields[name], _owner(model, name)
        written = _ANOTHER_RESOURCE if str(info.validation_alias).endswith("/") else info.alias or name
        use = Use((*inside.path, written), inside.kind, inside.section, inside.top)
        if kind is not None:
            own = "" if owner in _SHARED else kind
            use = Use(use.path, kind, (inside.path[0], own), name)
        yield Definition(owner, name, hints[name], info), use
        for more, part in _parts(hints[name], written):
            yield from _walk(part, Use((*use.path, *more), use.kind, use.section, use.top))


def _in_order(model: type[BaseModel]) -> list[str]:
    """Return the fields of a step or service with its own before those that all share; others as they stand."""
    if not issubclass(model, WorkloadSpec):
        return list(model.model_fields)
    ranks = {base: rank for rank, base in enumerate(model.__mro__)}
    return sorted(model.model_fields, key=lambda name: ranks[_owner(model, name)])


def _owner(model: type[BaseModel], name: str) -> type[BaseModel]:
    """Return the class that says what a field is."""
    return next(base for base in model.__mro__ if name in inspect.get_annotations(base))


def bare(hint: Any) -> Any:
    """Return a type without its annotations and without None."""
    while typing.get_origin(hint) is typing.Annotated:
        hint = typing.get_args(hint)[0]
    if typing.get_origin(hint) in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        if len(options) == 1:
            return bare(options[0])
    return hint


def _parts(hint: Any, written: str) -> Iterator[tuple[tuple[str, ...], type[BaseModel]]]:
    """Yield the models inside a type, each with what stands between: a name in a table, a number in a list."""
    found = bare(hint)
    origin, arguments = typing.get_origin(found), typing.get_args(found)
    if isinstance(found, type) and issubclass(found, BaseModel):
        # The value type of a scalar is not a map that users write.
        if found is not TextValue:
            yield (), found
    elif origin is dict:
        for more, model in _parts(arguments[1], written):
            yield (_PLACEHOLDERS.get(written, "<name>"), *more), model
    elif origin is tuple:
        for more, model in _parts(arguments[0], written):
            yield ("<n>", *more), model
    elif origin in (typing.Union, types.UnionType):
        for option in arguments:
            yield from _parts(option, written)
