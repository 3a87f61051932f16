"""Laws 5 and 8, accepted and quiet: what every object of many random roots has in common."""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec.check import schema
from mlspec.check.versions import schema_folders
from mlspec.k8s.resource import Body
from mlspec.schemas import kubernetes_folder, kubernetes_versions, operator_folder
from mlspec.validation.objection import Objection
from tests.samples import sample

Way = tuple[str | int, ...]


@cache
def objects() -> tuple[tuple[Path, Body], ...]:
    """Return every different object of the sample, with the file of its schema."""
    found: dict[str, tuple[Path, Body]] = {}
    for compilation in sample():
        for item in compilation.projects:
            for name in item.plans:
                folders = schema_folders(compilation.workspace.environments[name].model)
                for body in [*(resource.body for resource in item.resources[name]), *item.argocd[name]]:
                    path = schema.schema_file(folders, body["apiVersion"], body["kind"])
                    assert path is not None, body["kind"]
                    found.setdefault(f"{path} {json.dumps(body)}", (path, body))
    return tuple(found.values())


@cache
def oracle(path: Path) -> Any:
    """Return the reference implementation's validator of a schema file."""
    content = json.loads(path.read_bytes())
    return jsonschema.validators.validator_for(content, jsonschema.Draft202012Validator)(content)


def accepted(path: Path, body: Body) -> bool:
    """Return mlspec's own verdict."""
    return not list(schema.check_schema((path.parent,), body))


def test_every_object_is_accepted_by_both() -> None:
    kinds = {body["kind"] for _, body in objects()}
    assert {"Job", "PyTorchJob", "InferenceService", "NetworkPolicy", "AppProject", "ServiceMonitor"} <= kinds
    for path, body in objects():
        assert accepted(path, body), body
        assert oracle(path).is_valid(body), body


