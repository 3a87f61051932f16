"""Where two judges of objects with one fault each differ, and why: rows that hold, and none that does not."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import yaml

from tests.cluster.mutants import Mutant


@dataclass(frozen=True)
class Row:
    """Who alone refuses which faults of which fields, and for what reason; no kinds are all of them."""

    only: str
    kinds: tuple[str, ...]
    faults: tuple[str, ...]
    fields: tuple[str, ...]
    reason: str

    def holds(self, mutant: Mutant, who: str) -> bool:
        """Say whether the row is about a mutant that only one of them refuses."""
        named = any(re.fullmatch(re.escape(field).replace(r"\*", ".*"), mutant.field) for field in self.fields)
        of_kind = not self.kinds or mutant.kind in self.kinds
        return self.only == who and of_kind and mutant.fault in self.faults and named


def table(path: Path) -> list[Row]:
    """Return the rows of a file; `*` in a field stands for anything."""
    return [
        Row(row["only"], tuple(row.get("kinds", ())), tuple(row["faults"]), tuple(row["fields"]), row["reason"])
        for row in yaml.safe_load(path.read_text()) or ()
    ]


def unexplained(rows: Sequence[Row], found: Iterable[tuple[Mutant, str, str]]) -> list[str]:
    """Return differences (a mutant, who alone refuses it, the words) without a row, and rows without a difference."""
    used: set[Row] = set()
    wrong = []
    for mutant, who, said in found:
        holding = [row for row in rows if row.holds(mutant, who)]
        used.update(holding)
        wrong += [] if holding else [f"{mutant}: only {who} refuses it: {said}"]
    return wrong + [f"no difference is left for the row: {row.reason}" for row in rows if row not in used]
