"""Many projects at once give what one after the other gives: the same files, findings and exit codes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files import generated
from tests.support import ENVIRONMENT, PROJECT, REPOSITORY, write_tree

_SERIAL = "from mlspec import parallel; parallel._FEW = 10**9\n"
_SHARED = "from mlspec import parallel; parallel._FEW = 2\n"
_UNKNOWN = "steps: {a: {kind: job, image: x, needs: [b]}}\n"
_RUN = "import sys; from mlspec.cli import run; sys.argv[0] = 'mlspec'; sys.exit(run())\n"


def _mlspec(root: Path, prelude: str, *arguments: str) -> tuple[int, str, str]:
    # Each root remembers for itself: what is known of one would be known of the other, and not be compiled.
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY), "MLSPEC_CACHE_DIR": str(root.with_suffix(".cache"))}
    command = [sys.executable, "-c", prelude + _RUN, *arguments]
    found = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    return found.returncode, found.stdout, found.stderr


def _root(folder: Path, *, broken: bool = False, namespace: str = "") -> Path:
    files: dict[str, str | bytes] = {
        "environments/dev.yaml": ENVIRONMENT + namespace,
        "environments/prod.yaml": ENVIRONMENT,
    }
    for number in range(12):
        step = (
            f'steps: {{train: {{kind: pytorch, image: "a:{number}", nodes: 2}}, next: {{kind: job, image: "b:1"}}}}\n'
        )
        files[f"p{number}/mlproject.yaml"] = PROJECT.replace("name: demo", f"name: demo-{number}") + step
    if broken:
        files["p3/mlproject.yaml"] = (
            PROJECT.replace("name: demo", "name: demo-4") + "steps: {a: {kind: job, imge: x}}\n"
        )
        files["p7/mlproject.yaml"] = PROJECT.replace("name: demo", "name: demo-7") + _UNKNOWN
    return write_tree(folder, files)


@pytest.mark.parametrize("broken", [False, True])
@pytest.mark.parametrize("namespace", ["", "namespace: {pattern: ml, manage: false}\n"])
def test_both_ways_say_and_write_the_same(tmp_path: Path, broken: bool, namespace: str) -> None:
    one = _root(tmp_path / "one", broken=broken, namespace=namespace)
    many = _root(tmp_path / "many", broken=broken, namespace=namespace)
    for arguments in (["check"], ["generate", "--check"], ["generate"], ["check", "--output-format", "json"]):
        assert _mlspec(many, _SHARED, *arguments) == _mlspec(one, _SERIAL, *arguments)
    assert generated(many) == generated(one)
    assert bool(generated(one)) == (not broken and not namespace)


def test_a_project_that_is_gone_is_pruned(tmp_path: Path) -> None:
    root = _root(tmp_path)
    assert _mlspec(root, _SHARED, "generate")[0] == 0
    (root / "p5" / "mlproject.yaml").unlink()
    code, _, stderr = _mlspec(root, _SHARED, "generate")
    assert code == 0
    assert "demo-5: gone" in stderr
    assert not (root / "generated" / "demo-5").exists()