def places(value: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Yield every value inside an object with the way to it."""
    yield way, value
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in entries:
        yield from places(item, (*way, key))


def changed(body: Body, way: Way, change: str, value: Any) -> Body:
    """Return a copy with one thing dropped, put in another's place, or added beside it."""
    found = copy.deepcopy(body)
    node: Any = found
    for key in way[:-1]:
        node = node[key]
    if change == "drop":
        del node[way[-1]]
    elif change == "add" and isinstance(node, dict):
        node["unknownField"] = value
    else:
        node[way[-1]] = value
    return found


@settings(max_examples=400)
@given(st.data())
def test_both_judge_damaged_objects_alike(data: st.DataObject) -> None:
    path, body = data.draw(st.sampled_from(objects()))
    ways = [way for way, _ in places(body) if way not in ((), ("apiVersion",), ("kind",))]
    change = data.draw(st.sampled_from(["drop", "replace", "add"]))
    value = data.draw(st.sampled_from([None, "", "x", 0, -1, 2**70, 1.5, True, [], ["x"], {}, {"x": "y"}]))
    damaged = changed(body, data.draw(st.sampled_from(ways)), change, value)
    assert accepted(path, damaged) == oracle(path).is_valid(damaged), damaged


@pytest.mark.parametrize(
    ("way", "value", "message"),
    [
        (("spec", "nprocPerNodes"), "1", "spec: unknown field `nprocPerNodes`"),
        (("spec", "pytorchReplicaSpecs", "Master", "replicas"), "1", "spec.pytorchReplicaSpecs.Master.replicas: "),
        (("metadata", "labels", "a"), 1, "metadata.labels.a: "),
        (("spec", "runPolicy", "cleanPodPolicy"), 1, "spec.runPolicy.cleanPodPolicy: "),
    ],
)
def test_a_finding_names_the_field(way: Way, value: Any, message: str) -> None:
    path, body = next((path, body) for path, body in objects() if body["kind"] == "PyTorchJob")
    damaged = changed(body, way, "replace", value)
    assert [found.code for found in schema.check_schema((path.parent,), damaged)] == ["MLS301"]
    assert next(schema.check_schema((path.parent,), damaged))[1].startswith(message)


def test_a_required_field_is_missed() -> None:
    path, body = next((path, body) for path, body in objects() if body["kind"] == "PyTorchJob")
    damaged = changed(body, ("spec", "pytorchReplicaSpecs"), "drop", None)
    assert list(schema.check_schema((path.parent,), damaged)) == [
        Objection("MLS301", "spec: missing field `pytorchReplicaSpecs`", ("spec",))
    ]


def test_no_schema_is_a_finding() -> None:
    folders = (kubernetes_folder("1.34"), operator_folder("kserve-0.16"))
    for body in ({"apiVersion": "v2", "kind": "Job"}, {"apiVersion": "batch/v1", "kind": "Jobs"}):
        assert [found.code for found in schema.check_schema(folders, body)] == ["MLS302"]


def test_no_schema_says_which_releases_have_one() -> None:
    folders = (kubernetes_folder("1.34"), operator_folder("kserve-0.16"))
    job = {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob"}
    (found,) = schema.check_schema(folders, job)
    assert found.help == "there is one for training-operator-1.8, training-operator-1.9"
    (found,) = schema.check_schema(folders, {"apiVersion": "v1", "kind": "Volume"})
    assert found.help == "no release that mlspec knows has it"
    (found,) = schema.check_schema(folders[1:], {"apiVersion": "batch/v1", "kind": "Job"})
    assert found.help.startswith("there is one for v1.31.0, v1.32.0")


# Law 8

_SELECTORS = ("selector", "podSelector", "namespaceSelector", "matchLabels", "emptyDir")
_OWNED = {"ttlSecondsAfterFinished", "suspend", "generateName", "status", "creationTimestamp", "resourceVersion", "uid"}
_QUANTITY = re.compile(r"[1-9][0-9]*(n|u|m|k|M|G|T|P|E|Ki|Mi|Gi|Ti|Pi|Ei)?")


def test_nothing_is_written_that_means_the_same_when_left_out() -> None:
    for _, body in objects():
        for way, value in places(body):
            assert value is not None, way
            if value in ({}, []):
                assert way[-1] in _SELECTORS, (way, body["kind"])
            if value == "":  # the core group, and arguments
                assert isinstance(way[-1], int) or way[-1] == "group", (way, body["kind"])


def test_nothing_that_a_controller_owns_is_written() -> None:
    for _, body in objects():
        keys = {way[-1] for way, _ in places(body) if way and isinstance(way[-1], str)}
        assert not keys & _OWNED, body["kind"]
        options = str(body["metadata"].get("annotations", {})) + str(
            body["spec"].get("syncPolicy", "") if "spec" in body else ""
        )
        assert "Replace" not in options
        assert "Force" not in options


def test_quantities_are_canonical_text() -> None:
    seen = 0
    for _, body in objects():
        for way, value in places(body):
            if way[-2:-1] in (("requests",), ("limits",), ("hard",), ("default",), ("defaultRequest",)) or way[-1:] == (
                "sizeLimit",
            ):
                if isinstance(value, dict):
                    continue
                seen += 1
                assert isinstance(value, str), (way, value)
                assert _QUANTITY.fullmatch(value), (way, value)
                number = re.match("[0-9]+", value)
                assert number is not None
                digits, suffix = number.group(), value[number.end() :]
                assert not (digits.endswith("000") and not suffix.endswith("i")), value
                assert not (suffix.endswith("i") and int(digits) % 1024 == 0), value
    assert seen > 500


def test_labels_and_annotations_are_text() -> None:
    for _, body in objects():
        for field in ("labels", "annotations"):
            for key, value in body["metadata"].get(field, {}).items():
                assert isinstance(key, str)
                assert isinstance(value, str)
                assert value != ""


@pytest.mark.parametrize("version", kubernetes_versions())
def test_what_the_server_fills_in_may_be_left_out(version: str) -> None:
    """The condition's status is `True` where none is written, from 1.31 on (batch/v1 defaults.go)."""
    rule = {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget"}]}
    spec = {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "a", "image": "a:1"}]}}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    body = {**job, "spec": {**spec, "podFailurePolicy": {"rules": [rule]}}}
    assert list(schema.check_schema((kubernetes_folder(version),), body)) == []
    del rule["action"]
    assert [found.code for found in schema.check_schema((kubernetes_folder(version),), body)] == ["MLS301"]
