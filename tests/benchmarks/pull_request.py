"""A pull request that touches ten projects of a large root: what `mlspec check --changed-since` takes, builds included.

Cold: nothing is remembered of the overlays that differ, as in CI without a cache; again: as with one.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from tests.benchmarks import corpus
from tests.benchmarks.figures import Figure, measure

TOUCHED: Final = 10
SECONDS: Final = 8.0
"""Wall seconds that a pull request may take on two processors, kustomize builds included."""
# CPU seconds that no run may pass, by run; about three times what was measured when they were set.
CEILINGS: Final = {"pull request": 18.0, "pull request again": 6.0}
_CHECK: Final = (sys.executable, "-m", "mlspec", "check", "--output-format", "concise")
_NOBODY: Final = ("-c", "user.name=bench", "-c", "user.email=bench@example.com")


def rows(projects: int, failures: list[str]) -> list[str]:
    """Measure a root of some projects, and return rows of the table; what passed a ceiling is added to `failures`."""
    with tempfile.TemporaryDirectory(prefix="mlspec-bench-") as name:
        root = Path(name)
        corpus.write(root, projects)
        # What mlspec and this program leave beside the root is no part of the change.
        (root / ".gitignore").write_text(".cache/\n.output\n")
        _generate(root)
        _git(root, "init", "--quiet", "--initial-branch=main")
        _commit(root)
        _git(root, "checkout", "--quiet", "-b", "feature")
        corpus.touch(root, TOUCHED)
        _generate(root)
        _commit(root)
        # A root that was generated only has no remembered builds.
        found = {run: measure((*_CHECK, "--changed-since", "main"), root) for run in CEILINGS}
        said = (root / ".output").read_text()
    if (
        f"checked {TOUCHED} of {projects:,} projects" not in said
        or f"{TOUCHED * 3} of {TOUCHED * 3} overlays" not in said
    ):
        failures.append(f"not {TOUCHED} projects were judged: {said[-300:]}")
    failures += _over(projects, found)
    return [f"| {projects:,} × 3 | {run}, {TOUCHED} touched | {figure.row()} |" for run, figure in found.items()]


def _over(projects: int, found: dict[str, Figure]) -> list[str]:
    over = [
        f"{projects} projects, {run}: {found[run].cpu:.2f} CPU s, more than {ceiling}"
        for run, ceiling in CEILINGS.items()
        if found[run].cpu > ceiling
    ]
    # A busy machine makes wall time say nothing of mlspec; its CPU time tells whether this one could do it.
    wall = found["pull request"].wall
    if wall > SECONDS and found["pull request"].cpu / 2 > SECONDS:
        over.append(f"{projects} projects, pull request: {wall:.1f} s, more than {SECONDS}")
    return over


def _generate(root: Path) -> None:
    measure((sys.executable, "-m", "mlspec", "generate"), root)


def _commit(root: Path) -> None:
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message", "a commit")


def _git(root: Path, *words: str) -> None:
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    subprocess.run(["git", *_NOBODY, *words], cwd=root, env={**os.environ, **settings}, check=True)  # the user's git
