"""The gate: passes with a model, its run's marker and one passed run of each evaluation, and says what is missing."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mlspec import scripts
from mlspec.scripts import gate

Judge = Callable[..., tuple[int, list[str]]]


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a folder of runs: one trained, and evaluated with accuracy 0.93 and loss 0.2."""
    for run in ("train-ab12cd34", "evaluate-99aa88bb"):
        (tmp_path / run).mkdir()
        (tmp_path / run / "_SUCCESS").write_text(run)
    (tmp_path / "train-ab12cd34" / "export").mkdir()
    (tmp_path / "train-ab12cd34" / "export" / "model.onnx").touch()
    (tmp_path / "evaluate-99aa88bb" / "metrics.json").write_text('{"accuracy": 0.93, "loss": 0.2, "note": "x"}')
    return tmp_path


def _run(project: Path, name: str, wanted: dict[str, Any]) -> dict[str, Any]:
    return {"run": name, "directory": str(project / name), "gate": wanted}


def _question(project: Path, wanted: dict[str, Any] | None = None) -> dict[str, Any]:
    run = _run(project, "evaluate-99aa88bb", {"accuracy": {"atLeast": 0.9}} if wanted is None else wanted)
    return {
        "service": "classifier",
        "models": [str(project / "train-ab12cd34/export")],
        "success": [str(project / "train-ab12cd34/_SUCCESS")],
        "evaluations": [{"step": "evaluate", "runs": [run]}],
    }


@pytest.fixture
def judge(capsys: pytest.CaptureFixture[str]) -> Judge:
    """Return a function that judges a question in this process: the exit code, and the lines that say why."""

    def judged(question: dict[str, Any]) -> tuple[int, list[str]]:
        code = gate.main([json.dumps(question)])
        said = capsys.readouterr()
        verdict = "not to be served" if code else "may be served"
        assert said.out == f"classifier: {verdict}\n"
        return code, said.err.splitlines()

    return judged


_METRICS = "evaluate-99aa88bb/metrics.json"


@pytest.mark.parametrize(
    "wanted",
    [
        {},
        {"accuracy": {}},
        {"accuracy": {"atLeast": 0.93}},
        {"accuracy": {"atMost": 0.93}},
        {"accuracy": {"atLeast": 0.5, "atMost": 1}},
        {"accuracy": {"atLeast": 0.9}, "loss": {"atMost": 0.3}},
    ],
)
def test_a_model_that_passed(wanted: dict[str, Any], project: Path, judge: Judge) -> None:
    assert judge(_question(project, wanted)) == (0, [])


@pytest.mark.parametrize(
    ("wanted", "said"),
    [
        ({"accuracy": {"atLeast": 0.94}}, ["accuracy 0.93, at least 0.94 wanted"]),
        ({"loss": {"atMost": 0.1}}, ["loss 0.2, at most 0.1 wanted"]),
        ({"loss": {"atLeast": 0.3, "atMost": 1}}, ["loss 0.2, at least 0.3 and at most 1 wanted"]),
        ({"f1": {"atLeast": 0.5}}, ["f1 is not in metrics.json, at least 0.5 wanted"]),
        ({"f1": {}}, ["f1 is not in metrics.json, a number wanted"]),
        (
            {"accuracy": {"atLeast": 1}, "loss": {"atMost": 0}},
            ["accuracy 0.93, at least 1 wanted", "loss 0.2, at most 0 wanted"],
        ),
    ],
)
def test_a_threshold_that_is_not_met(wanted: dict[str, Any], said: list[str], project: Path, judge: Judge) -> None:
    assert judge(_question(project, wanted)) == (1, [f"evaluate-99aa88bb: {line}" for line in said])


@pytest.mark.parametrize(
    "value", ["NaN", "Infinity", "-Infinity", '"0.99"', "true", "null", "[1]", '{"mean": 1}', "1e999"]
)
def test_what_is_not_a_number_fails(value: str, project: Path, judge: Judge) -> None:
    (project / _METRICS).write_text(f'{{"accuracy": {value}}}')
    code, said = judge(_question(project))
    assert code == 1
    assert said == ["evaluate-99aa88bb: accuracy is not a finite number in metrics.json, at least 0.9 wanted"]


