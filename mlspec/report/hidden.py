"""Findings and sources on their way to a renderer: the secrets that users wrote are hidden."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple

from mlspec.diagnostics import Diagnostic
from mlspec.literals.found import HIDDEN
from mlspec.source import LINE_BREAK

if TYPE_CHECKING:
    from mlspec.literals.redaction import Hidden


class Masked(NamedTuple):
    """A line as it is shown, and where what stood at a column stands now; columns count from 1."""

    text: str
    places: tuple[tuple[int, int, int], ...] = ()
    """Of each secret: where it began and ended, and where what is shown instead begins; from 0."""

    def column(self, column: int) -> int:
        """Return a column of the original line in what is shown; one inside of a secret is its beginning."""
        moved = column
        for start, end, now in self.places:
            if column - 1 >= end:
                moved = column - end + now + len(HIDDEN)
            elif column - 1 > start:
                return now + 1
            elif column - 1 == start:
                moved = now + 1
        return moved


def mask(line: str, secrets: Iterable[tuple[int, int]]) -> Masked:
    """Return a line without the secrets in it, by where they begin and end."""
    shown, at, places = "", 0, []
    for start, end in secrets:
        shown += line[at:start]
        places.append((start, end, len(shown)))
        shown += HIDDEN
        at = end
    return Masked(shown + line[at:], tuple(places))


class Source:
    """The text of a file, line by line; secrets are looked for where a line of it is shown."""

    def __init__(self, text: str) -> None:
        self._text = text
        self.lines = LINE_BREAK.split(text)

    @cached_property
    def _secrets(self) -> dict[int, list[tuple[int, int]]]:
        """Return where secrets stand, by line from 0 and characters in it; one may go over several lines."""
        from mlspec.literals.redaction import spans  # late: where nothing is found, nothing is shown

        found: dict[int, list[tuple[int, int]]] = {}
        secrets = spans(self._text)
        starts = [0, *(line.end() for line in LINE_BREAK.finditer(self._text))] if secrets else []
        for number, start in enumerate(starts):
            line = self.lines[number]
            inside = [
                (max(secret.start - start, len(line) - len(line.lstrip())), min(secret.end - start, len(line)))
                for secret in secrets
                if secret.start < start + len(line) and secret.end > start
            ]
            found |= {number: [(begin, end) for begin, end in inside if begin < end]} if inside else {}
        return found

    def masked(self, number: int) -> Masked:
        """Return a line by its number, from 1, without secrets."""
        return mask(self.lines[number - 1], self._secrets.get(number - 1, ()))


def without_secrets(diagnostics: Iterable[Diagnostic], texts: Mapping[str, str]) -> list[Diagnostic]:
    """Return findings whose words hold no secret of the files that they are about.

    A message may quote a value, whole or cut off, that only its name, lines away, tells to be a secret.
    """
    found = list(diagnostics)
    if not found:
        return found
    from mlspec.literals.redaction import Hidden  # late, as above

    hidden = Hidden(texts[name] for name in sorted({finding.span.file for finding in found}) if name in texts)
    return [_without(finding, hidden) for finding in found]


def _without(finding: Diagnostic, hidden: Hidden) -> Diagnostic:
    return replace(
        finding,
        message=hidden.redact(finding.message),
        help=hidden.redact(finding.help),
        path=hidden.redact(finding.path),
        related=tuple(replace(other, message=hidden.redact(other.message)) for other in finding.related),
    )
