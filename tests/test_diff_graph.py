"""The graph in the Markdown of `mlspec diff`: what differs, what it is connected with, and nothing else."""

from __future__ import annotations

import re
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mlspec.changes.graph import Edge, Graph, Node
from mlspec.changes.values import Change
from mlspec.report.changes import mermaid
from tests.support import ENVIRONMENT, mlspec
from tests.test_diff import edit, make

_STEP = '{kind: job, image: "a:1", command: [x], args: {v: 1}, handoff: none, resources: {cpu: 1, memory: 1Gi}%s}'
_CHAIN = "steps:\n" + "".join(
    f"  {name}: {_STEP % (f', needs: [{need}]' if need else '')}\n"
    for name, need in (("first", ""), ("second", "first"), ("third", "second"), ("other", ""), ("fourth", "third"))
)


def _chart(root: Path) -> list[str]:
    """Return the lines of the chart, without those that are the same in every one."""
    shown = mlspec(root, "diff", "--format", "markdown").stdout
    found = re.search(r"```mermaid\nflowchart LR\n(.*?)```", shown, re.DOTALL)
    return [line.strip() for line in found[1].splitlines()] if found else []


def test_what_differs_and_its_neighbours(tmp_path: Path) -> None:
    root = make(tmp_path, _CHAIN)
    edit(root, 'third: {kind: job, image: "a:1"', 'third: {kind: job, image: "a:2"')
    assert _chart(root) == [
        'subgraph p1["demo in dev"]',
        'p1n1["second<br/>job"]',
        'p1n2["third<br/>job, another run"]:::changed',
        'p1n3["fourth<br/>job, another run"]:::changed',
        "p1n1 --> p1n2",
        "p1n2 --> p1n3",
        "end",
        "classDef changed fill:#fff8c5,stroke:#9a6700,color:#1f2328",
    ]


def test_what_comes_and_goes(tmp_path: Path) -> None:
    root = make(tmp_path, _CHAIN)
    edit(root, f"  fourth: {_STEP % ', needs: [third]'}\n", f"  fifth: {_STEP % ', needs: [third]'}\n")
    lines = _chart(root)
    assert 'p1n2["fifth<br/>job, new"]:::added' in lines
    assert 'p1n3["fourth<br/>job, gone"]:::removed' in lines
    assert "p1n1 --> p1n2" in lines
    assert 'p1n1 -.->|"gone"| p1n3' in lines


def test_an_arrow_that_comes(tmp_path: Path) -> None:
    root = make(tmp_path, _CHAIN)
    edit(root, f"  other: {_STEP % ''}\n", f"  other: {_STEP % ', needs: [first]'}\n")
    assert any('-->|"new"|' in line for line in _chart(root))


def test_what_stands_alone_has_no_chart(tmp_path: Path) -> None:
    root = make(tmp_path, _CHAIN)
    edit(root, 'other: {kind: job, image: "a:1"', 'other: {kind: job, image: "a:2"')
    assert _chart(root) == []


def test_the_same_in_several_environments_is_one_frame(tmp_path: Path) -> None:
    root = make(tmp_path, _CHAIN, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    edit(root, 'fourth: {kind: job, image: "a:1"', 'fourth: {kind: job, image: "a:2"')
    frames = [line for line in _chart(root) if line.startswith("subgraph")]
    assert frames == ['subgraph p1["demo in dev, prod"]']


def test_a_large_chart_is_left_out_with_a_sentence(tmp_path: Path) -> None:
    nodes = tuple(Node(f"s{n}", "job", True, Change.CHANGED) for n in range(mermaid.MOST + 1))
    shown = mermaid.render([Graph("demo", ("dev",), nodes, (Edge("s0", "s1", False, None),))])
    assert shown == (
        "The graph of what changes is left out: it has 41 steps and services with 1 arrow, too many to read.\n\n"
    )
    several = [Edge(f"s{n}", f"s{m}", False, None) for n in range(17) for m in range(n)][:121]
    assert "121 arrows" in mermaid.render([Graph("demo", ("dev",), nodes[:17], tuple(several))])
    assert mermaid.render([]) == ""


@given(st.text(min_size=1, max_size=30), st.text(min_size=1, max_size=30))
def test_no_name_is_syntax(name: str, project: str) -> None:
    nodes = (Node(name, "job", True, Change.ADDED), Node("b", "kserve", False, None))
    shown = mermaid.render([Graph(project, ("dev",), nodes, (Edge(name, "b", True, Change.ADDED),))])
    lines = shown.splitlines()
    assert lines[0] == "```mermaid"
    assert lines[-2] == "```"
    assert len(lines) == 10
    assert shown.count("```") == 2
    assert all(line.count('"') in (0, 2) for line in lines)
