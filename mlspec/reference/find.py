"""A field as a user says it in, its definitions out, or what was probably meant.

`steps.train.nodes`, `steps.*.nodes`, `steps.<name>.nodes`, `steps.nodes` and `nodes` are the same field.
"""

from __future__ import annotations

import re
import typing
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Final

from mlspec.diagnostics import nearest
from mlspec.model.blocks import Arguments
from mlspec.reference.fields import ENVIRONMENT, Definition, Use, bare, pairs

_NAME: Final = r"(?:<[^>]*>|[^.]+)"
_RESOURCE: Final = r"(?:<[^>]*>|[^/]+/[^/]+)"


@dataclass(frozen=True, slots=True)
class Found:
    """What a question leads to: definitions of one path (kinds may differ), or several paths to choose from."""

    definitions: tuple[Definition, ...] = ()
    paths: tuple[str, ...] = ()


def find(question: str) -> Found:
    """Return the field that is meant: by its whole path, without names, by its last parts, by an entry of its map."""
    asked = re.sub(r"\[[^\]]*\]", ".0", question.strip().strip("."))
    # An override is the field that it overrides.
    inner = re.sub(rf"^environments\.{_NAME}\.", "", asked)
    for text in dict.fromkeys((asked, inner)):
        for meant in (_whole, _in_environment, _unnamed, _last, _entry):
            matches = [(definition, use) for definition, use in pairs() if meant(definition, use, text)]
            if matches:
                return _chosen(matches)
    return Found()


def _chosen(matches: list[tuple[Definition, Use]]) -> Found:
    """Put the uses that matched before the others; paths of one definition are one answer."""
    chosen = {id(definition): definition for definition, _ in matches}
    uses = {key: [use for definition, use in matches if id(definition) == key] for key in chosen}
    found = tuple(
        replace(definition, uses=[*uses[key], *(use for use in definition.uses if use not in uses[key])])
        for key, definition in chosen.items()
    )
    paths = tuple(dict.fromkeys(definition.uses[0].dotted for definition in found))
    return Found(paths=paths) if len(paths) > 1 else Found(found, paths)


def _pattern(parts: Iterable[str], *, named: bool = True) -> str:
    """Return the expression for a path; without `named`, names of the user's own are left out."""
    shown = (
        _RESOURCE if "/" in part else _NAME if part.startswith("<") else re.escape(part)
        for part in parts
        if named or not part.startswith("<") or "/" in part
    )
    return r"\.".join(shown)


def _whole(definition: Definition, use: Use, asked: str) -> bool:
    return re.fullmatch(_pattern(use.path), asked) is not None


def _in_environment(definition: Definition, use: Use, asked: str) -> bool:
    return use.path[0] == ENVIRONMENT and re.fullmatch(_pattern(use.path[1:]), asked) is not None


def _unnamed(definition: Definition, use: Use, asked: str) -> bool:
    return re.fullmatch(_pattern(use.path, named=False), asked) is not None


def _last(definition: Definition, use: Use, asked: str) -> bool:
    return any(
        re.fullmatch(_pattern(use.path[start:], named=named), asked)
        for start in range(1, len(use.path))
        if not use.path[start].startswith("<")
        for named in (True, False)
    )


def _entry(definition: Definition, use: Use, asked: str) -> bool:
    """Say whether an entry of a map or list is meant: `steps.train`, `env.LEVEL`, `nodeSelector.example.com/pool`."""
    found = bare(definition.type)
    if definition.type != Arguments and typing.get_origin(found) not in (dict, tuple):
        return False
    # Below a table of maps the fields of the maps would have matched before; other names may hold dots.
    rest = _NAME if any(_below(other, use) for _, other in pairs()) else ".+"
    start = use.path[1:] if use.path[0] == ENVIRONMENT else use.path
    return re.fullmatch(rf"(?:{ENVIRONMENT}\.)?{_pattern(start)}\.{rest}", asked) is not None


def _below(other: Use, use: Use) -> bool:
    return len(other.path) > len(use.path) and other.path[: len(use.path)] == use.path


def suggestion(question: str, others: Iterable[str] = ()) -> str | None:
    """Return what was probably meant: a path in the form of the question, or one of `others`."""
    asked = question.split(".")
    options = set(others)
    for _, use in pairs():
        last = use.path[-len(asked) :]
        if len(last) == len(asked):
            filled = (mine if part.startswith("<") else part for part, mine in zip(last, asked, strict=True))
            options.add(".".join(filled))
    return nearest(question, options - {question})
