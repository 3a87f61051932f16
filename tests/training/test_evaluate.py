"""evaluate.py, the export that it measures, and the gate that reads what it writes."""

from __future__ import annotations

import json
import re
import shutil
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from mlspec import scripts
from tests.support import REPOSITORY
from tests.training.conftest import Called
from tests.training.launch import Program, environment, finish, python, torchrun

SCRIPT: Final = REPOSITORY / "mlspec" / "training" / "evaluate.py"


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


def _evaluate(data: Path, model: Path, out: Path, processes: int = 1, *more: object) -> tuple[int, Program]:
    arguments = ("--data", data, "--model", model, "--out", out, *more)
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
    assert found["model_sha256"] == manifest["files"]["classifier/1/model.onnx"]["sha256"]


def test_its_counts_are_the_same_for_one_two_and_four_processes(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    """101 samples divide by neither; the counts are equal, and the sums of losses but for their rounding."""
    found = []
    for processes in (1, 2, 4):
        out = tmp_path / str(processes)
        code, program = _evaluate(synthetic, trained / "export", out, processes, "--batch", 16)
        assert code == 0, program.err.read_text()
        found.append(_metrics(out))
    losses = [each.pop("loss") for each in found]
    assert found[0] == found[1] == found[2]
    assert losses == pytest.approx([losses[0]] * 3, rel=1e-12)


def test_the_export_computes_what_the_checkpoint_does(
    ddp: Any, synthetic: Path, trained: Path, call: Callable[..., Called]
) -> None:
    """onnxruntime and torch on the same inputs, in batches of other sizes than the one that was exported."""
    state = torch.load(sorted((trained / "checkpoints").glob("step-*/state.pt"))[-1], weights_only=True)
    network = ddp.Classifier([1, 8, 8], 10)
    network.load_state_dict(state["model"])
    file = trained / "export" / "classifier" / "1" / "model.onnx"
    onnx.checker.check_model(str(file), full_check=True)
    session = onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])
    assert [(i.name, i.type, i.shape[1:]) for i in session.get_inputs()] == [("image", "tensor(float)", [1, 8, 8])]
    assert [(o.name, o.shape[1:]) for o in session.get_outputs()] == [("logits", [10])]
    source = np.random.default_rng(0)
    for size in (1, 4, 7):
        images = source.random((size, 1, 8, 8), dtype=np.float32)
        with torch.no_grad():
            wanted = network.eval()(torch.from_numpy(images)).numpy()
        assert np.abs(session.run(None, {"image": images})[0] - wanted).max() < 1e-5


def test_the_export_is_a_model_repository_of_triton(trained: Path) -> None:
    """One model, one version, one file with its weights inside; beside it what evaluate.py verifies."""
    export = trained / "export"
    assert sorted(path.relative_to(export).as_posix() for path in export.rglob("*") if path.is_file()) == [
        "classifier/1/model.onnx",
        "manifest.json",
    ]
    loaded = onnx.load(str(export / "classifier/1/model.onnx"), load_external_data=False)
    assert not [one.name for one in loaded.graph.initializer if one.data_location == onnx.TensorProto.EXTERNAL]


def _spoiled(model: Path, data: Path, fault: str) -> str:
    file = model / "classifier" / "1" / "model.onnx"
    if fault == "changed":
        file.write_bytes(file.read_bytes()[:-1] + b"x")
        return f"{file} has changed since it was exported (sha256)"
    if fault == "missing":
        file.unlink()
        return f"{file} cannot be read: No such file or directory"
    if fault == "no manifest":
        (model / "manifest.json").unlink()
        return f"{model}/manifest.json cannot be read: No such file or directory: has the training ended?"
    if fault == "bad manifest":
        (model / "manifest.json").write_text("[]")
        return f"{model}/manifest.json is not what ddp.py writes"
    if fault == "two models":
        told = json.loads((model / "manifest.json").read_text())
        other = shutil.copytree(model / "classifier", model / "other") / "1" / "model.onnx"
        told["files"]["other/1/model.onnx"] = told["files"]["classifier/1/model.onnx"]
        (model / "manifest.json").write_text(json.dumps(told))
        assert other.exists()
        return "names 2 files model.onnx, one is wanted"
    if fault == "shard":
        (data / "test-00000.images").write_bytes(b"x")
        return "test-00000.images has 1 bytes instead of"
    if fault == "labels":
        size = (data / "test-00000.labels").stat().st_size
        (data / "test-00000.labels").write_bytes(b"x" * size)
        return "test-00000.labels has changed since it was written (sha256)"
    told = json.loads((data / "_SUCCESS").read_text())
    told["shape"] = [1, 4, 16]
    (data / "_SUCCESS").write_text(json.dumps(told))
    return "[1, 4, 16]"


