"""Findings 314 and 318: what a schema file says beyond JSON Schema."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import Code

SCHEMAS: Final[dict[str, Code]] = {
    "MLS314": Code(
        "refused by a rule of the definition",
        "The definition of the kind has rules in CEL (`x-kubernetes-validations`), which the API server evaluates "
        "after it has filled in defaults. mlspec does the same, with the rules of the declared version; the message is "
        "the definition's own. A rule that cannot be computed, since a field is missing that it reads, refuses, too.",
    ),
    "MLS318": Code(
        "twice in a list",
        "The API server keeps some lists as sets or maps: of ports with the same `containerPort` and `protocol`, of "
        "mounts with the same `mountPath`, it takes each once. For custom resources that is in their definition; for "
        "other kinds server-side apply, which Argo CD uses here, refuses what is there twice.",
    ),
}
