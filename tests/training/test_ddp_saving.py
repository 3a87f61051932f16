"""What stands on disk can always be resumed from: kills while saving, a full disk, checkpoints that were damaged."""

from __future__ import annotations

import json
import shlex
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from tests.support import REPOSITORY
from tests.training import driver
from tests.training.conftest import Called
from tests.training.launch import environment, finish, losses, python, torchrun

Call = Callable[..., Called]

_OPTIONS = ("--epochs", 2, "--global-batch", 100, "--no-export", "--checkpoint-every", 3)


def test_a_kill_at_any_line_of_saving_leaves_the_state_before_or_after(synthetic: Path, tmp_path: Path) -> None:
    """At least 25 kills, each at another line; no temporary folder outlives the next save."""
    command = [sys.executable, "-m", "tests.training.saves", str(synthetic), str(tmp_path / "out")]
    code, program = finish(command, tmp_path, environment(PYTHONPATH=str(REPOSITORY)))
    assert (code, program.errors) == (0, []), program.err.read_text()
    kills = program.said("kills")[0]
    assert len(kills["results"]) >= 25
    assert {number for number, *_ in kills["results"]} == {signal.SIGKILL}
    assert all(found in (before, saving) for _, before, saving, found in kills["results"])
    both = {found == saving for _, _, saving, found in kills["results"]}
    assert both == {True, False}, "some kills came before the publication, some after it"
    last = kills["last"]
    assert program.said("left")[0]["files"] == ["LATEST", f"step-{last - 1:08}", f"step-{last:08}"]


@pytest.fixture
def trained(call: Call, synthetic: Path, tmp_path: Path) -> Path:
    """Return the folder of a run that has ended, with checkpoints at 6, 9 and 12 steps."""
    called = call("--data", synthetic, "--out", tmp_path / "out", *_OPTIONS)
    assert (called.code, called.errors) == (0, [])
    assert [event["step"] for event in called.said("checkpoint")] == [3, 6, 9, 12]
    assert {path.name for path in (tmp_path / "out" / "checkpoints").iterdir()} == {
        "LATEST", "step-00000006", "step-00000009", "step-00000012",
    }  # fmt: skip
    return tmp_path / "out"


def _damage(kind: str, folder: Path) -> None:
    state = folder / "state.pt"
    content = state.read_bytes()
    match kind:
        case "truncated":
            state.write_bytes(content[:-1])
        case "flipped":
            state.write_bytes(content[:5000] + bytes([content[5000] ^ 1]) + content[5001:])
        case "no sum":
            (folder / "sha256").unlink()
        case "no state":
            state.unlink()


@pytest.mark.parametrize("kind", ["truncated", "flipped", "no sum", "no state"])
def test_falls_back_to_the_checkpoint_before(kind: str, call: Call, trained: Path, synthetic: Path) -> None:
    """Says so, sets aside what cannot be read, and ends where it had ended."""
    whole, newest = losses(trained), trained / "checkpoints" / "step-00000012"
    _damage(kind, newest)
    called = call("--data", synthetic, "--out", trained, *_OPTIONS, "--keep", 1)
    assert called.code == 0
    assert called.errors == [
        f"ddp.py: {newest} cannot be read, or has changed since it was written: going back to the one before"
    ]
    assert called.said("resume")[0]["step"] == 9
    assert losses(trained) == whole
    assert len(whole) == 12
    names = sorted(path.name for path in (trained / "checkpoints").iterdir())
    assert names == ["LATEST", "step-00000012", "unreadable-step-00000012"]


def test_no_readable_checkpoint_is_refused_and_not_begun_anew(call: Call, trained: Path, synthetic: Path) -> None:
    """Days of training are not thrown away without a word."""
    for path in trained.glob("checkpoints/step-*/state.pt"):
        path.write_bytes(b"x")
    called = call("--data", synthetic, "--out", trained, *_OPTIONS)
    assert called.code == 2
    assert len(called.errors) == 4
    folder = trained / "checkpoints"
    expected = f"{folder} holds no readable checkpoint: restore one, or remove the folder to start anew"
    assert called.errors[-1] == f"ddp.py: {expected}"
    assert called.said("step") == []
    assert len(list(folder.glob("unreadable-*"))) == 3


