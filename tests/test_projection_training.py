"""Projected pods and Services of runs are those that the real Job controller and training operator made."""

from __future__ import annotations

import copy
from collections.abc import Iterator
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec.check import fits
from mlspec.ir import Stated
from mlspec.k8s.projected import Projection
from mlspec.projection import training_operator
from tests import jobs, stored, variants
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.harness.operators import observe

Body = dict[str, Any]
_RUNS: Final = [(golden, stated) for golden in goldens() for stated in golden.plan.steps]

runs = pytest.mark.parametrize(
    ("golden", "stated"), _RUNS, ids=[f"{golden.name}-{stated.workload.name}" for golden, stated in _RUNS]
)


def _projection(golden: Golden, stated: Stated) -> Projection:
    found = [r.projection for r in golden.resources if r.run == stated.workload.object_name and r.projection]
    assert len(found) == 1
    return found[0]


def _recorded(golden: Golden, stated: Stated) -> list[Body]:
    path = observe.fixture(observe.CONTROLLERS[stated.facts.gvk.kind], golden.name)
    return [
        body
        for body in observe.recorded(path)
        if body["metadata"]["ownerReferences"][0]["name"] == stated.workload.object_name
    ]


@runs
def test_projected_is_what_was_made(golden: Golden, stated: Stated) -> None:
    made = [stored.recorded(body) for body in _recorded(golden, stated)]
    assert made
    accounts = {r.key.name: r.body for r in golden.resources if r.key.kind == "ServiceAccount"}
    assert stored.differences(stored.stored(jobs.bodies(_projection(golden, stated)), accounts), made) == []


@pytest.mark.parametrize("name", variants.VARIANTS)
def test_projected_is_what_was_made_of_others(name: str) -> None:
    """Of what a patch may put into a job: containers, ports, labels, an elastic policy."""
    projection = jobs.resource(variants.variant(name)).projection
    assert projection is not None
    made = [stored.recorded(body) for body in observe.recorded(observe.fixture(variants.controller(name), name))]
    assert stored.differences(variants.in_order(stored.stored(jobs.bodies(projection))), made) == []


@runs
def test_what_is_left_out_is_known(golden: Golden, stated: Stated) -> None:
    """Of a recorded object the projection lacks its owner, and of a Job's pod what belongs to the counting of pods."""
    gvk, name = stated.facts.gvk, stated.workload.object_name
    owner = {"apiVersion": gvk.api_version, "kind": gvk.kind, "name": name, "controller": True}
    for body in _recorded(golden, stated):
        lacking = dict(_fields(body["metadata"]).items() - _fields(stored.recorded(body)["metadata"]).items())
        assert lacking.pop("ownerReferences") == str([{**owner, "blockOwnerDeletion": True}])
        if gvk.kind == "Job":
            assert lacking.pop("finalizers") == str(["batch.kubernetes.io/job-tracking"])
            assert lacking.pop("generateName") == f"{name}-"
            assert lacking.pop("labels.controller-uid") == "(uid)"
            assert lacking.pop("labels.batch.kubernetes.io/controller-uid") == "(uid)"
        assert lacking == {}


def _fields(metadata: Body) -> dict[str, str]:
    labels = {f"labels.{key}": value for key, value in metadata["labels"].items()}
    return labels | {key: str(value) for key, value in metadata.items() if key != "labels"}


@runs
def test_groups(golden: Golden, stated: Stated) -> None:
    """As many pods as the facts promise, alike within a group, and what is added is what the spec did not name."""
    projection = _projection(golden, stated)
    assert sum(group.count for group in projection.pods) == stated.facts.pods
    for group in projection.pods:
        pod = group.first
        assert stated.facts.pod_labels.items() <= pod["metadata"]["labels"].items()
        assert group.added == {one["name"] for one in pod["spec"].get("initContainers", [])}
        assert set(stated.workload.parts) >= {group.path}


def test_a_pod_shares_nothing_with_the_object_or_another_pod() -> None:
    """What is made of a template can be changed, as a reader of many pods may do."""
    body = jobs.job("PyTorchJob", "train", {"Master": 1, "Worker": 2})
    before = copy.deepcopy(body)
    projection = training_operator.pytorch(body)
    _wipe([group.make(0) for group in projection.pods])
    _wipe(list(projection.services))
    assert body == before
    again = training_operator.pytorch(before)
    assert [group.make(0) for group in projection.pods] == [group.make(0) for group in again.pods]


def _wipe(value: Any) -> None:
    for item in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        _wipe(item)
    if isinstance(value, dict | list):
        value.clear()


_SHAPES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 3) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)


@given(st.data(), st.sampled_from([("Job", {}), ("PyTorchJob", {"Master": 1, "Worker": 2}), ("TFJob", {"Worker": 2})]))
@settings(max_examples=300)
def test_a_patched_object_of_any_shape(data: st.DataObject, job: tuple[str, dict[str, int]]) -> None:
    """A patch can put anything anywhere; schemas say what is wrong with it, so the projection must not fail first."""
    body = jobs.job(job[0], "train", job[1])
    jobs.template(body, next(iter(job[1]), ""))["spec"]["initContainers"] = [{"name": "init", "image": "busybox:1"}]
    body["spec"]["elasticPolicy"] = {"rdzvConf": [{"key": "a", "value": "b"}], "maxReplicas": 2}
    ways = [way for way in _ways(body) if way[0] == "spec" and way[-1] != "replicas"]
    way = data.draw(st.sampled_from(ways))
    at: Any = body
    for key in way[:-1]:
        at = at[key]
    at[way[-1]] = data.draw(_SHAPES)
    resource = jobs.resource(body)
    assert resource.projection is not None
    jobs.bodies(resource.projection)
    list(fits.judge(resource))


def _ways(value: Any, way: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield (*way, key)
        yield from _ways(item, (*way, key))


def test_more_pods_than_there_can_be() -> None:
    """The plan refuses so many; of the base, which is planned with nobody listening, nothing is made of them."""
    most = training_operator.MOST_PODS
    assert len(training_operator.pytorch(jobs.job("PyTorchJob", "train", {"Worker": most})).services) == most
    assert training_operator.pytorch(jobs.job("PyTorchJob", "train", {"Worker": 2**31 - 1})) == Projection()
    assert training_operator.tensorflow(jobs.job("TFJob", "train", {"Worker": most, "PS": 1})) == Projection()


def test_the_comparison_can_fail() -> None:
    """Whatever field of a pod or Service is changed, dropped or added, it is no longer what was recorded."""
    golden, stated = next((golden, stated) for golden, stated in _RUNS if stated.facts.gvk.kind == "PyTorchJob")
    accounts = {r.key.name: r.body for r in golden.resources if r.key.kind == "ServiceAccount"}
    projected = jobs.bodies(_projection(golden, stated))
    as_made = stored.stored(projected, accounts)
    for body in (projected[0], projected[-1]):
        for way in [way for way in _ways(body) if way[0] not in ("apiVersion", "kind")]:
            changed = copy.deepcopy(projected)
            at: Any = changed[projected.index(body)]
            for key in way[:-1]:
                at = at[key]
            if not isinstance(at[way[-1]], dict | list):
                at[way[-1]] = "another"
                assert stored.differences(stored.stored(changed, accounts), as_made), way
