"""Fixtures of the cluster's tests: one cluster a tier, started by the first test that asks for it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator

import pytest

from tests.cluster.harness.argocd.tier import Cluster, Stories, cluster
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.control_plane import DEFAULT_MINOR, KUBERNETES, ControlPlane, control_plane
from tests.cluster.harness.operators.kserve import KServe, kserve
from tests.cluster.harness.operators.tier import Operators, operators
from tests.cluster.report import Report

TIERS = ("api", "operators", "argocd")
_REPORT = pytest.StashKey[Report]()
_FAILED = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--update-observed`: record again what the controllers make, then read the difference in Git."""
    parser.addoption("--update-observed", action="store_true", help="rewrite tests/cluster/observed; read what changed")


def pytest_configure(config: pytest.Config) -> None:
    """Make the session's report."""
    config.stash[_REPORT] = Report()
    config.stash[_FAILED] = False


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run one tier after the other, so that their clusters do not wait for one another's tests."""
    order = {tier: number for number, tier in enumerate(TIERS, 1)}
    items.sort(
        key=lambda item: max((order[mark.name] for mark in item.iter_markers() if mark.name in order), default=0)
    )


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    """Print the report."""
    lines = list(config.stash[_REPORT].lines())
    if lines:
        terminalreporter.section("what the cluster said")
        for line in lines:
            terminalreporter.write_line(line)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_protocol(item: pytest.Item) -> Iterator[None]:
    """Take the wall time of each tier, set-up of its cluster included."""
    started = time.monotonic()
    result = yield
    for tier in TIERS:
        if item.get_closest_marker(tier):
            seconds = item.config.stash[_REPORT].seconds
            seconds[f"tier {tier}"] = seconds.get(f"tier {tier}", 0.0) + time.monotonic() - started
    return result


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember a failure: the logs are then kept."""
    found = yield
    if call.excinfo is not None and not call.excinfo.errisinstance(pytest.skip.Exception):
        item.config.stash[_FAILED] = True
    return found


@pytest.fixture(scope="session")
def report(request: pytest.FixtureRequest) -> Report:
    """Return the tables that are printed at the end."""
    return request.config.stash[_REPORT]


@pytest.fixture(scope="session")
def api_plane(request: pytest.FixtureRequest) -> Iterator[ControlPlane]:
    """Start the cluster of the api tier: etcd, kube-apiserver, kube-controller-manager."""
    with Cell() as cell, control_plane(cell) as plane:
        yield plane
        cell.keep = request.config.stash[_FAILED]


@pytest.fixture(scope="session")
def update_observed(request: pytest.FixtureRequest) -> bool:
    """Say whether what was observed is recorded again; never under CI. Another Kubernetes has no recordings."""
    if KUBERNETES != DEFAULT_MINOR:
        pytest.skip(f"what controllers make is recorded on Kubernetes {DEFAULT_MINOR}, and this is {KUBERNETES}")
    wanted = bool(request.config.getoption("--update-observed", default=False))
    if wanted and os.environ.get("CI"):
        pytest.fail("what was observed is not recorded again under CI")
    return wanted


@pytest.fixture(scope="session")
def operators_plane(request: pytest.FixtureRequest) -> Iterator[Operators]:
    """Start the cluster of the operators tier: a control plane with a scheduler, kwok's nodes and the operators."""
    with Cell() as cell, operators(cell) as found:
        yield found
        cell.keep = request.config.stash[_FAILED]


@pytest.fixture(scope="session")
def kserve_manager(operators_plane: Operators) -> Iterator[KServe]:
    """Start KServe beside the other operators, for the first test that asks for it."""
    with kserve(operators_plane.plane) as found:
        yield found


@pytest.fixture(scope="session")
def argocd_cluster(request: pytest.FixtureRequest) -> Iterator[Cluster]:
    """Start the cluster of the argocd tier: a control plane with nodes, the operators, Argo CD and a Git host."""
    with Cell() as cell, cluster(cell) as found:
        yield found
        cell.keep = request.config.stash[_FAILED]


@pytest.fixture(scope="session")
def stories(request: pytest.FixtureRequest, argocd_cluster: Cluster, report: Report) -> Stories:
    """Play the SCRIPTS of every module that was collected, all at the same time: they wait more than they work."""
    modules = {item.module.__name__: item.module for item in request.session.items if isinstance(item, pytest.Function)}
    scripts = {name: script for module in modules.values() for name, script in getattr(module, "SCRIPTS", {}).items()}
    with report.timed("argocd: scripts"):
        return argocd_cluster.play(scripts)
