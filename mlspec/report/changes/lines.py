"""Lines about differences: our words with values of users' in them, which each format shows in its own safe way."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from mlspec.changes.values import Field, Gpus, Load
from mlspec.literals.redaction import redact, redact_field

LONGEST: Final = 120
"""Characters of a value that are shown."""
_AROUND: Final = 24
"""Characters before and behind what differs in a long value."""


@dataclass(frozen=True, slots=True)
class Line:
    """A sentence: `{}` in the template stands for a value, whose secrets are hidden."""

    template: str
    values: tuple[str, ...] = ()

    def shown(self, value: Callable[[str], str]) -> str:
        """Return the sentence, with each value as a format writes it."""
        return self.template.format(*(value(cut(redact(text))) for text in self.values))


@dataclass(frozen=True, slots=True)
class Row:
    """A line, and what belongs to it."""

    line: Line
    details: tuple[Line, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Rows about one subject."""

    title: str
    rows: tuple[Row, ...]


def line(template: str, *values: str) -> Line:
    """Return a line."""
    return Line(template, values)


def cut(text: str) -> str:
    """Return the beginning of a long value."""
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def focus(before: str, after: str) -> tuple[str, str]:
    """Return two long values around what differs in them."""
    if max(len(before), len(after)) <= LONGEST:
        return before, after
    start = _common(before, after)
    end = _common(before[start:][::-1], after[start:][::-1])
    return _around(before, start, len(before) - end), _around(after, start, len(after) - end)


def _common(first: str, second: str) -> int:
    """Return how many characters two texts begin with alike."""
    pairs = enumerate(zip(first, second, strict=False))
    return next((index for index, (one, other) in pairs if one != other), min(len(first), len(second)))


def _around(text: str, start: int, end: int) -> str:
    left, right = max(0, start - _AROUND), min(len(text), end + _AROUND)
    return ("…" if left else "") + text[left:right] + ("…" if right < len(text) else "")


def count(number: int, noun: str) -> str:
    """Return a number with its noun: `1 run`, `2 runs`, `3 policies`."""
    if number == 1:
        return f"1 {noun}"
    plural = f"{noun[:-1]}ies" if noun[-1:] == "y" else f"{noun}es" if noun[-1:] in "sx" else f"{noun}s"
    return f"{number} {plural}"


def number(value: Decimal) -> str:
    """Return hours with at most two digits behind the point."""
    text = f"{value:.2f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def hours(value: Decimal) -> str:
    """Return GPU-hours."""
    return f"{number(value)} GPU-hour{'s' if value != 1 else ''}"


def money(value: Decimal) -> str:
    """Return a sum of money; the catalogue does not say in which currency."""
    return f"{value:.2f}"


def gpus(found: Iterable[Gpus]) -> str:
    """Return GPUs by type: `4 a100, 2 t4`."""
    return ", ".join(f"{item.count} {item.type}" for item in found)


def load_words(found: Load) -> str:
    """Return what a workload takes: `4 pods, 4 a100, at most 48 GPU-hours, at most 119.04`."""
    words = [count(found.pods, "pod")]
    words += [gpus(found.gpus)] if found.gpus else []
    if found.gpus and found.gpu_hours is not None:
        words.append(f"at most {hours(found.gpu_hours)}")
        words += [f"at most {money(found.cost)}"] if found.cost is not None else []
    elif found.gpus:
        words.append("without a deadline")
    return ", ".join(words)


def field_line(field: Field) -> Line:
    """Return a field with what it was and is; a secret is hidden before a part of it could be cut out."""
    before, after = (redact_field(field.path, text) if text else text for text in (field.before, field.after))
    if before is None:
        return line("{}: {} is new", field.path, after or "")
    if after is None:
        return line("{}: {} is removed", field.path, before)
    return line("{}: {} → {}", field.path, *focus(before, after))


def some(fields: Iterable[Field], most: int) -> Iterator[Line]:
    """Yield the first fields, and how many there are besides."""
    found = list(fields)
    yield from map(field_line, found[:most])
    if len(found) > most:
        yield line(f"and {count(len(found) - most, 'more field')}")
