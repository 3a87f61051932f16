"""Tables of provenance: rows that say of a field of a manifest which fields of the spec make it.

A row is a path and an origin. In the path, which is separated by spaces since keys may hold dots, `*` is any key or
number. Of several rows that a field lies below, the longest holds, then the one that names more keys.

An origin is text, or a function for what text cannot say. In the text `|` separates fields of which the first that is
written decides, and `+` what else has a say. A field begins with `/` where it is one of the project, with `@` where it
is one of the environment's file, and stands alone where it is one of the step or service; `*` in it is the last key
that a `*` of the path stood for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mlspec.ir import PartPath
from mlspec.ir_sources import Source
from mlspec.provenance.view import At, Chain, Origin, Path, View, own

Maker = Callable[[At], Origin]
Rows = Mapping[str, str | Maker]


def no_part(view: View, stars: Path) -> PartPath:  # the signature of `Table.part`
    """Of most kinds all pods are alike."""
    return ()


@dataclass(frozen=True, slots=True)
class Table:
    """The rows of a kind of object."""

    rows: Rows
    part: Callable[[View, Path], PartPath] = no_part
    """Which part of its workload a field is about, by what stands where its row has a `*`."""

    def origin(self, view: View, path: Path) -> Origin:
        """Return what the field at a path comes from; without a row, whatever caused the object."""
        best: tuple[tuple[int, int], str, Path] | None = None
        for row in self.rows:
            stars = _stars(row, path)
            if stars is not None:
                rank = (len(_keys(row)), -len(stars))
                best = max(best, (rank, row, stars), key=lambda one: one[0]) if best else (rank, row, stars)
        if best is None:
            return ((Source(view.origin),),)
        (length, _), row, stars = best
        at = At(view, stars, value_at(view.body, path[:length]), path[length:], self.part(view, stars))
        maker = self.rows[row]
        return maker(at) if callable(maker) else said(maker, at)


def below(prefix: str, rows: Rows) -> dict[str, str | Maker]:
    """Return rows as they stand below a field."""
    return {f"{prefix} {row}".strip(): maker for row, maker in rows.items()}


def with_say(rows: Rows, also: str) -> dict[str, str | Maker]:
    """Return rows of values that further fields have a say in."""
    return {row: _with_say(maker, also) for row, maker in rows.items()}


def _with_say(maker: str | Maker, also: str) -> str | Maker:
    if not callable(maker):
        return f"{maker} + {also}"
    return lambda at: (*maker(at), *said(also, at))


@lru_cache(maxsize=4096)
def _keys(row: str) -> tuple[str, ...]:
    return tuple(row.split())


def _stars(row: str, path: Path) -> Path | None:
    """Return what stands for the stars of a row that a path lies below; None where it does not."""
    keys = _keys(row)
    if len(keys) > len(path):
        return None
    found: list[str | int] = []
    for key, part in zip(keys, path, strict=False):
        if key == "*":
            found.append(part)
        elif key != part:
            return None
    return tuple(found)


def value_at(body: Any, path: Iterable[str | int]) -> Any:
    """Return the value at a path of a manifest; None where nothing is."""
    for key in path:
        if isinstance(body, dict) and isinstance(key, str):
            body = body.get(key)
        elif isinstance(body, list) and isinstance(key, int) and 0 <= key < len(body):
            body = body[key]
        else:
            return None
    return body


def said(text: str, at: At) -> Origin:
    """Return the origin that a text says."""
    return tuple(_chain(chain, at) for chain in text.split("+"))


def _chain(text: str, at: At) -> Chain:
    found: list[Source] = []
    for field in text.split("|"):
        words = field.split()
        keys = tuple(at.key if word == "*" else word for word in (words[0].lstrip("/@"), *words[1:]))
        if words[0].startswith("/"):
            found.append(Source(keys))
        elif words[0].startswith("@"):
            found.append(Source(keys, of_environment=True))
        else:
            found += own(at, *(keys if keys != (".",) else ()))
    return tuple(found)
