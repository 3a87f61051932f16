"""Differences in, Markdown out, for a comment on a pull request: whatever users wrote is shown, and does nothing.

GitHub takes comments of 65,536 characters; this stays below 60,000, and says how much it left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from mlspec.changes.graph import Graph
from mlspec.changes.totals import totals
from mlspec.changes.values import EnvironmentChanges, RootChanges, Start
from mlspec.literals.redaction import redact
from mlspec.report.blocks import COMMENT, Block, fitting
from mlspec.report.changes import mermaid
from mlspec.report.changes.lines import Row, Section, count, gpus, money, number
from mlspec.report.changes.sections import reason, sections, title
from mlspec.report.changes.summary import summary
from mlspec.report.inline import code

_WARNING: Final = 500
"""Characters of a warning that are shown."""
_LONG: Final = 8
"""Rows above which a section is folded."""
_TABLE: Final = (
    "| run that starts | why | pods | GPUs | GPU-hours, at most | cost, at most |\n|---|---|---|---|---|---|\n"
)


def render(found: RootChanges, graphs: Sequence[Graph] = ()) -> str:
    """Return the document; `graphs` are drawn above the lists."""
    since = f"{code(found.against)} ({found.commit[:7]})"
    head = "".join(f"> **Warning** {code(redact(warning)[:_WARNING])}\n\n" for warning in found.warnings)
    if not found.projects:
        return f"{head}Nothing differs from {since}.\n"
    text = f"{head}**Since {since}: {summary(totals(found.each()))}**\n\n{mermaid.render(graphs)}"
    return fitting(text, list(_blocks(found)), COMMENT, partial(_note, found.against))


def _blocks(found: RootChanges) -> Iterator[Block]:
    for project in found.projects:
        for environment in project.environments:
            yield Block(f"### {title(project.project, environment).shown(code)}\n\n", (), "")
            yield from _environment(environment)


def _environment(found: EnvironmentChanges) -> Iterator[Block]:
    for section in sections(found):
        if found.differences.starts and section.title.startswith("starts "):
            yield _table(section, found.differences.starts)
        else:
            yield _list(section)


def _table(section: Section, starts: tuple[Start, ...]) -> Block:
    return _folded(section.title, _TABLE, tuple(map(_start, starts)))


def _start(start: Start) -> str:
    why = "<br>".join(reason(field).shown(code) for field in start.reasons[:_LONG]) or "a new step"
    more = f"<br>and {len(start.reasons) - _LONG} more" if len(start.reasons) > _LONG else ""
    load = start.load
    hours = number(load.gpu_hours) if load.gpus and load.gpu_hours is not None else ""
    cost = money(load.cost) if load.gpus and load.cost is not None else ""
    return f"| {code(start.run)} | {why}{more} | {load.pods} | {gpus(load.gpus)} | {hours} | {cost} |\n"


def _list(section: Section) -> Block:
    return _folded(section.title, "", tuple(map(_item, section.rows)))


def _item(row: Row) -> str:
    return f"- {row.line.shown(code)}\n" + "".join(f"  - {detail.shown(code)}\n" for detail in row.details)


def _folded(title: str, head: str, rows: tuple[str, ...]) -> Block:
    heading = title[:1].upper() + title[1:]
    if len(rows) <= _LONG:
        return Block(f"**{heading}**\n\n{head}", rows)
    summary_line = f"<details><summary><b>{heading}</b> ({len(rows)})</summary>\n\n"
    return Block(f"{summary_line}{head}", rows, "\n</details>\n\n")


def _note(against: str, number: int) -> str:
    return f"\n{count(number, 'more row')} left out: `mlspec diff --against {_word(against)}` shows all.\n"


def _word(revision: str) -> str:
    return revision if re.fullmatch(r"[\w./~^-]{1,100}", revision) else "REF"
