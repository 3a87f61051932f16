"""Differences in, JSON for programs out; the format is numbered, and docs/diff.md describes it."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from mlspec.changes.totals import totals
from mlspec.changes.values import Field, Load, RootChanges
from mlspec.literals.redaction import redact, redact_field


def render(found: RootChanges) -> str:
    """Return one JSON document, version 1."""
    document = {
        "version": 1,
        "against": found.against,
        "commit": found.commit,
        "warnings": _value(found.warnings),
        "totals": _value(totals(found.each())),
        "projects": _value(found.projects),
    }
    return json.dumps(document, indent=2, ensure_ascii=False) + "\n"


def _value(value: Any) -> Any:
    """Return a value of a comparison as JSON: keys in camelCase, sums rounded to two digits, null for what is not.

    Secrets are hidden.
    """
    if isinstance(value, Field):
        texts = (redact_field(value.path, text) if text else text for text in (value.before, value.after))
        return dict(zip(("path", "before", "after"), (redact(value.path), *texts), strict=True))
    if isinstance(value, str):
        return redact(str(value))
    if isinstance(value, Load):
        sums = {
            "gpuHours": _value(value.gpu_hours if value.gpus else None),
            "cost": _value(value.cost if value.gpus else None),
        }
        return {"pods": value.pods, "gpus": _value(value.gpus), "hours": _value(value.hours), **sums}
    if is_dataclass(value):
        return {_camel(field.name): _value(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_value(item) for item in value]
    return round(float(value), 2) if isinstance(value, Decimal) else value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)
