"""The external judges: which kustomize is taken, what a missing or old one means, and what is remembered."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Any

import pytest

from mlspec.check import tools
from mlspec.check.tools import Tool
from tests.support import copy_example, make_root, mlspec


def _program(folder: Path, name: str, script: str) -> Path:
    path = folder / name
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


@pytest.fixture
def example(tmp_path: Path) -> Path:
    copy_example(tmp_path / "root")
    return tmp_path / "root"


def test_a_missing_kustomize_is_a_finding_by_name(example: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_kustomize", lambda: None)
    result = mlspec(example, "check", "--output-format", "concise")
    assert result.code == 2
    assert result.stdout == "mlspec: error[MLS306] there is no kustomize: overlays were not built\n"


def test_an_old_kustomize_is_a_finding_by_name(example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _program(tmp_path, "kustomize", "echo v4.5.7")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "nowhere"))
    result = mlspec(example, "check", "--output-format", "concise")
    assert result.code == 2
    assert "kustomize has kustomize v4.5.7, too old" in result.stdout


def test_the_extra_comes_before_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "extra").mkdir()
    bundled = _program(tmp_path / "extra", "kubectl", 'echo \'{"kustomizeVersion": "v5.8.1"}\'')
    other = _program(tmp_path, "kustomize", "echo v5.5.0")
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "extra"))
    assert tools.find_kustomize() == Tool("kubectl", bundled, (str(bundled), "kustomize"), "v5.8.1")
    bundled.unlink()
    assert tools.find_kustomize() == Tool("kustomize", other, (str(other), "build"), "v5.5.0")


def test_a_kustomize_that_fails_or_lies_is_a_finding(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sysconfig.get_path", lambda _: str(tmp_path / "nowhere"))
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    version = "if [ $1 = version ]; then echo v5.8.1; exit; fi\n"
    _program(tmp_path, "kustomize", version + "echo broken >&2; exit 1")
    failed = mlspec(example, "check", "--output-format", "concise")
    assert (failed.code, failed.stdout.count("error[MLS304]")) == (1, 3)
    _program(tmp_path, "kustomize", version + "printf 'apiVersion: v1\\nkind: Secret\\nmetadata: {name: x}\\n'")
    lied = mlspec(example, "check", "--output-format", "concise")
    assert lied.code == 1
    assert "v1 Secret x is built but not planned" in lied.stdout
    assert "is planned but not built" in lied.stdout


def test_a_valid_build_is_remembered_and_a_changed_one_is_not(
    example: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path / "cache"))
    started: list[list[str]] = []
    run = tools.run

    def counted(command: list[str], stdin: str | None = None, **options: Any) -> object:
        started.append(list(command))
        return run(command, stdin, **options)

    monkeypatch.setattr(tools, "run", counted)

    def builds() -> int:
        started.clear()
        assert mlspec(example, "check").code == 0
        return sum(command[1] == "kustomize" for command in started)

    assert (builds(), builds()) == (3, 0)
    text = (example / "mlproject.yaml").read_text()
    (example / "mlproject.yaml").write_text(text.replace("min: 3", "min: 4"))
    assert mlspec(example, "generate").code == 0
    assert builds() == 1


def test_a_root_below_the_top_of_its_repository_says_so(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    root = make_root(tmp_path / "teams" / "vision", 'steps: {a: {kind: job, image: "a:1"}}\n')
    assert mlspec(root, "generate").code == 0
    result = mlspec(root, "check", "--output-format", "concise")
    assert result.code == 0
    assert (
        "warning[MLS229] this root is `teams/vision` in its repository, but Argo CD reads from the top" in result.stdout
    )
    environment = root / "environments" / "dev.yaml"
    environment.write_text(environment.read_text().replace("argocd: {", "argocd: {path: teams/vision, "))
    assert mlspec(root, "generate").code == 0
    assert mlspec(root, "check").stdout == ""


def test_check_of_one_environment_looks_at_no_other(example: Path) -> None:
    broken = example / "generated/image-classifier/overlays/prod/serving/kustomization.yaml"
    broken.write_text(broken.read_text() + "# x\n")
    assert mlspec(example, "check", "-e", "dev").code == 0
    result = mlspec(example, "check", "-e", "prod", "--output-format", "concise")
    assert result.code == 1
    assert "overlays/prod/serving/kustomization.yaml:1:1: error[MLS503] edited by hand" in result.stdout
    assert mlspec(example, "check", "-e", "nowhere").code == 2
