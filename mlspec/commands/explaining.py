"""The part of `mlspec explain` that needs the models."""

from __future__ import annotations

import re

import click

from mlspec.codes import CODES
from mlspec.policy import rules
from mlspec.reference import page as fields
from mlspec.reference import text
from mlspec.reference.find import find, suggestion


def page() -> str:
    """Return the reference: every field, then every policy rule."""
    return f"{fields.page()}\n{rules.page()}"


def explain_field(question: str) -> str:
    """Return what is known about a field; raises click.BadParameter for what is none, or could be several."""
    found = find(question)
    if found.definitions:
        return "\n".join(map(text.render, found.definitions))
    if found.paths:
        several = ", ".join(found.paths)
        raise click.BadParameter(f"`{question}` could be any of {several}", param_hint="FIELD")
    codes = CODES if "." not in question else ()
    match = suggestion(question, codes) or suggestion(question.upper(), codes)
    if re.fullmatch(r"MLS[0-9]*", question.upper()):
        hint = f"did you mean {match}?" if match else f"codes go from {min(CODES)} to {max(CODES)}"
        raise click.BadParameter(f"there is no finding `{question}`; {hint}", param_hint="CODE")
    hint = f"did you mean {match}?" if match else "`mlspec explain --reference` prints all of them"
    raise click.BadParameter(f"there is no field `{question}`; {hint}", param_hint="FIELD")
