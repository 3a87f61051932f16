"""Fixtures and options of the whole suite: no network, no user's cache, goldens updated only on demand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from mlspec.check import tools

KUBECONFORM = tools.find_kubeconform()
"""What `make tools` built in the user's cache, looked up before the suite gets a cache of its own."""

settings.register_profile(
    "mlspec",
    deadline=None,
    database=None,
    derandomize="CI" in os.environ,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large],
)
settings.load_profile("mlspec")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-golden`: rewrite expected files, then read the difference in Git."""
    parser.addoption("--update-golden", action="store_true", help="rewrite expected.* files; read what changed")


@pytest.fixture
def update_golden(request: pytest.FixtureRequest) -> bool:
    """Say whether goldens are rewritten; never under CI."""
    wanted = bool(request.config.getoption("--update-golden"))
    if wanted and os.environ.get("CI"):
        pytest.fail("goldens are not updated under CI")
    return wanted


@pytest.fixture(scope="session")
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return one cache folder for the session; the user's own is never read or written."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def _isolated(monkeypatch: pytest.MonkeyPatch, shared_cache: Path) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(shared_cache))
    monkeypatch.delenv("MLSPEC_ROOT", raising=False)
    monkeypatch.setenv("NO_COLOR", "1")
