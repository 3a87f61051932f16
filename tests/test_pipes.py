"""Readers that leave: whatever reads stdout or stderr, a command runs to its end and means its exit code."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support import REPOSITORY, make_root, mlspec

_STEP = 'steps: {train: {kind: job, image: "i:1"}}\n'
_MANY = "".join(f"unknown-{number}: 1\n" for number in range(900))


def _run(root: Path, *words: str, stdout: int, stderr: int) -> int:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-m", "mlspec", *words]
    return subprocess.run(command, cwd=root, env=environment, stdout=stdout, stderr=stderr, check=False).returncode


def _gone() -> int:
    """Return the writing end of a pipe that nobody reads."""
    reading, writing = os.pipe()
    os.close(reading)
    return writing


def _left(root: Path, *words: str) -> tuple[int, str]:
    """Run with a stdout that nobody reads; returns the exit code and stderr."""
    gone, (reading, writing) = _gone(), os.pipe()
    try:
        code = _run(root, *words, stdout=gone, stderr=writing)
    finally:
        os.close(gone)
        os.close(writing)
    with os.fdopen(reading) as errors:
        return code, errors.read()


@pytest.mark.parametrize("output_format", ["full", "concise", "json", "github", "markdown"])
@pytest.mark.parametrize(("project", "code"), [(_STEP, 0), (_MANY, 1)])
def test_check_means_its_exit_code(tmp_path: Path, output_format: str, project: str, code: int) -> None:
    root = make_root(tmp_path, project)
    if not code:
        assert mlspec(root, "generate").code == 0
    found, errors = _left(root, "check", "--output-format", output_format)
    assert found == code, errors
    assert "Traceback" not in errors
    assert "Broken" not in errors
    gone = _gone()
    assert _run(root, "check", "--output-format", output_format, stdout=gone, stderr=gone) == code
    os.close(gone)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("--version",), 0),
        (("--help",), 0),
        (("generate",), 0),
        (("generate", "--diff"), 1),
        (("render", "-e", "dev"), 0),
        (("render", "--projected", "-e", "dev"), 0),
        (("graph",), 0),
        (("schema",), 0),
        (("explain", "MLS101"), 0),
        (("completion", "bash"), 0),
        (("check", "nowhere"), 2),
        (("frobnicate",), 2),
    ],
)
def test_every_command(tmp_path: Path, words: tuple[str, ...], code: int) -> None:
    root = make_root(tmp_path, _STEP)
    found, errors = _left(root, *words)
    assert found == code, errors
    assert "Traceback" not in errors
    assert "Broken" not in errors
    gone = _gone()
    second = 0 if words == ("generate",) else code
    assert _run(root, *words, stdout=gone, stderr=gone) == second
    os.close(gone)
    if words == ("generate",):
        assert (root / "generated/demo/mlspec.lock").exists()


def test_a_reader_that_stops_in_the_middle(tmp_path: Path) -> None:
    root = make_root(tmp_path, _MANY)
    command = f"set -o pipefail; {sys.executable} -m mlspec check | head -1"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    result = subprocess.run(["bash", "-c", command], cwd=root, env=environment, capture_output=True, check=False)
    assert result.returncode == 1
    assert result.stdout.startswith(b"error[MLS102]")
    assert b"Traceback" not in result.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="only Linux has a device that is always full")
@pytest.mark.parametrize("words", [("check",), ("--version",), ("schema",)])
def test_a_full_disk_behind_stdout_is_said(tmp_path: Path, words: tuple[str, ...]) -> None:
    root = make_root(tmp_path, _MANY)
    with Path("/dev/full").open("w") as full:
        environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
        command = [sys.executable, "-m", "mlspec", *words]
        result = subprocess.run(command, cwd=root, env=environment, stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 2
    assert b"stdout cannot be written: no space left on device" in result.stderr
    assert b"Traceback" not in result.stderr


def test_streams_that_the_caller_closed(tmp_path: Path) -> None:
    root = make_root(tmp_path, _MANY)
    command = f"{sys.executable} -m mlspec check >&- 2>&- <&-"
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    assert subprocess.run(["sh", "-c", command], cwd=root, env=environment, check=False).returncode == 1
    (root / "mlproject.yaml").write_text("")
    assert subprocess.run(["sh", "-c", command], cwd=root, env=environment, check=False).returncode == 1
