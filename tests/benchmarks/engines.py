"""The two engines on the same manifests: documents a second, with reading them and without.

`mlspec check` never reads what it judges: it judges the objects before they are written. kubeconform reads files. So
the embedded engine is measured three times: on objects in memory, and on the very files that kubeconform reads, as YAML
and as JSON. Each figure is the best of several runs, schemas compiled anew in each. Wall time is of two
processors, of which the embedded engine uses one.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NamedTuple

from mlspec import yamltext
from mlspec.check import kubeconform, schema, tools
from mlspec.check.tools import Tool
from mlspec.check.versions import schema_folders
from mlspec.k8s.resource import Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.benchmarks import corpus

DOCUMENTS: Final = 10_000
LEAST_RATIO: Final = 5.0
"""Embedded on objects in memory to kubeconform on files, in documents a second."""
_PROJECTS: Final = 440
_FILES: Final = 100
_RUNS: Final = 3
_VERSION: Final = "1.34"


@dataclass(frozen=True)
class _Manifests:
    """The same documents in memory, and in files of two formats."""

    groups: Sequence[Sequence[Body]]
    folders: tuple[Path, ...]
    place: Path


class _Took(NamedTuple):
    """Wall and CPU seconds, those of children included."""

    wall: float
    cpu: float


def compare() -> tuple[list[str], list[str]]:
    """Return the lines of the report, and what is below the ceiling, as is a kubeconform that is not there."""
    tool = tools.find_kubeconform()
    if tool is None:
        return ["kubeconform was not found: `make tools` builds it"], ["kubeconform was not found"]
    with tempfile.TemporaryDirectory(prefix="mlspec-bench-") as name:
        manifests = _manifests(Path(name))
        rows = [
            ("kubeconform, YAML files, 4 workers", _best(lambda: _kubeconform(tool, manifests, "yaml", 4))),
            ("kubeconform, YAML files, 2 workers", _best(lambda: _kubeconform(tool, manifests, "yaml", 2))),
            ("kubeconform, JSON files, 4 workers", _best(lambda: _kubeconform(tool, manifests, "json", 4))),
            ("embedded, objects in memory, as `check` does", _best(lambda: _embedded(manifests))),
            ("embedded, YAML files", _best(lambda: _reading(manifests, "yaml"))),
            ("embedded, JSON files", _best(lambda: _reading(manifests, "json"))),
        ]
    theirs = min(took.wall for _, took in rows[:2])
    lines = ["| engine | documents a second | times kubeconform | documents a CPU second |", "|---|---|---|---|"]
    for label, took in rows:
        cells = (f"{DOCUMENTS / took.wall:,.0f}", f"{theirs / took.wall:.2f}", f"{DOCUMENTS / took.cpu:,.0f}")
        lines.append(f"| {label} | {' | '.join(cells)} |")
    ratio = theirs / rows[3][1].wall
    wrong = [f"embedded judges {ratio:.1f} times as fast as kubeconform, less than {LEAST_RATIO}"]
    return lines, wrong if ratio < LEAST_RATIO else []


def _manifests(place: Path) -> _Manifests:
    """Write the corpus' objects of one environment, the first DOCUMENTS, some hundred a file."""
    root = place / "root"
    corpus.write(root, _PROJECTS)
    workspace = load(root)
    bodies = [
        body
        for compiled in compile_workspace(workspace).projects
        for body in [*(resource.body for resource in compiled.resources["dev"]), *compiled.argocd["dev"]]
    ][:DOCUMENTS]
    if len(bodies) < DOCUMENTS:
        raise RuntimeError(f"the corpus has only {len(bodies)} objects")
    size = DOCUMENTS // _FILES
    groups = [bodies[start : start + size] for start in range(0, DOCUMENTS, size)]
    for form in ("yaml", "json"):
        (place / form).mkdir()
    for number, group in enumerate(groups):
        (place / "yaml" / f"{number:03}.yaml").write_text(yamltext.dump_all(group))
        (place / "json" / f"{number:03}.json").write_text("\n---\n".join(map(json.dumps, group)))
    return _Manifests(groups, schema_folders(workspace.environments["dev"].model), place)


def _best(run: Callable[[], int]) -> _Took:
    """Return the least of several runs; raises RuntimeError if one did not find every document valid."""
    found = []
    for _ in range(_RUNS):
        began, before = time.perf_counter(), os.times()
        valid = run()
        wall, after = time.perf_counter() - began, os.times()
        found.append(_Took(wall, sum(after[:4]) - sum(before[:4])))
        if valid != DOCUMENTS:
            raise RuntimeError(f"{valid} of {DOCUMENTS} documents are valid")
    return _Took(min(took.wall for took in found), min(took.cpu for took in found))


def _kubeconform(tool: Tool, manifests: _Manifests, form: str, workers: int) -> int:
    command = [*tool.prefix, *kubeconform.arguments(_VERSION, manifests.folders), "-n", str(workers)]
    command.remove("-verbose")  # as people run it
    result = tools.run([*command, str(manifests.place / form)], collects=True)
    return int(json.loads(result.stdout)["summary"]["valid"])


def _embedded(manifests: _Manifests) -> int:
    schema._validator.cache_clear()
    return sum(not any(schema.check_schema(manifests.folders, body)) for group in manifests.groups for body in group)


def _reading(manifests: _Manifests, form: str) -> int:
    """Read and judge in a fresh process, its start included."""
    command = [sys.executable, "-m", "tests.benchmarks.engines", str(manifests.place / form)]
    folders = os.pathsep.join(map(str, manifests.folders))
    result = subprocess.run([*command, folders], capture_output=True, text=True, check=True)
    return int(result.stdout)


def _judge(folder: Path, folders: tuple[Path, ...]) -> int:
    valid = 0
    for path in sorted(folder.iterdir()):
        text = path.read_text()
        if path.suffix == ".json":
            bodies = [json.loads(part) for part in text.split("\n---\n")]
        else:
            bodies = yamltext.load_all(text)
        valid += sum(not any(schema.check_schema(folders, body)) for body in bodies)
    return valid


if __name__ == "__main__":
    if len(sys.argv) == 3:
        print(_judge(Path(sys.argv[1]), tuple(map(Path, sys.argv[2].split(os.pathsep)))))  # noqa: T201  # for the parent
    else:
        report, below = compare()
        print("\n".join([*report, *below]))  # noqa: T201  # the table is the program's output
        sys.exit(1 if below else 0)
