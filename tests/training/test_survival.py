"""A lost process, a lost pod, the hand-over wrapper: what is started again goes on, and ends as if nothing had been."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from pathlib import Path

import pytest

from mlspec import scripts
from tests.training.launch import DRIVER, Program, alive, environment, finish, polls, python, ranks, torchrun
from tests.training.test_ddp_resume import equal, weights

_OPTIONS = ("--epochs", 4, "--global-batch", 96, "--no-export", "--deterministic", "--checkpoint-every", 2)
_SLOW = '{"sleep": 0.1}'


def _port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def _workers(program: Program) -> list[int]:
    """Return the ranks of an agent: those whose environment names a rank."""
    found = []
    for pid in program.pids:
        with contextlib.suppress(OSError):
            if b"\0LOCAL_RANK=" in b"\0" + Path(f"/proc/{pid}/environ").read_bytes():
                found.append(pid)
    return found


def test_a_killed_rank_costs_one_restart(synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of one rank of two under torchrun: one restart of both, and the weights of an uninterrupted run."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert finish(ranks(2, "--data", synthetic, "--out", whole, *_OPTIONS), tmp_path / "log")[0] == 0
    options = ("--standalone", "--max-restarts", "3")
    arguments = (_SLOW, "--data", synthetic, "--out", broken, *_OPTIONS, "--log-every", 1)
    with Program(torchrun(2, *arguments, script=DRIVER, options=options), tmp_path, name="killed") as program:
        program.until("step", 7)
        first, second = _workers(program)
        os.kill(max(first, second), signal.SIGKILL)
        assert program.wait() == 0, program.err.read_text()[-2000:]
    assert [event["step"] >= 6 for event in program.said("resume")] == [True], "exactly one restart"
    assert equal(weights(whole), weights(broken))
    assert (whole / "losses.jsonl").read_bytes() == (broken / "losses.jsonl").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["the one with the store", "the other one"])
def test_a_lost_pod_is_replaced(lost: str, synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of an agent and its rank, in an elastic job of one to two; its like joins later, and the run ends.

    The first agent holds the rendezvous: with it the others end, and are started again as OnFailure would.
    """
    out, port = tmp_path / "out", _port()
    arguments = (_SLOW, "--data", synthetic, "--out", out, *_OPTIONS, "--log-every", 1, "--timeout", 20)
    place = ("--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-id", "job", "--max-restarts", "5",
             "--rdzv-conf", "last_call_timeout=2,join_timeout=60,read_timeout=20",
             "--rdzv-endpoint", f"127.0.0.1:{port}")  # fmt: skip

    def agent(name: str) -> Program:
        return Program(torchrun(1, *arguments, script=DRIVER, options=place), tmp_path, name=name)

    with contextlib.ExitStack() as stack:
        agents = [stack.enter_context(agent("agent-0"))]
        for _ in polls("the store"):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(port))) == 0:
                    break
        agents.append(stack.enter_context(agent("agent-1")))
        for _ in polls("both agents at work"):
            starts = [event["world"] for one in agents for event in one.said("start")]
            if 2 in starts and any(event["step"] >= 5 for one in agents for event in one.said("step")):
                break
        agents[0 if lost == "the one with the store" else 1].kill()
        codes: list[int] = []
        for number in range(2, 12):
            agents.append(stack.enter_context(agent(f"agent-{number}")))
            for _ in polls("an end"):
                codes = [one.process.returncode for one in agents if one.process.poll() is not None]
                if 0 in codes or len(agents) - len(codes) < 2:
                    break
            if 0 in codes:
                break
        assert 0 in codes, [one.err.read_text()[-500:] for one in agents]
    resumed = [event["step"] for one in agents for event in one.said("resume")]
    assert resumed
    assert min(resumed) >= 4
    assert weights(out)["step"] == 24
    assert len((out / "losses.jsonl").read_text().splitlines()) == 24


@pytest.mark.slow
@pytest.mark.parametrize("world", [1, 2])
def test_no_run_of_many_fails_at_its_end(world: int, synthetic: Path, tmp_path: Path) -> None:
    """Gloo's threads can abort a process while Python cleans up (pytorch issue 190489): 25 short runs, all 0."""
    codes = []
    for number in range(25):
        arguments = ("--data", synthetic, "--out", tmp_path / str(number), "--no-export", "--max-steps", 2)
        command = torchrun(world, *arguments)
        codes.append(finish(command, tmp_path / f"log-{number}")[0])
    assert codes == [0] * 25


def _wrapped(run: Path, command: list[str], folder: Path, name: str) -> Program:
    env = environment(MLSPEC_RUN_DIR=str(run), MLSPEC_RUN="train-00000000", HOSTNAME="here")
    return Program(["/bin/sh", "-c", scripts.text("handover.sh"), "mlspec", "--", *command], folder, env, name)


