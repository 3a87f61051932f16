"""The models in, JSON Schemas for editors out: draft-07, since YAML language servers know that best."""

from __future__ import annotations

import copy
from typing import Any

from mlspec import names
from mlspec.spec.environment import Environment
from mlspec.spec.project import ENVIRONMENTS, Project

Schema = dict[str, Any]
_DIALECT = "http://json-schema.org/draft-07/schema#"
_DEFINITIONS = "#/definitions/"


def project_schema() -> Schema:
    """Return the schema of one document of mlproject.yaml, overrides included."""
    schema = _clean(Project.model_json_schema(by_alias=True, ref_template=_DEFINITIONS + "{model}"))
    partial = _partial(schema)
    schema["definitions"] |= {f"{name}.override": value for name, value in partial["definitions"].items()}
    fields = partial["properties"]
    for name in ("apiVersion", "kind", "name", "owner"):
        fields.pop(name)
    fields["enabled"] = {"type": "boolean", "default": True, "description": "false: nothing is generated for it."}
    schema["properties"][ENVIRONMENTS] = {
        "type": "object",
        "description": "Overrides by environment: a deep merge; null takes a field away.",
        "propertyNames": {"pattern": f"^{names.NAME}$"},
        "additionalProperties": {"type": "object", "additionalProperties": False, "properties": fields},
    }
    return _head(schema, "mlproject.yaml")


def environment_schema() -> Schema:
    """Return the schema of environments/<env>.yaml; nothing is required, since common.yaml may hold any part."""
    schema = _clean(Environment.model_json_schema(by_alias=True, ref_template=_DEFINITIONS + "{model}"))
    for node in (schema, *schema["definitions"].values()):
        node.pop("required", None)
    return _head(schema, "environments/<env>.yaml")


def _head(schema: Schema, title: str) -> Schema:
    rest = {key: value for key, value in schema.items() if key not in ("$schema", "title")}
    return {"$schema": _DIALECT, "title": title, **rest}


def _clean(schema: Schema) -> Schema:
    """Take away what pydantic adds for Python: titles, nulls, discriminators, and the 2020-12 words."""
    cleaned = _walk(schema)
    assert isinstance(cleaned, dict)  # noqa: S101  # narrows for mypy
    cleaned["definitions"] = cleaned.pop("$defs", {})
    return cleaned


def _walk(node: Any, *, table: bool = False) -> Any:
    """Return a cleaned copy; `table` says that keys are names of fields, not words of JSON Schema."""
    if isinstance(node, list):
        return [_walk(item) for item in node]
    if not isinstance(node, dict):
        return node
    if table:
        return {key: _walk(value) for key, value in node.items()}
    found = {
        key: _walk(value, table=key in ("properties", "$defs", "patternProperties"))
        for key, value in node.items()
        if key not in ("title", "discriminator") and not (key == "default" and value is None)
    }
    options = [option for option in found.get("anyOf", ()) if option != {"type": "null"}]
    if options and len(options) < len(found["anyOf"]):
        del found["anyOf"]
        found = {**(options[0] if len(options) == 1 else {"anyOf": options}), **found}
    if "const" in found:
        found.pop("type", None)
    if "properties" not in found and len(found.get("patternProperties", ())) == 1:
        # A pattern alone would let any other name pass; a name that does not fit is an error.
        ((pattern, value),) = found.pop("patternProperties").items()
        found["propertyNames"] = {"pattern": pattern, **found.get("propertyNames", {})}
        found["additionalProperties"] = value
    return found


def _partial(schema: Schema) -> Schema:
    """Return the schema of an override: nothing is required, and null takes a field away."""
    found = _nullable(copy.deepcopy(schema))
    assert isinstance(found, dict)  # noqa: S101  # narrows for mypy
    return found


def _nullable(node: Any) -> Any:
    if isinstance(node, list):
        return [_nullable(item) for item in node]
    if not isinstance(node, dict):
        return node
    # An override may leave `kind` out, so it may fit several members of a union.
    return {
        "anyOf" if key == "oneOf" else key: _override(key, value) for key, value in node.items() if key != "required"
    }


def _override(key: str, value: Any) -> Any:
    if key in ("default", "examples", "const", "enum"):
        return value
    if key == "$ref":
        return f"{value}.override"
    if key == "definitions":
        return {name: _nullable(field) for name, field in value.items()}
    if key in ("properties", "patternProperties"):
        return {name: {"anyOf": [_nullable(field), {"type": "null"}]} for name, field in value.items()}
    if key == "additionalProperties" and isinstance(value, dict):
        return {"anyOf": [_nullable(value), {"type": "null"}]}
    return _nullable(value)
