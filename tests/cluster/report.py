"""What the cluster's tests saw, as the tables that `make cluster-test` prints at its end."""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field


@dataclass
class Table:
    """Rows under a title; cells are printed as they are."""

    title: str
    columns: tuple[str, ...]
    rows: list[tuple[str, ...]] = field(default_factory=list)

    def add(self, *cells: object) -> None:
        """Add a row."""
        assert len(cells) == len(self.columns), cells
        self.rows.append(tuple(map(str, cells)))

    def lines(self) -> Iterator[str]:
        """Yield the table as text."""
        rows = [self.columns, *self.rows]
        widths = [max(len(row[index]) for row in rows) for index in range(len(self.columns))]
        yield self.title
        for number, row in enumerate(rows):
            cells = (cell.ljust(width) for cell, width in zip(row, widths, strict=True))
            yield ("  " + "  ".join(cells)).rstrip()
            if number == 0:
                yield "  " + "  ".join("-" * width for width in widths)


@dataclass
class Counter:
    """A table of sums: rows by key, in order, with a total."""

    table: Table
    sums: dict[tuple[str, ...], list[int]] = field(default_factory=dict)

    def add(self, key: tuple[str, ...], counts: tuple[int, ...]) -> None:
        """Add to the sums of a row."""
        row = self.sums.setdefault(key, [0] * len(counts))
        for index, count in enumerate(counts):
            row[index] += count

    def fill(self) -> None:
        """Write the rows into the table."""
        self.table.rows.clear()
        for key, row in sorted(self.sums.items()):
            self.table.add(*key, *row)
        total = [sum(column) for column in zip(*self.sums.values(), strict=True)]
        keys = len(self.table.columns) - len(total)
        self.table.add("total", *[""] * (keys - 1), *total)


@dataclass
class Report:
    """All tables of a session, in the order in which they were asked for."""

    tables: dict[str, Table] = field(default_factory=dict)
    counters: dict[str, Counter] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)

    def counter(self, title: str, keys: tuple[str, ...], counts: tuple[str, ...]) -> Counter:
        """Return the table of sums of a title; the first call gives its columns."""
        if title not in self.counters:
            self.counters[title] = Counter(self.table(title, *keys, *counts))
        return self.counters[title]

    def table(self, title: str, *columns: str) -> Table:
        """Return the table of a title; the first call gives its columns."""
        return self.tables.setdefault(title, Table(title, columns))

    def answer(self, question: str, case: str, words: str) -> None:
        """Add what an experiment answered to one of the questions in .github/ARCHITECTURE.md, by its letter."""
        self.table("Questions about Argo CD 3.5.1, answered by experiment", "question", "case", "answer").add(
            question, case, words
        )

    @contextmanager
    def timed(self, what: str) -> Iterator[None]:
        """Add the wall time of a block to what a name has already taken."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[what] = self.seconds.get(what, 0.0) + time.monotonic() - started

    def lines(self) -> Iterator[str]:
        """Yield everything as text."""
        for counter in self.counters.values():
            counter.fill()
        for table in self.tables.values():
            if table.rows:
                yield from table.lines()
                yield ""
        if self.seconds:
            wall = Table("Wall time (seconds)", ("part", "seconds"))
            for what, seconds in self.seconds.items():
                wall.add(what, f"{seconds:.1f}")
            yield from wall.lines()
