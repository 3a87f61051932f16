"""Rules in CEL (`x-kubernetes-validations`), evaluated as kube-apiserver does when an object is created.

Source: apiextensions-apiserver 1.34, pkg/apiserver/schema/cel/validation.go and pkg/apiserver/schema/defaulting. An
object is judged with the defaults of its definition; a rule about the old object is not asked, unless it is written for
one that may be missing; a rule that cannot be computed refuses. The library that evaluates is imported for a schema
with such rules only.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from mlspec.validation import structure
from mlspec.validation.cel.text import asked_on_creation
from mlspec.validation.objection import Objection
from mlspec.validation.structure import Structure


def judge(schema: Path, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield the rules of a schema that a new object breaks."""
    asked = _asked(schema)
    if asked is not None:
        yield from judge_by(asked, body)


def judge_by(schema: Structure, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield the rules of a schema at hand that a new object breaks; its types are right."""
    try:
        from mlspec.validation.cel import evaluate  # late: no kind that mlspec emits has a rule for new objects today
    except ModuleNotFoundError as error:
        if not str(error.name).startswith("cel_expr_python"):
            raise
        message = "the definition of the kind has rules in CEL, and the library that evaluates them is not installed"
        yield Objection("MLS314", message, help="pip install 'mlspec-gitops[cel]'")
        return
    yield from evaluate.judge(schema, body)


@cache
def _asked(schema: Path) -> Structure | None:
    """Return a schema that has rules for new objects."""
    found = structure.read(schema)
    return found if any(map(asked_on_creation, found.rules())) else None