@pytest.fixture
def bound(project: Path) -> Path:
    """Return the folder of runs, with metrics that name the export that they were measured on, by its manifest."""
    export = project / "train-ab12cd34" / "export"
    (export / "model.onnx").write_bytes(b"weights")
    (export / "labels").mkdir()
    (export / "labels" / "en.txt").write_bytes(b"one")
    files = {
        name: {"sha256": hashlib.sha256((export / name).read_bytes()).hexdigest()}
        for name in ("model.onnx", "labels/en.txt")
    }
    (export / "manifest.json").write_text(json.dumps({"files": files}))
    manifest = hashlib.sha256((export / "manifest.json").read_bytes()).hexdigest()
    (project / _METRICS).write_text(json.dumps({"accuracy": 0.93, "manifest_sha256": manifest}))
    return project


def test_the_model_that_was_measured_passes(bound: Path, judge: Judge) -> None:
    """Files with a dot in front, as network file systems make them, are no part of it; nor is another model."""
    (bound / "train-ab12cd34" / "export" / ".nfs0001").touch()
    assert judge(_question(bound)) == (0, [])
    (bound / "other").mkdir()
    (bound / "other" / "model.txt").touch()
    question = _question(bound)
    assert judge({**question, "models": [str(bound / "other"), *question["models"]]}) == (0, [])


def _another_manifest(export: Path) -> None:
    (export / "manifest.json").write_text('{"files": {}}')


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_another_manifest, "measured another model than {at}, as its manifest.json says: evaluate this one"),
        (lambda at: (at / "model.onnx").write_bytes(b"Weights"), "{at}/model.onnx has changed since it was evaluated"),
        (
            lambda at: (at / "labels/en.txt").write_bytes(b"two"),
            "{at}/labels/en.txt has changed since it was evaluated",
        ),
        (
            lambda at: (at / "labels/en.txt").unlink(),
            "{at}/labels/en.txt cannot be read, so the model may be another than was evaluated: "
            "No such file or directory",
        ),
        (
            lambda at: (at / "manifest.json").unlink(),
            "{at}/manifest.json cannot be read, so the model may be another than was evaluated: "
            "No such file or directory",
        ),
        (
            lambda at: (at / "labels/de.txt").touch(),
            "{at}/labels/de.txt is not in manifest.json, and was not evaluated",
        ),
    ],
    ids=["manifest", "weights", "another file", "file gone", "manifest gone", "file added"],
)
def test_another_model_than_was_measured(change: Callable[[Path], None], said: str, bound: Path, judge: Judge) -> None:
    """Retrained in place, or touched by hand: good metrics of other weights prove nothing."""
    export = bound / "train-ab12cd34" / "export"
    change(export)
    assert judge(_question(bound)) == (1, [f"evaluate-99aa88bb: {said.format(at=export)}"])


@pytest.mark.parametrize("text", ["[]", '{"files": []}', '{"files": {"model.onnx": {}}}', "{"])
def test_a_manifest_that_is_none(text: str, bound: Path, judge: Judge) -> None:
    """Even where the metrics name it."""
    export = bound / "train-ab12cd34" / "export"
    (export / "manifest.json").write_text(text)
    manifest = hashlib.sha256(text.encode()).hexdigest()
    (bound / _METRICS).write_text(json.dumps({"accuracy": 0.93, "manifest_sha256": manifest}))
    code, (line,) = judge(_question(bound))
    assert code == 1
    assert line.startswith(f"evaluate-99aa88bb: {export}/manifest.json is not what ddp.py writes: ")


def test_metrics_that_name_a_model_where_none_is_served(bound: Path, judge: Judge) -> None:
    """As `mlspec run` asks for thresholds that no service waits for."""
    assert judge({**_question(bound), "models": []}) == (0, [])


