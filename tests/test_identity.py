"""The recorded table of runs: `tests/identity/table.yaml` holds inputs and digests, and may only grow."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec import source
from mlspec.all_kinds import KINDS, STEP_KINDS
from mlspec.kind_specs import UNHASHED, StepSpec
from mlspec.plan import graph, identity

_TABLE = Path(__file__).parent / "identity" / "table.yaml"


def _cases() -> list[dict[str, Any]]:
    documents, diagnostics = source.read("table.yaml", _TABLE.read_bytes())
    assert not diagnostics
    raw = source.to_raw(documents[0])
    assert isinstance(raw, dict)
    return list(raw["cases"])


CASES = _cases()


def digest(case: dict[str, Any]) -> str:
    """Return the digest that this version gives to a case."""
    kind = KINDS[case["kind"]]
    spec = kind.SPEC.model_validate({"kind": case["kind"], **case["spec"]})
    assert isinstance(spec, StepSpec)
    content = identity.inputs(
        case["environment"], kind, spec, case["upstream"], case.get("claims", {}), case.get("files", {})
    )
    return identity.digest(content)


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_no_version_renames_a_run(case: dict[str, Any]) -> None:
    assert digest(case) == case["digest"]


def test_the_table_covers_every_kind_and_every_hashed_field() -> None:
    assert {case["kind"] for case in CASES} == {kind.TAG for kind in STEP_KINDS}
    for kind in STEP_KINDS:
        written = {key for case in CASES for key in case["spec"]}
        hashed = set(kind.SPEC.model_fields) - UNHASHED - kind.UNHASHED - {"kind"}
        aliases = {kind.SPEC.model_fields[name].alias or name for name in hashed}
        assert aliases <= written, f"add a case with {aliases - written} to {_TABLE.name}"


def test_equal_digests_are_meant() -> None:
    by_digest: dict[str, list[str]] = {}
    for case in CASES:
        by_digest.setdefault(case["digest"], []).append(case["name"])
    assert [names for names in by_digest.values() if len(names) > 1] == [
        ["minimal job", "security as it is by default, and what is accepted"],
        ["minimal pytorch", "what does not compute"],
        ["resources in any spelling", "the same resources in canonical form"],
        ["roles with replicas", "roles in any order and spelling"],
    ]


graphs = st.integers(0, 8).flatmap(
    lambda size: st.fixed_dictionaries(
        {f"s{i}": st.lists(st.sampled_from([f"s{j}" for j in range(size)] + ["gone"]), max_size=3) for i in range(size)}
    )
)


@given(graphs)
def test_order_depths_and_circles_agree(needs: dict[str, list[str]]) -> None:
    order, depths, circles = graph.order(needs), graph.depths(needs), graph.circles(needs)
    assert list(depths) == order
    assert bool(circles) == (len(order) < len(needs))
    for step in order:
        known = [need for need in needs[step] if need in needs]
        assert all(order.index(need) < order.index(step) for need in known)
        assert depths[step] == max((depths[need] + 1 for need in known), default=0)
    for circle in circles:
        assert circle[0] == circle[-1]
        assert len(set(circle)) == len(circle) - 1
        assert all(after in needs[before] for before, after in pairwise(circle))


@given(graphs, st.randoms())
def test_the_order_written_does_not_show(needs: dict[str, list[str]], random: Any) -> None:
    names = list(needs)
    random.shuffle(names)
    shuffled = {name: random.sample(needs[name], len(needs[name])) for name in names}
    assert graph.order(shuffled) == graph.order(needs)
    assert graph.depths(shuffled) == graph.depths(needs)
