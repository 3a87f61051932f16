"""The tables of launch variables: their names are those that the real operators were seen to set."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec.local import launch
from mlspec.local.launch import Here
from tests.cluster.harness.operators import observe
from tests.variants import FOLDER, VARIANTS

Body = dict[str, Any]
_HERE: Final = Here(processes=2, port=29400)
_OBSERVED: Final = observe.FOLDER / "training-operator-1.9.3"
_OPTIONAL: Final = {"PET_MAX_RESTARTS", "PET_RDZV_ID", "PET_RDZV_CONF", "PET_STANDALONE"}
"""Set only where an `elasticPolicy` asks for each."""
_OWN: Final = ("MLSPEC_", "HOME", "LOGNAME", "USER")


def _pods(path: Path, kind: str) -> list[Body]:
    return [
        body
        for body in observe.recorded(path)
        if body["kind"] == "Pod" and body["metadata"]["ownerReferences"][0]["kind"] == kind
    ]


def _told(pod: Body) -> dict[str, str]:
    """Return what the operator told a pod: the records of jobs without variables of their own."""
    env = pod["spec"]["containers"][-1].get("env", [])
    return {one["name"]: one.get("value", "") for one in env if not one["name"].startswith(_OWN)}


def _variant(name: str) -> list[dict[str, str]]:
    return [_told(pod) for pod in _pods(_OBSERVED / FOLDER / f"{name}.yaml", VARIANTS[name].kind)]


@pytest.mark.parametrize("name", ["torch-labels", "torch-restarts", "torch-containers"])
def test_pytorch(name: str) -> None:
    found = _variant(name)
    assert found
    for told in found:
        assert told.keys() == launch.PYTORCH.keys()
        assert launch.table("PyTorchJob", frozenset(told)) is launch.PYTORCH


def test_elastic() -> None:
    """All that a policy can say is in the table, and what it leaves out is what is optional."""
    full, bound = _variant("elastic"), _variant("elastic-bound")
    assert full
    assert bound
    for told in full:
        assert told.keys() == launch.ELASTIC.keys()
        assert launch.table("PyTorchJob", frozenset(told)) is launch.ELASTIC
    for told in bound:
        assert launch.ELASTIC.keys() - told.keys() <= _OPTIONAL
        assert told.keys() <= launch.ELASTIC.keys()


def test_elastic_with_a_master() -> None:
    found = _variant("elastic-master")
    assert found
    for told in found:
        assert launch.ELASTIC_MASTER.keys() - told.keys() <= _OPTIONAL
        assert told.keys() <= launch.ELASTIC_MASTER.keys()
        assert launch.table("PyTorchJob", frozenset(told)) is launch.ELASTIC_MASTER


@pytest.mark.parametrize("name", ["flow-master", "flow-dynamic"])
def test_tensorflow(name: str) -> None:
    found = _variant(name)
    assert found
    for told in found:
        assert told.keys() == launch.TENSORFLOW.keys()
        hosts = launch.tf_hosts(told["TF_CONFIG"])
        here = launch.tf_config(told["TF_CONFIG"], {host: 7000 + index for index, host in enumerate(hosts)})
        assert json.loads(here)["task"] == json.loads(told["TF_CONFIG"])["task"]
        assert set(launch.tf_hosts(here)) == {f"127.0.0.1:{7000 + index}" for index, _ in enumerate(hosts)}
        # The wrapper looks for the text of the leading task, spaces and order included.
        assert here.partition('"task":')[2] == told["TF_CONFIG"].partition('"task":')[2]


def test_alone_a_tfjob_is_told_nothing() -> None:
    assert _variant("flow-alone") == [{}]


def test_trainjob() -> None:
    """The five that its API reserves (trainer 2.3.0): no TrainJob is emitted yet, so none has been observed."""
    names = {"PET_NNODES", "PET_NPROC_PER_NODE", "PET_NODE_RANK", "PET_MASTER_ADDR", "PET_MASTER_PORT"}
    assert launch.TRAINJOB.keys() == names
    assert launch.table("TrainJob", frozenset()) is launch.TRAINJOB


def test_a_job_has_none() -> None:
    assert launch.table("Job", frozenset({"MASTER_ADDR"})) == {}


def test_values_are_those_of_one_node() -> None:
    values = {name: value(_HERE) for name, value in launch.ELASTIC_MASTER.items() if value is not None}
    assert values == {
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29400",
        "PET_MASTER_ADDR": "127.0.0.1",
        "PET_MASTER_PORT": "29400",
        "PET_NNODES": "1:1",
        "PET_NODE_RANK": "0",
        "PET_NPROC_PER_NODE": "2",
        "PET_RDZV_BACKEND": "c10d",
        "PET_RDZV_ENDPOINT": "127.0.0.1:29400",
        "RANK": "0",
        "WORLD_SIZE": "2",
    }
    assert launch.PYTORCH["PET_NNODES"] is not None
    assert launch.PYTORCH["PET_NNODES"](_HERE) == "1"


@pytest.mark.parametrize(
    ("wanted", "most", "found"), [(4, 2, 2), (4, 3, 2), (6, 4, 3), (7, 4, 1), (1, 8, 1), (8, 64, 8), (4, 0, 1)]
)
def test_as_many_processes_as_divide_the_work(wanted: int, most: int, found: int) -> None:
    assert launch.divided(wanted, most) == found