def test_under_the_wrapper_a_stopped_run_goes_on_and_a_finished_one_ends_at_once(
    synthetic: Path, tmp_path: Path
) -> None:
    """SIGTERM to process 1 of the pod: a checkpoint, no marker; then the rest, and the marker; then nothing."""
    run = tmp_path / "run"
    arguments = (_SLOW, "--data", synthetic, *_OPTIONS, "--log-every", 1)
    with _wrapped(run, torchrun(2, *arguments, script=DRIVER), tmp_path, "first") as program:
        program.until("step", 3)
        program.send(signal.SIGTERM)
        assert program.wait() != 0
        program.gone()
    stopped = program.said("stop")[0]["step"]
    assert not (run / "_SUCCESS").exists()
    with _wrapped(run, torchrun(2, "--data", synthetic, *_OPTIONS), tmp_path, "second") as program:
        assert program.wait() == 0, program.err.read_text()[-2000:]
    assert program.said("resume")[0]["step"] == stopped
    assert (run / "_SUCCESS").read_text() == "train-00000000\n"
    before = (run / "metrics.json").stat().st_mtime_ns
    with _wrapped(run, torchrun(2, "--data", synthetic, *_OPTIONS), tmp_path, "third") as program:
        assert program.wait() == 0
    assert program.events == []
    assert (run / "metrics.json").stat().st_mtime_ns == before


_V1 = {"MASTER_ADDR": "127.0.0.1", "PET_MASTER_ADDR": "127.0.0.1", "PYTHONUNBUFFERED": "1"}


def _pods(operator: str, port: str) -> list[dict[str, str]]:
    """Return the environments of the pods that an operator makes, with the loopback for the pods' names."""
    ports = {"MASTER_PORT": port, "PET_MASTER_PORT": port}
    if operator == "PyTorchJob, Master and Worker":
        return [
            _V1 | ports | {"WORLD_SIZE": "2", "RANK": rank, "PET_NODE_RANK": rank, "PET_NNODES": "2",
                           "PET_NPROC_PER_NODE": "1"}
            for rank in ("0", "1")
        ]  # fmt: skip
    if operator == "PyTorchJob of two processes a pod":
        return [_V1 | ports | {"WORLD_SIZE": "2", "RANK": "0", "PET_NODE_RANK": "0", "PET_NNODES": "1",
                               "PET_NPROC_PER_NODE": "2"}]  # fmt: skip
    if operator == "PyTorchJob, elastic":
        return [{"PYTHONUNBUFFERED": "1", "PET_RDZV_ENDPOINT": f"127.0.0.1:{port}", "PET_RDZV_BACKEND": "c10d",
                 "PET_RDZV_ID": "job", "PET_NNODES": "1:1", "PET_MAX_RESTARTS": "3",
                 "PET_NPROC_PER_NODE": "1"}]  # fmt: skip
    return [{"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": port, "PET_NNODES": "2", "PET_NODE_RANK": rank,
             "PET_NPROC_PER_NODE": "1"} for rank in ("0", "1")]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "program", "world"),
    [
        pytest.param("PyTorchJob, Master and Worker", "torchrun", 2, marks=pytest.mark.slow),
        pytest.param("PyTorchJob, Master and Worker", "python", 2, marks=pytest.mark.slow),
        pytest.param("PyTorchJob of two processes a pod", "torchrun", 2, marks=pytest.mark.slow),
        ("PyTorchJob of two processes a pod", "python", 0),
        pytest.param("PyTorchJob, elastic", "torchrun", 1, marks=pytest.mark.slow),
        pytest.param("TrainJob", "torchrun", 2, marks=pytest.mark.slow),
        ("TrainJob", "python", 0),
    ],
)
def test_launched_as_an_operator_does(operator: str, program: str, world: int, synthetic: Path, tmp_path: Path) -> None:
    """The world that the pods are in, or 0: refused, as they would train apart (TrainJob) or wait for ever (v1)."""
    arguments = ("--data", synthetic, "--out", tmp_path / "out", "--no-export", "--max-steps", 2)
    start = (
        python(*arguments)
        if program == "python"
        else [*torchrun(1)[:3], python(*arguments)[1], *python(*arguments)[2:]]
    )
    pods = _pods(operator, _port())
    with contextlib.ExitStack() as stack:
        found = [
            stack.enter_context(Program(start, tmp_path, environment(**pod), name=f"pod-{number}"))
            for number, pod in enumerate(pods)
        ]
        codes = [pod.wait() for pod in found]
    if not world:
        assert set(codes) == {2}
        assert all(len(pod.errors) == 1 and "expects torchrun" in pod.errors[0] for pod in found)
        return
    assert set(codes) == {0}, [pod.err.read_text()[-1000:] for pod in found]
    assert [event["world"] for pod in found for event in pod.said("start")] == [world]
    assert not [pid for pod in found for pid in pod.pids if alive(pid)]
