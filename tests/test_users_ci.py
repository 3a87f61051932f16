"""What users run besides the action: the pre-commit hooks and the job for GitLab; what zizmor says of all of it."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.support import REPOSITORY, mlspec
from tests.test_diff import commit, git, make

_STEP = """\
steps:
  train: {kind: job, image: "a:1", command: [t], args: {lr: 0.1}, handoff: none, resources: {cpu: 1, memory: 1Gi}}
"""
_WORKFLOWS = sorted((REPOSITORY / ".github" / "workflows").glob("*.yml"))
_PINNED = re.compile(r"[\w.-]+/[\w./-]+@[0-9a-f]{40}")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a root that is generated and committed."""
    root = make(tmp_path / "root", _STEP)
    assert mlspec(root, "generate").code == 0
    commit(root)
    return root


def _shell(root: Path, script: str, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a script with mlspec on its PATH."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, **variables}
    return subprocess.run(
        ["bash", "-eo", "pipefail", "-c", script],
        cwd=root,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def _edit(root: Path, before: str, after: str) -> None:
    path = root / "mlproject.yaml"
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


# --- pre-commit ---


def _hooks() -> dict[str, dict[str, Any]]:
    return {hook["id"]: hook for hook in yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())}


def _hook(root: Path, name: str) -> subprocess.CompletedProcess[str]:
    """Run a hook as pre-commit does: its entry split as a shell would, without file names."""
    hook = _hooks()[name]
    assert hook["pass_filenames"] is False
    assert hook["language"] == "python"
    return _shell(root, shlex.join(shlex.split(hook["entry"])))


def test_the_hooks_pass_where_nothing_is_wrong(root: Path) -> None:
    for name in _hooks():
        result = _hook(root, name)
        assert result.returncode == 0, result.stdout + result.stderr
    assert git(root, "status", "--porcelain") == "", "generate had nothing to write"


def test_the_check_hook_finds_what_is_wrong_and_what_was_not_generated(root: Path) -> None:
    _edit(root, "lr: 0.1", "lr: 0.2")
    assert "MLS501" in _hook(root, "mlspec-check").stdout
    _edit(root, "kind: job", "kind: jobb")
    result = _hook(root, "mlspec-check")
    assert result.returncode == 1
    assert "jobb" in result.stdout


def test_what_the_generate_hook_writes_stops_the_commit(root: Path) -> None:
    _edit(root, "lr: 0.1", "lr: 0.2")
    assert _hook(root, "mlspec-generate").returncode == 0
    changed = git(root, "diff", "--name-only").splitlines()
    assert any(path.startswith("generated/") for path in changed), "pre-commit stops where tracked files changed"


def test_pre_commit_runs_them(root: Path, tmp_path: Path) -> None:
    """Run the real pre-commit, on the repository as it lies here, with hooks that need no environment of their own."""
    hooks = tmp_path / "hooks"
    hooks.mkdir()
    text = (REPOSITORY / ".pre-commit-hooks.yaml").read_text()
    # `system` instead of `python`: the mlspec that is being tested, not one that is installed over the network.
    (hooks / ".pre-commit-hooks.yaml").write_text(text.replace("language: python", "language: system"))
    revision = commit(hooks)
    names = "\n".join(f"      - id: {name}" for name in _hooks())
    (root / ".pre-commit-config.yaml").write_text(
        f"repos:\n  - repo: {hooks.as_uri()}\n    rev: {revision}\n    hooks:\n{names}\n"
    )
    commit(root)
    variables = {"PRE_COMMIT_HOME": str(tmp_path / "home"), "GIT_CONFIG_GLOBAL": os.devnull}
    run = f"{shlex.quote(sys.executable)} -m pre_commit run --all-files"
    passed = _shell(root, run, **variables)
    assert passed.returncode == 0, passed.stdout + passed.stderr
    assert passed.stdout.count("Passed") == len(_hooks())
    _edit(root, "lr: 0.1", "lr: 0.2")
    git(root, "add", "mlproject.yaml")
    failed = _shell(root, run, **variables)
    assert failed.returncode == 1
    assert "files were modified by this hook" in failed.stdout


# --- GitLab ---


def _gitlab() -> dict[str, Any]:
    found = yaml.safe_load((REPOSITORY / "docs" / "examples" / "gitlab-ci.yml").read_text())["mlspec"]
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(("edit", "code"), [(("lr: 0.1", "lr: 0.2"), 0), (("kind: job", "kind: jobb"), 1)])
def test_the_job_for_gitlab(root: Path, edit: tuple[str, str], code: int) -> None:
    base = git(root, "rev-parse", "HEAD")
    _edit(root, *edit)
    assert mlspec(root, "generate").code == code
    commit(root)
    job = _gitlab()
    result = _shell(root, "\n".join(job["script"]), CI_MERGE_REQUEST_DIFF_BASE_SHA=base, CI_PROJECT_DIR=str(root))
    assert result.returncode == code, result.stdout + result.stderr
    for path in job["artifacts"]["paths"]:
        assert (root / path).exists(), path
    if code == 0:
        assert "starts 1 run" in (root / "mlspec-diff.md").read_text()
    else:
        assert "jobb" in (root / "mlspec.json").read_text()
        assert "jobb" in result.stdout


def test_the_job_for_gitlab_ends_where_a_command_cannot_run(root: Path, tmp_path: Path) -> None:
    """Findings are for the last line; that the report for programs could not be written is not hidden by it."""
    for failing in ("diff", "check"):
        stub = tmp_path / failing
        stub.mkdir()
        (stub / "mlspec").write_text(f'#!/bin/sh\ncase "$*" in *json*|diff*) [ "$1" != {failing} ] || exit 2;; esac\n')
        (stub / "mlspec").chmod(0o755)
        script = "\n".join([f'PATH="{stub}:$PATH"', *_gitlab()["script"], "echo reached"])
        result = _shell(root, script, CI_MERGE_REQUEST_DIFF_BASE_SHA="HEAD", CI_PROJECT_DIR=str(root))
        assert (result.returncode, result.stdout) == (1, ""), failing


# --- our own workflows ---


@pytest.mark.parametrize("path", _WORKFLOWS, ids=lambda path: path.name)
def test_a_workflow_may_read_and_pins_what_it_uses(path: Path) -> None:
    text = path.read_text()
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] in ({}, {"contents": "read"})
    assert "pull_request_target" not in workflow[True], "`on` is a boolean to YAML 1.1"
    for job in workflow["jobs"].values():
        wanted = {"contents": "read", "pull-requests": "write"}
        assert job.get("permissions", {}).items() <= wanted.items()
        for step in job["steps"]:
            used = step.get("uses", "./")
            assert used.startswith("./") or _PINNED.fullmatch(used), used
            assert "${{" not in step.get("run", "")
            if "checkout" in used:
                assert step["with"]["persist-credentials"] is False
    pins = re.findall(r"uses: (\S+@\S+)(.*)", text)
    assert all(re.fullmatch(r" # v\d+\.\d+\.\d+", comment) for _, comment in pins), "a pin says which release it is"


