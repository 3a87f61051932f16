"""What is judged once for objects that are alike: the same is said of each as if it were the only one."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from mlspec import schemas
from mlspec.check import objects
from mlspec.check.objects import Fault
from mlspec.k8s import alike
from mlspec.k8s.resource import Body
from mlspec.projection import templates
from mlspec.schemas import kubernetes_folder, operator_folder
from mlspec.validation.native import quantities
from mlspec.validation.native.found import Found
from tests.cluster.harness.goldens import goldens
from tests.native_cases import BASES, CASES, Case, changed

_NEWEST = schemas.kubernetes_versions()[-1]
_FOLDERS = (kubernetes_folder(_NEWEST), operator_folder("kserve-0.16"), operator_folder("training-operator-1.9"))
_ACCOUNT: Body = {
    "apiVersion": "v1",
    "kind": "ServiceAccount",
    "metadata": {"name": "train", "namespace": "demo-dev"},
    "automountServiceAccountToken": False,
}


def _renamed(body: Body, name: str = "another", namespace: str = "elsewhere") -> Body:
    found = copy.deepcopy(body)
    named = {"name": name, "namespace": namespace}
    found["metadata"] |= {key: value for key, value in named.items() if key in found["metadata"]}
    return found


def _alone(body: Body) -> list[Fault]:
    """Return the faults of an object when none was judged before."""
    objects._is_sound.cache_clear()
    return list(objects.judge_body(_FOLDERS, body))


def _after(*before: Body, body: Body) -> list[Fault]:
    """Return the faults of an object after those of others."""
    objects._is_sound.cache_clear()
    for other in before:
        list(objects.judge_body(_FOLDERS, other))
    return list(objects.judge_body(_FOLDERS, body))


_OBJECTS = [case for case in CASES if case.kind != "Pod"]


@pytest.mark.parametrize("case", _OBJECTS, ids=lambda case: case.name)
def test_faults_are_those_of_the_object_alone(case: Case) -> None:
    """Whatever is wrong with an object, its like with another name changes nothing about it."""
    good, bad = (changed(BASES[case.kind], case.path, value) for value in (case.good, case.bad))
    assert _alone(bad) != []
    assert _after(_renamed(bad), good, body=bad) == _alone(bad)
    assert _after(_renamed(good), bad, body=good) == _alone(good)


def test_goldens_are_judged_alike_alone_and_together() -> None:
    """Of every object that is generated the same is said, whatever was judged before; and most have been seen."""
    bodies = [resource.body for golden in goldens() for resource in golden.resources]
    alone = [_alone(body) for body in bodies]
    objects._is_sound.cache_clear()
    assert [list(objects.judge_body(_FOLDERS, body)) for body in bodies] == alone
    known = objects._is_sound.cache_info()
    assert known.hits > known.misses


@pytest.mark.parametrize(
    ("name", "namespace", "field"),
    [("Not_A_Name", "demo-dev", "name"), ("train", "Not.A.Label", "namespace"), ("", "demo-dev", "name")],
)
def test_a_name_is_judged_of_each(name: str, namespace: str, field: str) -> None:
    """An object is not sound because its like has a better name."""
    assert _alone(_ACCOUNT) == []
    found = _after(_ACCOUNT, body=_renamed(_ACCOUNT, name, namespace))
    assert [(fault.code, fault.path) for fault in found] == [("MLS320", ("metadata", field))]


def test_a_webhook_sees_the_name() -> None:
    """What an operator says of a name is said of each, too."""
    served = next(
        resource.body
        for golden in goldens()
        for resource in golden.resources
        if resource.body["kind"] == "InferenceService"
    )
    assert [fault.code for fault in _after(served, body=_renamed(served, "1" + "a" * 20))] == ["MLS340"]


def test_a_job_is_judged_whole() -> None:
    """The last pod of an indexed Job has a name that is made of the Job's, and of a number elsewhere."""
    job = changed(changed(BASES["Job"], "spec.completionMode", "Indexed"), "spec.completions", 100)
    job = changed(job, "spec.parallelism", 1)
    assert _alone(job) == []
    found = _after(job, body=_renamed(job, "a" * 62))
    assert [fault.path for fault in found] == [("spec", "completions")]


