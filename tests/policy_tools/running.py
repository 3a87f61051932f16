"""Runs checkov and kube-score as they are built by `make tools`, offline, and reads what they say."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec import yamltext
from tests.tools.build import KUBE_SCORE
from tests.tools.python_tools import CHECKOV

Body = dict[str, Any]
CHECKOV_OPTIONS: Final = ("--framework", "kubernetes", "--skip-download")
KUBE_SCORE_OPTIONS: Final = ("--all-default-optional", "--disable-ignore-checks-annotations")
"""All that it can find, and what an annotation of an object would silence, too."""
_EACH: Final = Path(__file__).parents[1] / "tools" / "checkov" / "each.py"
_SECONDS: Final = 300
_ALL_OK: Final = 10


@dataclass(frozen=True)
class Failed:
    """A check that failed: of what kind the object is, its name, and of which container it is said, if of one."""

    check: str
    kind: str
    name: str
    container: str | None


@dataclass(frozen=True)
class Report:
    """What a tool says of one file."""

    judged: int
    """Objects that it has judged."""
    failed: tuple[Failed, ...]


def checkov(folder: Path, files: Mapping[str, Iterable[Body]]) -> dict[str, Report]:
    """Return what checkov says of each of some files, by name; a Failed of a container has no name of it."""
    needs(CHECKOV.python, CHECKOV.label)
    out = folder / "checkov"
    out.mkdir()
    paths = _written(folder, "checkov-in", files)
    _run(folder, [str(CHECKOV.python), "-I", str(_EACH), str(out), *map(str, paths)], allowed=(0,))
    return {name: _of_checkov(json.loads((out / f"{name}.json").read_text())) for name in files}


def _of_checkov(said: Body | list[Body]) -> Report:
    assert isinstance(said, dict), "it has judged something else than Kubernetes' objects"
    summary = said.get("summary", said)  # of a file in which it finds nothing to judge, the summary is all
    assert summary["skipped"] == 0, "an annotation silences it"
    assert summary["parsing_errors"] == 0
    failed = tuple(_failed_of_checkov(check) for check in said.get("results", {}).get("failed_checks", ()))
    assert len(failed) == summary["failed"]
    return Report(summary["resource_count"], failed)


def _failed_of_checkov(check: Body) -> Failed:
    kind, _, name = check["resource"].split(".", 2)
    fields = check["check_result"].get("evaluated_keys") or ()
    of_container = any(field.startswith(("spec/containers/", "spec/initContainers/")) for field in fields)
    return Failed(check["check_id"], kind, name, "" if of_container else None)


def kube_score(folder: Path, files: Mapping[str, Iterable[Body]], versions: Mapping[str, str]) -> dict[str, Report]:
    """Return what kube-score says of each of some files, by name, for the version of Kubernetes of each."""
    needs(KUBE_SCORE.path, KUBE_SCORE.label)
    found = {}
    for path in _written(folder, "kube-score-in", files):
        options = [*KUBE_SCORE_OPTIONS, "--kubernetes-version", versions[path.stem], "--output-format", "json"]
        said = _run(folder, [str(KUBE_SCORE.path), "score", *options, str(path)], allowed=(0, 1))
        found[path.stem] = _of_kube_score(json.loads(said) or [])
    return found


def _of_kube_score(said: Sequence[Body]) -> Report:
    failed = []
    for scored in said:
        kind, name = scored["type_meta"]["kind"], scored["object_meta"]["name"]
        for check in scored["checks"]:
            if check["skipped"] or check["grade"] == _ALL_OK:
                continue
            containers = {comment["path"] or None for comment in check["comments"] or [{"path": ""}]}
            failed += [Failed(check["check"]["id"], kind, name, container) for container in containers]
    return Report(len(said), tuple(failed))


def _written(folder: Path, name: str, files: Mapping[str, Iterable[Body]]) -> list[Path]:
    """Write files into a folder of their own; one without objects as well."""
    (folder / name).mkdir()
    paths = []
    for file, bodies in files.items():
        path = folder / name / f"{file}.yaml"
        path.write_text(yamltext.dump_all(list(bodies)))
        paths.append(path)
    return paths


def needs(path: Path, label: str) -> None:
    """Fail where a tool is not there: nothing is skipped in silence."""
    if not path.is_file():
        pytest.fail(f"{label} is not there; run `make tools`")


def _run(folder: Path, command: Sequence[str], allowed: tuple[int, ...]) -> str:
    """Run a tool with a home of its own and nothing of the person's environment: no accounts, settings, caches."""
    home = folder / "home"
    home.mkdir(exist_ok=True)
    environment = {"PATH": os.defpath, "HOME": str(home), "XDG_CONFIG_HOME": str(home), "XDG_CACHE_HOME": str(home)}
    result = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=_SECONDS
    )
    assert result.returncode in allowed, f"{command[0]} ended with {result.returncode}: {result.stderr[-2000:]}"
    return result.stdout
