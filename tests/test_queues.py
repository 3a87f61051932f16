"""Queued steps: what is written of them and of their LocalQueues, for every Kueue that mlspec has schemas of."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from mlspec import schemas
from mlspec.diagnostics import Severity, has_errors
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, make_root

Body = dict[str, Any]
_PLACED: Final = (
    f"{ENVIRONMENT}placement: {{nodeSelector: {{pool: cpu}}, tolerations: [{{key: pool, operator: Exists}}]}}\n"
)
_STEPS: Final = """\
steps:
  prepare: {kind: job, image: "ghcr.io/acme/a:1.0", command: [prepare]}
  train: {kind: pytorch, image: "ghcr.io/acme/a:1.0", command: [train], nodes: 2, queue: large}
  tune: {kind: tensorflow, image: "ghcr.io/acme/a:1.0", command: [tune], queue: large, roles: {chief: {}, ps: {}}}
"""
_BOTH: Final = "[kubeflow.org/pytorchjob, kubeflow.org/tfjob]"
_LABEL: Final = "kueue.x-k8s.io/queue-name"


def _bodies(root: Path, project: str, environment: str) -> list[Body]:
    compilation = compile_workspace(load(make_root(root, project, {"dev": environment})))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    return [resource.body for resource in compilation.projects[0].resources["dev"]]


def _of(bodies: list[Body], *kinds: str) -> dict[str, Body]:
    """Return objects by their step, or by their name where they have none."""
    chosen = [body for body in bodies if body["kind"] in kinds]
    return {body["metadata"]["labels"].get("mlspec.dev/step", body["metadata"]["name"]): body for body in chosen}


def _keys(value: object) -> set[str]:
    """Return every key at any depth."""
    if isinstance(value, dict):
        return set(value).union(*map(_keys, value.values()))
    return set().union(*map(_keys, value)) if isinstance(value, list) else set()


@pytest.mark.parametrize("version", schemas.operator_versions("kueue"))
def test_each_kueue_gets_what_it_stores(version: str, tmp_path: Path) -> None:
    """LocalQueues have the API version that the schemas hold, which are those of what is stored and not deprecated."""
    kueue = f"kueue: {{version: {version}, queue: small, frameworks: {_BOTH}}}\n"
    queues = _of(_bodies(tmp_path, _STEPS, ENVIRONMENT + kueue), "LocalQueue")
    assert {name: body["spec"] for name, body in queues.items()} == {
        "large": {"clusterQueue": "large"},
        "small": {"clusterQueue": "small"},
    }
    (file,) = schemas.operator_folder(f"kueue-{version}").iterdir()
    assert {body["apiVersion"] for body in queues.values()} == {f"kueue.x-k8s.io/{file.stem.rpartition('-')[2]}"}


def test_kueue_and_flavors_decide(tmp_path: Path) -> None:
    """A queued run carries its queue's name, and says nothing of suspension or of nodes; without a queue it does."""
    runs = ("Job", "PyTorchJob", "TFJob")
    queued = _of(_bodies(tmp_path / "queued", _STEPS, f"{_PLACED}kueue: {{version: 0.17, queue: small}}\n"), *runs)
    assert {step: body["metadata"]["labels"][_LABEL] for step, body in queued.items()} == {
        "prepare": "small",
        "train": "large",
        "tune": "large",
    }
    free = _bodies(tmp_path / "free", _STEPS.replace(", queue: large", ""), f"{_PLACED}kueue: {{version: 0.17}}\n")
    assert not _of(free, "LocalQueue")
    for step, body in _of(free, *runs).items():
        assert _LABEL not in body["metadata"]["labels"]
        assert {"nodeSelector", "tolerations"} <= _keys(body)
        assert not {"suspend", "nodeSelector", "tolerations"} & _keys(queued[step])


def test_a_queue_names_no_run_where_the_environment_chooses_it(tmp_path: Path) -> None:
    """The environment's queue starts nothing anew; a step's own does, as Kueue refuses to move a run that runs."""
    bodies = [
        _of(_bodies(tmp_path / str(number), steps, ENVIRONMENT + kueue), "Job")["prepare"]["metadata"]["name"]
        for number, (steps, kueue) in enumerate(
            (
                (_STEPS.replace(", queue: large", ""), ""),
                (_STEPS, "kueue: {version: 0.17, queue: small}\n"),
                (_STEPS, "kueue: {version: 0.18, queue: other}\n"),
                (_STEPS.replace("[prepare]", "[prepare], queue: own"), "kueue: {version: 0.17, queue: small}\n"),
            )
        )
    ]
    assert bodies[0] == bodies[1] == bodies[2] != bodies[3]


def test_an_override_takes_a_step_out_of_its_queue(tmp_path: Path) -> None:
    """Where an environment has no Kueue, `queue: null` is what the finding says, and it is enough."""
    steps = _STEPS.split("  train:")[0].replace("[prepare]", "[prepare], queue: small")
    override = "environments: {dev: {steps: {prepare: {queue: null}}}}\n"
    (job,) = _of(_bodies(tmp_path, steps + override, ENVIRONMENT), "Job").values()
    assert _LABEL not in job["metadata"]["labels"]


@pytest.mark.parametrize("manage", ["true", "false"])
def test_only_a_managed_namespace_has_a_quota_to_exceed(manage: str, tmp_path: Path) -> None:
    """The quota is emitted with the namespace: where others manage it, ours is nobody's."""
    environment = f"{ENVIRONMENT}quota: {{cpu: 1500m}}\nnamespace: {{pattern: team, manage: {manage}}}\n"
    compilation = compile_workspace(
        load(make_root(tmp_path, _STEPS.replace(", queue: large", ""), {"dev": environment}))
    )
    found = [finding for finding in compilation.diagnostics if finding.code == "MLS217"]
    assert {finding.path for finding in found} == ({"steps.train", "steps.tune"} if manage == "true" else set())
    assert all(finding.severity is Severity.WARNING for finding in found)
