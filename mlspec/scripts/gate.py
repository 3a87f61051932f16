"""Lets new models of a service pass, or says what is missing: a model, a marker, a metric of it at its threshold."""

# Run in the cluster as `python -c TEXT JSON`, with the standard library of Python 3.8 or later and nothing of mlspec.
# It decides at once: whoever synced the model sees why it was not deployed, and the old one keeps serving.

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path
from typing import Any


def main(argv: list[str]) -> int:
    """Judge the JSON that is the only argument; returns 0 if the model may be served, 1 if not, 2 if called wrongly."""
    try:
        given: dict[str, Any] = json.loads(argv[0])
    except (IndexError, ValueError) as error:
        sys.stderr.write(f"gate: one argument is wanted, an object in JSON: {error}\n")
        return 2
    findings = _missing(given)
    for evaluation in given["evaluations"]:
        findings += _evaluate(evaluation, given["models"])
    for finding in findings:
        sys.stderr.write(finding + "\n")
    sys.stdout.write(f"{given['service']}: {'not to be served' if findings else 'may be served'}\n")
    return 1 if findings else 0


def _missing(given: dict[str, Any]) -> list[str]:
    found = [f"{path}: missing, so this run has not succeeded" for path in given["success"] if not _exists(path)]
    for model in map(Path, given["models"]):
        try:
            if not model.exists():
                found.append(f"{model}: there is no model")
            elif model.is_dir() and not any(model.iterdir()):
                found.append(f"{model}: the model is an empty folder")
        except OSError as error:
            found.append(f"{model}: the model cannot be read: {error.strerror}")
    return found


def _exists(path: str) -> bool:
    try:
        return Path(path).exists()
    except OSError:
        return False


def _evaluate(evaluation: dict[str, Any], models: list[str]) -> list[str]:
    # One passed run is enough: an evaluation that was changed may still be under way while an earlier one has passed.
    if not evaluation["runs"]:
        return [f"{evaluation['step']}: there is no run of this evaluation"]
    findings: list[str] = []
    for run in evaluation["runs"]:
        found = _judge(run, models)
        if not found:
            return []
        findings += [f"{run['run']}: {finding}" for finding in found]
    return findings


def _judge(run: dict[str, Any], models: list[str]) -> list[str]:
    folder = Path(run["directory"])
    if not _exists(str(folder / "_SUCCESS")):
        return [f"has not succeeded, {folder}/_SUCCESS is missing"]
    path = folder / "metrics.json"
    try:
        metrics = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        return [f"{path} cannot be read: {error.strerror}"]
    except (ValueError, RecursionError) as error:
        return [f"{path} is not JSON: {error}"]
    if not isinstance(metrics, dict):
        return [f"{path} is not an object of metrics"]
    found = [finding for name, wanted in run["gate"].items() for finding in _compare(name, metrics, wanted)]
    return [*found, *_measured(models, metrics.get("manifest_sha256"))]


def _measured(models: list[str], manifest: object) -> list[str]:
    # Metrics may say what they were measured on: the sha256 of a model's manifest.json, which has those of its files.
    # Of the models, one is it.
    differences = [_difference(Path(model), manifest) for model in models] if isinstance(manifest, str) else []
    return differences if all(differences) else []


def _difference(model: Path, manifest: str) -> str:
    path = model / "manifest.json"
    try:
        if _sha256(path) != manifest:
            return f"measured another model than {model}, as its manifest.json says: evaluate this one"
        files = {model / name: entry["sha256"] for name, entry in json.loads(path.read_bytes())["files"].items()}
        for file in sorted(model.rglob("*")):
            # Names with a dot in front are no versions, and network file systems make some.
            hidden = any(part.startswith(".") for part in file.relative_to(model).parts)
            if file.is_file() and file not in files and file != path and not hidden:
                return f"{file} is not in manifest.json, and was not evaluated"
        changed = [file for file, wanted in files.items() if _sha256(file) != wanted]
        return f"{changed[0]} has changed since it was evaluated" if changed else ""
    except OSError as error:
        return f"{error.filename} cannot be read, so the model may be another than was evaluated: {error.strerror}"
    except (ValueError, LookupError, TypeError, AttributeError) as error:
        return f"{path} is not what ddp.py writes: {error!r}"


def _sha256(path: Path) -> str:
    found = hashlib.sha256()
    with path.open("rb") as file:
        for part in iter(lambda: file.read(1 << 20), b""):
            found.update(part)
    return found.hexdigest()


def _compare(name: str, metrics: dict[str, Any], wanted: dict[str, float]) -> list[str]:
    bounds = [f"at {way} {wanted[key]}" for key, way in (("atLeast", "least"), ("atMost", "most")) if key in wanted]
    wish = f"{' and '.join(bounds) or 'a number'} wanted"
    if name not in metrics:
        return [f"{name} is not in metrics.json, {wish}"]
    value = metrics[name]
    # Every comparison with NaN is false, so that NaN drops out here, as the infinities do.
    number = isinstance(value, (int, float)) and not isinstance(value, bool) and -_INFINITY < value < _INFINITY
    if not number:
        return [f"{name} is not a finite number in metrics.json, {wish}"]
    if wanted.get("atLeast", value) <= value <= wanted.get("atMost", value):
        return []
    return [f"{name} {value}, {wish}"]


_INFINITY = float("inf")

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
