"""Plans in, one Mermaid flowchart out, as GitHub renders it: in a `.mmd` file, or between fences in Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from mlspec.ir import Plan
from mlspec.literals.redaction import redact
from mlspec.report.graph import Graph, describe, graph
from mlspec.report.text import safe


def render(plans: Iterable[Plan]) -> str:
    """Return the flowchart: needs are solid arrows, data dotted and what is served thick ones, each project a frame."""
    lines = ["flowchart LR"]
    for number, plan in enumerate(plans, 1):
        lines += _lines(graph(plan), f"p{number}")
    return "\n".join(lines) + "\n"


def _lines(found: Graph, prefix: str) -> Iterator[str]:
    """Yield a frame; the ids of nodes are numbers, so that no name can be a word of Mermaid's."""
    steps = [stated for _, stated in found.steps]
    ids = {stated.workload.name: f"{prefix}s{number}" for number, stated in enumerate((*steps, *found.services), 1)}
    stores = {store: f"{prefix}d{number}" for number, store in enumerate((*found.claims, *found.models), 1)}
    yield f'  subgraph {prefix}["{quoted(found.title)}"]'
    for stated in steps:
        yield f'    {ids[stated.workload.name]}["{two_lines(stated.workload.name, describe(stated))}"]'
    for stated in found.services:
        yield f'    {ids[stated.workload.name]}(["{two_lines(stated.workload.name, describe(stated))}"])'
    for claim, known in found.claims.items():
        yield f'    {stores[claim]}[("{two_lines(claim, known)}")]'
    for uri in found.models:
        yield f'    {stores[uri]}{{{{"{quoted(uri)}"}}}}'
    yield from _edges(found, ids)
    for access in found.accesses:
        workload, store = ids[access.workload], stores.get(access.store)
        if store is not None and access.writes:
            yield f'    {workload} -.->|"writes"| {store}'
        elif store is not None:
            yield f'    {store} -.->|"read-only"| {workload}'
    yield "  end"


def _edges(found: Graph, ids: dict[str, str]) -> Iterator[str]:
    """Yield what needs and what serves what."""
    for _, stated in found.steps:
        for need in stated.workload.needs:
            yield f"    {ids[need]} --> {ids[stated.workload.name]}"
    for item in found.served:
        if item.step in ids:  # a step that is gone has been reported
            judges = f"once {quoted(', '.join(item.judges))} passed" if item.judges else "serves"
            yield f'    {ids[item.step]} ==>|"{judges}"| {ids[item.service]}'


def two_lines(name: str, more: str) -> str:
    """Return a label of two lines."""
    return f"{quoted(name)}<br/>{quoted(more)}"


def quoted(text: str) -> str:
    """Return text for a label in quotes: what Mermaid, Markdown or HTML could read as its own goes by number."""
    return re.sub(r"[^\w ./,=+-]", lambda found: f"#{ord(found.group())};", safe(redact(text)))
