"""What a project was against what it would be: data that would be left behind, modes that cannot change."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from mlspec import yamltext
from tests.support import ENVIRONMENT, PROJECT, make_root, mlspec

_VOLUMES = "volumes: {data: {size: 1Gi}, models: {size: 5Gi, access: ReadWriteMany}}\n"
_SERVICE = "services: {chat: {kind: kserve, model: {format: sklearn, uri: 's3://m/chat'}}}\n"


def _generated(tmp_path: Path, text: str, environment: str = ENVIRONMENT) -> Path:
    root = make_root(tmp_path, text, {"dev": environment})
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    return root


def _refused(root: Path, *words: str) -> str:
    """Return what both commands say that refuse what the root has become; nothing of it is written."""
    before = {path: path.read_bytes() for path in (root / "generated").rglob("*") if path.is_file()}
    result = mlspec(root, "generate")
    assert result.code == 1, result.output
    assert {path: path.read_bytes() for path in (root / "generated").rglob("*") if path.is_file()} == before
    checked = mlspec(root, "check")
    assert checked.code == 1
    for word in words:
        assert word in checked.stdout, checked.stdout
    return checked.stdout


@pytest.mark.parametrize("size", ["5Gi", "50Gi"])
def test_a_renamed_volume_would_leave_its_data_behind(tmp_path: Path, size: str) -> None:
    root = _generated(tmp_path, _VOLUMES)
    renamed = _VOLUMES.replace("models: {size: 5Gi", f"artefacts: {{size: {size}")
    (root / "mlproject.yaml").write_text(PROJECT + renamed)
    _refused(root, "error[MLS248]", "(volumes.artefacts)", "`artefacts: {claim: models}`", "mlproject.yaml:5:30")


def test_the_ways_that_a_renamed_volume_is_told_are_open(tmp_path: Path) -> None:
    root = _generated(tmp_path, _VOLUMES)
    (root / "mlproject.yaml").write_text(PROJECT + "volumes: {data: {size: 1Gi}, artefacts: {claim: models}}\n")
    assert mlspec(root, "generate").code == 0
    root = _generated(tmp_path / "two", _VOLUMES)
    for text in ("volumes: {data: {size: 1Gi}}\n", _VOLUMES.replace("models", "artefacts")):
        (root / "mlproject.yaml").write_text(PROJECT + text)
        assert mlspec(root, "generate").code == 0


def test_a_volume_of_another_kind_is_no_rename(tmp_path: Path) -> None:
    root = _generated(tmp_path, _VOLUMES)
    (root / "mlproject.yaml").write_text(PROJECT + "volumes: {data: {size: 1Gi}, scratch: {size: 1Gi}}\n")
    assert mlspec(root, "generate").code == 0


def test_another_namespace_would_leave_the_claims_behind(tmp_path: Path) -> None:
    root = _generated(tmp_path, _VOLUMES)
    environment = root / "environments/dev.yaml"
    environment.write_text(ENVIRONMENT + 'namespace: {pattern: "ml-{project}"}\n')
    _refused(root, "error[MLS248]", "environments/dev.yaml:17:22", "`data`, `models`", "`demo-dev`", "`ml-demo`")
    environment.write_text(ENVIRONMENT)
    assert mlspec(root, "generate", "--check").code == 0


def test_without_claims_a_namespace_may_change(tmp_path: Path) -> None:
    root = _generated(tmp_path, "steps: {a: {kind: job, image: 'python:3.12'}}\n")
    (root / "environments/dev.yaml").write_text(ENVIRONMENT + 'namespace: {pattern: "ml-{project}"}\n')
    assert mlspec(root, "generate").code == 0


def test_a_renamed_project_would_leave_its_claims_behind(tmp_path: Path) -> None:
    root = _generated(tmp_path, _VOLUMES)
    project = root / "mlproject.yaml"
    project.write_text(project.read_text().replace("name: demo", "name: other"))
    _refused(root, "error[MLS248]", "mlproject.yaml:3:7", "project `demo` is gone and `other` is new")
    # Removed in a commit of its own it is gone knowingly.
    shutil.move(project, tmp_path / "elsewhere")
    assert mlspec(root, "generate").code == 0
    shutil.move(tmp_path / "elsewhere", project)
    assert mlspec(root, "generate").code == 0


def test_a_renamed_project_without_claims_is_renamed(tmp_path: Path) -> None:
    root = _generated(tmp_path, _SERVICE)
    project = root / "mlproject.yaml"
    project.write_text(project.read_text().replace("name: demo", "name: other"))
    assert mlspec(root, "generate").code == 0
    assert not (root / "generated/demo").exists()


def test_the_deployment_mode_of_a_live_service_stays(tmp_path: Path) -> None:
    root = _generated(tmp_path, _SERVICE)
    environment = root / "environments/dev.yaml"
    environment.write_text(ENVIRONMENT.replace("mode: Standard", "mode: Knative"))
    _refused(
        root, "error[MLS249]", "environments/dev.yaml:5:31", "service `chat` of demo in dev exists in mode Standard"
    )
    (root / "mlproject.yaml").write_text(PROJECT + _SERVICE.replace("chat:", "chat-2:"))
    assert mlspec(root, "generate").code == 0


def test_a_newer_kserve_that_spells_the_mode_otherwise_is_the_same_mode(tmp_path: Path) -> None:
    root = _generated(tmp_path, _SERVICE, ENVIRONMENT.replace("version: 0.16", "version: 0.15"))
    assert "RawDeployment" in (root / "generated/demo/overlays/dev/serving/kustomization.yaml").read_text()
    (root / "environments/dev.yaml").write_text(ENVIRONMENT)
    assert mlspec(root, "generate").code == 0


def test_what_was_edited_by_hand_is_no_reason_to_refuse(tmp_path: Path) -> None:
    root = _generated(tmp_path, _VOLUMES + _SERVICE)
    for place in ("foundation", "serving"):
        (root / f"generated/demo/overlays/dev/{place}/kustomization.yaml").write_text("resources: 7\n")
    (root / "environments/dev.yaml").write_text(ENVIRONMENT.replace("mode: Standard", "mode: Knative"))
    result = mlspec(root, "check", "--output-format", "concise")
    assert "internal" not in result.output
    assert "MLS249" not in result.output


_STEP = "steps: {a: {kind: job, image: 'a/b:1', command: [a]}}\n"


@pytest.mark.parametrize(("before", "after"), [("keep", "delete"), ("delete", "keep")])
def test_what_becomes_of_runs_counts_from_the_next_run(tmp_path: Path, before: str, after: str) -> None:
    root = _generated(tmp_path, _STEP, f"{ENVIRONMENT}runs: {{onSupersede: {before}}}\n")
    (path,) = (root / "generated/demo/overlays/dev/pipeline").glob("a-*.yaml")
    content = path.read_bytes()
    (root / "environments/dev.yaml").write_text(f"{ENVIRONMENT}runs: {{onSupersede: {after}}}\n")
    assert mlspec(root, "generate").code == 0
    assert path.read_bytes() == content
    checked = mlspec(root, "check")
    assert checked.code == 0
    written = {"keep": "kept", "delete": "deleted"}[before]
    assert f"note[MLS250]: Job {path.stem} was written to be {written} once it is superseded" in checked.stdout
    (root / "mlproject.yaml").write_text(PROJECT + _STEP.replace("[a]", "[b]"))
    assert mlspec(root, "generate").code == 0
    assert mlspec(root, "check").stdout == ""


def test_a_queue_stays_while_a_run_may_wait_in_it(tmp_path: Path) -> None:
    def queues(root: Path) -> set[str]:
        found = (
            yamltext.load_all(path.read_text()) for path in (root / "generated").rglob("foundation/resources.yaml")
        )
        return {b["metadata"]["name"] for bodies in found for b in bodies if b["kind"] == "LocalQueue"}

    root = _generated(tmp_path, _STEP, f"{ENVIRONMENT}kueue: {{version: 0.17, queue: first}}\n")
    assert queues(root) == {"first"}
    (root / "environments/dev.yaml").write_text(f"{ENVIRONMENT}kueue: {{version: 0.17, queue: second}}\n")
    assert mlspec(root, "generate").code == 0
    assert queues(root) == {"first", "second"}
    assert mlspec(root, "check").code == 0
