"""pydantic's errors in, our findings out: our words, the user's line, and what to write instead."""

from __future__ import annotations

import re
import types
import typing
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from mlspec.diagnostics import Diagnostic, Span, nearest, suggestion
from mlspec.source import Mapping, Node, Scalar, Sequence

Location = tuple[int | str, ...]


@dataclass(frozen=True, slots=True)
class Found:
    """Where a location lies in a tree: the deepest node that exists, its key, and the keys walked."""

    node: Node
    key: Span | None
    path: tuple[str, ...]

    @property
    def dotted(self) -> str:
        """The path as a user would say it."""
        return ".".join(self.path)

    @property
    def value_span(self) -> Span:
        """Where the value stands; a collection is shown by its first line."""
        return self.node.span

    @property
    def key_span(self) -> Span:
        """Where the key stands; the first key for a document or an item of a list."""
        span = self.node.span
        return self.key or Span(span.file, span.line, span.column, span.line, span.column)


def locate(tree: Node, location: Location) -> Found:
    """Walk as far as the location goes; elements that are no keys (tags of unions) are passed over.

    pydantic puts a union's tag after the name in `steps.<name>.<tag>…`; a field may be spelled like a tag,
    so there the element is dropped by its position.
    """
    if len(location) > 2 and location[0] in ("steps", "services") and _tagged(tree, location):
        location = (*location[:2], *location[3:])
    node, key, path = tree, None, []
    for element in location:
        if isinstance(node, Mapping) and element in node.entries:
            entry = node.entries[str(element)]
            node, key = entry.value, entry.key
            path.append(str(element))
        elif isinstance(node, Sequence) and str(element).isdecimal() and int(element) < len(node.items):
            node, key = node.items[int(element)], None
            path.append(str(element))
    return Found(node, key or _start(node), tuple(path))


def _start(node: Node) -> Span | None:
    """Return the first key of a map; keys that came from another file do not count."""
    if not isinstance(node, Mapping):
        return None
    return min((entry.key for entry in node.entries.values() if entry.key.file == node.span.file), default=None)


def _tagged(tree: Node, location: Location) -> bool:
    workload = locate(tree, location[:2]).node
    kind = workload.get("kind") if isinstance(workload, Mapping) else None
    return isinstance(kind, Scalar) and location[2] == kind.text


def diagnose(
    tree: Mapping, model: type[BaseModel], error: ValidationError, also: Iterable[str] = ()
) -> Iterator[Diagnostic]:
    """Yield a finding for every error, except those about values that the reader has refused already.

    `also` are keys that may stand at the top beside the model's own. What is said about a step or service
    of an unknown kind is left out: only the kind knows its fields.
    """
    details = error.errors(include_url=False, include_input=False)
    unknown = {detail["loc"][:2] for detail in details if _is_kind(detail["loc"]) and detail["type"] == "literal_error"}
    for detail in details:
        location = detail["loc"]
        found = locate(tree, location)
        if isinstance(found.node, Scalar) and found.node.refused:
            continue
        if location[:2] in unknown and not _is_kind(location):
            continue
        if detail["type"] == "too_short" and isinstance(found.node, Sequence) and found.node.items:
            continue  # items that are wrong are not counted, and have findings of their own
        yield _translate(detail["type"], detail.get("ctx", {}), location, found, model, tree, also)


def _is_kind(location: Location) -> bool:
    return len(location) == 3 and location[0] in ("steps", "services") and location[2] == "kind"


def nulls(node: Node, path: tuple[str, ...] = ()) -> Iterator[Diagnostic]:
    """Yield a finding for every null: it would otherwise be read as a default that nobody meant."""
    if isinstance(node, Mapping):
        for key, entry in node.entries.items():
            yield from nulls(entry.value, (*path, key))
    elif isinstance(node, Sequence):
        for index, item in enumerate(node.items):
            yield from nulls(item, (*path, str(index)))
    elif node.is_null and not node.refused:
        yield _null(node, path)


