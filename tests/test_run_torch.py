"""`mlspec run` with the real torchrun: the variables of the operator, a group, the log of the rank that failed."""

from __future__ import annotations

import json
import signal
from pathlib import Path
from typing import Final

import pytest

from mlspec.local import launch
from tests import local_runs
from tests.local_runs import alive, until

_PROJECT: Final = (
    "volumes: {models: {size: 1Gi, access: ReadWriteMany}}\n"
    "steps: {train: {kind: pytorch, image: 'i:1', script: train.py, nodes: 4, mounts: {models: /models}}}\n"
)
_TRAIN: Final = """\
import json, os, pathlib, signal, sys, time
import torch
import torch.distributed as dist
dist.init_process_group("gloo")
rank, world = dist.get_rank(), dist.get_world_size()
total = torch.tensor([rank + 1.0])
dist.all_reduce(total)
run = pathlib.Path(os.environ["MLSPEC_RUN_DIR"])
(run / f"{rank}.json").write_text(json.dumps({"world": world, "sum": total.item(), "env": dict(os.environ)}))
print("hello of", rank, flush=True)
THEN
dist.barrier()
dist.destroy_process_group()
sys.stdout.flush()
os._exit(0)
"""


def _run(root: Path) -> Path:
    (found,) = (root / ".mlspec" / "volumes" / "models" / "demo").iterdir()
    return found


def test_processes_form_a_group(tmp_path: Path) -> None:
    """Of 4 pods in the cluster, 2 processes here; each has a log of its own, and the run is marked as succeeded."""
    root = local_runs.root(tmp_path, _PROJECT, train=_TRAIN.replace("THEN", ""))
    result = local_runs.run(root, "--processes", "2")
    assert result.code == 0, result.output
    assert "train: starts, 2 processes where the spec has 4\n" in result.stderr
    run = _run(root)
    assert (run / "_SUCCESS").exists()
    told = [json.loads((run / f"{rank}.json").read_text()) for rank in range(2)]
    for rank, one in enumerate(told):
        assert (one["world"], one["sum"]) == (2, 3.0)
        # What the operator sets is there; torchrun has put the rank's own in the place of the pod's.
        assert launch.PYTORCH.keys() - {"MASTER_PORT", "WORLD_SIZE", "RANK"} <= one["env"].keys()
        assert (one["env"]["RANK"], one["env"]["WORLD_SIZE"]) == (str(rank), "2")
        assert one["env"]["PET_NNODES"] == "1"
        assert one["env"]["MASTER_ADDR"] == "127.0.0.1"
        assert one["env"]["HOSTNAME"] == f"{run.name}-master-0"
        (log,) = (root / ".mlspec" / "logs" / run.name / "ranks").glob(f"*/attempt_0/{rank}/stdout.log")
        assert f"hello of {rank}\n" in log.read_text()
        assert f"train: [{rank}] hello of {rank}\n" in result.stderr
    again = local_runs.run(root)
    assert again.code == 0, again.output
    assert f"train: up to date ({run.name})\n" in again.stderr


def test_the_log_of_the_rank_that_failed(tmp_path: Path) -> None:
    """Not of rank 0, which only lost its peer; and torchrun's own traceback stays in the log."""
    train = _TRAIN.replace("THEN", "if rank == 1: raise SystemExit('no such image: 7.png')")
    root = local_runs.root(tmp_path, _PROJECT, train=train)
    result = local_runs.run(root, "--processes", "2")
    assert result.code == 1
    assert "train: failed with exit code 1; the end of .mlspec/logs/train-" in result.stderr
    assert "/attempt_0/1/stderr.log:\n  | no such image: 7.png\n" in result.stderr
    assert "torch.distributed.elastic.multiprocessing.errors" not in result.stderr
    assert not (_run(root) / "_SUCCESS").exists()


@pytest.mark.slow
def test_ctrl_c_reaches_every_rank(tmp_path: Path) -> None:
    """Through the wrapper and torchrun; all ranks end, and the first has written."""
    then = """\
stop = []
signal.signal(signal.SIGTERM, lambda *_: stop.append(1))
(run / f"{rank}.new").write_text(str(os.getpid()))
(run / f"{rank}.new").rename(run / f"{rank}.ready")
while not stop:
    time.sleep(0.02)
(run / f"{rank}.stopped").touch()
os._exit(143)
"""
    root = local_runs.root(tmp_path, _PROJECT, train=_TRAIN.replace("THEN", then))
    with local_runs.started(root, "--processes", "2") as process:
        until(lambda: len(list(root.glob(".mlspec/volumes/models/demo/*/*.ready"))) == 2, "the start")
        processes = [int(path.read_text()) for path in _run(root).glob("*.ready")]
        process.send_signal(signal.SIGINT)
        assert process.wait(local_runs.LONGEST) == 130
    assert sorted(path.name for path in _run(root).glob("*.stopped")) == ["0.stopped", "1.stopped"]
    assert not [number for number in processes if alive(number)]


@pytest.mark.slow
def test_elastic(tmp_path: Path) -> None:
    """One node that meets itself by c10d; a process that dies is started again, as the operator's restarts say."""
    project = _PROJECT.replace("nodes: 4", "elastic: {min: 1, max: 2}, retries: 1")
    then = """\
print("told", os.environ["PET_NNODES"], os.environ["PET_RDZV_BACKEND"], os.environ["PET_RDZV_ENDPOINT"], flush=True)
if rank == 1 and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
    os._exit(3)
"""
    result = local_runs.run(local_runs.root(tmp_path, project, train=_TRAIN.replace("THEN", then)), "--processes", "2")
    assert result.code == 0, result.output
    assert "train: [0] told 1:1 c10d 127.0.0.1:" in result.stderr
    assert (_run(tmp_path) / "_SUCCESS").exists()
