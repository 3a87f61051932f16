"""Blocks that steps and services share: resources, GPUs, environment variables, mounts, arguments.

Every shorthand becomes its value type here; nothing later sees what form was written.
"""

from __future__ import annotations

import re
from typing import Annotated, Any, Final

from pydantic import (
    AfterValidator,
    BeforeValidator,
    Discriminator,
    GetJsonSchemaHandler,
    ModelWrapValidatorHandler,
    Tag,
    WithJsonSchema,
    field_validator,
    model_validator,
)
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, PydanticCustomError

from mlspec import names
from mlspec.model.base import SpecModel, field, refused, refused_inside, wrong_type
from mlspec.model.scalars import (
    TEXT_TYPES,
    AbsolutePath,
    Boolean,
    Cpu,
    Memory,
    Name,
    ObjectName,
    Positive,
    ResourceName,
    Text,
    VariableName,
    integer,
    text,
)
from mlspec.source import PlainText

GPU_RESOURCE: Final = re.compile(r"(nvidia\.com|amd\.com|gpu\.intel\.com|habana\.ai)/.*(gpu|gaudi|mig-|i915|xe).*")


class Resources(SpecModel):
    """What one pod gets; requests equal limits."""

    cpu: Cpu | None = field(
        None, "CPUs of a pod. Default: the environment's `defaults.cpu`.", "`cpu` in requests and limits", "500m"
    )
    memory: Memory | None = field(
        None,
        "Memory of a pod. Default: the environment's `defaults.memory`.",
        "`memory` in requests and limits",
        "16Gi",
    )
    shared_memory: Memory | None = field(
        None,
        "Size of /dev/shm, a part of memory. Default: a quarter of memory for `pytorch`, none otherwise.",
        "an `emptyDir` in memory, mounted at /dev/shm",
        "8Gi",
    )
    extended: dict[ResourceName, Positive] = field(
        {},
        "Other extended resources by name, written beside cpu and memory.",
        "that resource in requests and limits",
        {"rdma/ib": 8},
        validation_alias="extended/",  # no key of a user's: those with a slash are gathered below it
    )

    @model_validator(mode="wrap")
    @classmethod
    def _split(cls, value: Any, handler: ModelWrapValidatorHandler[Resources]) -> Resources:
        """Gather the keys that look like `vendor/name`."""
        if not isinstance(value, dict):
            return handler(value)
        extended = {key: item for key, item in value.items() if "/" in key}
        rest = {key: item for key, item in value.items() if "/" not in key}
        return handler(rest | ({"extended/": extended} if extended else {}))

    @field_validator("extended", mode="before")
    @classmethod
    def _no_gpus(cls, value: dict[str, object]) -> dict[str, object]:
        """Refuse GPU resources: `gpu:` is their field."""
        found = {key: item for key, item in value.items() if GPU_RESOURCE.fullmatch(key)}
        if found:
            raise refused_inside(
                ((key, "[key]"), refused(f"`{key}` is a GPU resource", f"write `gpu: {item}` beside `resources`"))
                for key, item in found.items()
            )
        return value

    @classmethod
    def __get_pydantic_json_schema__(cls, core: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        """Show extended resources as they are written: keys with a slash."""
        schema = handler.resolve_ref_schema(handler(core))
        extended = schema["properties"].pop("extended/", {})
        schema["patternProperties"] = {
            "/": {"type": "integer", "minimum": 1, "description": extended.get("description", "")}
        }
        return schema


class Gpu(SpecModel):
    """GPUs of a pod; the type names an entry of the environment's `gpus`."""

    type: Name | None = field(
        None,
        "A type in the environment's `gpus`. Default: its `defaults.gpu`.",
        "chooses the resource, `nodeSelector` and `tolerations`",
        "h100",
    )
    count: Annotated[int, BeforeValidator(integer(0, 1024))] = field(
        ..., "GPUs of a pod.", "the type's resource in requests and limits", 8
    )

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        """Read `2` and `h100:8`."""
        if not isinstance(value, str):
            return value
        found = re.fullmatch(r"(?:(?P<type>[^:]+):)?(?P<count>[^:]+)", value)
        if found is None or not re.fullmatch(r"[0-9]+", found["count"]):
            if found and found["count"] and re.fullmatch(r"[0-9]*\.[0-9]+", found["count"]):
                raise refused(
                    f"`{value}`: GPUs come whole", "for a slice name a MIG type of the environment: `mig-1g:1`"
                )
            shown = f"`{value[:60]}`" if value else "an empty text"
            help = f"write `{value}:1`" if names.is_name(value) else "write `2`, `h100:8` or `{type: h100, count: 8}`"
            raise refused(f"{shown} is not a number of GPUs", help)
        count = PlainText(found["count"])
        return {"type": found["type"], "count": count} if found["type"] else {"count": count}


GpuField = Annotated[
    Gpu,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": "^([a-z]([-a-z0-9]*[a-z0-9])?:)?[0-9]+$"},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["count"],
                    "properties": {"type": {"type": "string"}, "count": {"type": "integer", "minimum": 0}},
                },
            ]
        }
    ),
]


