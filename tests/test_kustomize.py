"""The judge that builds overlays: what it calls a difference, and what it does when kustomize cannot build."""

from __future__ import annotations

import copy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlspec.check import kustomize, tools
from mlspec.check.kustomize import Build
from mlspec.k8s.resource import Body

_ONE: Body = {
    "apiVersion": "v1",
    "kind": "ConfigMap",
    "metadata": {"name": "a", "namespace": "n", "labels": {"x": "1"}},
    "data": {"k": "v", "list": ["a", "b"], "number": 1, "flag": True, "map": {}},
}
_TWO: Body = {**_ONE, "metadata": {"name": "b"}}


def test_equal_objects_in_any_order() -> None:
    assert list(kustomize.compare([_ONE, _TWO], [copy.deepcopy(_TWO), copy.deepcopy(_ONE)])) == []
    assert list(kustomize.compare([], [])) == []


def test_missing_and_extra_objects() -> None:
    assert list(kustomize.compare([_ONE, _TWO], [_ONE])) == [
        "1 objects are built, 2 are planned",
        "v1 ConfigMap b is planned but not built",
    ]
    assert list(kustomize.compare([_ONE], [_ONE, _TWO])) == [
        "2 objects are built, 1 are planned",
        "v1 ConfigMap b is built but not planned",
    ]
    moved = {**_ONE, "metadata": {**_ONE["metadata"], "namespace": "m"}}
    assert list(kustomize.compare([_ONE], [moved])) == [
        "v1 ConfigMap m a is built but not planned",
        "v1 ConfigMap n a is planned but not built",
    ]


def _data(name: str, value: Any) -> Callable[[Body], None]:
    return lambda body: body["data"].__setitem__(name, value)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        (_data("k", "w"), 'data.k is "w", planned "v"'),
        (_data("list", ["a"]), 'data.list is ["a"], planned ["a", "b"]'),
        (_data("list", ["a", "c"]), 'data.list[1] is "c", planned "b"'),
        (_data("number", "1"), 'data.number is "1", planned 1'),
        (_data("number", True), "data.number is true, planned 1"),
        (_data("flag", 1), "data.flag is 1, planned true"),
        (_data("map", None), "data.map is null, planned {}"),
        (_data("new", None), "data.new is null, not planned"),
        (_data("new", {}), "data.new is {}, not planned"),
        (lambda body: body["data"].pop("map"), "data.map is absent, planned {}"),
        (lambda body: body["metadata"].pop("labels"), 'metadata.labels is absent, planned {"x": "1"}'),
        (lambda body: body.pop("data"), "data is absent, planned {"),
    ],
)
def test_a_differing_field_is_named(change: Callable[[Body], None], difference: str) -> None:
    built = copy.deepcopy(_ONE)
    change(built)
    [found] = kustomize.compare([_ONE], [built])
    assert found.startswith(f"v1 ConfigMap n a: {difference}")


def test_every_difference_is_told() -> None:
    built = copy.deepcopy(_ONE)
    built["data"] |= {"k": "w", "number": 2}
    assert len(list(kustomize.compare([_ONE], [built]))) == 2


def _build(files: dict[str, str], expected: list[Body]) -> list[tuple[str, str]]:
    tool = tools.find_kustomize()
    assert tool is not None, "tests need the extra `kustomize`"
    item = Build("p", "p/o", {path: text.encode() for path, text in files.items()}, expected)
    return kustomize.build(tool, item)


_SIMPLE = {
    "p/o/kustomization.yaml": "resources: [r.yaml]\n",
    "p/o/r.yaml": "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\ndata: {k: v}\n",
}
_BODY: Body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}}


def test_a_build_as_planned_is_remembered(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path))
    assert _build(_SIMPLE, [_BODY]) == []
    monkeypatch.setattr(tools, "run", lambda *_: pytest.fail("a known verdict costs no process"))
    assert _build(_SIMPLE, [_BODY]) == []


def test_a_difference_is_found_each_time(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path))
    for _ in range(2):
        other = {**_BODY, "data": {"k": "w"}}
        assert _build(_SIMPLE, [other]) == [("MLS305", 'v1 ConfigMap a: data.k is "v", planned "w"')]


def test_a_build_that_fails_gives_the_reason_without_the_folder() -> None:
    [(code, message)] = _build({**_SIMPLE, "p/o/kustomization.yaml": "resources: [gone.yaml]\n"}, [_BODY])
    assert code == "MLS304"
    assert message.startswith("kustomize cannot build it: ")
    assert "gone.yaml" in message
    assert "/mlspec-" not in message
