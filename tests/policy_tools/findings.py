"""What a tool says, and the table of what it may say: `accepted.yaml`."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

TOOLS: Final = ("checkov", "kube-score")
TABLE: Final = Path(__file__).parent / "accepted.yaml"


@dataclass(frozen=True, order=True)
class Finding:
    """What a tool has against an object or one container of it."""

    tool: str
    check: str
    on: str
    """What the table calls the object or container."""
    where: str
    """Golden project, object and container."""

    @property
    def key(self) -> tuple[str, str, str]:
        """What the table says once for all of its kind."""
        return (self.tool, self.check, self.on)


@dataclass(frozen=True)
class Accepted:
    """Rows of the table that have one reason: checks that ask for the same, and what they may be said of."""

    about: str
    checks: dict[str, tuple[str, ...]]
    """By tool."""
    on: tuple[str, ...]
    reason: str
    mend: str
    """Who can make it go away, and where."""

    @property
    def keys(self) -> set[tuple[str, str, str]]:
        """Each check of each tool on each of them."""
        return {(tool, check, on) for tool, checks in self.checks.items() for check in checks for on in self.on}


@dataclass(frozen=True)
class Table:
    """What the tools may say of what mlspec writes and of what operators add, and what each check asks for."""

    checks: dict[str, str]
    written: tuple[Accepted, ...]
    added: tuple[Accepted, ...]

    @property
    def rows(self) -> tuple[Accepted, ...]:
        """All of them."""
        return (*self.written, *self.added)


def accepted() -> Table:
    """Return the table in its order."""
    found = yaml.safe_load(TABLE.read_text())
    return Table(found["checks"], tuple(map(_row, found["written"])), tuple(map(_row, found["added"])))


def _row(found: dict[str, Any]) -> Accepted:
    checks: dict[str, tuple[str, ...]] = {tool: tuple(found[tool]) for tool in TOOLS if tool in found}
    assert found.keys() == {"about", *checks, "of", "reason", "mend"}
    return Accepted(found["about"], checks, tuple(found["of"]), found["reason"], found["mend"])


def unlisted(found: Iterable[Finding], table: Iterable[Accepted]) -> list[str]:
    """Return what is found and not in the table, with the first place of each."""
    listed = {key for row in table for key in row.keys}
    first: dict[tuple[str, str, str], str] = {}
    for finding in sorted(found):
        if finding.key not in listed:
            first.setdefault(finding.key, finding.where)
    return [f"{tool} {check} on {on}: {where}" for (tool, check, on), where in first.items()]


def not_found(found: Iterable[Finding], table: Iterable[Accepted]) -> list[str]:
    """Return what is in the table and not found any more."""
    seen = {finding.key for finding in found}
    return [" ".join(key) for key in sorted(key for row in table for key in row.keys if key not in seen)]


def places(found: Iterable[Finding], row: Accepted, tool: str) -> int:
    """Return how many objects or containers a tool finds that a row is about."""
    return len({finding.where for finding in found if finding.tool == tool and finding.key in row.keys})
