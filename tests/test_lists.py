"""Lists that hold each item once; tests/cluster/test_cel.py asks the server about the same objects."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mlspec.schemas import kubernetes_folder, operator_folder
from mlspec.validation import lists
from tests.cluster.rules.twice import KEPT, TWICE

_FILES = {
    "Job": kubernetes_folder("1.34") / "job-batch-v1.json",
    "Service": kubernetes_folder("1.34") / "service-v1.json",
    "ServiceAccount": kubernetes_folder("1.34") / "serviceaccount-v1.json",
    "PersistentVolumeClaim": kubernetes_folder("1.34") / "persistentvolumeclaim-v1.json",
    "PyTorchJob": operator_folder("training-operator-1.9") / "pytorchjob-kubeflow-v1.json",
    "InferenceService": operator_folder("kserve-0.16") / "inferenceservice-serving-v1beta1.json",
}


@pytest.mark.parametrize("name", TWICE)
def test_twice(name: str) -> None:
    body, path = TWICE[name]
    (found,) = lists.judge(_FILES[body["kind"]], body)
    assert (found.code, found.path) == ("MLS318", path)
    assert "and the list may hold each once" in found.message


@pytest.mark.parametrize("name", TWICE)
def test_once(name: str) -> None:
    """Without the second of the two, there is nothing to say."""
    body, path = TWICE[name]
    changed: Any = copy.deepcopy(body)
    parent = changed
    for part in path[:-1]:
        parent = parent[part]
    del parent[path[-1]]
    assert list(lists.judge(_FILES[body["kind"]], changed)) == []


@pytest.mark.parametrize("name", KEPT)
def test_lists_of_another_type_may_hold_the_same_twice(name: str) -> None:
    assert list(lists.judge(_FILES[KEPT[name]["kind"]], KEPT[name])) == []
