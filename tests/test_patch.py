"""Computed patches: applied by an interpreter of JSON6902 they give the new object, and never the wrong one."""

from __future__ import annotations

import copy
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from mlspec.k8s import patch
from mlspec.k8s.resource import Body

_keys = st.sampled_from(["a", "b", "name", "x/y", "m~n", "~1", "", "0", "-"])
_leaves = st.sampled_from(["", "1", "true", "x"]) | st.integers(0, 2) | st.booleans()
_values = st.recursive(
    _leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_keys, inner, max_size=3), max_leaves=8
)
_named = st.lists(st.dictionaries(_keys, _values, max_size=3).map(lambda item: {"name": "n", **item}), max_size=3)
bodies = st.dictionaries(_keys, _values | _named, max_size=4).map(lambda body: {"metadata": {"name": "n"}, **body})


class PatchTestError(Exception):
    """A `test` operation that does not hold."""


def same(left: Any, right: Any) -> bool:
    """Say whether two values are equal in JSON, where `true` is no number."""
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return type(left) is type(right) and bool(left == right)


def apply(body: Body, operations: list[Body]) -> Body:
    """Apply a patch as RFC 6902 says."""
    found = copy.deepcopy(body)
    for operation in operations:
        *way, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        node: Any = found
        for part in way:
            node = node[int(part)] if isinstance(node, list) else node[part]
        key: Any = int(last) if isinstance(node, list) else last
        if operation["op"] == "add":
            assert isinstance(node, dict), "only maps grow"
            node[key] = copy.deepcopy(operation["value"])
            continue
        try:
            present = node[key]
        except (KeyError, IndexError):
            raise PatchTestError(operation["path"]) from None
        if operation["op"] == "test":
            if not same(present, operation["value"]):
                raise PatchTestError(operation["path"])
        elif operation["op"] == "remove":
            del node[key]
        else:
            assert operation["op"] == "replace"
            node[key] = copy.deepcopy(operation["value"])
    return found


@given(bodies, bodies)
def test_a_patch_turns_the_old_into_the_new(old: Body, new: Body) -> None:
    before = copy.deepcopy((old, new))
    assert same(apply(old, patch.diff(old, new)), new)
    assert same(list(before), [old, new]), "the arguments are left alone"


@given(bodies)
def test_equal_objects_need_no_patch(body: Body) -> None:
    assert patch.diff(body, copy.deepcopy(body)) == []


@given(bodies, bodies)
def test_every_change_is_guarded(old: Body, new: Body) -> None:
    operations = patch.diff(old, new)
    assume(operations)
    assert any(operation["op"] == "test" for operation in operations), "one guard stops the whole patch"
    for before, operation in pairwise(operations):
        if operation["op"] in ("replace", "remove"):
            assert (before["op"], before["path"]) == ("test", operation["path"])
    assert all(operation["op"] in ("test", "add", "remove", "replace") for operation in operations)


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": True}, {"a": 1}, [("test", "/a", True), ("replace", "/a", 1)]),
        ({"a": {"b": [True]}}, {"a": {"b": [1]}}, [("test", "/a/b", [True]), ("replace", "/a/b", [1])]),
        ({"a": 1}, {}, [("test", "/a", 1), ("remove", "/a", None)]),
        ({}, {"a": {}}, [("test", "/metadata/name", "n"), ("add", "/a", {})]),
        ({"a": {"b": 1}}, {"a": {}}, [("test", "/a", {"b": 1}), ("replace", "/a", {})]),
        ({"x/y": {"~": 1}}, {"x/y": {"~": 2}}, [("test", "/x~1y/~0", 1), ("replace", "/x~1y/~0", 2)]),
        (
            {"c": [{"name": "a", "v": 1}, {"name": "b", "v": 1}]},
            {"c": [{"name": "a", "v": 1}, {"name": "b", "v": 2}]},
            [("test", "/c/1/name", "b"), ("test", "/c/1/v", 1), ("replace", "/c/1/v", 2)],
        ),
        (
            {"c": [{"name": "a"}, {"name": "b"}]},
            {"c": [{"name": "b"}, {"name": "a"}]},
            [("test", "/c", [{"name": "a"}, {"name": "b"}]), ("replace", "/c", [{"name": "b"}, {"name": "a"}])],
        ),
        ({"c": ["a"]}, {"c": ["a", "b"]}, [("test", "/c", ["a"]), ("replace", "/c", ["a", "b"])]),
    ],
)
def test_operations(old: Body, new: Body, expected: list[tuple[str, str, Any]]) -> None:
    frame = {"metadata": {"name": "n"}}
    found = [(o["op"], o["path"], o.get("value")) for o in patch.diff({**frame, **old}, {**frame, **new})]
    assert same([list(item) for item in found], [list(item) for item in expected])
