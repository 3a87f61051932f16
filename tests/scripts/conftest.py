"""Each test of the hand-over runs under every shell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.scripts.shells import NAMES, Shell


@pytest.fixture(params=NAMES)
def shell(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shell]:
    """Return one of the shells; what it was made to start ends with the test."""
    made = Shell(request.param, tmp_path_factory.mktemp("shell"))
    yield made
    made.end()


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    """Return a run directory that does not exist yet, with a space in its path."""
    return tmp_path / "a claim" / "demo" / "train-0123abcd"


@pytest.fixture
def variables(run_folder: Path) -> dict[str, str]:
    """Return the variables that a run with a run directory has."""
    return {"MLSPEC_RUN": "train-0123abcd", "MLSPEC_RUN_DIR": str(run_folder), "HOSTNAME": "train-0123abcd-x7k2p"}
