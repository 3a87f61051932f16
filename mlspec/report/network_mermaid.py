"""Who may reach whom in, one Mermaid flowchart out: every arrow is a flow that is open, from who begins it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from mlspec.report.mermaid import quoted, two_lines
from mlspec.report.network import End, Network, Reach, Row


def render(found: Iterable[Network]) -> str:
    """Return the flowchart: each project a frame with its workloads, what is outside as nodes beside them."""
    lines = ["flowchart LR"]
    for number, each in enumerate(found, 1):
        lines += _lines(each, f"p{number}")
    return "\n".join(lines) + "\n"


def _lines(found: Network, prefix: str) -> Iterator[str]:
    """Yield a frame, and the ends outside of it; the ids of nodes are numbers, so that no name can be a word."""
    ids = {each.name: f"{prefix}s{number}" for number, each in enumerate(found.workloads, 1)}
    rows = [*found.shared, *(row for each in found.workloads for row in (*each.sources, *each.destinations))]
    outside = dict.fromkeys(row.end for row in rows if row.workload is None)
    ends = {end: f"{prefix}d{number}" for number, end in enumerate(outside, 1)}
    yield f'  subgraph {prefix}["{quoted(found.title)}"]'
    for each in found.workloads:
        yield f'    {ids[each.name]}["{two_lines(each.name, each.words)}"]'
    for number, gate in enumerate(found.gates, 1):
        yield f'    {prefix}g{number}["{two_lines(gate.name, f"{gate.words}, no network")}"]'
    yield "  end"
    for end, node in ends.items():
        yield f'  {node}{{{{"{two_lines(end.name, end.detail) if end.detail else quoted(end.name)}"}}}}'
    # What all may reach is one arrow from the frame.
    arrows = [_arrow(prefix, row, ends[row.end]) for row in found.shared]
    arrows += [arrow for each in found.workloads for arrow in _arrows(each, ids, ends)]
    yield from dict.fromkeys(arrows)  # a flow among our own is said by both of its ends


def _arrows(each: Reach, ids: dict[str, str], ends: dict[End, str]) -> Iterator[str]:
    def node(row: Row) -> str:
        return ids[row.workload] if row.workload is not None else ends[row.end]

    for row in each.sources:
        yield _arrow(node(row), row, ids[each.name])
    for row in each.destinations:
        yield _arrow(ids[each.name], row, node(row))


def _arrow(source: str, row: Row, destination: str) -> str:
    return f'  {source} -->|"{quoted(row.ports)}"| {destination}'
