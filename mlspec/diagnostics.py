"""Findings as values: what is wrong, where, and what to write instead; imports nothing of ours."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple

_LONGEST: Final = 2000
"""Characters of a message."""


class Severity(StrEnum):
    """How much a finding weighs: only errors stop a command."""

    ERROR = "error"
    WARNING = "warning"
    NOTE = "note"


class Span(NamedTuple):
    """A stretch of a file; lines and columns are 1-based characters, the end column is exclusive."""

    file: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


@dataclass(frozen=True, slots=True)
class Related:
    """A second place that explains the first, for example where a name was declared before."""

    span: Span
    message: str


@dataclass(frozen=True, slots=True)
class Diagnostic:
    """One finding; `code` is stable and listed in `mlspec.codes`, `path` is the dotted field."""

    code: str
    message: str
    span: Span
    path: str = ""
    help: str = ""
    severity: Severity = Severity.ERROR
    related: tuple[Related, ...] = ()

    def __post_init__(self) -> None:
        """Cut what nobody would read, such as an object of a patch that a message quotes whole."""
        if len(self.message) > _LONGEST:
            object.__setattr__(self, "message", f"{self.message[:_LONGEST]} …")

    def moved(self, span: Span) -> Diagnostic:
        """Return the same finding at another place."""
        return replace(self, span=span)


@dataclass(frozen=True, slots=True)
class Accepted:
    """A policy finding that an `allow` accepts, with its reason; `path` is where the `allow` stands."""

    code: str
    message: str
    reason: str
    path: tuple[str, ...]


def whole_file(file: str) -> Span:
    """Return the place of a finding about a file as such (1:1)."""
    return Span(file)


def nearest(word: str, options: Iterable[str]) -> str | None:
    """Return the option that `word` was probably meant to be, or None."""
    by_lower = {option.lower(): option for option in sorted(options, reverse=True)}
    found = difflib.get_close_matches(word.lower(), by_lower, n=1, cutoff=0.6)
    return by_lower[found[0]] if found else None


def suggestion(word: str, options: Iterable[str], what: str = "known") -> str:
    """Return a help sentence for a word outside a closed set: the nearest match, else the set."""
    choices = sorted(set(options))
    match = nearest(word, choices)
    if match is not None:
        return f"did you mean `{match}`?"
    if not choices:
        return ""
    return f"{what}: " + ", ".join(f"`{choice}`" for choice in choices[:12]) + (", …" if len(choices) > 12 else "")


def listed(texts: Iterable[str], separator: str = ", ", most: int = 8) -> str:
    """Return texts as a list in a sentence: once each, and of many the first, so that the finding can be read."""
    found = list(dict.fromkeys(texts))
    more = [f"{len(found) - most} more"] if len(found) > most else []
    return separator.join([*found[:most], *more])


def across(found: Iterable[tuple[str, Diagnostic]]) -> list[Diagnostic]:
    """Return findings of several environments, each given with its name, once each.

    What says the same of the same line, but for the environment's name, is one finding, the gravest, and names all.
    """
    rank = list(Severity)
    groups: dict[object, list[tuple[str, Diagnostic]]] = {}
    for name, one in found:
        groups.setdefault((one.code, one.span, _general(one.message, name)), []).append((name, one))
    return [_together(sorted(group, key=lambda item: rank.index(item[1].severity))) for group in groups.values()]


def _general(message: str, environment: str) -> str:
    return re.sub(rf"\benvironment {re.escape(environment)}(?![\w-])", "environment *", message)


def _together(group: list[tuple[str, Diagnostic]]) -> Diagnostic:
    (name, first), *_ = group
    others = list(dict.fromkeys(other for other, _ in group if other != name))
    if not others or _general(first.message, name) == first.message:
        return first
    return replace(first, message=f"{first.message} (and so in {sentence(others)})")


def sentence(words: Sequence[str]) -> str:
    """Return words as they are listed in a sentence: `a, b and c`; raises IndexError for none."""
    return f"{', '.join(words[:-1])} and {words[-1]}" if len(words) > 1 else words[0]


def ordered(diagnostics: Iterable[Diagnostic]) -> list[Diagnostic]:
    """Return findings once each (environments repeat them, and may weigh them differently), the gravest of each.

    The order is by file, place, severity and code.
    """
    rank = {Severity.ERROR: 0, Severity.WARNING: 1, Severity.NOTE: 2}
    unique: dict[object, Diagnostic] = {}
    for diagnostic in diagnostics:
        known = unique.setdefault((diagnostic.code, diagnostic.span, diagnostic.message), diagnostic)
        if rank[diagnostic.severity] < rank[known.severity]:
            unique[diagnostic.code, diagnostic.span, diagnostic.message] = diagnostic
    return sorted(unique.values(), key=lambda d: (d.span, rank[d.severity], d.code, d.message))


def has_errors(diagnostics: Iterable[Diagnostic]) -> bool:
    """Say whether any finding is an error."""
    return any(d.severity is Severity.ERROR for d in diagnostics)
