"""Measures mlspec on generated roots and prints the README's table; `--projects 1,100` limits the sizes.

Every figure is of a whole process, started fresh, its children included: CPU and wall seconds, peak memory of the
largest process. Ceilings are CPU seconds, generous, so that a busy machine does not fail them; exit 1 if one is passed.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from mlspec.check.versions import schema_folders
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.benchmarks import corpus, engines, pull_request
from tests.benchmarks.figures import Figure, measure

_MLSPEC = (sys.executable, "-m", "mlspec")
# CPU seconds that no run may pass, by size and run; about three times what was measured when they were set.
CEILINGS = {
    (1, "cold"): 1.5,
    (1, "unchanged"): 1.5,
    (100, "cold"): 12.0,
    (100, "unchanged"): 1.0,
    (1000, "unchanged"): 3.0,
}
# Of user CPU: system time is the file system's, and differs several times over from run to run on one machine.
RATIO_CEILING = 0.5


def median(command: Sequence[str], folder: Path, runs: int = 7) -> Figure:
    """Return the medians of several runs after one that is not counted."""
    measure(command, folder)
    found = [measure(command, folder) for _ in range(runs)]
    return Figure(
        *(statistics.median(getattr(figure, name) for figure in found) for name in ("wall", "user", "system", "memory"))
    )


def _objects(root: Path, target: Path) -> int:
    """Write what mlspec emits for a root, file by file, for the plain program."""
    workspace = load(root)
    compilation = compile_workspace(workspace)
    files = {}
    for compiled in compilation.projects:
        for environment, resources in compiled.resources.items():
            for place in {resource.place for resource in resources}:
                name = f"{compiled.project.name}/{environment}/{place}.yaml"
                files[name] = [resource.body for resource in resources if resource.place == place]
            files[f"argocd/{environment}/{compiled.project.name}.yaml"] = compiled.argocd[environment]
    folders = [str(folder) for folder in schema_folders(workspace.environments["dev"].model)]
    target.write_text(json.dumps({"folders": folders, "files": files}))
    return sum(map(len, files.values()))


def _size(projects: int, failures: list[str]) -> tuple[list[str], Figure]:
    with tempfile.TemporaryDirectory(prefix="mlspec-bench-") as name:
        root = Path(name)
        corpus.write(root, projects)
        rows = []
        cold = measure((*_MLSPEC, "generate"), root)
        unchanged = measure((*_MLSPEC, "generate"), root)
        corpus.touch(root, min(10, projects))
        changed = measure((*_MLSPEC, "generate"), root)
        for run, figure in (("cold", cold), ("unchanged", unchanged), (f"{min(10, projects)} changed", changed)):
            rows.append(f"| {projects:,} × 3 | {run} | {figure.row()} |")
            ceiling = CEILINGS.get((projects, run))
            if ceiling is not None and figure.cpu > ceiling:
                failures.append(f"{projects} projects, {run}: {figure.cpu:.2f} CPU s, more than {ceiling}")
        return rows, cold


def _ratio(projects: int, failures: list[str]) -> str:
    """Compare a cold run with the plain program on the same objects, in the same minute."""
    with tempfile.TemporaryDirectory(prefix="mlspec-bench-") as name:
        root = Path(name)
        corpus.write(root, projects)
        count = _objects(root, root / ".objects.json")
        ours = measure((*_MLSPEC, "generate"), root)
        command = (
            sys.executable,
            "-m",
            "tests.benchmarks.baseline",
            str(root),
            str(root / ".objects.json"),
            str(root / ".out"),
        )
        plain = measure(command, root)
        if int((root / ".output").read_text()) != count:
            failures.append("the plain program found objects that are not valid")
        ratio = ours.user / plain.user
        if ratio > RATIO_CEILING:
            failures.append(f"{ratio:.2f} of the plain program's user CPU, more than {RATIO_CEILING}")
        return (
            f"The plain program (pydantic, jsonschema, CSafeDumper) takes {plain.user:.1f} s of user CPU and "
            f"{plain.system:.1f} of system for the same {count:,} objects in fewer files; mlspec's cold run, base, "
            f"patches and drift included, takes {ratio:.2f} of the user time, {ours.cpu / plain.cpu:.2f} of both."
        )


def main() -> int:
    """Measure, print, and say what passed its ceiling."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--projects", default="1,100,1000", help="sizes, separated by commas")
    sizes = [int(size) for size in parser.parse_args().projects.split(",")]
    failures: list[str] = []
    print("| projects × environments | run | wall s | user CPU s | system CPU s | peak MB |\n|---|---|---|---|---|---|")  # noqa: T201  # the table is the program's output
    for size in sizes:
        rows, _ = _size(size, failures)
        print("\n".join(rows), flush=True)  # noqa: T201  # the table is the program's output
    # A change of ten says something where most projects are not touched.
    for size in (size for size in sizes if size >= 100):
        print("\n".join(pull_request.rows(size, failures)), flush=True)  # noqa: T201  # the table is the program's output
    with tempfile.TemporaryDirectory(prefix="mlspec-bench-") as name:
        for option in ("--version", "--help"):
            print(f"| – | `{option}` | {median((*_MLSPEC, option), Path(name)).row()} |", flush=True)  # noqa: T201  # the table is the program's output
    print(f"\n{_ratio(min(100, max(sizes)), failures)}")  # noqa: T201  # the table is the program's output
    lines, below = engines.compare()
    print("\n" + "\n".join(lines))  # noqa: T201  # the table is the program's output
    failures += below
    for failure in failures:
        sys.stderr.write(f"over the ceiling: {failure}\n")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