def _null(node: Scalar, path: tuple[str, ...]) -> Diagnostic:
    what = "remove the item" if path and path[-1].isdecimal() else "leave the key out"
    help = f"{what}, or write a value"
    return Diagnostic("MLS104", "expected a value, got null", node.span, ".".join(path), help)


_EXPECTED = {
    "dict_type": "a map",
    "model_type": "a map",
    "model_attributes_type": "a map",
    "union_tag_not_found": "a map",
    "tuple_type": "a list",
    "list_type": "a list",
    "string_type": "text",
}


def _translate(
    type_: str,
    context: dict[str, Any],
    location: Location,
    found: Found,
    model: type[BaseModel],
    tree: Mapping,
    also: Iterable[str],
) -> Diagnostic:
    last = str(location[-1]) if location else ""
    if isinstance(found.node, Scalar) and found.node.is_null and last != "[key]":
        return _null(found.node, found.path)
    if type_ == "mlspec":
        span = found.key_span if last == "[key]" else found.value_span
        return Diagnostic(context["code"], context["text"], span, found.dotted, context["help"])
    if type_ == "extra_forbidden":
        options = {*fields_at(model, tree, found.path[:-1]), *(also if len(found.path) == 1 else ())}
        return Diagnostic("MLS102", f"unknown key `{last}`", found.key_span, found.dotted, suggestion(last, options))
    if type_ == "missing":
        help = _add(last, fields_at(model, tree, found.path).get(last))
        return Diagnostic("MLS103", f"missing key `{last}`", found.key_span, _join(found.dotted, last), help)
    if type_ == "union_tag_not_found" and isinstance(found.node, Mapping):
        return Diagnostic(
            "MLS103", "missing key `kind`", found.key_span, _join(found.dotted, "kind"), _tags(model, found.path)
        )
    if type_ in ("union_tag_invalid", "literal_error", "enum"):
        return _closed_set(type_, context, found)
    if type_ in _EXPECTED:
        message = f"expected {_EXPECTED[type_]}, got {_what(found.node)}"
        return Diagnostic("MLS104", message, found.value_span, found.dotted, _form(_EXPECTED[type_], found))
    if type_ == "too_short":
        return Diagnostic("MLS105", "must not be empty", found.value_span, found.dotted, "write at least one entry")
    return Diagnostic("MLS105", f"not accepted here ({type_.replace('_', ' ')})", found.value_span, found.dotted)


def _closed_set(type_: str, context: dict[str, Any], found: Found) -> Diagnostic:
    options = [
        option.strip(" '")
        for option in str(context.get("expected", context.get("expected_tags", ""))).replace(" or ", ",").split(",")
    ]
    node, path = found.node, found.path
    if type_ == "union_tag_invalid" and isinstance(node, Mapping):
        entry = node.entries["kind"]
        node, path = entry.value, (*path, "kind")
    known = ", ".join(options[:-1]) + f" or {options[-1]}" if len(options) > 1 else f"`{options[0]}`"
    if not isinstance(node, Scalar):
        return Diagnostic("MLS104", f"expected {known}, got {_what(node)}", node.span, ".".join(path))
    if len(options) == 1:
        message = f"expected {known}, got {_what(node)}"
        return Diagnostic("MLS105", message, node.span, ".".join(path), f"write {known}")
    match = nearest(node.text, options)
    help = f"did you mean `{match}`?" if match is not None else ""
    return Diagnostic("MLS105", f"expected {known}, got {_what(node)}", node.span, ".".join(path), help)


_TABLES = {"steps", "services", "volumes", "secrets", "mounts", "env", "files", "gate", "predictors", "parameters"}
_TABLES |= {"gpus", "storage", "destinations", "nodeSelector"}


def _form(expected: str, found: Found) -> str:
    """Return how a value of another type is written in the form that is expected."""
    node = found.node
    if expected == "a list" and isinstance(node, Scalar) and re.fullmatch(r"[\w./-]+", node.text):
        return f"write `[{node.text}]`"
    if isinstance(node, Sequence) and node.items and found.path[-1:] and found.path[-1] in _TABLES:
        named = node.items[0].get("name") if isinstance(node.items[0], Mapping) else node.items[0]
        return f"names are keys here: `{named.text}:`" if isinstance(named, Scalar) else ""
    return ""


