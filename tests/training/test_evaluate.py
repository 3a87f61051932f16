"""evaluate.py: an export and held-out images in, metrics.json for the gate out, or one line that says what is wrong."""

from __future__ import annotations

import gzip
import hashlib
import json
import shutil
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import onnx
import pytest

from mlspec import scripts
from tests.support import REPOSITORY
from tests.training import data
from tests.training.launch import Program, environment, finish, python, torchrun

SCRIPT: Final = REPOSITORY / "mlspec" / "training" / "evaluate.py"
_FILE: Final = "classifier/1/model.onnx"


@pytest.fixture(scope="module")
def trained(synthetic: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the run directory of a short training, with checkpoint and export."""
    out = tmp_path_factory.mktemp("trained")
    code, program = finish(python("--data", synthetic, "--out", out, "--epochs", 2, "--deterministic"), out / "log")
    assert code == 0, program.err.read_text()
    return out


@pytest.fixture
def model(trained: Path, tmp_path: Path) -> Path:
    """Return a copy of the export, to be spoiled."""
    return shutil.copytree(trained / "export", tmp_path / "export")


def _evaluate(samples: Path, model: Path, out: Path, processes: int = 1, *more: object) -> tuple[int, Program]:
    arguments = ("--data", samples, "--model", model, "--out", out, *more)
    start = python if processes == 1 else lambda *words, script: torchrun(processes, *words, script=script)
    return finish(start(*arguments, script=SCRIPT), out / "log")


def _metrics(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((out / "metrics.json").read_text())
    return found


def test_it_measures_what_the_training_measured(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    code, program = _evaluate(synthetic, trained / "export", tmp_path)
    assert code == 0, program.err.read_text()
    found, told = _metrics(tmp_path), _metrics(trained)
    assert (found["count"], found["correct"], found["accuracy"]) == (101, told["correct"], told["accuracy"])
    assert found["loss"] == pytest.approx(told["loss"], abs=1e-5)
    manifest = json.loads((trained / "export" / "manifest.json").read_text())
    assert found["model_sha256"] == manifest["files"][_FILE]["sha256"]


def test_metrics_are_the_same_for_one_two_and_four_processes(trained: Path, tmp_path: Path) -> None:
    """101 samples in four shards, which no number of processes divides; losses add up in whole numbers."""
    samples = data.synthetic(tmp_path / "dataset", train=10, test=101, shard=30)
    found = []
    for processes in (1, 2, 4):
        out = tmp_path / str(processes)
        code, program = _evaluate(samples, trained / "export", out, processes, "--batch", 16)
        assert code == 0, program.err.read_text()
        assert len(program.said("evaluate")) == 1
        found.append((out / "metrics.json").read_bytes())
    assert found[0] == found[1] == found[2]
    assert json.loads(found[0])["count"] == 101


def _told(path: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change what a file in JSON says."""
    told = json.loads(path.read_text())
    change(told)
    path.write_text(json.dumps(told))


def _second(model: Path, version: str) -> Path:
    return shutil.copytree(model / "classifier" / "1", model / version) / "model.onnx"


def _two_models(model: Path) -> None:
    _second(model, "other/1")
    _told(model / "manifest.json", lambda told: told["files"].update({"other/1/model.onnx": told["files"][_FILE]}))


_BAD_MODELS: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "changed": (
        lambda model: (model / _FILE).write_bytes((model / _FILE).read_bytes()[:-1] + b"x"),
        f"/export/{_FILE} has changed since it was exported (sha256): train again",
    ),
    "missing": (
        lambda model: (model / _FILE).unlink(),
        f"/export/{_FILE} cannot be read: No such file or directory",
    ),
    "another version": (
        lambda model: _second(model, "classifier/2"),
        "/export/classifier/2/model.onnx is not in manifest.json, and would be served unmeasured: train again",
    ),
    "no manifest": (
        lambda model: (model / "manifest.json").unlink(),
        "/export/manifest.json cannot be read: No such file or directory: has the training ended?",
    ),
    "bad manifest": (
        lambda model: (model / "manifest.json").write_text("[]"),
        "/export/manifest.json is not what ddp.py writes",
    ),
    "two models": (_two_models, "/export/manifest.json names 2 files model.onnx, one is wanted"),
}
_BAD_DATA: Final[dict[str, tuple[Callable[[Path], object], str]]] = {
    "cut short": (
        lambda folder: (folder / "test-00000.images").write_bytes(b"x"),
        "/test-00000.images has 1 bytes instead of 6464: preprocess again",
    ),
    "missing": (
        lambda folder: (folder / "test-00000.labels").unlink(),
        "/test-00000.labels is missing: preprocess again",
    ),
    "changed": (
        lambda folder: (folder / "test-00000.labels").write_bytes(bytes(101)),
        "/test-00000.labels has changed since it was written (sha256): preprocess again",
    ),
    "no count": (
        lambda folder: _told(folder / "_SUCCESS", lambda told: told["splits"]["test"]["shards"][0].pop("count")),
        "describes no data set with a split test: KeyError('count')",
    ),
    "more classes": (
        lambda folder: _told(folder / "_SUCCESS", lambda told: told.update(classes=11)),
        f"{_FILE} answers with [101, 10], [101, 11] wanted",
    ),
    "fewer classes": (
        lambda folder: _told(folder / "_SUCCESS", lambda told: told.update(classes=9)),
        "a label of split test is not below 9: preprocess again",
    ),
    "shape": (
        lambda folder: _told(folder / "_SUCCESS", lambda told: told.update(shape=[1, 4, 16])),
        "1, 8, 8]}, the data set has images of [1, 4, 16]: train again",
    ),
}


