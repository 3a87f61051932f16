"""What came of a run: its metrics, the model, and what the gate says of it (the program that the cluster runs, too)."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from mlspec import scripts
from mlspec.ir import Plan, Stated
from mlspec.ir_runs import METRICS, SUCCESS
from mlspec.k8s.resource import Resource
from mlspec.k8s.values import at, items, words
from mlspec.local.computer import Interpreter
from mlspec.local.folders import Folders
from mlspec.local.graph import LocalRun
from mlspec.local.progress import number
from mlspec.local.words import Places
from mlspec.names import gate as gate_name

_MOST: Final = 8
"""Metrics that are shown."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What the gate says of a service."""

    service: str
    models: tuple[str, ...]
    """Where they lie."""
    passed: bool
    words: tuple[str, ...]
    """Its own, findings first."""


def directory(run: LocalRun, folders: Folders, project: str) -> Path | None:
    """Return the directory of a run; None where it writes no volume."""
    claim = run.workload.run.claim
    if claim is None or run.workload.run.directory is None:
        return None
    return folders.volume_path(claim) / project / run.name


def succeeded(run: LocalRun, folders: Folders, project: str) -> bool:
    """Say whether a run has been marked as succeeded."""
    there = directory(run, folders, project)
    return run.workload.run.marked and there is not None and (there / SUCCESS).exists()


def metrics(there: Path) -> str:
    """Return the numbers of a run's metrics.json on one line; empty where there is none, or it cannot be read."""
    try:
        found = json.loads((there / METRICS).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return ""
    pairs = found.items() if isinstance(found, dict) else ()
    shown = [f"{name} {number(value)}" for name, value in pairs if _is_number(value)]
    return ", ".join(shown[:_MOST])


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def missing(plan: Plan, ran: Iterable[str]) -> Iterator[tuple[str, str]]:
    """Yield the services whose gate cannot be asked, each with the first step that was not run."""
    done = set(ran)
    for stated in plan.services:
        lacking = sorted(_asked(stated) - done)
        if lacking:
            yield stated.workload.name, lacking[0]


def verdicts(
    plan: Plan, resources: Sequence[Resource], ran: Iterable[str], interpreter: Interpreter, folders: Folders
) -> Iterator[Verdict]:
    """Yield what the gates say of services whose steps have all been run."""
    done = set(ran)
    for stated in plan.services:
        if stated.workload.gate is not None and _asked(stated) <= done:
            name = gate_name(stated.workload.name)
            body = next(item.body for item in resources if item.body["metadata"]["name"] == name and _is_job(item))
            yield _ask(body, interpreter, folders)


def unserved(plan: Plan, runs: Iterable[LocalRun], interpreter: Interpreter, folders: Folders) -> Iterator[Verdict]:
    """Yield what the gate says of thresholds that no service asks for: a person still wants to know."""
    asked = {step for stated in plan.services for step in _asked(stated)}
    for run in runs:
        there = directory(run, folders, plan.project)
        if run.workload.run.gate and run.step not in asked and there is not None:
            judged = {"run": run.name, "directory": str(there), "gate": run.workload.run.gate}
            question = {"service": run.step, "models": [], "success": []}
            found = _judged(question | {"evaluations": [{"step": run.step, "runs": [judged]}]}, interpreter, folders)
            words = found.words[:-1] if not found.passed else (f"{run.step}: passed, no service asks for it",)
            yield replace(found, words=words)


def _is_job(resource: Resource) -> bool:
    return bool(resource.body["kind"] == "Job" and resource.run is None)


def _asked(stated: Stated) -> set[str]:
    gate = stated.workload.gate
    if gate is None:
        return set()
    return {run.step for run in gate.served} | {evaluation.step for evaluation in gate.evaluations}


def _ask(job: dict[str, Any], interpreter: Interpreter, folders: Folders) -> Verdict:
    """Run the program of a gate's Job on the folders that stand for its claims."""
    pod = job["spec"]["template"]["spec"]
    claims = {item["name"]: at(item, "persistentVolumeClaim", "claimName") for item in items(pod.get("volumes"))}
    container = items(pod.get("containers"))[0]
    mounts = items(container.get("volumeMounts"))
    places = Places({mount["mountPath"]: str(folders.volume_path(str(claims[mount["name"]]))) for mount in mounts})
    question = json.loads(words(container, "args")[0])
    return _judged(_moved(question, places), interpreter, folders)


def _judged(question: dict[str, Any], interpreter: Interpreter, folders: Folders) -> Verdict:
    result = subprocess.run(  # noqa: S603  # a program of ours
        [interpreter.path, "-c", scripts.text("gate.py"), json.dumps(question)],
        capture_output=True,
        text=True,
        check=False,
    )
    said = (result.stderr + result.stdout).replace(f"{folders.root}/", "").splitlines()
    models = tuple(folders.shown(Path(model)) for model in question["models"])
    return Verdict(question["service"], models, result.returncode == 0, tuple(said))


def _moved(value: Any, places: Places) -> Any:
    """Return the question with paths of this computer."""
    if isinstance(value, dict):
        return {key: _moved(item, places) for key, item in value.items()}
    if isinstance(value, list):
        return [_moved(item, places) for item in value]
    return places.here(value).replace("$$", "$") if isinstance(value, str) else value
