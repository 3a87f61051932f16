"""When runs start: a new sync wave only where GPUs would be held idle, or where waiting would be no help."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlspec import yamltext
from mlspec.k8s import meta
from tests.support import ENVIRONMENT, make_root, mlspec

_MANY = "volumes: {data: {size: 1Gi, access: ReadWriteMany}}\n"
_STEPS = """\
steps:
  prepare: {kind: job, image: "a/b:1", command: [prepare], mounts: {data: /data}}
  train: {kind: pytorch, needs: [prepare], image: "a/b:1", command: [train], gpu: 1, mounts: {data: /data}}
  evaluate: {kind: job, needs: [prepare, train], image: "a/b:1", command: [evaluate], mounts: {data: /data}}
  report: {kind: job, needs: [evaluate], image: "a/b:1", command: [report], mounts: {data: /data}}
"""


def waves(folder: Path, project: str, environment: str = ENVIRONMENT) -> dict[str, int]:
    """Return the wave of each step's run."""
    root = make_root(folder, project, {"dev": environment})
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    found = {}
    for path in (root / "generated/demo/overlays/dev/pipeline").glob("*-*.yaml"):
        run = yamltext.load_all(path.read_text())[-1]["metadata"]
        found[run["labels"][meta.STEP]] = int(run["annotations"].get(meta.SYNC_WAVE, "0"))
    return found


def test_only_a_step_that_asks_for_gpus_has_a_wave_of_its_own(tmp_path: Path) -> None:
    assert waves(tmp_path, _MANY + _STEPS) == {"prepare": 0, "train": 10, "evaluate": 10, "report": 10}


def test_without_gpus_everything_starts_at_once(tmp_path: Path) -> None:
    assert set(waves(tmp_path, _MANY + _STEPS.replace(" gpu: 1,", "")).values()) == {0}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("command: [prepare], mounts", "command: [prepare], handoff: none, mounts"),
        ("command: [prepare], mounts: {data: /data}", "command: [prepare]"),
        ("command: [evaluate], mounts: {data: /data}", "command: [evaluate]"),
        ("command: [evaluate], mounts", "command: [evaluate], handoff: none, mounts"),
    ],
)
def test_what_cannot_be_waited_for_is_ordered_by_waves(tmp_path: Path, old: str, new: str) -> None:
    steps = _STEPS.replace(" gpu: 1,", "").replace(old, new)
    assert steps != _STEPS.replace(" gpu: 1,", "")
    found = waves(tmp_path, _MANY + steps)
    assert found["evaluate"] > found["prepare"], found


def test_a_volume_of_one_node_is_never_waited_for_by_whoever_holds_it(tmp_path: Path) -> None:
    """The pod that waits could have it on another node than the pod that it waits for."""
    project = "volumes: {data: {size: 1Gi}}\n" + _STEPS.replace(" gpu: 1,", "")
    assert waves(tmp_path, project) == {"prepare": 0, "train": 10, "evaluate": 20, "report": 30}


def test_runs_that_have_no_room_beside_those_that_wait_for_them_are_warned_of(tmp_path: Path) -> None:
    steps = _STEPS.replace(" gpu: 1,", " resources: {cpu: 4},")
    environment = ENVIRONMENT + "quota: {cpu: 5}\n"
    root = make_root(tmp_path, _MANY + steps, {"dev": environment})
    assert mlspec(root, "generate").code == 0
    shown = mlspec(root, "check", "--output-format", "concise").stdout
    assert "warning[MLS217] with `evaluate`, `report`, which may wait for it, it asks for 6 cpu" in shown
    root = make_root(tmp_path / "room", _MANY + steps, {"dev": environment.replace("cpu: 5", "cpu: 7")})
    assert mlspec(root, "generate").code == 0
    assert mlspec(root, "check").stdout == ""
