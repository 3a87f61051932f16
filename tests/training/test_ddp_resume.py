"""A run that was killed ends as if it had not been; a run that is stopped stops everywhere at the same step."""

from __future__ import annotations

import hashlib
import json
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
import torch

from tests.training.conftest import Called
from tests.training.launch import DRIVER, Program, environment, finish, polls, python, ranks, state, torchrun

_OPTIONS = ("--epochs", 4, "--global-batch", 96, "--no-export", "--deterministic", "--dropout", 0.2, "--augment")
_EVERY_TWO = (*_OPTIONS, "--checkpoint-every", 2, "--log-every", 1, "--keep", 2)


def equal(first: Any, second: Any) -> bool:
    """Say whether two nested states have the same bits."""
    if isinstance(first, torch.Tensor):
        return torch.equal(first, second)
    if isinstance(first, dict):
        return first.keys() == second.keys() and all(equal(first[key], second[key]) for key in first)
    if isinstance(first, list):
        return len(first) == len(second) and all(map(equal, first, second))
    return bool(first == second)


@pytest.mark.parametrize(
    "world",
    [
        1,
        pytest.param(2, marks=pytest.mark.slow),
        pytest.param(3, marks=pytest.mark.slow),
        pytest.param(4, marks=pytest.mark.slow),
    ],
)
def test_killed_and_resumed_equals_uninterrupted(world: int, synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of all ranks in the middle of an epoch: the same weights, moments and losses, to the bit."""
    whole, broken = tmp_path / "whole", tmp_path / "broken"
    code, program = finish(ranks(world, "--data", synthetic, "--out", whole, *_EVERY_TWO), tmp_path)
    assert (code, program.errors) == (0, [])
    arguments = ('{"sleep": 0.1}', "--data", synthetic, "--out", broken, *_EVERY_TWO)
    with Program(ranks(world, *arguments, script=DRIVER), tmp_path, name="killed") as killed:
        killed.until("step", 9)
        killed.kill()
    assert not killed.said("done")
    code, program = finish(ranks(world, "--data", synthetic, "--out", broken, *_EVERY_TWO), tmp_path)
    assert (code, program.errors) == (0, [])
    resumed = program.said("resume")[0]["step"]
    assert 8 <= resumed < 24
    assert resumed % 2 == 0
    assert equal(state(whole), state(broken))
    assert len(state(whole)["losses"]) == 24


def _at_one_step(program: Program, out: Path) -> int:
    """Check that a stopped run has saved the step that it stopped at, and says so once; return that step."""
    stopped = [event["step"] for event in program.said("stop")]
    assert len(stopped) == 1
    assert (out / "checkpoints" / "LATEST").read_text() == f"step-{stopped[0]:08}"
    assert state(out)["step"] == len(state(out)["losses"]) == stopped[0] < 24
    assert not program.said("done")
    return int(stopped[0])


_SLOW = pytest.mark.slow
_SIGNALS = [signal.SIGTERM, pytest.param(signal.SIGUSR1, marks=_SLOW), pytest.param(signal.SIGINT, marks=_SLOW)]


@pytest.mark.parametrize("number", _SIGNALS)
def test_one_process_stops_with_143(number: signal.Signals, synthetic: Path, tmp_path: Path) -> None:
    """A second signal while it stops changes nothing."""
    arguments = ('{"sleep": 0.2}', "--data", synthetic, "--out", tmp_path, *_OPTIONS, "--log-every", 1)
    with Program(python(*arguments, script=DRIVER), tmp_path) as program:
        program.until("step", 2)
        program.send(number)
        program.send(number)
        assert program.wait() == 143
    assert program.said("stop")[0]["signal"] == number
    assert _at_one_step(program, tmp_path) >= 3


def test_a_stop_before_the_first_step_ends_at_once(synthetic: Path, tmp_path: Path) -> None:
    """While it waits for peers that never come, too: there is nothing to save."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
    env = {"RANK": "0", "WORLD_SIZE": "2", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    with Program(python("--data", synthetic, "--out", tmp_path, *_OPTIONS), tmp_path, environment(**env)) as program:
        for _ in polls("the rendezvous"):
            if (tmp_path / "checkpoints").exists():
                break
        program.send(signal.SIGTERM)
        assert program.wait(10) in (143, -signal.SIGTERM)
    assert not program.said("stop")


@pytest.mark.slow
def test_torchrun_passes_sigterm_on(synthetic: Path, tmp_path: Path) -> None:
    """Torchrun itself ends with 1 for every end of a worker; what counts is that it is not 0."""
    arguments = ('{"sleep": 0.2}', "--data", synthetic, "--out", tmp_path, *_OPTIONS, "--log-every", 1)
    with Program(torchrun(2, *arguments, script=DRIVER), tmp_path) as program:
        program.until("step", 2)
        assert len(program.pids) >= 3
        program.send(signal.SIGTERM)
        assert program.wait() == 1
        program.gone()
    _at_one_step(program, tmp_path)


@pytest.mark.slow
def test_one_of_two_agents_is_asked_to_stop_and_both_do(synthetic: Path, tmp_path: Path) -> None:
    """As where one of two pods is evicted: the wish travels with the loss, and rank 0 saves."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    arguments = ('{"sleep": 0.2}', "--data", synthetic, "--out", tmp_path, *_OPTIONS, "--log-every", 1)

    def agent(rank: int) -> Program:
        place = ("--nnodes", "2", "--node-rank", str(rank), "--master-addr", "127.0.0.1", "--master-port", port)
        return Program(torchrun(1, *arguments, script=DRIVER, options=place), tmp_path, name=f"agent-{rank}")

    with agent(0) as first, agent(1) as second:
        first.until("step", 2)
        assert len(second.pids) >= 2
        second.send(signal.SIGTERM)
        assert second.wait() == 1
        assert first.wait() == 1
        first.gone()
        second.gone()
    _at_one_step(first, tmp_path)
    assert first.said("stop")[0]["signal"] == 0, "rank 0 itself got no signal"


@pytest.mark.slow
def test_a_worker_does_not_outlive_its_torchrun(synthetic: Path, tmp_path: Path) -> None:
    """Kill -9 of the agent alone: its workers stop as if asked to, and leave a checkpoint."""
    arguments = ('{"sleep": 0.2}', "--data", synthetic, "--out", tmp_path, *_OPTIONS, "--log-every", 1)
    with Program(torchrun(2, *arguments, script=DRIVER), tmp_path) as program:
        program.until("step", 2)
        assert len(program.pids) >= 3
        program.send(signal.SIGKILL)
        assert program.wait() == -signal.SIGKILL
        program.gone()
    _at_one_step(program, tmp_path)


@pytest.mark.parametrize("during", ["evaluate", "export"])
def test_a_stop_after_the_last_step(
    during: str,
    ddp: ModuleType,
    call: Callable[..., Called],
    monkeypatch: pytest.MonkeyPatch,
    synthetic: Path,
    tmp_path: Path,
) -> None:
    """All steps are done and saved, so the run completes; started again, it has only to evaluate and export anew."""
    stop = SimpleNamespace(signal=0, listen=lambda: None)
    options = ("--data", synthetic, "--out", tmp_path, "--epochs", 1)
    with monkeypatch.context() as signalled:
        plain = getattr(ddp, during)

        def with_signal(*arguments: Any) -> Any:
            stop.signal = signal.SIGTERM
            return plain(*arguments)

        signalled.setattr(ddp, "Stop", lambda: stop)
        signalled.setattr(ddp, during, with_signal)
        first = call(*options)
    assert (first.code, first.errors) == (0, [])
    assert stop.signal == signal.SIGTERM
    assert (tmp_path / "checkpoints" / "LATEST").read_text() == "step-00000004"
    assert (tmp_path / "metrics.json").exists()
    (tmp_path / "metrics.json").unlink()
    second = call(*options)
    assert (second.code, second.errors) == (0, [])
    assert second.said("resume")[0]["step"] == 4
    assert second.said("step") == []
    manifest = json.loads((tmp_path / "export" / "manifest.json").read_text())
    assert (manifest["format"], manifest["step"]) == ("onnx", 4)
    assert sorted(manifest["files"]) == ["classifier/1/model.onnx", "classifier/config.pbtxt"]
    for path, entry in manifest["files"].items():
        content = (tmp_path / "export" / path).read_bytes()
        assert entry == {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
    assert (tmp_path / "metrics.json").exists()
    assert sorted(path.name for path in (tmp_path / "export").rglob("*")) == [
        "1", "classifier", "config.pbtxt", "manifest.json", "model.onnx",
    ]  # fmt: skip