def _refused(ended: tuple[int, Program], words: str, out: Path) -> None:
    code, program = ended
    errors = program.err.read_text().splitlines()
    assert (code, len(errors)) == (2, 1), errors
    assert errors[0].startswith("evaluate.py: ")
    assert words in errors[0]
    assert not (out / "metrics.json").exists()


@pytest.mark.parametrize("fault", _BAD_MODELS)
def test_a_model_that_is_not_whole_is_one_line(synthetic: Path, model: Path, tmp_path: Path, fault: str) -> None:
    spoil, words = _BAD_MODELS[fault]
    spoil(model)
    _refused(_evaluate(synthetic, model, tmp_path / "out"), words, tmp_path / "out")


@pytest.mark.parametrize("fault", _BAD_DATA)
def test_data_that_are_not_whole_are_one_line(synthetic: Path, trained: Path, tmp_path: Path, fault: str) -> None:
    spoil, words = _BAD_DATA[fault]
    folder = shutil.copytree(synthetic, tmp_path / "dataset")
    spoil(folder)
    _refused(_evaluate(folder, trained / "export", tmp_path / "out"), words, tmp_path / "out")


def _replaced(model: Path, data: bytes) -> None:
    """Put another file in the model's place, with its own sha256 in the manifest, so that only its use can tell."""
    (model / _FILE).write_bytes(data)
    told = json.loads((model / "manifest.json").read_text())
    told["files"][_FILE]["sha256"] = hashlib.sha256(data).hexdigest()
    (model / "manifest.json").write_text(json.dumps(told))


def test_a_file_that_is_no_model_is_one_line(synthetic: Path, model: Path, tmp_path: Path) -> None:
    _replaced(model, b"no model")
    ended = _evaluate(synthetic, model, tmp_path / "out")
    _refused(ended, f"/export/{_FILE} cannot be loaded: ", tmp_path / "out")


def test_a_model_that_answers_with_nan_has_no_metrics(synthetic: Path, model: Path, tmp_path: Path) -> None:
    """The highest of ten NaN is the first for numpy, so one in ten would count as correct."""
    loaded = onnx.load(str(model / _FILE))
    for weights in loaded.graph.initializer:
        if weights.data_type == onnx.TensorProto.FLOAT:
            values = onnx.numpy_helper.to_array(weights) * float("nan")
            weights.CopyFrom(onnx.numpy_helper.from_array(values, weights.name))
    _replaced(model, loaded.SerializeToString())
    code, program = _evaluate(synthetic, model, tmp_path / "out")
    assert code == 2
    assert program.err.read_text() == (
        f"evaluate.py: {model / _FILE} answers with NaN or infinity: train again, with a lower --lr\n"
    )
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_without_onnxruntime_it_is_one_line(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "onnxruntime.py").write_text("raise ImportError\n")
    variables = environment(PYTHONPATH=str(tmp_path))
    arguments = ("--data", synthetic, "--model", trained / "export", "--out", tmp_path / "out")
    code, program = finish(python(*arguments, script=SCRIPT), tmp_path / "log", variables)
    assert code == 2
    assert program.err.read_text() == "evaluate.py: onnxruntime is not installed: pip install onnxruntime\n"


