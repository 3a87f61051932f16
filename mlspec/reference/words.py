"""Types and values of Python in, words and YAML as users know them out."""

from __future__ import annotations

import re
import typing
from typing import Any, Final

from pydantic import BaseModel

from mlspec import yamltext
from mlspec.model import blocks, scalars
from mlspec.model.handover import Number, Script
from mlspec.model.patching import JsonValue, Pointer
from mlspec.model.scaling import ReplicasField
from mlspec.model.sources import RelativePath, RunHash
from mlspec.model.uris import ModelUri
from mlspec.reference.fields import Definition, bare

# Every type with a name of its own, and what a reader of the page is told about it.
_WORDS: Final = {
    scalars.Text: "text",
    scalars.Boolean: "bool",
    scalars.Natural: "int ≥ 0",
    scalars.Positive: "int ≥ 1",
    scalars.PortNumber: "port",
    scalars.Name: "name",
    scalars.ObjectName: "Kubernetes name",
    scalars.DataKey: "key of a Secret",
    scalars.StepName: "step name",
    scalars.Cpu: "quantity",
    scalars.Memory: "quantity",
    scalars.Duration: "duration",
    scalars.ImageReference: "image reference",
    scalars.AbsolutePath: "absolute path",
    scalars.Cidr: "network",
    scalars.Pattern: "pattern",
    scalars.Version: "version",
    scalars.ResourceName: "resource name",
    blocks.GpuField: "number, `type:number`, or map",
    blocks.Mounts: "map of paths or maps",
    blocks.Env: "map of text or maps",
    blocks.Words: "list of text",
    blocks.Command: "list of text",
    blocks.Arguments: "list of text, or map",
    ReplicasField: "int ≥ 0, or map",
    Script: "path in the repository, or absolute path",
    Number: "number",
    Pointer: "JSON pointer",
    JsonValue: "any value",
    RunHash: "hash of a run",
    RelativePath: "relative path",
    ModelUri: "model URI",
}
_PLURALS: Final = {
    "map": "maps",
    "absolute path": "absolute paths",
    "name": "names",
    "step name": "steps",
    "Kubernetes name": "Kubernetes names",
    "key of a Secret": "keys",
    "network": "networks",
    "pattern": "patterns",
    "port": "ports",
}
_SCALARS: Final = {str: "text", int: "int", bool: "bool"}
# In a flow collection nothing here needs quotes; what it means is the business of the field's type.
_BARE: Final = re.compile(r"[A-Za-z0-9_/](?:[A-Za-z0-9_./@+-]|[: ](?=[A-Za-z0-9_./@+-]))*")
_NULLS: Final = frozenset({"null", "Null", "NULL"})


def type_words(hint: Any) -> str:
    """Return a type in words."""
    if isinstance(hint, typing.Hashable) and hint in _WORDS:
        return _WORDS[hint]
    if typing.get_origin(hint) is typing.Annotated:
        return type_words(typing.get_args(hint)[0])
    found = bare(hint)
    if found is not hint:
        options = [option for option in typing.get_args(hint) if option is not type(None)]
        return type_words(options[0])
    origin, arguments = typing.get_origin(found), typing.get_args(found)
    if origin is typing.Literal:
        return one_of([f"`{value}`" for value in arguments])
    if origin is tuple:
        return f"list of {_several(arguments[0])}"
    if origin is dict:
        return f"map of {_several(arguments[1])}"
    return _SCALARS.get(found, "map" if isinstance(found, type) and issubclass(found, BaseModel) else "text")


def _several(hint: Any) -> str:
    """Return the words for the values of a list or table; models and unions of models are maps."""
    words = "map" if typing.get_origin(bare(hint)) is typing.Union else type_words(hint)
    return _PLURALS.get(words, words)


def one_of(words: list[str]) -> str:
    """Return `a`, `a or b`, `a, b or c`."""
    return " or ".join([", ".join(words[:-1]), words[-1]]) if len(words) > 1 else words[0]


def yaml(value: Any) -> str:
    """Return a value as a user would write it in one line; text stays bare where YAML lets it."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml(key)}: {yaml(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml, value)) + "]"
    if isinstance(value, BaseModel):
        return "{}"
    if isinstance(value, str) and _BARE.fullmatch(value) and value not in _NULLS:
        return value
    return yamltext.scalar(value)


def default_words(definition: Definition) -> str:
    """Return the default: `required`, what the description tells, or the value as a user would write it."""
    if definition.info.is_required():
        return "required"
    if definition.told_default:
        return definition.told_default
    default = definition.info.get_default(call_default_factory=True, validated_data={})
    return "none" if default is None else f"`{yaml(default)}`"


def example_lines(definition: Definition) -> list[str]:
    """Return the examples, each as the line that a user would write."""
    name = definition.uses[0].path[-1]
    if name.startswith("<"):  # the example names the key itself
        return [yaml(example)[1:-1] for example in definition.examples]
    return [f"{name}: {yaml(example)}" for example in definition.examples]