def _add(name: str, field: FieldInfo | None) -> str:
    """Return what to write for a key that is missing: the one value, or its form and what it means."""
    if field is None:
        return f"add `{name}:`"
    annotation = _bare(field.annotation)
    if typing.get_origin(annotation) is typing.Literal:
        return "add " + " or ".join(f"`{name}: {value}`" for value in typing.get_args(annotation))
    inner = _models(annotation) if isinstance(annotation, type) else []
    required = [key for model in inner for key, part in _by_alias(model).items() if part.is_required()]
    shown = f"{name}: {{{', '.join(f'{key}: …' for key in required)}}}" if required else f"{name}:"
    if inner and not required and field.examples:
        shown = f"{name}: {_flow(field.examples[0])}"
    meaning = (field.description or next((model.__doc__ or "" for model in inner), "")).strip().rstrip(".")
    return f"add `{shown}`" + (f" ({meaning})" if meaning else "")


def _flow(value: Any) -> str:
    """Return an example of names and maps as one line of YAML."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_flow(item)}" for key, item in value.items()) + "}"
    return str(value)


def _what(node: Node) -> str:
    if isinstance(node, Mapping):
        return "a map"
    if isinstance(node, Sequence):
        return "a list"
    if node.is_null:
        return "null"
    return f"`{node.text if len(node.text) <= 60 else node.text[:57] + '…'}`" if node.text else "an empty text"


def _join(dotted: str, key: str) -> str:
    return f"{dotted}.{key}" if dotted else key


def _tags(model: type[BaseModel], path: tuple[str, ...]) -> str:
    field = model.model_fields.get(path[0]) if path else None
    names = [kind for member in _models(field.annotation) for kind in _literal(member)] if field else []
    return "add " + " or ".join(f"`kind: {name}`" for name in sorted(names))


def _literal(model: type[BaseModel]) -> tuple[str, ...]:
    field = model.model_fields.get("kind")
    return typing.get_args(field.annotation) if field else ()


def fields_at(model: type[BaseModel], tree: Node, path: tuple[str, ...]) -> dict[str, FieldInfo]:
    """Return the fields, by the name that users write, of the model that a path leads to."""
    if not path:
        return _by_alias(model)
    field = _by_alias(model).get(path[0])
    members = _models(field.annotation) if field else []
    used = 2 if field and typing.get_origin(_bare(field.annotation)) in (dict, tuple) else 1
    if len(path) < used or not members:
        return {}
    node = locate(tree, path[:used]).node
    return fields_at(_member(members, node), node, path[used:])


def _by_alias(model: type[BaseModel]) -> dict[str, FieldInfo]:
    return {field.alias or name: field for name, field in model.model_fields.items() if name != "extended"}


def _member(members: list[type[BaseModel]], node: Node) -> type[BaseModel]:
    kind = node.get("kind") if isinstance(node, Mapping) else None
    if isinstance(kind, Scalar):
        return next((member for member in members if kind.text in _literal(member)), members[0])
    return members[0]


def _bare(annotation: Any) -> Any:
    while typing.get_origin(annotation) is typing.Annotated:
        annotation = typing.get_args(annotation)[0]
    if typing.get_origin(annotation) in (typing.Union, types.UnionType):
        options = [option for option in typing.get_args(annotation) if option is not type(None)]
        if len(options) == 1:
            return _bare(options[0])
    return annotation


def _models(annotation: Any) -> list[type[BaseModel]]:
    """Return the models that an annotation may hold: itself, a union's members, a table's values."""
    bare = _bare(annotation)
    if isinstance(bare, type) and issubclass(bare, BaseModel):
        return [bare]
    origin, arguments = typing.get_origin(bare), typing.get_args(bare)
    if origin is dict:
        return _models(arguments[1])
    if origin is tuple:
        return _models(arguments[0])
    if origin in (typing.Union, types.UnionType):
        return [model for argument in arguments for model in _models(argument)]
    return []
