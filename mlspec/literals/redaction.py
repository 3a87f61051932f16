"""Text on its way out of the program, without the secrets in it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Final

from mlspec.literals import assignments, values
from mlspec.literals.found import HIDDEN, Found, apart
from mlspec.literals.keys import FIELDS, could_be, meaning

_RECOGNISED: Final = 6
"""Characters of a secret by which it is known again elsewhere; a shorter one could be any word."""
_FEW: Final = 64
"""Secrets that are looked for one by one; of more, a text is searched once for all."""
_ENDS: Final = frozenset({"…", "'", "`", '"', ""})
"""What stands behind a value that was cut off."""


def spans(text: str) -> list[Found]:
    """Return where secrets stand in a text, in order and without overlaps; each of them wherever it stands again."""
    found = sorted([*values.find(text), *assignments.find(text)])
    if found:
        known = Hidden([text], found)
        found += [Found(start, end, "a secret") for start, end in known.places(text, whole=True)]
    return apart(found)


def redact(text: str) -> str:
    """Return a text with its secrets hidden."""
    return without(text, ((found.start, found.end) for found in spans(text)))


def without(text: str, places: Iterable[tuple[int, int]]) -> str:
    """Return a text with something else where secrets stand: places in order and apart."""
    shown, at = [], 0
    for start, end in places:
        shown += [text[at:start], HIDDEN]
        at = end
    return "".join([*shown, text[at:]]) if shown else text


def redact_field(path: str, value: str) -> str:
    """Return a value with the secrets in it hidden; all of it where the last name of its path says that it is one."""
    name = path.removesuffix(".value").rpartition(".")[2]
    says = meaning(name) if name not in FIELDS else None
    return HIDDEN if says is not None and could_be(value, says.level) else redact(value)


class Hidden:
    """The secrets of some texts, known again wherever else they are quoted, whole or cut off."""

    def __init__(self, texts: Iterable[str], found: Iterable[Found] | None = None) -> None:
        """Take the secrets that are found in texts; `found` are those of the only text, where they are known."""
        secrets = {text[item.start : item.end] for text in texts for item in (spans(text) if found is None else found)}
        parts = {line.strip() for value in secrets for line in (value, *value.splitlines())} - {"", HIDDEN}
        self._heads: dict[str, list[str]] = {}
        for part in sorted((part for part in parts if len(part) >= _RECOGNISED), key=len, reverse=True):
            self._heads.setdefault(part[:_RECOGNISED], []).append(part)
        self._short = sorted(part for part in parts if len(part) < _RECOGNISED)

    def redact(self, text: str) -> str:
        """Return a text with these secrets hidden, and with those that it can be seen to hold."""
        text = without(text, self.places(text, whole=False))
        for value in self._short:
            for quote in ("`", '"'):
                text = text.replace(f"{quote}{value}{quote}", f"{quote}{HIDDEN}{quote}")
        return redact(text)

    def places(self, text: str, *, whole: bool) -> list[tuple[int, int]]:
        """Return where the secrets stand, in order and apart; the beginning of one counts unless `whole` is wanted."""
        found: list[tuple[int, int]] = []
        for start in sorted(self._candidates(text)):
            if not found or start >= found[-1][1]:
                end = self._end(text, start, whole=whole)
                found += [(start, end)] if end is not None else []
        return found

    def _candidates(self, text: str) -> Iterator[int]:
        if len(self._heads) > _FEW:
            last = len(text) - _RECOGNISED
            yield from (at for at in range(last + 1) if text[at : at + _RECOGNISED] in self._heads)
            return
        for head in self._heads:
            at = text.find(head)
            while at >= 0:
                yield at
                at = text.find(head, at + 1)

    def _end(self, text: str, start: int, *, whole: bool) -> int | None:
        """Return where a secret ends that begins at a place; None where it is only a word that begins like one."""
        for value in self._heads[text[start : start + _RECOGNISED]]:
            if text.startswith(value, start):
                return start + len(value)
        for value in self._heads[text[start : start + _RECOGNISED]] if not whole else ():
            end = start + _RECOGNISED
            while text[end : end + 1] == value[end - start : end - start + 1]:
                end += 1
            if text[end : end + 1] in _ENDS:
                return end
        return None
