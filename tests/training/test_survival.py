"""A lost process, a lost pod, the hand-over wrapper: what is started again goes on, and ends as if nothing had been."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from pathlib import Path

import pytest

from mlspec import scripts
from tests.training.launch import (
    DRIVER,
    Program,
    alive,
    environment,
    finish,
    losses,
    polls,
    python,
    ranks,
    state,
    torchrun,
)
from tests.training.test_ddp_resume import equal

_OPTIONS = ("--epochs", 4, "--global-batch", 96, "--no-export", "--deterministic", "--checkpoint-every", 2)
_SLOW = '{"sleep": 0.1}'


def _port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def _worker(program: Program, rank: int) -> int:
    """Return the process of an agent's rank, by the rank in its environment."""
    found = []
    for pid in program.pids:
        with contextlib.suppress(OSError):
            if f"RANK={rank}".encode() in Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
                found.append(pid)
    [worker] = found
    return worker


@pytest.mark.slow
@pytest.mark.parametrize("rank", [0, 1])
def test_a_killed_rank_costs_one_restart(rank: int, synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of one rank of two under torchrun: one restart of both, and the weights of an uninterrupted run.

    Rank 0 is the harder one: without TORCH_DISABLE_SHARE_RDZV_TCP_STORE the restart hangs (torch 2.15).
    """
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    assert finish(ranks(2, "--data", synthetic, "--out", whole, *_OPTIONS), tmp_path / "log")[0] == 0
    arguments = (_SLOW, "--data", synthetic, "--out", broken, *_OPTIONS, "--log-every", 1)
    env = environment(PET_MAX_RESTARTS="3")
    with Program(torchrun(2, *arguments, script=DRIVER), tmp_path, env, "killed") as program:
        program.until("step", 7)
        os.kill(_worker(program, rank), signal.SIGKILL)
        assert program.wait() == 0, program.err.read_text()[-2000:]
    assert [event["step"] >= 6 for event in program.said("resume")] == [True], "exactly one restart"
    assert equal(state(whole), state(broken))
    assert len(losses(whole)) == len(losses(broken)) > 12


class _Elastic:
    """An elastic job of one to two agents; who survives waits `last_call` seconds for another before it goes on."""

    def __init__(self, stack: contextlib.ExitStack, data: Path, folder: Path, last_call: int) -> None:
        self.out, self._stack, self._folder, self._port = folder / "out", stack, folder, _port()
        arguments = (_SLOW, "--data", data, "--out", self.out, *_OPTIONS, "--log-every", 1, "--timeout", 20)
        place = ("--nnodes", "1:2", "--rdzv-backend", "c10d", "--rdzv-id", "job", "--max-restarts", "5",
                 "--rdzv-conf", f"last_call_timeout={last_call},join_timeout=60,read_timeout=20",
                 "--rdzv-endpoint", f"127.0.0.1:{self._port}")  # fmt: skip
        self._command = torchrun(1, *arguments, script=DRIVER, options=place)
        self.agents: list[Program] = []

    def add(self) -> None:
        """Start another agent."""
        name = f"agent-{len(self.agents)}"
        self.agents.append(self._stack.enter_context(Program(self._command, self._folder, name=name)))

    def begin(self) -> None:
        """Start two agents, the one with the store first, and wait until they have trained on together."""
        self.add()
        for _ in polls("the store"):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", int(self._port))) == 0:
                    break
        self.add()
        for _ in polls("both agents at work"):
            if 2 in self.said("start", "world") and max(self.said("step", "step"), default=0) >= 5:
                return

    def said(self, event: str, field: str) -> list[int]:
        """Return a field of an event, from all agents."""
        return [found[field] for one in self.agents for found in one.said(event)]

    @property
    def codes(self) -> list[int]:
        """The exit statuses of the agents that have ended."""
        return [one.process.returncode for one in self.agents if one.process.poll() is not None]

    def errors(self) -> list[str]:
        """Return the ends of what the agents wrote on stderr."""
        return [one.err.read_text()[-500:] for one in self.agents]


@pytest.mark.slow
@pytest.mark.parametrize("lost", ["the one with the store", "the other one"])
def test_a_lost_pod_is_replaced(lost: str, synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of an agent and its rank, in an elastic job: its like joins, and the weights are as if nothing had been.

    The first agent holds the rendezvous: with it the others end, and are started again as OnFailure would.
    """
    whole = tmp_path / "whole"
    assert finish(ranks(2, "--data", synthetic, "--out", whole, *_OPTIONS), tmp_path / "log")[0] == 0
    with contextlib.ExitStack() as stack:
        job = _Elastic(stack, synthetic, tmp_path, last_call=60)
        job.begin()
        job.agents[0 if lost == "the one with the store" else 1].kill()
        for _ in polls("an end"):
            if 0 in job.codes or len(job.agents) == 12:
                break
            if len(job.agents) - len(job.codes) < 2:
                job.add()
        assert 0 in job.codes, job.errors()
        resumed = job.said("resume", "step")
    assert resumed
    assert min(resumed) >= 4
    assert set(job.said("start", "world")) == {2}
    assert equal(state(whole), state(job.out))
    assert len(losses(whole)) == len(losses(job.out)) > 12


@pytest.mark.slow
def test_the_other_pod_goes_on_alone(synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of an agent and its rank, and none replaces them: the same steps in one process, but for rounding."""
    whole = tmp_path / "whole"
    assert finish(ranks(2, "--data", synthetic, "--out", whole, *_OPTIONS), tmp_path / "log")[0] == 0
    with contextlib.ExitStack() as stack:
        job = _Elastic(stack, synthetic, tmp_path, last_call=2)
        job.begin()
        job.agents[1].kill()
        assert job.agents[0].wait() == 0, job.errors()
        resumed, worlds = job.agents[0].said("resume"), job.said("start", "world")
    assert worlds == [2, 1]
    assert [event["world"] for event in resumed] == [2]
    done, found, wanted = resumed[0]["step"], losses(job.out), losses(whole)
    assert done >= 4
    assert found[:done] == wanted[:done]
    assert found == pytest.approx(wanted, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("launcher", ["torchrun", "python"])
def test_no_run_of_many_fails_at_its_end(launcher: str, synthetic: Path, tmp_path: Path) -> None:
    """Gloo's threads can abort a process while Python cleans up (pytorch issue 190489): 25 runs of two ranks, all 0."""
    codes = []
    for number in range(25):
        arguments = ("--data", synthetic, "--out", tmp_path / str(number), "--no-export", "--max-steps", 2)
        if launcher == "torchrun":
            codes.append(finish(torchrun(2, *arguments), tmp_path / f"log-{number}")[0])
            continue
        with contextlib.ExitStack() as stack:
            pods = [
                stack.enter_context(Program(python(*arguments), tmp_path, environment(**pod), pod["RANK"]))
                for pod in _pods("PyTorchJob, Master and Worker", _port())
            ]
            codes += [pod.wait() for pod in pods]
    assert len(codes) == (25 if launcher == "torchrun" else 50)
    assert set(codes) == {0}


@pytest.mark.slow
def test_torchrun_waits_as_long_as_it_is_told(synthetic: Path, tmp_path: Path) -> None:
    """PET_SHUTDOWN_TIMEOUT of a second: a rank that hangs is killed long before torchrun's own 30 seconds are over.

    The one that is asked first, and left to these 30 seconds, still runs then, and has its checkpoint once it can.
    """
    with contextlib.ExitStack() as stack:
        programs = {}
        for name, env in (("patient", environment()), ("impatient", environment(PET_SHUTDOWN_TIMEOUT="1"))):
            arguments = (_SLOW, "--data", synthetic, "--out", tmp_path / name, *_OPTIONS, "--log-every", 1)
            command = torchrun(1, *arguments, script=DRIVER)
            programs[name] = stack.enter_context(Program(command, tmp_path, env, name))
        hanging = {}
        for name, program in programs.items():
            program.until("step", 3)
            hanging[name] = _worker(program, 0)
            os.kill(hanging[name], signal.SIGSTOP)
        for program in programs.values():
            program.send(signal.SIGTERM)
        assert programs["impatient"].wait() != 0
        programs["impatient"].gone()
        assert alive(hanging["patient"])
        os.kill(hanging["patient"], signal.SIGCONT)
        assert programs["patient"].wait() != 0
        programs["patient"].gone()
    assert programs["impatient"].said("stop") == []
    [stop] = programs["patient"].said("stop")
    assert state(tmp_path / "patient")["step"] == stop["step"]


def _wrapped(run: Path, command: list[str], folder: Path, name: str) -> Program:
    env = environment(MLSPEC_RUN_DIR=str(run), MLSPEC_RUN="train-00000000", HOSTNAME="here")
    return Program(["/bin/sh", "-c", scripts.text("handover.sh"), "mlspec", "--", *command], folder, env, name)


@pytest.mark.parametrize(("world", "code"), [(1, 143), pytest.param(2, 1, marks=pytest.mark.slow)])
def test_under_the_wrapper_a_stopped_run_goes_on_and_a_finished_one_ends_at_once(
    world: int, code: int, synthetic: Path, tmp_path: Path
) -> None:
    """SIGTERM to process 1 of the pod: a checkpoint, no marker; then the rest, and the marker; then nothing.

    torchrun ends with 1 when it is asked to end, whatever its ranks say; python with what ddp.py says.
    """
    run, options = tmp_path / "run", ("--data", synthetic, *_OPTIONS, "--checkpoint-every", 1000)
    arguments = (_SLOW, *options, "--log-every", 1)
    with _wrapped(run, ranks(world, *arguments, script=DRIVER), tmp_path, "first") as program:
        program.until("step", 3)
        program.send(signal.SIGTERM)
        assert program.wait() == code
        program.gone()
    stopped = program.said("stop")[0]["step"]
    assert not (run / "_SUCCESS").exists()
    with _wrapped(run, ranks(world, *options), tmp_path, "second") as program:
        assert program.wait() == 0, program.err.read_text()[-2000:]
    assert program.said("resume")[0]["step"] == stopped
    assert (run / "_SUCCESS").read_text() == "train-00000000\n"
    before = (run / "metrics.json").stat().st_mtime_ns
    with _wrapped(run, ranks(world, *options), tmp_path, "third") as program:
        assert program.wait() == 0
    assert program.events == []
    assert (run / "metrics.json").stat().st_mtime_ns == before


_V1 = {"MASTER_ADDR": "127.0.0.1", "PET_MASTER_ADDR": "127.0.0.1", "PYTHONUNBUFFERED": "1"}


def _pods(operator: str, port: str) -> list[dict[str, str]]:
    """Return the environments of the pods that an operator makes, with the loopback for the pods' names."""
    ports = {"MASTER_PORT": port, "PET_MASTER_PORT": port}
    if operator == "PyTorchJob, elastic":
        return [{"PYTHONUNBUFFERED": "1", "PET_RDZV_ENDPOINT": f"127.0.0.1:{port}", "PET_RDZV_BACKEND": "c10d",
                 "PET_RDZV_ID": "job", "PET_NNODES": "1:2", "PET_MAX_RESTARTS": "3",
                 "PET_NPROC_PER_NODE": "1"}] * 2  # fmt: skip
    if operator == "TrainJob":
        return [{"PET_MASTER_ADDR": "127.0.0.1", "PET_MASTER_PORT": port, "PET_NNODES": "2", "PET_NODE_RANK": rank,
                 "PET_NPROC_PER_NODE": "1"} for rank in ("0", "1")]  # fmt: skip
    each = {"PyTorchJob of two processes a pod": "2", "PyTorchJob without nprocPerNode": "auto"}.get(operator, "1")
    world = "4" if each == "2" else "2"
    return [_V1 | ports | {"WORLD_SIZE": world, "RANK": rank, "PET_NODE_RANK": rank, "PET_NNODES": "2",
                           "PET_NPROC_PER_NODE": each} for rank in ("0", "1")]  # fmt: skip


@pytest.mark.parametrize(
    ("operator", "program", "world"),
    [
        pytest.param("PyTorchJob, Master and Worker", "torchrun", 2, marks=pytest.mark.slow),
        pytest.param("PyTorchJob, Master and Worker", "python", 2, marks=pytest.mark.slow),
        pytest.param("PyTorchJob without nprocPerNode", "python", 2, marks=pytest.mark.slow),
        pytest.param("PyTorchJob of two processes a pod", "torchrun", 4, marks=pytest.mark.slow),
        ("PyTorchJob of two processes a pod", "python", 0),
        pytest.param("PyTorchJob, elastic", "torchrun", 2, marks=pytest.mark.slow),
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