@pytest.mark.parametrize(
    "fault", ["changed", "missing", "no manifest", "bad manifest", "two models", "shard", "labels", "shape"]
)
def test_what_is_not_whole_is_one_line(synthetic: Path, model: Path, tmp_path: Path, fault: str) -> None:
    data = shutil.copytree(synthetic, tmp_path / "dataset")
    words = _spoiled(model, data, fault)
    code, program = _evaluate(data, model, tmp_path / "out")
    errors = program.err.read_text().splitlines()
    assert (code, len(errors)) == (2, 1), errors
    assert errors[0].startswith("evaluate.py: ")
    assert words in errors[0]
    assert not (tmp_path / "out" / "metrics.json").exists()


def test_a_file_that_is_no_model_is_one_line(synthetic: Path, model: Path, tmp_path: Path) -> None:
    """Its sha256 is the manifest's, so that only onnxruntime can tell."""
    import hashlib

    file = model / "classifier" / "1" / "model.onnx"
    file.write_bytes(b"no model")
    told = json.loads((model / "manifest.json").read_text())
    told["files"]["classifier/1/model.onnx"]["sha256"] = hashlib.sha256(b"no model").hexdigest()
    (model / "manifest.json").write_text(json.dumps(told))
    code, program = _evaluate(synthetic, model, tmp_path / "out")
    assert code == 2
    assert program.err.read_text().startswith(f"evaluate.py: {file} cannot be loaded: ")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--batch", "0"], "--batch must be at least 1"),
        ([], "--data, --model and --out are wanted"),
        (["--split", "validation"], "describes no data set with a split validation"),
    ],
)
def test_wrong_calls_are_2(synthetic: Path, trained: Path, tmp_path: Path, arguments: list[str], words: str) -> None:
    given = ["--data", synthetic, "--model", trained / "export", "--out", tmp_path] if arguments else []
    code, program = finish(python(*given, *arguments, script=SCRIPT), tmp_path / "log")
    assert code == 2
    assert words in program.err.read_text()
    assert "Traceback" not in program.err.read_text()


def test_the_variables_of_mlspec_are_the_defaults(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    (tmp_path / "preprocess").mkdir()
    (tmp_path / "preprocess" / "dataset").symlink_to(synthetic)
    variables = {
        "MLSPEC_INPUT_PREPROCESS": str(tmp_path / "preprocess"),
        "MLSPEC_INPUT_TRAIN": str(trained),
        "MLSPEC_RUN_DIR": str(tmp_path / "run"),
    }
    code, program = finish(python(script=SCRIPT), tmp_path / "log", environment(**variables))
    assert code == 0, program.err.read_text()
    assert _metrics(tmp_path / "run")["count"] == 101


def _gate(folder: Path, least: float) -> tuple[int, str]:
    asked = {
        "service": "model",
        "success": [str(folder / "_SUCCESS")],
        "models": [str(folder / "metrics.json")],
        "evaluations": [
            {
                "step": "evaluate",
                "runs": [{"run": "evaluate-1", "directory": str(folder), "gate": {"accuracy": {"atLeast": least}}}],
            }
        ],
    }
    code, program = finish([sys.executable, "-c", scripts.text("gate.py"), json.dumps(asked)], folder / "gate")
    return code, program.out.read_text() + program.err.read_text()


def test_the_gate_judges_what_it_writes(synthetic: Path, trained: Path, tmp_path: Path) -> None:
    assert _evaluate(synthetic, trained / "export", tmp_path)[0] == 0
    (tmp_path / "_SUCCESS").write_text("evaluate-1\n")
    assert _gate(tmp_path, 0.0) == (0, "model: may be served\n")
    code, said = _gate(tmp_path, 1.1)
    assert code == 1
    assert f"accuracy {_metrics(tmp_path)['accuracy']}, at least 1.1 wanted" in said
    (tmp_path / "metrics.json").write_text('{"accuracy": NaN}')
    assert _gate(tmp_path, 0.0)[0] == 1


def test_the_image_has_what_the_extra_has_and_runs_as_nobody() -> None:
    lines = (REPOSITORY / "mlspec" / "training" / "Dockerfile").read_text().splitlines()
    text = re.sub(r"\\\n\s*", "", "\n".join(line for line in lines if not line.startswith("#")))
    words = {line.split()[0]: line.split()[1:] for line in text.splitlines() if line}
    assert words["FROM"] == ["python:3.12-slim"]
    assert words["USER"] == ["65532:65532"]
    assert "COPY" not in words
    assert "ADD" not in words
    pinned = dict(word.split("==") for word in words["RUN"] if "==" in word)
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extra = {re.match(r"[\w-]+", line)[0]: line for line in project["optional-dependencies"]["train"]}  # type: ignore[index]
    assert set(extra) | {"numpy"} == set(pinned)
    from packaging.requirements import Requirement

    for name, line in extra.items():
        assert pinned[name] in Requirement(line).specifier, line
