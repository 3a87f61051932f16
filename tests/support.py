"""What tests share: making a root, running mlspec in this process, and comparing with goldens."""

from __future__ import annotations

import contextlib
import io
import json
import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from mlspec import cli, yamltext

REPOSITORY = Path(__file__).parent.parent

ENVIRONMENT = """\
apiVersion: mlspec.dev/v1alpha1
kind: Environment
kubernetes: 1.34
training: kubeflow.org/v1 1.9
kserve: {version: 0.16, mode: Standard}
storage:
  standard: {access: [ReadWriteOnce], binding: WaitForFirstConsumer}
  nfs: {access: [ReadWriteMany, ReadOnlyMany]}
gpus:
  t4: {perNode: 4}
network:
  gateway: {namespace: istio-system, podLabels: {app: istio-ingressgateway}}
  destinations:
    s3: {cidrs: [10.0.0.0/8]}
argocd: {repoURL: "https://git.example.com/ml/models.git"}
images: {digests: off}
"""

PROJECT = """\
apiVersion: mlspec.dev/v1alpha1
kind: Project
name: demo
owner: team
"""


IDENTITY = {"HOME": "/tmp", "LOGNAME": "mlspec", "USER": "mlspec"}  # noqa: S108  # in the container
"""Variables that every container of a run or model server has before its own."""
SCRATCH = {"name": "mlspec-scratch", "mountPath": "/tmp"}  # noqa: S108  # as above
"""The mount that every container has beside its own: its image's files are read only."""


PEAK = """\
def megabytes():
    import pathlib, resource, sys
    status = pathlib.Path("/proc/self/status")
    if status.exists():
        return int(status.read_text().partition("VmHWM:")[2].split()[0]) // 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // (2**20 if sys.platform == "darwin" else 2**10)
"""
"""Source of a function for a child: its own peak in MiB. On Linux `ru_maxrss` begins with that of the parent."""


@dataclass(frozen=True)
class Result:
    """What a run of mlspec gave back."""

    code: int
    stdout: str
    stderr: str

    @property
    def output(self) -> str:
        """Both streams."""
        return self.stdout + self.stderr

    def json(self) -> dict[str, Any]:
        """Return stdout as JSON."""
        found = json.loads(self.stdout)
        assert isinstance(found, dict)
        return found


def write_tree(root: Path, files: Mapping[str, str | bytes]) -> Path:
    """Write files below a folder."""
    for name, content in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.encode() if isinstance(content, str) else content)
    return root


def make_root(folder: Path, project: str | None = None, environments: Mapping[str, str] | None = None) -> Path:
    """Write a root with one project (without its four head lines) and environments (default: dev)."""
    files: dict[str, str | bytes] = {
        f"environments/{name}.yaml": text for name, text in (environments or {"dev": ENVIRONMENT}).items()
    }
    if project is not None:
        files["mlproject.yaml"] = project if project.startswith("apiVersion") else PROJECT + project
    return write_tree(folder, files)


def mlspec(root: Path, *arguments: str) -> Result:
    """Run the command line in this process, in a folder."""
    stdout, stderr = io.StringIO(), io.StringIO()
    before = Path.cwd()
    os.chdir(root)
    try:
        with (
            mock.patch.object(sys, "argv", ["mlspec", *arguments]),
            contextlib.redirect_stdout(stdout),
            contextlib.redirect_stderr(stderr),
        ):
            code = cli.run()
    finally:
        os.chdir(before)
    return Result(code, stdout.getvalue(), stderr.getvalue())


def snapshot(folder: Path) -> dict[str, bytes]:
    """Return every file below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()
    }


def objects(root: Path, environment: str = "dev") -> list[dict[str, Any]]:
    """Return every object that the committed overlays of an environment hold whole (base and patches left out)."""
    found: list[dict[str, Any]] = []
    for path in sorted((root / "generated").glob(f"*/overlays/{environment}/**/*.yaml")):
        if path.name != "kustomization.yaml":
            found += yamltext.load_all(path.read_text())
    return found


def check_golden(path: Path, actual: str, *, update: bool) -> None:
    """Compare text with a golden file, or rewrite it."""
    if update:
        path.write_text(actual)
    assert path.exists(), f"{path} does not exist; run pytest --update-golden and read it"
    assert actual == path.read_text()


def copy_example(root: Path, *, generated: bool = True) -> Path:
    """Copy the living example, the scripts that it ships included; returns the root."""
    for name in ("environments", "mlspec/training", *(("generated",) if generated else ())):
        shutil.copytree(REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(REPOSITORY / "mlproject.yaml", root)
    return root
