"""What cannot work is told in one line with what to do instead, and exit status 2; nothing of it hangs."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import shutil
import signal
import socket
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.training.conftest import Called
from tests.training.launch import DRIVER, Program, environment, finish, python, torchrun

Call = Callable[..., Called]

_OPTIONS = ("--epochs", 2, "--global-batch", 100, "--no-export")
_WANTED = "--data must name what preprocess.py has written, --out a folder to write to"


def refused(called: Called) -> str:
    """Return the one line that a refused call says, without its beginning."""
    assert (called.code, called.events) == (2, [])
    (line,) = called.errors
    assert line.startswith("ddp.py: ")
    return line.removeprefix("ddp.py: ").removeprefix("error: ")


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--epochs", "many"), "argument --epochs: invalid int value: 'many'"),
        (("--epochs", 0), "--epochs 0 is out of range: it is at least 1 and below inf"),
        (("--lr", "nan"), "--lr nan is out of range: it is at least 0 and below inf"),
        (("--dropout", 1.0), "--dropout 1.0 is out of range: it is at least 0 and below 1"),
        (("--dtype", "float16"), "argument --dtype: invalid choice: 'float16' (choose from 'float32', 'float64')"),
        (("--bf16", "--dtype", "float64"), "--bf16 and --dtype float64 exclude each other: leave one out"),
        (("--fast",), "unrecognized arguments: --fast"),
        (("--name", "a/b"), "--name 'a/b' is no name of a folder, or begins with a dot: give letters, digits and -_."),
        (
            ("--global-batch", 100, "--accumulate", 3),
            "--global-batch 100 must be a multiple of 1 processes × --accumulate 3, at most 600 (samples)",
        ),
        (
            ("--global-batch", 601),
            "--global-batch 601 must be a multiple of 1 processes × --accumulate 1, at most 600 (samples)",
        ),
    ],
)  # fmt: skip
def test_options(options: tuple[object, ...], expected: str, call: Call, synthetic: Path, tmp_path: Path) -> None:
    """Values out of range, and options that exclude each other."""
    assert refused(call("--data", synthetic, "--out", tmp_path, "--no-export", *options)) == expected


def _change_shard(folder: Path, kind: str) -> str:
    images, labels = folder / "train-00001.images", folder / "train-00001.labels"
    about = json.loads((folder / "_SUCCESS").read_text())
    match kind:
        case "missing":
            images.unlink()
            return f"{images}: No such file or directory: {_WANTED}"
        case "truncated":
            images.write_bytes(images.read_bytes()[:-1])
            return f"{images} has 15999 bytes instead of 16000: preprocess again"
        case "changed":
            images.write_bytes(bytes(16000))
            return f"{images} has changed since it was written (sha256): preprocess again"
        case "a label of its own":
            shard = about["splits"]["train"]["shards"][1]
            labels.write_bytes(bytes([10]) + labels.read_bytes()[1:])
            with labels.open("rb") as file:
                shard["sha256"]["labels"] = hashlib.file_digest(file, "sha256").hexdigest()
            (folder / "_SUCCESS").write_text(json.dumps(about))
            return f"{labels}: a label is not below 10: preprocess again"
        case "no description":
            (folder / "_SUCCESS").unlink()
            return f"{folder / '_SUCCESS'}: No such file or directory: {_WANTED}"
        case "no JSON":
            (folder / "_SUCCESS").write_text("done")
            problem = "JSONDecodeError('Expecting value: line 1 column 1 (char 0)')"
            return f"{folder / '_SUCCESS'} describes no data set ({problem}): preprocess again"
        case "no test split":
            del about["splits"]["test"]
            (folder / "_SUCCESS").write_text(json.dumps(about))
            return f"{folder / '_SUCCESS'} describes no data set (KeyError('test')): preprocess again"
    raise AssertionError(kind)


@pytest.mark.parametrize(
    "kind",
    ["missing", "truncated", "changed", "a label of its own", "no description", "no JSON", "no test split"],
)
def test_data(kind: str, call: Call, synthetic: Path, tmp_path: Path) -> None:
    """Each shard is compared with what _SUCCESS says before training starts."""
    folder = tmp_path / "dataset"
    shutil.copytree(synthetic, folder)
    expected = _change_shard(folder, kind)
    assert refused(call("--data", folder, "--out", tmp_path, *_OPTIONS)) == expected


def test_out_that_cannot_be_made(call: Call, synthetic: Path, tmp_path: Path) -> None:
    """The folder's name is a file's."""
    (tmp_path / "file").write_text("")
    called = call("--data", synthetic, "--out", tmp_path / "file", *_OPTIONS)
    assert refused(called) == f"{tmp_path / 'file' / 'checkpoints'}: Not a directory: {_WANTED}"


def test_without_the_packages_of_the_export(
    call: Call, monkeypatch: pytest.MonkeyPatch, synthetic: Path, tmp_path: Path
) -> None:
    """Told before training, not after it."""
    find = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "onnxscript" else find(name))
    expected = "the export needs onnxscript: pip install onnxscript, or give --no-export"
    assert refused(call("--data", synthetic, "--out", tmp_path)) == expected
    assert call("--data", synthetic, "--out", tmp_path, *_OPTIONS).code == 0


@pytest.mark.parametrize(
    ("env", "expected"),
    [
        ({"PET_NNODES": "2", "PET_NPROC_PER_NODE": "1"}, "launched with python, but the operator expects torchrun"),
        ({"PET_NNODES": "1:4"}, "launched with python, but the operator expects torchrun"),
        (
            {"PET_NNODES": "2", "PET_NPROC_PER_NODE": "2", "WORLD_SIZE": "4", "RANK": "0"},
            "launched with python, but the operator expects torchrun",
        ),
        ({"RANK": "2", "WORLD_SIZE": "2", "MASTER_ADDR": "a", "MASTER_PORT": "1"}, "RANK=2, WORLD_SIZE=2 and"),
        (
            {"RANK": "1", "WORLD_SIZE": "2"},
            "RANK=1, WORLD_SIZE=2 and LOCAL_RANK, MASTER_*: let torchrun set all of them",
        ),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "RANK=one, WORLD_SIZE=2 and"),
        ({"RANK": "-1"}, "RANK=-1, WORLD_SIZE=1 and"),
        ({"LOCAL_RANK": "first"}, "RANK=0, WORLD_SIZE=1 and LOCAL_RANK"),
    ],
)
def test_launches(
    env: dict[str, str],
    expected: str,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    synthetic: Path,
    tmp_path: Path,
) -> None:
    """A TrainJob with python trains a copy in each pod, a PyTorchJob with several processes a pod waits for ever."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert refused(call("--data", synthetic, "--out", tmp_path, *_OPTIONS)).startswith(expected)