def test_the_pages_pin_what_the_workflows_do() -> None:
    action = REPOSITORY / ".github" / "actions" / "mlspec" / "action.yml"
    used: dict[str, set[str]] = {}
    for path in (*_WORKFLOWS, action, REPOSITORY / "docs" / "pull-requests.md"):
        for name, pin in re.findall(r"uses: ([\w.-]+/[\w.-]+)@([0-9a-f]{40})", path.read_text()):
            used.setdefault(name, set()).add(pin)
    assert used.keys() >= {"actions/checkout", "actions/cache"}
    assert {name: pins for name, pins in used.items() if len(pins) > 1} == {}


def test_zizmor_finds_nothing() -> None:
    program = Path(sys.executable).parent / "zizmor"
    result = subprocess.run(
        [str(program), "--offline", "--no-progress", "--format", "plain", "."],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert "No findings to report" in result.stdout


def test_the_shell_scripts_are_clean() -> None:
    scripts = sorted((REPOSITORY / ".github" / "actions" / "mlspec").glob("*.sh"))
    assert len(scripts) == 4
    result = subprocess.run(
        [str(Path(sys.executable).parent / "shellcheck"), *map(str, scripts)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert result.returncode == 0, result.stdout


def test_the_page_names_every_input() -> None:
    action = yaml.safe_load((REPOSITORY / ".github" / "actions" / "mlspec" / "action.yml").read_text())
    page = (REPOSITORY / "docs" / "pull-requests.md").read_text()
    assert [name for name in (*action["inputs"], *action["outputs"]) if f"`{name}`" not in page] == []
