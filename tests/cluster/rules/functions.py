"""A definition of our own: one field a rule, for what the definitions of others ask too seldom or not at all."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import yaml

from tests.cluster.harness.client import Body

ROWS: Final[dict[str, dict[str, Any]]] = yaml.safe_load((Path(__file__).parent / "functions.yaml").read_text())
"""A field each: its `schema`, its `rule`, and `values` that keep or break it."""


def definition() -> Body:
    """Return the definition, a field a row."""
    fields = {name: {**row["schema"], "x-kubernetes-validations": [_entry(row["rule"])]} for name, row in ROWS.items()}
    schema = {"type": "object", "properties": {"spec": {"type": "object", "properties": fields}}}
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}}
    names = {"kind": "Probe", "plural": "probes", "singular": "probe", "listKind": "ProbeList"}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "probes.mlspec.dev"},
        "spec": {"group": "mlspec.dev", "scope": "Namespaced", "names": names, "versions": [version]},
    }


def objects() -> list[tuple[str, Body]]:
    """Return an object for each value of each row, with words for it."""
    head = {"apiVersion": "mlspec.dev/v1", "kind": "Probe", "metadata": {"name": "probe"}}
    return [
        (f"{name} {value!r}", {**head, "spec": {name: value}}) for name, row in ROWS.items() for value in row["values"]
    ]


def _entry(rule: str | dict[str, Any]) -> dict[str, Any]:
    return rule if isinstance(rule, dict) else {"rule": rule}
