"""One field in, what `mlspec explain FIELD` prints out."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import Final

from mlspec.reference.fields import Definition, Use, pairs
from mlspec.reference.words import default_words, example_lines, type_words

_WIDTH: Final = 100
_LABEL: Final = 10
# Not hashed by its own value, but by the digests of the steps that it names.
_UPSTREAM: Final = "needs"


def render(definition: Definition) -> str:
    """Return the page of one field, for a terminal."""
    use = definition.uses[0]
    lines = [use.dotted, "", *textwrap.wrap(definition.meaning or "–", _WIDTH), ""]
    for label, text in _facts(definition, use):
        indent = " " * _LABEL
        wrapped = textwrap.wrap(text, _WIDTH - _LABEL, break_long_words=False, break_on_hyphens=False)
        lines += [f"{(label if index == 0 else ''):<{_LABEL}}{line}" for index, line in enumerate(wrapped)] or [indent]
    return "\n".join(lines) + "\n"


def _facts(definition: Definition, use: Use) -> Iterator[tuple[str, str]]:
    yield "type", type_words(definition.type)
    yield "default", default_words(definition)
    kinds = dict.fromkeys(other.kind for other in definition.uses if other.path == use.path and other.kind)
    if kinds:
        yield "kinds", ", ".join(kinds)
    yield from (("run", text) for text in run_words(use))
    yield "goes to", definition.goes
    inside = fields_inside(use)
    if inside:
        yield "fields", ", ".join(inside)
    others = dict.fromkeys(other.dotted for other in definition.uses if other.path != use.path)
    if others:
        yield "also", ", ".join(others)
    for line in example_lines(definition):
        yield "example", line


def run_words(use: Use) -> Iterator[str]:
    """Yield whether a field of a step is part of its run's name; nothing for what has no run."""
    if use.top == _UPSTREAM and use.path[0] == "steps":
        yield "part of its name, by the names of the runs that it needs"
    elif use.hashed is not None:
        yield "part of its name: another value is another run" if use.hashed else "not part of its name: starts no run"


def fields_inside(use: Use) -> list[str]:
    """Return the names of the fields directly below a path, a table's placeholder passed over."""
    found: dict[str, None] = {}
    for _, other in pairs():
        if other.path[: len(use.path)] == use.path and (not use.kind or other.kind == use.kind):
            rest = [part for part in other.path[len(use.path) :] if not part.startswith("<") or "/" in part]
            if len(rest) == 1:
                found[rest[0]] = None
    return list(found)
