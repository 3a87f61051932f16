"""Overrides: maps merge, everything else replaces, null takes away, and positions travel with the values."""

from __future__ import annotations

import textwrap

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec import source
from mlspec.diagnostics import Diagnostic
from mlspec.source import Entry, Mapping, Scalar
from mlspec.spec import overlay


def _tree(text: str, file: str = "base.yaml") -> Mapping:
    documents, diagnostics = source.read(file, textwrap.dedent(text).encode())
    assert not diagnostics, diagnostics
    return documents[0]


def _merged(base: str, override: str) -> object:
    return source.to_raw(overlay.merge(_tree(base), _tree(override, "override.yaml")))


@pytest.mark.parametrize(
    ("base", "override", "merged"),
    [
        ("{a: 1}", "{b: 2}", {"a": "1", "b": "2"}),
        ("{a: 1}", "{a: 2}", {"a": "2"}),
        ("{a: {b: 1, c: 2}}", "{a: {c: 3, d: 4}}", {"a": {"b": "1", "c": "3", "d": "4"}}),
        ("{a: [1, 2]}", "{a: [3]}", {"a": ["3"]}),
        ("{a: [{b: 1}]}", "{a: [{c: 2}]}", {"a": [{"c": "2"}]}),
        ("{a: {b: 1}}", "{a: 2}", {"a": "2"}),
        ("{a: 1}", "{a: {b: 2}}", {"a": {"b": "2"}}),
        ("{a: {b: 1}}", "{a: [b]}", {"a": ["b"]}),
        ("{a: {b: 1}}", "{a: {}}", {"a": {"b": "1"}}),
        ("{a: 1, b: 2}", "{a: null}", {"b": "2"}),
        ("{a: 1, b: 2}", "{a: }", {"b": "2"}),
        ("{a: {b: 1, c: 2}}", "{a: {b: ~}}", {"a": {"c": "2"}}),
        ("{a: {b: 1}}", "{a: {b: null}}", {"a": {}}),
        ("{a: 1}", "{b: null}", {"a": "1"}),
        ("{a: 1}", "{b: {c: null, d: 1}}", {"a": "1", "b": {"d": "1"}}),
        ("{a: 1}", "{a: 'null'}", {"a": "null"}),
        ("{a: 1}", "{a: ''}", {"a": ""}),
        ("{a: 1}", "{a: [null]}", {"a": [None]}),
        ("{a: null}", "{b: 1}", {"a": None, "b": "1"}),
    ],
)
def test_merge(base: str, override: str, merged: object) -> None:
    assert _merged(base, override) == merged


def test_an_alias_that_was_refused_takes_nothing_away() -> None:
    documents, _ = source.read("f.yaml", b"a: *x\n")
    merged = overlay.merge(_tree("{a: 1}"), documents[0])
    node = merged.get("a")
    assert isinstance(node, Scalar)
    assert node.refused


def test_order_is_that_of_the_base_then_of_the_override() -> None:
    merged = overlay.merge(_tree("{b: 1, a: 1}"), _tree("{c: 1, a: 2}"))
    assert list(merged.entries) == ["b", "a", "c"]


def test_each_value_keeps_the_place_that_set_it() -> None:
    merged = overlay.merge(_tree("a:\n  b: 1\n  c: 2\n"), _tree("a:\n  c: 3\n", "override.yaml"))
    inner = merged.get("a")
    assert isinstance(inner, Mapping)
    assert [(entry.key.file, entry.value.span.line) for entry in inner.entries.values()] == [
        ("base.yaml", 2),
        ("override.yaml", 2),
    ]


def test_merging_changes_neither_side() -> None:
    base, override = _tree("{a: {b: 1}}"), _tree("{a: {c: 2}}")
    overlay.merge(base, override)
    assert (source.to_raw(base), source.to_raw(override)) == ({"a": {"b": "1"}}, {"a": {"c": "2"}})


_trees = st.recursive(
    st.integers(0, 3).map(str) | st.lists(st.just("x"), max_size=2),
    lambda inner: st.dictionaries(st.sampled_from("abc"), inner, max_size=3),
    max_leaves=8,
)


def _node(value: object) -> source.Node:
    place = overlay_span = source.read("f", b"a: 1")[0][0].span
    if isinstance(value, dict):
        return Mapping({key: Entry(place, _node(item)) for key, item in value.items()}, overlay_span)
    if isinstance(value, list):
        return source.Sequence(tuple(_node(item) for item in value), place)
    return Scalar(str(value), True, place)


@given(st.dictionaries(st.sampled_from("abc"), _trees), st.dictionaries(st.sampled_from("abc"), _trees))
def test_merging_twice_is_merging_once(base: dict[str, object], override: dict[str, object]) -> None:
    one, two = _node(base), _node(override)
    assert isinstance(one, Mapping)
    assert isinstance(two, Mapping)
    once = overlay.merge(one, two)
    assert source.to_raw(overlay.merge(once, two)) == source.to_raw(once)
    assert source.to_raw(overlay.merge(one, Mapping({}, one.span))) == base


def _findings(override: str, *allowed: str, base: str = "{steps: {a: {kind: job}}}") -> list[Diagnostic]:
    return list(overlay.check_override(_tree(base), _tree(override), "dev", allowed))


@pytest.mark.parametrize(
    ("pattern", "path", "fits"),
    [
        ("**", "steps.a.args.epochs", True),
        ("steps.**", "steps.a.retries", True),
        ("steps.**", "services.a.replicas", False),
        ("steps.*.retries", "steps.a.retries", True),
        ("steps.*.retries", "steps.a.args.retries", False),
        ("steps.*", "steps.a.retries", False),
        ("steps.train-*.args.*", "steps.train-big.args.epochs", True),
        ("steps.train-*.args.*", "steps.other.args.epochs", False),
        ("steps.a.retries", "steps.a.retries", True),
        ("steps.a.retries", "stepsXaXretries", False),
        ("*.*.retries", "steps.a.retries", True),
        ("", "steps.a.retries", False),
    ],
)
def test_globs(pattern: str, path: str, fits: bool) -> None:
    nested = "1"
    for part in reversed(path.split(".")):
        nested = f"{{{part}: {nested}}}"
    found = _findings(nested, pattern)
    assert [finding.code for finding in found] == ([] if fits else ["MLS218"])


def test_whether_an_environment_is_enabled_is_the_projects_own_business() -> None:
    assert not _findings("{enabled: false}")


def test_taking_something_away_needs_the_right_to_set_it() -> None:
    assert [finding.code for finding in _findings("{steps: {a: null}}", "services.**")] == ["MLS218"]


def test_every_path_that_is_not_allowed_is_named() -> None:
    found = _findings("{steps: {a: {retries: 1, args: {b: 1, c: 2}}}}", "steps.*.args.c")
    assert [finding.path for finding in found] == [
        "environments.dev.steps.a.retries",
        "environments.dev.steps.a.args.b",
    ]


@pytest.mark.parametrize("key", ["apiVersion", "kind", "name", "owner", "environments"])
def test_identity_is_the_same_everywhere(key: str) -> None:
    assert [finding.code for finding in _findings(f"{{{key}: x}}", "**")] == ["MLS218"]


def test_a_kind_cannot_change_but_may_be_repeated() -> None:
    assert [finding.code for finding in _findings("{steps: {a: {kind: pytorch}}}", "**")] == ["MLS219"]
    assert not _findings("{steps: {a: {kind: job}, b: {kind: pytorch}}}", "**")
