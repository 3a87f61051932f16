"""Services that follow a step or a pin: which run is served, what the gate asks for, and what a revert gives back."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from mlspec import yamltext
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, make_root, mlspec

_FOLLOW = ENVIRONMENT + "promotion: follow\n"
_PROJECT = """\
volumes: {models: {size: 1Gi, access: ReadWriteMany}}
steps:
  prepare: {kind: job, image: "a/b:1", command: [prepare]}
  train: {kind: job, needs: [prepare], image: "a/b:1", command: [train], mounts: {models: /models}}
  evaluate:
    kind: job
    needs: [train]
    image: "a/b:1"
    command: [evaluate]
    mounts: {models: /m}
    gate: {accuracy: {atLeast: 0.9}}
  compare:
    {kind: job, needs: [evaluate], image: "a/b:1", command: [c], mounts: {models: /c}, gate: {gain: {atLeast: 0}}}
  unrelated: {kind: job, image: "a/b:1", command: [u], mounts: {models: /u}, gate: {x: {atMost: 1}}}
services:
  chat: {kind: kserve, model: {format: sklearn, from: train, path: ./export//onnx/}}
"""


def _pinned(run: str) -> str:
    return _PROJECT.replace("from: train,", f"from: train, run: {run},")


def _write(folder: Path, text: str, environment: str = _FOLLOW) -> Path:
    root = make_root(folder, text, {"dev": environment})
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    assert mlspec(root, "check").code == 0
    return root


def _runs(root: Path) -> dict[str, str]:
    """Return the current run of every step."""
    compiled = compile_workspace(load(root)).projects[0]
    return {stated.workload.name: stated.workload.object_name for stated in compiled.plans["dev"].steps}


def _uri(root: Path) -> str:
    compiled = compile_workspace(load(root)).projects[0]
    found = next(r.body for r in compiled.resources["dev"] if r.body["kind"] == "InferenceService")
    return str(found["spec"]["predictor"]["model"]["storageUri"])


def _gate(root: Path) -> dict[str, Any]:
    """Return what the gate is asked."""
    documents = yamltext.load_all((root / "generated/demo/overlays/dev/serving/resources.yaml").read_text())
    job = next(body for body in documents if body["metadata"]["name"] == "chat-gate")
    found = json.loads(job["spec"]["template"]["spec"]["containers"][0]["args"][0])
    assert isinstance(found, dict)
    return found


def _judges(root: Path) -> dict[str, list[str]]:
    return {item["step"]: [run["run"] for run in item["runs"]] for item in _gate(root)["evaluations"]}


def _retrain(root: Path, text: str = _PROJECT) -> None:
    changed = text.replace("command: [train],", "command: [train, --more],")
    assert changed != text
    make_root(root, changed, {"dev": (root / "environments/dev.yaml").read_text()})
    assert mlspec(root, "generate").code == 0


def test_a_followed_service_serves_the_current_run_once_all_that_need_it_have_passed(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT)
    runs = _runs(root)
    assert _uri(root) == f"pvc://models/demo/{runs['train']}/export/onnx"
    asked = _gate(root)
    assert asked["service"] == "chat"
    assert asked["models"] == [f"/mlspec/models/demo/{runs['train']}/export/onnx"]
    assert asked["success"] == [f"/mlspec/models/demo/{runs['train']}/_SUCCESS"]
    assert asked["evaluations"] == [
        {
            "step": step,
            "runs": [{"run": runs[step], "directory": f"/mlspec/models/demo/{runs[step]}", "gate": gate}],
        }
        for step, gate in (("compare", {"gain": {"atLeast": 0}}), ("evaluate", {"accuracy": {"atLeast": 0.9}}))
    ]


def test_a_new_run_is_served_and_a_revert_gives_the_old_one_back(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT)
    before, files = _uri(root), {path.name for path in (root / "generated/demo").rglob("pipeline/*")}
    _retrain(root)
    assert _uri(root) != before
    result = mlspec(make_root(root, _PROJECT, {"dev": _FOLLOW}), "generate")
    assert "new run" not in result.output
    assert _uri(root) == before
    assert {path.name for path in (root / "generated/demo").rglob("pipeline/*")} > files


def test_a_pinned_service_is_left_out_until_it_has_a_pin(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    assert not (root / "generated/demo/overlays/dev/serving").exists()
    foundation = (root / "generated/demo/overlays/dev/foundation/resources.yaml").read_text()
    assert "name: chat" not in foundation
    checked = mlspec(root, "check")
    assert checked.code == 0
    assert "note[MLS238]: service `chat` is left out of environment dev" in checked.stdout
    run = _runs(root)["train"]
    root = _write(tmp_path, _pinned(run[-8:]), ENVIRONMENT)
    assert _uri(root) == f"pvc://models/demo/{run}/export/onnx"
    assert mlspec(root, "check").stdout == ""


def test_a_pin_outlives_its_run_and_is_judged_by_the_runs_that_needed_it(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    old = _runs(root)
    pin = _pinned(old["train"][-8:])
    root = _write(tmp_path, pin, ENVIRONMENT)
    _retrain(root, pin)
    assert _runs(root)["train"] != old["train"]
    assert _uri(root) == f"pvc://models/demo/{old['train']}/export/onnx"
    assert _judges(root) == {"compare": [old["compare"]], "evaluate": [old["evaluate"]]}
    # The thresholds are those of today: what was measured then has to meet them.
    strict = pin.replace("atLeast: 0.9", "atLeast: 0.95").replace("command: [train],", "command: [train, --more],")
    root = _write(tmp_path, strict, ENVIRONMENT)
    found = next(item for item in _gate(root)["evaluations"] if item["step"] == "evaluate")
    assert [run["gate"] for run in found["runs"]] == [{"accuracy": {"atLeast": 0.95}}]
    # Without a gate the step judges nothing any more.
    root = _write(tmp_path, strict.replace("    gate: {accuracy: {atLeast: 0.95}}\n", ""), ENVIRONMENT)
    assert _judges(root) == {"compare": [old["compare"]]}


def test_every_evaluation_of_a_run_counts_whether_the_run_is_current_or_not(tmp_path: Path) -> None:
    """Another evaluation of the same model does not unserve it, and an edit of the training changes no judgement."""
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    old = _runs(root)
    again = _PROJECT.replace("[evaluate]\n", "[evaluate, --again]\n")
    root = _write(tmp_path, again, ENVIRONMENT)
    both = sorted([old["evaluate"], _runs(root)["evaluate"]])
    pin = again.replace("from: train,", f"from: train, run: {old['train'][-8:]},")
    root = _write(tmp_path, pin, ENVIRONMENT)
    assert _judges(root)["evaluate"] == both
    _retrain(root, pin)
    assert _judges(root)["evaluate"] == both


def test_an_evaluation_that_is_no_step_any_more_keeps_its_thresholds(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    old = _runs(root)
    renamed = _PROJECT.replace("  evaluate:", "  judge:").replace("needs: [evaluate]", "needs: [judge]")
    root = _write(tmp_path, renamed.replace("from: train,", f"from: train, run: {old['train'][-8:]},"), ENVIRONMENT)
    assert _judges(root)["evaluate"] == [old["evaluate"]]
    assert _judges(root)["judge"] == [_runs(root)["judge"]]


def test_a_lost_file_of_a_pinned_run_or_its_judge_is_named_and_stops_everything(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    old = _runs(root)
    root = _write(tmp_path, _pinned(old["train"][-8:]), ENVIRONMENT)
    _retrain(root, _pinned(old["train"][-8:]))
    for step, code in (("evaluate", "MLS502"), ("train", "MLS241")):
        path = root / f"generated/demo/overlays/dev/pipeline/{old[step]}.yaml"
        content = path.read_bytes()
        path.unlink()
        for command in ("check", "generate"):
            result = mlspec(root, command)
            assert result.code == 1, (step, command)
            assert f"error[{code}]" in result.output, (step, command)
            assert f"git checkout generated/demo/overlays/dev/pipeline/{old[step]}.yaml" in result.output
        path.write_bytes(content)
    assert mlspec(root, "generate", "--check").code == 0


@pytest.mark.parametrize("run", ["0123abcd", "00000000"])
def test_an_unknown_pin_is_refused_with_those_that_are_known(tmp_path: Path, run: str) -> None:
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    known = _runs(root)["train"]
    make_root(root, _pinned(run), {"dev": ENVIRONMENT})
    result = mlspec(root, "check")
    assert result.code == 1
    assert f"error[MLS241]: environment dev has no run `train-{run}`" in result.stdout
    assert f"runs of `train` there: `{known[-8:]}`" in result.stdout


def test_a_run_of_another_step_is_no_pin(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    make_root(root, _pinned(_runs(root)["evaluate"][-8:]), {"dev": ENVIRONMENT})
    assert "error[MLS241]" in mlspec(root, "check").stdout


def test_a_pin_that_is_only_digits_needs_no_quotes(tmp_path: Path) -> None:
    root = make_root(tmp_path, _pinned("00001111"), {"dev": ENVIRONMENT})
    assert "no run `train-00001111`" in mlspec(root, "check").stdout


def test_a_pin_is_a_hotfix_in_an_environment_that_follows(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT)
    old = _runs(root)["train"]
    _retrain(root, _pinned(old[-8:]))
    assert _uri(root).split("/")[-3] == old


def test_serving_is_tried_until_its_gate_passes_and_a_pin_more_often(tmp_path: Path) -> None:
    def retry(root: Path) -> tuple[int, str]:
        bodies = yamltext.load_all((root / "generated/argocd/dev/demo.yaml").read_text())
        serving = next(body for body in bodies if body["metadata"]["name"] == "demo-dev-serving")
        found = serving["spec"]["syncPolicy"]["retry"]
        assert found["refresh"] is True, "a commit that mends it is taken by the next retry"
        return found["limit"], found["backoff"]["maxDuration"]

    assert retry(_write(tmp_path / "follow", _PROJECT)) == (-1, "1m")
    root = _write(tmp_path / "pinned", _PROJECT, ENVIRONMENT)
    assert retry(_write(root, _pinned(_runs(root)["train"][-8:]), ENVIRONMENT)) == (-1, "20s")
    by_uri = "services: {chat: {kind: kserve, model: {format: sklearn, uri: 's3://m/c'}}}\n"
    assert retry(_write(tmp_path / "uri", by_uri)) == (-1, "20s")


def test_the_base_holds_the_service_without_the_model(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT)
    base = yamltext.load_all((root / "generated/demo/base/serving/resources.yaml").read_text())
    assert [body["kind"] for body in base] == ["InferenceService"]
    assert "storageUri" not in base[0]["spec"]["predictor"]["model"]


def test_a_run_that_was_written_before_hand_over_cannot_be_pinned(tmp_path: Path) -> None:
    """Its file says nothing of a directory, so nothing would ever mark its success."""
    root = _write(tmp_path, _PROJECT.replace("command: [train],", "command: [train], handoff: none,"), ENVIRONMENT)
    old = _runs(root)["train"]
    root = _write(tmp_path, _PROJECT, ENVIRONMENT)
    make_root(root, _pinned(old[-8:]), {"dev": ENVIRONMENT})
    result = mlspec(root, "check")
    assert f"error[MLS240]: run `{old}` was written without a run directory" in result.stdout


def test_a_gate_reads_an_existing_claim_with_dots_in_its_name(tmp_path: Path) -> None:
    root = _write(tmp_path, _PROJECT.replace("{size: 1Gi, access: ReadWriteMany}", "{claim: shared.models}"))
    documents = yamltext.load_all((root / "generated/demo/overlays/dev/serving/resources.yaml").read_text())
    pod = next(b for b in documents if b["kind"] == "Job")["spec"]["template"]["spec"]
    assert [volume["persistentVolumeClaim"]["claimName"] for volume in pod["volumes"]] == ["shared.models"]
    mounts = pod["containers"][0]["volumeMounts"]
    assert [mount["name"] for mount in mounts] == [volume["name"] for volume in pod["volumes"]]
    assert "." not in mounts[0]["name"]
    assert _gate(root)["models"][0].startswith(mounts[0]["mountPath"] + "/demo/train-")
