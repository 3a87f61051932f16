"""The graph of what differs in, one Mermaid flowchart out, with the fences that Markdown needs around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from mlspec.changes.graph import Edge, Graph, Node
from mlspec.changes.values import Change
from mlspec.report.changes.lines import count
from mlspec.report.mermaid import quoted, two_lines

MOST: Final = 40
"""Steps and services above which nobody reads a chart."""
_ARROWS: Final = 120
_CLASSES: Final = {
    Change.ADDED: "fill:#dafbe1,stroke:#1a7f37,color:#1f2328",
    Change.CHANGED: "fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    Change.REMOVED: "fill:#ffebe9,stroke:#cf222e,color:#1f2328,stroke-dasharray:4",
}


def render(found: Sequence[Graph]) -> str:
    """Return the chart with its fences, or a sentence where it would be too large; nothing where nothing is connected.

    What differs says so in words, and in a colour; what stands beside it in neither is as it was.
    """
    number, arrows = (sum(map(len, ends)) for ends in ([g.nodes for g in found], [g.edges for g in found]))
    if not number:
        return ""
    if number > MOST or arrows > _ARROWS:
        what = f"{number:,} steps and services with {count(arrows, 'arrow')}"
        return f"The graph of what changes is left out: it has {what}, too many to read.\n\n"
    lines = ["```mermaid", "flowchart LR"]
    for index, graph in enumerate(found, 1):
        lines += _lines(graph, f"p{index}")
    used = {node.change for graph in found for node in graph.nodes}
    lines += [f"  classDef {change} {style}" for change, style in _CLASSES.items() if change in used]
    return "\n".join([*lines, "```", "", ""])


def _lines(found: Graph, prefix: str) -> Iterator[str]:
    """Yield a frame; the ids of nodes are numbers, so that no name can be a word of Mermaid's."""
    ids = {node.name: f"{prefix}n{number}" for number, node in enumerate(found.nodes, 1)}
    title = f"{found.project} in {', '.join(found.environments)}"
    yield f'  subgraph {prefix}["{quoted(title)}"]'
    yield from (f"    {ids[node.name]}{_node(node)}" for node in found.nodes)
    yield from (f"    {ids[edge.source]} {_arrow(edge)} {ids[edge.target]}" for edge in found.edges)
    yield "  end"


def _node(node: Node) -> str:
    label = two_lines(node.name, _words(node))
    shape = f'["{label}"]' if node.is_run else f'(["{label}"])'
    return f"{shape}:::{node.change}" if node.change is not None else shape


def _words(node: Node) -> str:
    changed = "another run" if node.is_run else "changed"
    words = {Change.ADDED: "new", Change.REMOVED: "gone", Change.CHANGED: changed}
    return f"{node.kind}, {words[node.change]}" if node.change is not None else node.kind


def _arrow(edge: Edge) -> str:
    """Return an arrow: thick for what is served, dotted for what is not any more."""
    words = ["serves"] if edge.serves else []
    words += [{Change.ADDED: "new", Change.REMOVED: "gone"}[edge.change]] if edge.change is not None else []
    line = "-.->" if edge.change is Change.REMOVED else "==>" if edge.serves else "-->"
    return f'{line}|"{", ".join(words)}"|' if words else line
