"""The wheel is whole: built, unpacked elsewhere, it generates and checks with the schemas inside it."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from tests.support import REPOSITORY, copy_example


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel with the installed hatchling, and unpack it as pip would."""
    folder = tmp_path_factory.mktemp("wheel")
    pip = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        str(folder),
    ]
    result = subprocess.run([*pip, str(REPOSITORY)], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    wheel = next(folder.glob("*.whl"))
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "site")
    return folder / "site"


def _run(installed: Path, root: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    command = [sys.executable, "-m", "mlspec", *arguments]
    return subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)


def test_the_wheel_generates_what_the_checkout_does(installed: Path, tmp_path: Path) -> None:
    copy_example(tmp_path, generated=False)
    where = "import mlspec, mlspec.schemas as s; print(mlspec.__file__); print(s.folder())"
    environment = {**os.environ, "PYTHONPATH": str(installed), "PYTHONSAFEPATH": "1"}
    found = subprocess.run(
        [sys.executable, "-c", where], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
    )
    assert all(line.startswith(str(installed)) for line in found.stdout.splitlines()), found.stdout
    generated = _run(installed, tmp_path, "generate")
    assert generated.returncode == 0, generated.stderr
    checked = _run(installed, tmp_path, "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    assert "96 objects valid by schema" in checked.stderr


def test_the_wheel_begins_a_project(installed: Path, tmp_path: Path) -> None:
    begun = _run(installed, tmp_path, "init", "--name", "first")
    assert begun.returncode == 0, begun.stderr
    assert _run(installed, tmp_path, "generate").returncode == 0
    checked = _run(installed, tmp_path, "check")
    assert checked.returncode == 0, checked.stdout + checked.stderr
    for template in (REPOSITORY / "mlspec" / "templates").rglob("*.yaml"):
        carried = installed / "mlspec" / template.relative_to(REPOSITORY / "mlspec")
        assert carried.read_bytes() == template.read_bytes()


def test_the_wheel_holds_every_health_check(installed: Path, tmp_path: Path) -> None:
    checks = list((REPOSITORY / "mlspec" / "health").glob("*.lua"))
    assert checks
    for check in checks:
        assert (installed / "mlspec" / "health" / check.name).read_bytes() == check.read_bytes()
    copy_example(tmp_path, generated=False)
    assert _run(installed, tmp_path, "generate").returncode == 0
    assert "kubeflow.org_PyTorchJob: |\n" in (tmp_path / "generated/argocd/admin/argocd-cm.yaml").read_text()


def test_the_wheel_holds_every_schema_once_and_nothing_else_of_the_repository(installed: Path) -> None:
    """Schemas under the names that mlspec reads; those under the names of catalogues are for other tools."""
    inside = {
        path.relative_to(installed / "mlspec" / "_schemas").as_posix()
        for path in (installed / "mlspec" / "_schemas").rglob("*")
        if path.is_file()
    }
    outside = {
        path.relative_to(REPOSITORY / "schemas").as_posix()
        for path in (REPOSITORY / "schemas").rglob("*")
        if path.suffix in (".json", ".toml")
    }
    outside = {name for name in outside if not name.startswith("catalogue/")}
    assert inside == outside
    assert (installed / "mlspec" / "py.typed").is_file()
    for name in ("handover.sh", "gate.py"):
        carried = installed / "mlspec" / "scripts" / name
        assert carried.read_bytes() == (REPOSITORY / "mlspec" / "scripts" / name).read_bytes()
    top = {path.name for path in installed.iterdir()}
    assert {name for name in top if not name.endswith(".dist-info")} == {"mlspec"}
