"""checkov and kube-score on projected pods: what they find is in a table with its reason; in custom resources, nothing.

Both are built by `make tools`; without them these tests fail. They judge offline, everything in one go of about 15
seconds of CPU.
"""

from __future__ import annotations

import fcntl
import os
import pickle
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from tests.policy_tools import running
from tests.policy_tools.findings import Finding, accepted, not_found, unlisted
from tests.policy_tools.judged import CHECKOV, EXAMPLE, KUBE_SCORE, Judged, judge
from tests.policy_tools.mutants import WEAKENED
from tests.policy_tools.page import COMMANDS, page
from tests.policy_tools.seen import BLIND
from tests.support import REPOSITORY, check_golden
from tests.tools import build, python_tools

_TABLE: Final = accepted()
_DANGEROUS: Final = {
    CHECKOV: {"CKV_K8S_16", "CKV_K8S_19", "CKV_K8S_23"},  # privileged, the node's network, root
    KUBE_SCORE: {"container-security-context-privileged", "container-security-context-user-group-id"},
}


@pytest.fixture(scope="session")
def judged(tmp_path_factory: pytest.TempPathFactory) -> Judged:
    """Return what the tools say; where tests run in several processes, one of them asks."""
    own = tmp_path_factory.getbasetemp()
    shared = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
    with (shared / "policy-tools.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        kept = shared / "policy-tools.pickle"
        if not kept.exists():
            found = judge(tmp_path_factory.mktemp("policy-tools"))
            kept.with_suffix(".half").write_bytes(pickle.dumps(found))
            kept.with_suffix(".half").rename(kept)
        said: Judged = pickle.loads(kept.read_bytes())  # noqa: S301  # written above
    return said


def test_nothing_is_found_that_is_not_in_the_table(judged: Judged) -> None:
    assert unlisted(judged.findings, _TABLE.rows) == []


def test_everything_in_the_table_is_found(judged: Judged) -> None:
    assert not_found(judged.findings, _TABLE.rows) == []


def test_every_finding_is_in_the_table_once() -> None:
    keys = [key for row in _TABLE.rows for key in sorted(row.keys)]
    assert len(keys) == len(set(keys))
    used = {check for _, check, _ in keys}
    assert used == _TABLE.checks.keys(), "each check says what it asks for, and no other does"
    for row in _TABLE.rows:
        assert row.reason.endswith(".")
        assert row.mend.endswith(".")


def test_everything_was_judged(judged: Judged) -> None:
    for each in judged.subjects:
        kinds = [body["kind"] for body in each.bodies]
        assert judged.checkov[each.file].judged == len(kinds)
        assert judged.kube_score[each.file].judged == sum(kind in ("NetworkPolicy", "Pod", "Service") for kind in kinds)
        if alone := each.alone():
            assert judged.checkov[f"{each.file}-containers"].judged == len(alone)
    assert {kind for each in judged.subjects for kind in each.pods.values()} >= {
        "pod of a run", "pod of a gate", "pod of KServe", "pod of Seldon"
    }  # fmt: skip


@pytest.mark.parametrize("kind", BLIND)
def test_the_blind_spot(judged: Judged, kind: str) -> None:
    """In a custom resource the tools judge nothing, however dangerous; in its projected pods they find it."""
    (blind,) = (each for each in judged.blind if each.kind == kind)
    assert blind.objects > 0
    for tool, checks in _DANGEROUS.items():
        for report in (blind.said[tool], blind.dangerous[tool]):
            assert (report.judged, report.failed) == (0, ())
        assert blind.projected[tool].judged > 0
        assert checks <= {item.check for item in blind.projected[tool].failed}


@pytest.mark.parametrize("name", WEAKENED)
def test_what_weakens_a_pod_is_not_in_the_table(judged: Judged, name: str) -> None:
    _, expected = WEAKENED[name]
    before = {finding.key for each in judged.subjects if each.name == EXAMPLE for finding in judged.of(each)}
    assert not before & expected
    found = list(judged.of(judged.weakened[name]))
    assert expected <= {finding.key for finding in found}
    listed = {key for row in _TABLE.rows for key in row.keys}
    assert not listed & expected
    assert len(unlisted(found, _TABLE.rows)) >= len(expected)


def test_the_page_is_current(judged: Judged, update_golden: bool) -> None:
    check_golden(REPOSITORY / "docs" / "policy-tools.md", page(_TABLE, judged), update=update_golden)


def test_the_commands_of_the_page_work(tmp_path: Path) -> None:
    """As they stand there, in a shell, on the living example."""
    programs = {
        "mlspec": [sys.executable, "-m", "mlspec", "--root", str(REPOSITORY)],
        "checkov": [str(python_tools.CHECKOV.python), "-I", "-m", "checkov.main"],
        "kube-score": [str(build.KUBE_SCORE.path)],
    }
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, words in programs.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        (folder / name).chmod(0o755)
    environment = {"PATH": f"{folder}:{os.defpath}", "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)}
    results = [
        subprocess.run(
            ["sh", "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        for command in COMMANDS
    ]
    assert results[0].returncode == 0, results[0].stderr
    for result in results[1:]:
        assert result.returncode == 1, result.stderr  # both found something
    assert "Check: CKV_K8S_43" in results[1].stdout
    assert "Container Ephemeral Storage" in results[2].stdout


def test_a_missing_tool_is_said(tmp_path: Path) -> None:
    with pytest.raises(pytest.fail.Exception, match=r"kube-score v1\.20\.0 is not there; run `make tools`"):
        running.needs(tmp_path / "kube-score", build.KUBE_SCORE.label)


def test_one_container_does_not_hide_another() -> None:
    """The table is about each container: what one may do, the next may not."""
    finding = Finding(CHECKOV, "CKV_K8S_22", "container of a run", "a/dev Pod b pytorch")
    (line,) = unlisted([finding], _TABLE.rows)
    assert line == "checkov CKV_K8S_22 on container of a run: a/dev Pod b pytorch"
    beside = Finding(CHECKOV, "CKV_K8S_22", "`init-pytorch`", "a/dev Pod b init-pytorch")
    assert unlisted([beside], _TABLE.rows) == []


def test_none_of_it_comes_into_our_own_environment() -> None:
    names = {line.partition("==")[0].lower() for line in _requirements()}
    assert "checkov" in names
    declared = (REPOSITORY / "pyproject.toml").read_text()
    assert "checkov" not in declared
    assert python_tools.CHECKOV.python.is_file(), "run `make tools`"
    assert not python_tools.CHECKOV.folder.is_relative_to(sys.prefix)


def _requirements() -> Iterator[str]:
    for line in python_tools.CHECKOV.requirements.read_text().splitlines():
        if not line.startswith("#"):
            assert line.count("==") == 1, f"{line}: one version, exactly, and nothing else"
            yield line