def test_values_of_other_types_are_others() -> None:
    """To Python `True` is 1; to a schema it is not."""
    assert _alone({**_ACCOUNT, "automountServiceAccountToken": True}) == []
    found = _after(
        {**_ACCOUNT, "automountServiceAccountToken": True}, body={**_ACCOUNT, "automountServiceAccountToken": 1}
    )
    assert [fault.code for fault in found] == ["MLS301"]


def test_a_namespace_that_is_missing_is_no_namespace() -> None:
    """An object without a namespace is not taken for one that has any."""
    bare = {**_ACCOUNT, "metadata": {"name": "train"}}
    assert objects._nameless(bare) not in (None, objects._nameless(_ACCOUNT))
    assert objects._nameless(_renamed(_ACCOUNT)) == objects._nameless(_ACCOUNT)


def _metadata(path: Path) -> Iterator[Any]:
    schema = json.loads(path.read_bytes())
    found = schema.get("properties", {}).get("metadata")
    while found is not None and "$ref" in found:
        found = schema["definitions"][found["$ref"].rpartition("/")[2]]
    if found is not None:
        yield found.get("properties", {}), schema


def test_no_schema_says_anything_of_a_name() -> None:
    """What is judged once is judged with a placeholder; a schema with a pattern for names would not be asked."""
    files = sorted(schemas.folder().rglob("*.json"))
    read = [(path, *found) for path in files for found in _metadata(path)]
    assert len(read) > 100
    for path, properties, schema in read:
        for field in ("name", "namespace"):
            assert properties.get(field, {"type": "string"}) in ({"type": "string"}, {"type": ["string", "null"]}), path
        assert not {"allOf", "anyOf", "oneOf", "not", "if"} & schema.keys(), path


def test_amounts_are_judged_by_what_asks_for_them() -> None:
    """A container may ask for what a pod as a whole may not; what was said of the one is not taken for the other."""
    asked = {"limits": {"ephemeral-storage": "1Gi"}}
    for _ in range(2):
        container, pod = Found((1, 34)), Found((1, 34))
        quantities.requirements(container, asked, ("here",), frozenset())
        quantities.requirements(pod, asked, ("here",), frozenset(), quantities.name_for_pod)
        assert container.objections == []
        assert [found.path for found in pod.objections] == [("here", "limits", "ephemeral-storage")]


def test_amounts_that_are_wrong_are_told_each_time() -> None:
    """Only what is sound is remembered: a fault is told at each place."""
    asked = {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}}
    for place in ("first", "second"):
        found = Found((1, 34))
        quantities.requirements(found, asked, (place,), frozenset())
        assert [objection.path for objection in found.objections] == [(place, "requests", "cpu")]


def test_values_come_back() -> None:
    """Values are the same and new; what has no form is told apart."""
    value = {"a": [True, 1, 1.5, "ü", None, {}], "b": []}
    content = alike.written(value)
    assert content is not None
    assert alike.read(content) == value
    shared = ["x" * 300]
    assert alike.written([shared, shared]) == alike.written([["x" * 300], ["x" * 300]])
    assert alike.written({"a": object()}) is None


def test_fields_of_a_pod_are_its_own() -> None:
    """What a controller sets in a pod, or in one of its containers, is not set in the template."""
    template = {"spec": {"containers": [{"name": "main", "image": "a"}], "initContainers": [{"name": "first"}]}}
    written = copy.deepcopy(template)
    pod = templates.pod("demo", "demo-dev", template, {})
    pod["spec"]["restartPolicy"] = "Never"
    pod["spec"]["containers"].append({"name": "more"})
    pod["spec"]["containers"][0]["env"] = []
    pod["spec"]["initContainers"][0]["env"] = []
    assert template == written
