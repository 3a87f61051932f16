"""Differences in, Markdown out, for a comment on a pull request: whatever users wrote is shown, and does nothing.

GitHub takes comments of 65,536 characters; this stays below 60,000, and says how much it left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from mlspec.changes.totals import totals
from mlspec.changes.values import EnvironmentChanges, RootChanges, Start
from mlspec.literals.redaction import redact
from mlspec.report.changes.lines import Row, Section, count, gpus, money, number
from mlspec.report.changes.sections import reason, sections, title
from mlspec.report.changes.summary import summary
from mlspec.report.text import safe

MOST: Final = 60_000
"""Characters of a whole document."""
_RESERVED: Final = 300
"""Characters kept for the note about what was left out."""
_WARNING: Final = 500
"""Characters of a warning that are shown."""
_LONG: Final = 8
"""Rows above which a section is folded."""
_TABLE: Final = (
    "| run that starts | why | pods | GPUs | GPU-hours, at most | cost, at most |\n|---|---|---|---|---|---|\n"
)


@dataclass(frozen=True, slots=True)
class _Block:
    """Rows that stand together, with what must stand before and behind them."""

    head: str
    rows: tuple[str, ...]
    tail: str = "\n"


def render(found: RootChanges) -> str:
    """Return the document."""
    since = f"{code(found.against)} ({found.commit[:7]})"
    head = "".join(f"> **Warning** {code(redact(warning)[:_WARNING])}\n\n" for warning in found.warnings)
    if not found.projects:
        return f"{head}Nothing differs from {since}.\n"
    return _fitting(
        f"{head}**Since {since}: {summary(totals(found.each()))}**\n\n", list(_blocks(found)), found.against
    )


def code(text: str) -> str:
    """Return text as a code span, in which neither Markdown, HTML nor mentions mean anything; a `|` splits no cell."""
    clean = safe(text.replace("\r\n", "\n")).replace("|", "\\|")
    longest = max((len(ticks) for ticks in re.findall("`+", clean)), default=0)
    fence = "`" * (longest + 1)
    padding = " " if clean[:1] in ("`", " ", "") or clean[-1:] in ("`", " ") else ""
    return f"{fence}{padding}{clean}{padding}{fence}"


def _blocks(found: RootChanges) -> Iterator[_Block]:
    for project in found.projects:
        for environment in project.environments:
            yield _Block(f"### {title(project.project, environment).shown(code)}\n\n", (), "")
            yield from _environment(environment)


def _environment(found: EnvironmentChanges) -> Iterator[_Block]:
    for section in sections(found):
        if found.differences.starts and section.title.startswith("starts "):
            yield _table(section, found.differences.starts)
        else:
            yield _list(section)


def _table(section: Section, starts: tuple[Start, ...]) -> _Block:
    return _folded(section.title, _TABLE, tuple(map(_start, starts)))


def _start(start: Start) -> str:
    why = "<br>".join(reason(field).shown(code) for field in start.reasons[:_LONG]) or "a new step"
    more = f"<br>and {len(start.reasons) - _LONG} more" if len(start.reasons) > _LONG else ""
    load = start.load
    hours = number(load.gpu_hours) if load.gpus and load.gpu_hours is not None else ""
    cost = money(load.cost) if load.gpus and load.cost is not None else ""
    return f"| {code(start.run)} | {why}{more} | {load.pods} | {gpus(load.gpus)} | {hours} | {cost} |\n"


def _list(section: Section) -> _Block:
    return _folded(section.title, "", tuple(map(_item, section.rows)))


def _item(row: Row) -> str:
    return f"- {row.line.shown(code)}\n" + "".join(f"  - {detail.shown(code)}\n" for detail in row.details)


def _folded(title: str, head: str, rows: tuple[str, ...]) -> _Block:
    heading = title[:1].upper() + title[1:]
    if len(rows) <= _LONG:
        return _Block(f"**{heading}**\n\n{head}", rows)
    summary_line = f"<details><summary><b>{heading}</b> ({len(rows)})</summary>\n\n"
    return _Block(f"{summary_line}{head}", rows, "\n</details>\n\n")


def _fitting(head: str, blocks: list[_Block], against: str) -> str:
    """Return as many whole rows as fit, with a note about those that do not."""
    text, left_out = head, 0
    for block in blocks:
        room = MOST - _RESERVED - len(text) - len(block.head) - len(block.tail)
        rows = []
        for row in block.rows:
            if left_out or len(row) > room:
                left_out += 1
            else:
                rows.append(row)
                room -= len(row)
        if rows or (not block.rows and not left_out and room > 0):
            text += block.head + "".join(rows) + block.tail
    if left_out:
        text += f"\n{count(left_out, 'more row')} left out: `mlspec diff --against {_word(against)}` shows all.\n"
    return text


def _word(revision: str) -> str:
    return revision if re.fullmatch(r"[\w./~^-]{1,100}", revision) else "REF"