@pytest.mark.parametrize(
    ("arguments", "variables", "words"),
    [
        (["--batch", "0"], {}, "--batch must be at least 1, got 0"),
        (["--batch", "many"], {}, "argument --batch: invalid int value: 'many'"),
        (["--model", ""], {}, "--data, --model and --out are wanted"),
        (["--split", "validation"], {}, "describes no data set with a split validation: KeyError('validation')"),
        ([], {"WORLD_SIZE": "2"}, "RANK=0, WORLD_SIZE=2 and MASTER_ADDR, MASTER_PORT: let torchrun set all four"),
        ([], {"RANK": "first"}, "RANK or WORLD_SIZE is no number"),
    ],
)
def test_wrong_calls_are_one_line(
    synthetic: Path, trained: Path, tmp_path: Path, arguments: list[str], variables: dict[str, str], words: str
) -> None:
    given = ["--data", synthetic, "--model", trained / "export", "--out", tmp_path / "out"]
    command = python(*given, *arguments, script=SCRIPT)
    code, program = finish(command, tmp_path / "log", environment(**variables))
    errors = program.err.read_text().splitlines()
    assert (code, len(errors)) == (2, 1), errors
    assert words in errors[0]
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_one_line(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    arguments = ("--data", synthetic, "--model", trained / "export", "--out", tmp_path / "file" / "out")
    code, program = finish(python(*arguments, script=SCRIPT), tmp_path / "log")
    assert (code, program.err.read_text()) == (1, f"evaluate.py: {tmp_path}/file/out: Not a directory\n")


def test_preprocess_train_and_evaluate_hand_over(tmp_path: Path) -> None:
    """The three programs as mlspec starts them, told where to read and write by its variables alone."""
    source = tmp_path / "source"
    source.mkdir()
    sums = {}
    for split, count in (("train", 40), ("t10k", 13)):
        labels = bytes(number % 3 for number in range(count))
        images = b"".join(bytes([80 * label] * 30) for label in labels)
        for name, head, body in (
            (f"{split}-images-idx3-ubyte.gz", struct.pack(">4I", 0x803, count, 5, 6), images),
            (f"{split}-labels-idx1-ubyte.gz", struct.pack(">2I", 0x801, count), labels),
        ):
            (source / name).write_bytes(gzip.compress(head + body))
            sums[name] = hashlib.sha256((source / name).read_bytes()).hexdigest()
    (source / "checksums").write_text(json.dumps(sums))
    fetch = ["--source=mnist", "--url", source.as_uri(), "--checksums", source / "checksums", "--shard-size=11"]
    inputs: dict[str, str] = {}
    steps: list[tuple[str, list[object]]] = [
        ("preprocess", fetch),
        ("ddp", ["--epochs=1", "--global-batch=8"]),
        ("evaluate", []),
    ]
    for script, arguments in steps:
        run = tmp_path / script
        command = python(*arguments, script=SCRIPT.with_name(f"{script}.py"))
        code, program = finish(command, tmp_path / f"{script}-log", environment(**inputs, MLSPEC_RUN_DIR=str(run)))
        assert code == 0, program.err.read_text()
        inputs["MLSPEC_INPUT_TRAIN" if script == "ddp" else f"MLSPEC_INPUT_{script.upper()}"] = str(run)
    found, told = _metrics(tmp_path / "evaluate"), _metrics(tmp_path / "ddp")
    assert (found["count"], found["correct"]) == (13, told["correct"])


def _gate(folder: Path, model: Path, least: float) -> tuple[int, str]:
    run = {"run": "evaluate-1", "directory": str(folder), "gate": {"accuracy": {"atLeast": least}}}
    asked = {
        "service": "model",
        "success": [str(folder / "_SUCCESS")],
        "models": [str(model)],
        "evaluations": [{"step": "evaluate", "runs": [run]}],
    }
    command = [sys.executable, "-c", scripts.text("gate.py"), json.dumps(asked)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    return result.returncode, result.stdout + result.stderr


def test_the_gate_judges_what_it_writes(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    model = trained / "export"
    assert _evaluate(synthetic, model, tmp_path)[0] == 0
    (tmp_path / "_SUCCESS").write_text("evaluate-1\n")
    accuracy = _metrics(tmp_path)["accuracy"]
    assert _gate(tmp_path, model, accuracy) == (0, "model: may be served\n")
    least = accuracy + 1e-9
    code, said = _gate(tmp_path, model, least)
    assert (code, said.splitlines()[0]) == (1, "model: not to be served")
    assert f"evaluate-1: accuracy {accuracy}, at least {least} wanted" in said


def test_the_gate_takes_no_nan(trained: Path, tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").write_text("evaluate-1\n")
    (tmp_path / "metrics.json").write_text('{"accuracy": NaN}')
    code, said = _gate(tmp_path, trained / "export", 0.0)
    assert code == 1
    assert "evaluate-1: accuracy is not a finite number in metrics.json, at least 0.0 wanted" in said