class SecretKey(SpecModel):
    """One key of a Secret that `secrets` declares."""

    secret: ObjectName = field(..., "A name in `secrets`.", "`valueFrom.secretKeyRef.name`", "hub")
    key: Text = field(..., "One of its keys.", "`valueFrom.secretKeyRef.key`", "token")


class TextValue(SpecModel):
    """A value of an environment variable as written."""

    value: Text

    @model_validator(mode="before")
    @classmethod
    def _scalar(cls, value: object) -> object:
        """Read the scalar itself; a map never gets here."""
        return {"value": value}


def _env_form(value: object) -> str:
    return "=secret" if isinstance(value, dict | SecretKey) else "=text"


_SECRET_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "additionalProperties": False,
    "required": ["secret", "key"],
    "properties": {"secret": {"type": "string"}, "key": {"type": TEXT_TYPES}},
}
# The tags cannot be YAML keys of ours, so that a location never mistakes one for a key.
EnvValue = Annotated[
    Annotated[SecretKey, Tag("=secret")] | Annotated[TextValue, Tag("=text")],
    Discriminator(_env_form),
    WithJsonSchema({"anyOf": [{"type": TEXT_TYPES}, _SECRET_SCHEMA]}),
]


class Mount(SpecModel):
    """Where a volume is mounted."""

    path: AbsolutePath = field(..., "Absolute path in the container.", "`volumeMounts[].mountPath`", "/data")
    read_only: Boolean = field(False, "Mount without the right to write.", "`volumeMounts[].readOnly`", True)

    @model_validator(mode="before")
    @classmethod
    def _shorthand(cls, value: Any) -> Any:
        """Read `/data`."""
        return {"path": value} if isinstance(value, str) else value


MountField = Annotated[
    Mount,
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "string", "pattern": "^/"},
                {
                    "type": "object",
                    "additionalProperties": False,
                    "required": ["path"],
                    "properties": {"path": {"type": "string", "pattern": "^/"}, "readOnly": {"type": "boolean"}},
                },
            ]
        }
    ),
]


def arguments(value: object) -> tuple[str, ...]:
    """Return arguments as a list: `{epochs: 10, bf16: true, dry: false}` becomes `--epochs 10 --bf16`."""
    if not isinstance(value, list | dict):
        raise wrong_type("expected a list of text, or a map of flags", "write `{epochs: 10}` or `[--epochs, 10]`")
    problems: list[tuple[tuple[int | str, ...], PydanticCustomError]] = []
    words: list[str] = []
    if isinstance(value, list):
        for index, item in enumerate(value):
            try:
                words.append(text(item))
            except PydanticCustomError as error:
                problems.append(((index,), error))
    else:
        for name, item in value.items():
            try:
                words += _flag(name, item)
            except PydanticCustomError as error:
                problems.append(((name,) if _FLAG.fullmatch(name) else (name, "[key]"), error))
    if problems:
        raise refused_inside(problems)
    return tuple(words)


_FLAG: Final = re.compile(r"[A-Za-z0-9][^\s=]*")


def _flag(name: str, item: object) -> list[str]:
    """Return the words of one flag: none for false, the flag alone for true."""
    if not _FLAG.fullmatch(name):
        fixed = re.sub(r"[\s=]+", "-", name.lstrip("-").strip())
        help = f"write `{fixed}`: the dashes are added" if name.startswith("-") and fixed else "letters, digits and `-`"
        raise refused(f"`{name}` is not the name of a flag", help)
    if isinstance(item, PlainText) and item in ("true", "false"):
        return [f"--{name}"] if item == "true" else []
    if isinstance(item, str):
        return [f"--{name}", str(item)]
    what = "a map" if isinstance(item, dict) else "a list" if isinstance(item, list) else "null"
    raise wrong_type(f"expected text, true or false, got {what}", "use the list form of `args` for repeated values")


def _exec_form(value: object) -> object:
    if isinstance(value, list):
        return value
    words = value.split() if isinstance(value, str) else []
    plain = words and all(re.fullmatch(r"[\w./=+-]+", word) for word in words)
    help = f"write `[{', '.join(words)}]`" if plain else "exec form: `[python, train.py]`"
    raise wrong_type("expected a list of text", help)


def _some_word(value: tuple[str, ...]) -> tuple[str, ...]:
    if not value or not value[0]:
        raise refused("a command needs at least one word", "leave the key out to run the image's own entry point")
    return value


_LIST_OF_TEXT: Final[dict[str, Any]] = {"type": "array", "items": {"type": TEXT_TYPES}}
Words = Annotated[tuple[Text, ...], WithJsonSchema(_LIST_OF_TEXT)]
Command = Annotated[
    tuple[Text, ...],
    BeforeValidator(_exec_form),
    AfterValidator(_some_word),
    WithJsonSchema({**_LIST_OF_TEXT, "minItems": 1}),
]
Arguments = Annotated[
    tuple[str, ...],
    BeforeValidator(arguments),
    WithJsonSchema({"anyOf": [_LIST_OF_TEXT, {"type": "object", "additionalProperties": {"type": TEXT_TYPES}}]}),
]
Env = dict[VariableName, EnvValue]
Mounts = dict[Name, MountField]
Names = tuple[Name, ...]
