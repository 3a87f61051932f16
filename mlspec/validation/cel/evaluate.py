"""A schema with rules and an object in, the rules that the object breaks out.

Source: apiextensions-apiserver 1.34, pkg/apiserver/schema/cel/validation.go: the order, what a message and a path are,
and that a rule whose evaluation fails refuses the object. What it costs to evaluate a rule is not counted: a definition
whose rules cost too much is refused itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from mlspec.validation.cel import functions, parsed
from mlspec.validation.cel.defaults import defaulted
from mlspec.validation.cel.library import cel, extensions
from mlspec.validation.cel.text import MEMBERS, NOBODY, asked_on_creation, respelled
from mlspec.validation.cel.values import seen
from mlspec.validation.objection import Objection, Path, words
from mlspec.validation.structure import Node, Schema, Structure

_LONGEST: Final = 5120
"""Bytes of a computed message; a longer one is not used (pkg/apis/cel/config.go)."""
_FORMATS: Final = {"duration": "duration(self)", "date-time": "timestamp(self)"}
"""Texts that a rule sees as what they mean; only where they are what the rule is about."""
_STEP: Final = re.compile(r"\.(?P<field>[^.\[\]']+)|\['(?P<key>(?:\\.|[^'\\])*)'\]")
_REASONS: Final = {
    "FieldValueForbidden": "forbidden: ",
    "FieldValueRequired": "required: ",
    "FieldValueDuplicate": "duplicate: ",
}


class _Answer(NamedTuple):
    """What became of an expression: its value, or why it has none."""

    value: Any = None
    error: str = ""


def judge(structure: Structure, body: dict[str, Any]) -> Iterator[Objection]:
    """Yield an objection for each rule that a new object breaks, the outer ones first."""
    if structure.tree is not None:
        yield from _below(structure, structure.tree, defaulted(structure, structure.root, body), ())


def problem(rule: Schema) -> str:
    """Return why a rule's expressions cannot be evaluated here, empty if they can."""
    return next((error for text in _expressions(rule) if (error := _compiled(text)[1])), "")


def _below(structure: Structure, node: Node, value: Any, at: Path) -> Iterator[Objection]:
    if value is None:
        return
    asked = [rule for rule in node.rules if asked_on_creation(rule)]
    if asked:
        self = seen(structure, node.schema, value, resource=node.resource)
        for rule in asked:
            yield from _of_rule(rule, node.schema, self, at)
    if isinstance(value, dict):
        for name, item in value.items():
            child = node.fields.get(name) or node.every
            if child is not None:
                yield from _below(structure, child, item, (*at, name))
    elif isinstance(value, list) and node.items is not None:
        for index, item in enumerate(value):
            yield from _below(structure, node.items, item, (*at, index))


def _of_rule(rule: Schema, schema: Schema, self: Any, at: Path) -> Iterator[Objection]:
    if not rule["rule"].strip():
        return
    expression = _spelled(rule["rule"], rule, schema)
    answer = _evaluated(expression, self)
    named = str(rule.get("message") or rule["rule"]).strip()
    if answer.error:
        yield Objection("MLS314", f"{words(at)}: {answer.error}, evaluating the rule: {named}", at)
    elif answer.value is not True:
        field = (*at, *_steps(rule.get("fieldPath", "")))
        reason = _REASONS.get(rule.get("reason", ""), "")
        yield Objection("MLS314", f"{words(field)}: {reason}{_message(rule, schema, self)}", field)


def _message(rule: Schema, schema: Schema, self: Any) -> str:
    """Return what the definition says of a broken rule: computed, where that gives one line, or as it is written."""
    if rule.get("messageExpression"):
        answer = _evaluated(_spelled(rule["messageExpression"], rule, schema), self)
        text = answer.value.strip() if isinstance(answer.value, str) and not answer.error else ""
        if text and "\n" not in text and len(text.encode()) <= _LONGEST:
            return text
    written = str(rule.get("message") or "").strip()
    return written or f"failed rule: {rule['rule'].strip()}"


def _spelled(expression: str, rule: Schema, schema: Schema) -> str:
    """Return an expression as the library takes it."""
    exchanged: dict[str, str] = dict(MEMBERS)
    if rule.get("optionalOldSelf"):
        exchanged["oldSelf"] = NOBODY
    if schema.get("type") == "string" and schema.get("format") in _FORMATS:
        exchanged["self"] = _FORMATS[schema["format"]]
    return respelled(expression, exchanged)


def _expressions(rule: Mapping[str, Any]) -> Iterator[str]:
    for name in ("rule", "messageExpression"):
        if rule.get(name):
            yield _spelled(rule[name], rule, {})


def _evaluated(expression: str, self: Any) -> _Answer:
    program, problem = _compiled(expression)
    if problem:
        return _Answer(error=f"it cannot be evaluated here ({problem})")
    try:
        result = program.eval(data={"self": self})
        if result.type().name() == "ERROR":
            return _Answer(error=_short(str(result.plain_value())))
        return _Answer(result.plain_value())
    except RuntimeError as error:
        return _Answer(error=_short(str(error)))


@cache
def _compiled(expression: str) -> tuple[Any, str]:
    """Return the program of an expression, or why there is none."""
    try:
        return _environment().compile(expression), ""
    except RuntimeError as error:
        return None, _short(str(error))


@cache
def _environment() -> Any:
    """Return what Kubernetes declares for rules, as far as the library and we have it.

    Missing: macros with two variables (1.32), `sortBy` (1.34), and the library `format` (1.31).
    """
    return cel.NewEnv(
        variables={"self": cel.Type.DYN, "oldSelf": cel.Type.DYN},
        functions=[*functions.declared(), *parsed.declared()],
        extensions=extensions(),
    )


def _short(text: str) -> str:
    """Return the first line of the library's words, without its status."""
    line = text.split("\n", 1)[0].removesuffix(" [INVALID_ARGUMENT]")
    line = re.sub(r"^[A-Z_]+: (ERROR: <input>:\d+:\d+: )?", "", line)
    return line if len(line) <= 200 else f"{line[:199]}…"


def _steps(path: str) -> Path:
    """Return the field that a rule points to, below the place where it stands: `.spec.a['b/c']`."""
    return tuple(
        found["field"] if found["field"] is not None else re.sub(r"\\(.)", r"\1", found["key"])
        for found in _STEP.finditer(path)
    )