@pytest.mark.parametrize("value", ["1", "1" + 400 * "0", "9.0e-1", "0.90"])
def test_what_is_a_number_passes(value: str, project: Path, judge: Judge) -> None:
    (project / _METRICS).write_text(f'{{"accuracy": {value}}}')
    assert judge(_question(project)) == (0, [])


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is not JSON: "),
        (b'{"accuracy": 0.9', "is not JSON: "),
        (b"\xff\xfe", "is not JSON: "),
        (b"[" * 200_000, "is not JSON: "),
        (b'{"accuracy": ' + b"1" * 5000 + b"}", "is not JSON: "),
        (b"[0.99]", "is not an object of metrics"),
        (b"0.99", "is not an object of metrics"),
        (b"null", "is not an object of metrics"),
    ],
    ids=["empty", "cut", "bytes", "deep", "long", "list", "number", "null"],
)
def test_metrics_that_cannot_be_read(content: bytes, said: str, project: Path, judge: Judge) -> None:
    (project / _METRICS).write_bytes(content)
    code, lines = judge(_question(project))
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith(f"evaluate-99aa88bb: {project / _METRICS} {said}")


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (lambda at: (at / _METRICS).unlink(), "evaluate-99aa88bb: {at}/evaluate-99aa88bb/metrics.json cannot be read"),
        (
            lambda at: (at / "evaluate-99aa88bb/_SUCCESS").unlink(),
            "evaluate-99aa88bb: has not succeeded, {at}/evaluate",
        ),
        (lambda at: shutil.rmtree(at / "evaluate-99aa88bb"), "evaluate-99aa88bb: has not succeeded, {at}/evaluate"),
        (lambda at: (at / "train-ab12cd34/_SUCCESS").unlink(), "{at}/train-ab12cd34/_SUCCESS: missing"),
        (lambda at: shutil.rmtree(at / "train-ab12cd34/export"), "{at}/train-ab12cd34/export: there is no model"),
        (lambda at: (at / "train-ab12cd34/export/model.onnx").unlink(), "{at}/train-ab12cd34/export: the model is an"),
    ],
)
def test_what_is_missing_is_named(broken: Callable[[Path], object], said: str, project: Path, judge: Judge) -> None:
    broken(project)
    code, lines = judge(_question(project))
    assert code == 1
    assert len(lines) == 1
    assert lines[0].startswith(said.format(at=project))


def test_everything_missing_is_named_at_once(tmp_path: Path, judge: Judge) -> None:
    code, lines = judge(_question(tmp_path))
    assert code == 1
    assert [line.split(": ")[0].rpartition("/")[2] for line in lines] == ["_SUCCESS", "export", "evaluate-99aa88bb"]


def test_a_model_may_be_a_file(project: Path, judge: Judge) -> None:
    question = _question(project)
    question["models"] = [str(project / "train-ab12cd34/export/model.onnx")]
    assert judge(question) == (0, [])
    question["models"].append(question["models"][0] + "/below")
    assert judge(question)[0] == 1


def test_one_passed_run_of_an_evaluation_is_enough(project: Path, judge: Judge) -> None:
    question = _question(project)
    runs = question["evaluations"][0]["runs"]
    runs.insert(0, _run(project, "evaluate-00000000", {"accuracy": {"atLeast": 0.99}}))
    assert judge(question) == (0, [])
    runs[1]["gate"] = {"accuracy": {"atLeast": 0.95}}
    code, lines = judge(question)
    assert code == 1
    assert [line.split(":")[0] for line in lines] == ["evaluate-00000000", "evaluate-99aa88bb"]


def test_each_evaluation_must_have_passed(project: Path, judge: Judge) -> None:
    question = _question(project)
    question["evaluations"].append({"step": "probe", "runs": []})
    assert judge(question) == (1, ["probe: there is no run of this evaluation"])
    question["evaluations"] = []
    assert judge(question) == (0, [])


@pytest.mark.parametrize("arguments", [[], ["{"]])
def test_a_wrong_call_is_said(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert gate.main(arguments) == 2
    assert capsys.readouterr().err.startswith("gate: one argument is wanted")


@pytest.mark.parametrize(("least", "code"), [(0.9, 0), (0.95, 1)])
def test_it_runs_as_it_does_in_the_cluster(least: float, code: int, project: Path) -> None:
    question = json.dumps(_question(project, {"accuracy": {"atLeast": least}}))
    command = [sys.executable, "-I", "-S", "-c", scripts.text("gate.py"), question]
    result = subprocess.run(command, cwd=project, capture_output=True, text=True, check=False)
    assert result.returncode == code
    assert result.stderr == ("evaluate-99aa88bb: accuracy 0.93, at least 0.95 wanted\n" if code else "")
