"""FSDP2 on the CPU: the same training as ddp.py's, resumed exactly on as many processes, or on others, and exported."""

from __future__ import annotations

import json
import signal
from pathlib import Path

import pytest

from tests.training.launch import DDP, Program, finish, losses, python, torchrun

_FSDP = DDP.with_name("fsdp.py")
_OPTIONS = ("--epochs", 2, "--global-batch", 96, "--dropout", 0.1, "--augment", "--dtype", "float64")


@pytest.mark.slow
def test_trains_resumes_and_exports_as_ddp_does(synthetic: Path, tmp_path: Path) -> None:
    """Losses to 1e-12; after a stop within an epoch the very same; with other processes from there on, to 1e-12."""
    options = ("--data", synthetic, *_OPTIONS, "--checkpoint-every", 2)
    assert finish(python("--out", tmp_path / "ddp", *options, "--no-export"), tmp_path)[0] == 0
    code, program = finish(torchrun(2, "--out", tmp_path / "whole", *options, script=_FSDP), tmp_path)
    assert (code, program.errors) == (0, [])
    assert [event["step"] for event in program.said("checkpoint")] == [2, 4, 6, 8, 10, 12]
    assert losses(tmp_path / "whole") == pytest.approx(losses(tmp_path / "ddp"), rel=1e-12, abs=0)
    for name, then in (("same", 2), ("other", 3)):
        part = ("--out", tmp_path / name, *options, "--no-export")
        assert finish(torchrun(2, *part, "--max-steps", 5, script=_FSDP), tmp_path)[0] == 0
        code, program = finish(torchrun(then, *part, script=_FSDP), tmp_path)
        assert (code, program.errors) == (0, [])
        assert [event["step"] for event in program.said("resume")] == [5]
    assert losses(tmp_path / "same") == losses(tmp_path / "whole")
    assert losses(tmp_path / "other") == pytest.approx(losses(tmp_path / "whole"), rel=1e-12, abs=0)
    manifest = json.loads((tmp_path / "whole" / "export" / "manifest.json").read_text())
    files = ["classifier/1/model.onnx", "classifier/config.pbtxt"]
    assert (manifest["step"], sorted(manifest["files"])) == (12, files)
    metrics = [json.loads((tmp_path / name / "metrics.json").read_text()) for name in ("ddp", "whole")]
    assert metrics[0]["correct"] == metrics[1]["correct"]


@pytest.mark.slow
def test_stops_with_a_checkpoint_and_falls_back(synthetic: Path, tmp_path: Path) -> None:
    """SIGTERM waits for the save that is under way; a file that was cut off later sends the run one back."""
    options = ("--data", synthetic, "--out", tmp_path, *_OPTIONS, "--no-export", "--log-every", 1)
    command = torchrun(2, *options, "--checkpoint-every", 2, "--epochs", 50, script=_FSDP)
    with Program(command, tmp_path) as program:
        program.until("step", 4)
        program.send(signal.SIGTERM)
        assert program.wait() == 1
        program.gone()
    (stopped,) = program.said("stop")
    newest = tmp_path / "checkpoints" / f"step-{stopped['step']:08}"
    assert (newest / "manifest.json").is_file()
    part = next(newest.glob("*.distcp"))
    part.write_bytes(part.read_bytes()[:-1])
    command = torchrun(2, *options, "--epochs", 50, "--max-steps", stopped["step"] + 1, script=_FSDP)
    code, program = finish(command, tmp_path)
    assert code == 0
    assert program.errors == [f"ddp.py: {newest} is not whole: going back to the one before"]
    assert program.said("resume")[0]["step"] < stopped["step"]


def test_one_process_is_refused(synthetic: Path, tmp_path: Path) -> None:
    """There is nobody to share with."""
    code, program = finish(python("--data", synthetic, "--out", tmp_path, *_OPTIONS, script=_FSDP), tmp_path)
    assert code == 2
    expected = "fsdp.py shares a model out over processes: start several with torchrun, or take ddp.py"
    assert program.err.read_text() == f"ddp.py: {expected}\n"