def test_a_changed_configuration_is_refused(call: Call, trained: Path, synthetic: Path) -> None:
    """The options that differ are named; those that change no weights may differ."""
    changed = (*_OPTIONS, "--lr", 0.1, "--seed", 3, "--augment", "--epochs", 3)
    called = call("--data", synthetic, "--out", trained, *changed)
    assert called.code == 2
    (line,) = called.errors
    start, middle, end = line.partition("differs: ")[2].partition(": restore it, or give another --out")
    assert (middle, end) == (": restore it, or give another --out", "")
    assert sorted(start.split("; ")) == [
        "augment was False, is True", "epochs was 2, is 3", "lr was 0.003, is 0.1", "seed was 0, is 3",
    ]  # fmt: skip
    free = ("--keep", 1, "--log-every", 1, "--timeout", 60, "--accumulate", 2, "--max-steps", 12, "--name", "other")
    called = call("--data", synthetic, "--out", trained, *_OPTIONS, *free)
    assert (called.code, called.errors) == (0, [])


def test_other_data_are_refused(call: Call, trained: Path, synthetic: Path, tmp_path: Path) -> None:
    """The digest of what _SUCCESS says belongs to the configuration; where the data lie does not."""
    other = tmp_path / "other"
    shutil.copytree(synthetic, other)
    called = call("--data", other, "--out", trained, *_OPTIONS)
    assert (called.code, called.errors) == (0, [])
    about = json.loads((other / "_SUCCESS").read_text())
    (other / "_SUCCESS").write_text(json.dumps(about | {"source": "elsewhere"}))
    called = call("--data", other, "--out", trained, *_OPTIONS)
    assert called.code == 2
    assert "configuration differs: data was " in called.errors[0]


@pytest.mark.slow
def test_goes_on_with_another_number_of_processes(synthetic: Path, tmp_path: Path) -> None:
    """Stopped with one process, resumed with two: the same losses but for rounding."""
    options = ("--data", synthetic, *_OPTIONS, "--dtype", "float64", "--dropout", 0.1, "--augment")
    assert finish(python("--out", tmp_path / "one", *options), tmp_path)[0] == 0
    assert finish(python("--out", tmp_path / "both", *options, "--max-steps", 6), tmp_path)[0] == 0
    code, program = finish(torchrun(2, "--out", tmp_path / "both", *options), tmp_path)
    assert (code, program.errors) == (0, [])
    assert program.said("resume")[0]["world"] == 1
    assert len(losses(tmp_path / "one")) == 12
    assert losses(tmp_path / "both") == pytest.approx(losses(tmp_path / "one"), rel=1e-12, abs=0)


# Files 1 to 3 are the state, sum and LATEST of the first checkpoint; 4 to 6 those of the second.
@pytest.mark.parametrize(("file", "resumed"), [(1, 0), (2, 0), (3, 3), (4, 3), (5, 3), (6, 6)])
def test_a_full_disk_ends_in_one_line_and_the_checkpoint_before_remains(
    file: int,
    resumed: int,
    ddp: ModuleType,
    call: Call,
    monkeypatch: pytest.MonkeyPatch,
    synthetic: Path,
    tmp_path: Path,
) -> None:
    """Whichever file of a save cannot be written; with room again, the run goes on to the end."""
    out = tmp_path / "out"
    with monkeypatch.context() as full:
        full.setattr(ddp, "write", driver.full_disk(ddp.write, file))
        called = call("--data", synthetic, "--out", out, *_OPTIONS)
    assert (called.code, called.errors) == (1, ["ddp.py: cannot write: No space left on device"])
    assert not list((out / "checkpoints").glob(".step-*"))
    called = call("--data", synthetic, "--out", out, *_OPTIONS)
    assert (called.code, called.errors) == (0, [])
    assert [event["step"] for event in called.said("resume")] == ([resumed] if resumed else [])
    assert len(losses(out)) == 12


def test_a_limit_on_files_by_the_kernel_is_told_in_one_line(synthetic: Path, tmp_path: Path) -> None:
    """RLIMIT_FSIZE, which a real write meets in the midst of a checkpoint."""
    limited = f"ulimit -f 100; exec {shlex.join(python('--data', synthetic, '--out', tmp_path / 'out', *_OPTIONS))}"
    code, program = finish(["sh", "-c", f"trap '' XFSZ; {limited}"], tmp_path)
    assert (code, program.err.read_text()) == (1, "ddp.py: cannot write: File too large\n")
    assert not list((tmp_path / "out" / "checkpoints").iterdir())