def test_python_in_a_pod_of_one_process_is_right_without_torchrun(
    call: Call, monkeypatch: pytest.MonkeyPatch, synthetic: Path, tmp_path: Path
) -> None:
    """A PyTorchJob with one pod: the operator's variables, and nothing to refuse."""
    env = {"PET_NNODES": "1", "PET_NPROC_PER_NODE": "1", "RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "a"}
    for name, value in env.items():
        monkeypatch.setenv(name, value)
    assert call("--data", synthetic, "--out", tmp_path, *_OPTIONS).code == 0


def test_training_that_diverges_stops_before_it_spoils_a_checkpoint(
    call: Call, synthetic: Path, tmp_path: Path
) -> None:
    """The loss of every rank is in the sum, so all see it at the same step."""
    called = call("--data", synthetic, "--out", tmp_path, *_OPTIONS, "--lr", 1e30, "--clip", 0, "--warmup", 1)
    assert called.code == 2
    (line,) = called.errors
    assert line.startswith("ddp.py: the loss is nan at step ")
    assert not list((tmp_path / "checkpoints").iterdir())


def test_errors_are_what_torchrun_shows_and_pods_end_with(synthetic: Path, tmp_path: Path) -> None:
    """The line, where @record would put a traceback; once on stderr."""
    options = ("--data", synthetic, "--out", tmp_path, "--global-batch", 7, "--accumulate", 2)
    file = tmp_path / "termination-log"
    code, program = finish(python(*options), tmp_path, environment(TORCHELASTIC_ERROR_FILE=str(file)))
    assert code == 2
    line = "--global-batch 7 must be a multiple of 1 processes × --accumulate 2, at most 600 (samples)"
    assert program.err.read_text() == f"ddp.py: {line}\n"
    assert json.loads(file.read_text())["message"] == line


def _free_port() -> str:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return str(free.getsockname()[1])


def test_peers_that_never_come_end_the_wait(synthetic: Path, tmp_path: Path) -> None:
    """WORLD_SIZE says more processes than there are."""
    env = environment(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=_free_port())
    code, program = finish(python("--data", synthetic, "--out", tmp_path, *_OPTIONS, "--timeout", 2), tmp_path, env)
    assert code == 1
    (line,) = program.errors
    assert line.startswith("ddp.py: a process was lost, never came, or has no memory left: ")
    assert "1/2 clients joined" in line


def test_a_port_that_is_taken(synthetic: Path, tmp_path: Path) -> None:
    """Told with its number."""
    with socket.socket() as taken:
        taken.bind(("0.0.0.0", 0))  # noqa: S104
        taken.listen()
        port = str(taken.getsockname()[1])
        env = environment(RANK="0", WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        code, program = finish(python("--data", synthetic, "--out", tmp_path, *_OPTIONS), tmp_path, env)
    assert code == 1
    (line,) = program.errors
    assert "EADDRINUSE" in line
    assert port in line


@pytest.mark.slow
def test_a_killed_rank_ends_its_peers_at_once(synthetic: Path, tmp_path: Path) -> None:
    """Without a launcher that would end them: long before --timeout, in one line."""
    port, slow = _free_port(), '{"sleep": 0.1}'
    options = (slow, "--data", synthetic, "--out", tmp_path, *_OPTIONS, "--log-every", 1, "--timeout", 600)

    def rank(number: int) -> Program:
        env = environment(RANK=str(number), WORLD_SIZE="2", MASTER_ADDR="127.0.0.1", MASTER_PORT=port)
        return Program(python(*options, script=DRIVER), tmp_path, env, name=str(number))

    with rank(0) as first, rank(1) as second:
        first.until("step", 2)
        second.send(signal.SIGKILL)
        assert first.wait(60) == 1
    (line,) = first.errors
    assert line.startswith("ddp.py: a process was lost, never came, or has no memory left: ")


@pytest.mark.slow
def test_a_batch_that_processes_cannot_share(synthetic: Path, tmp_path: Path) -> None:
    """Under torchrun: each rank says the line, none starts, and torchrun's own summary holds no traceback."""
    code, program = finish(torchrun(3, "--data", synthetic, "--out", tmp_path, *_OPTIONS), tmp_path)
    assert code == 1
    line = "--global-batch 100 must be a multiple of 3 processes × --accumulate 1, at most 600 (samples)"
    assert set(program.errors) == {f"ddp.py: {line}"}
    assert "Traceback" not in program.err.read_text().partition("FAILED")[2].partition("Root Cause")[2]
    assert program.events == []
