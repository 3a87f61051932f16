"""The variables by which an operator starts a training, and what each is on one computer; pure.

A table an operator: the names are exactly those that it adds to its pods (tests/test_run_launch.py holds them against
the pods that the real ones were seen to make). None stands for what is true here as it is in the cluster.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

HOST: Final = "127.0.0.1"
"""Where everything listens: `localhost` may be an IPv6 address, which c10d's store and TensorFlow do not look at."""
TF_CONFIG: Final = "TF_CONFIG"


class Here(NamedTuple):
    """What a training on this computer is: one node of so many processes, which meet at a port."""

    processes: int
    port: int


Value = Callable[[Here], str]
Table = Mapping[str, Value | None]


def _host(_: Here) -> str:
    return HOST


def _port(here: Here) -> str:
    return str(here.port)


def _processes(here: Here) -> str:
    return str(here.processes)


def _first(_: Here) -> str:
    return "0"


_COMMON: Final[Table] = {"PYTHONUNBUFFERED": None, "PET_NPROC_PER_NODE": _processes}
_MASTER: Final[Table] = {
    "MASTER_ADDR": _host,
    "MASTER_PORT": _port,
    "PET_MASTER_ADDR": _host,
    "PET_MASTER_PORT": _port,
    "WORLD_SIZE": _processes,
    "RANK": _first,
    "PET_NODE_RANK": _first,
}
PYTORCH: Final[Table] = {**_COMMON, **_MASTER, "PET_NNODES": lambda _: "1"}
"""PyTorchJob of kubeflow.org/v1 with a Master (training-operator 1.9.3, pkg/controller.v1/pytorch/envvar.go)."""
ELASTIC: Final[Table] = {
    **_COMMON,
    "PET_NNODES": lambda _: "1:1",
    "PET_RDZV_BACKEND": lambda _: "c10d",
    "PET_RDZV_ENDPOINT": lambda here: f"{HOST}:{here.port}",
    "PET_MAX_RESTARTS": None,
    "PET_RDZV_ID": None,
    "PET_RDZV_CONF": None,
    "PET_STANDALONE": None,
}
"""PyTorchJob with an `elasticPolicy` and no Master (pkg/controller.v1/pytorch/elastic.go); the last four only where the
policy says so."""
ELASTIC_MASTER: Final[Table] = {**ELASTIC, **_MASTER}
"""PyTorchJob with an `elasticPolicy` and a Master."""
TENSORFLOW: Final[Table] = {TF_CONFIG: None}
"""TFJob of kubeflow.org/v1 with several pods (pkg/controller.v1/tensorflow/tensorflow.go); see `tf_config`."""
TRAINJOB: Final[Table] = {
    "PET_NNODES": lambda _: "1",
    "PET_NPROC_PER_NODE": _processes,
    "PET_NODE_RANK": _first,
    "PET_MASTER_ADDR": _host,
    "PET_MASTER_PORT": _port,
}
"""TrainJob of trainer.kubeflow.org/v1alpha1 (trainer 2.3.0, pkg/runtime/framework/plugins/torch/torch.go); no kind
emits one yet."""


def table(kind: str, names: frozenset[str]) -> Table:
    """Return the table of a kind of object, by the names of variables that its pod has."""
    if kind == "PyTorchJob":
        elastic = "PET_RDZV_ENDPOINT" in names
        return (ELASTIC_MASTER if "MASTER_ADDR" in names else ELASTIC) if elastic else PYTORCH
    return {"TrainJob": TRAINJOB, "TFJob": TENSORFLOW}.get(kind, {})


def tf_config(written: str, ports: Mapping[str, int]) -> str:
    """Return TF_CONFIG with the hosts of a cluster on this computer; `ports` are theirs, by `host:port` there.

    The order of its fields and the missing spaces stay: by them the wrapper finds the pod that leads.
    """
    found = json.loads(written)
    cluster = found["cluster"]
    for role, hosts in cluster.items():
        if isinstance(hosts, dict):  # the sparse form of `enableDynamicWorker`
            cluster[role] = {index: _address(host, ports) for index, host in hosts.items()}
        else:
            cluster[role] = [_address(host, ports) for host in hosts]
    return json.dumps(found, separators=(",", ":"))


def tf_hosts(written: str) -> list[str]:
    """Return every `host:port` that a TF_CONFIG names."""
    groups = json.loads(written)["cluster"].values()
    return [host for group in groups for host in (group.values() if isinstance(group, dict) else group)]


def _address(host: str, ports: Mapping[str, int]) -> str:
    return f"{HOST}:{ports[host]}"


def divided(wanted: int, most: int) -> int:
    """Return the most processes, of those that this computer can carry, that share the work of `wanted` evenly.

    A batch that the processes of the spec divide is divided by any divisor of their number, and by no other for sure.
    """
    return max(count for count in range(1, max(1, min(wanted, most)) + 1) if wanted % count == 0)
