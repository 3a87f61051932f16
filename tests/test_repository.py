"""This repository itself: its committed output is current, its schemas are what they say, kubeconform agrees."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlspec import yamltext
from mlspec.check import tools
from mlspec.check.versions import schema_folders
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.conftest import KUBECONFORM
from tests.support import REPOSITORY, mlspec


def _roots() -> list[Path]:
    """Return every root in the repository whose output is committed."""
    return sorted({path.parent for path in REPOSITORY.glob("**/generated") if ".venv" not in path.parts})


def _overlays() -> Iterator[tuple[Path, str, str]]:
    for root in _roots():
        for path in sorted(root.glob("generated/*/overlays/*/**/kustomization.yaml")):
            folder = path.parent.relative_to(root).as_posix()
            yield root, folder.split("/")[3], folder


_OVERLAYS = list(_overlays())


def test_committed_output_is_current() -> None:
    for root in _roots():
        result = mlspec(root, "generate", "--check")
        assert (result.code, result.output) == (0, "")


def test_check_finds_nothing_in_this_repository() -> None:
    result = mlspec(REPOSITORY, "check")
    assert result.code == 0, result.output
    assert result.stdout == ""
    assert "built as planned" in result.stderr


@pytest.mark.parametrize(("root", "environment", "folder"), _OVERLAYS, ids=[folder for _, _, folder in _OVERLAYS])
def test_kubeconform_accepts_every_built_overlay(root: Path, environment: str, folder: str) -> None:
    kustomize = tools.find_kustomize()
    assert kustomize is not None, "install the extra kustomize"
    assert KUBECONFORM is not None, "run `make tools`"
    built = tools.run([*kustomize.prefix, str(root / folder)])
    assert built.returncode == 0, built.stderr
    count = len(yamltext.load_all(built.stdout))
    assert count > 0
    model = load(root).environments[environment].model
    command = [
        *KUBECONFORM.prefix,
        "-strict",
        "-summary",
        "-output",
        "json",
        "-kubernetes-version",
        f"{model.kubernetes}.0",
    ]
    for path in schema_folders(model):
        command += ["-schema-location", f"{path}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"]
    result = tools.run([*command, "-"], stdin=built.stdout)
    summary = json.loads(result.stdout)["summary"]
    assert summary == {"valid": count, "invalid": 0, "errors": 0, "skipped": 0}, result.stdout


def test_kubeconform_refuses_what_it_should() -> None:
    """The judge judges: a misspelt field, and a kind without a schema, are not passed over."""
    assert KUBECONFORM is not None, "run `make tools`"
    compiled = compile_workspace(load(REPOSITORY)).projects[0]
    folders = schema_folders(load(REPOSITORY).environments["dev"].model)
    body = compiled.resources["dev"][0].body
    for broken in ({**body, "specc": {}}, {**body, "kind": "Unheard"}):
        text = yamltext.dump(broken)
        command = [*KUBECONFORM.prefix, "-strict", "-summary", "-kubernetes-version", "1.34.0"]
        for path in folders:
            command += ["-schema-location", f"{path}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"]
        assert tools.run([*command, "-"], stdin=text).returncode == 1


def test_schemas_are_those_of_the_sources() -> None:
    command = [sys.executable, str(REPOSITORY / "schemas" / "refresh.py"), "--offline-check"]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr


def test_no_machine_path_or_package_host_in_the_text() -> None:
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert listed.returncode == 0, "the suite runs in a Git checkout"
    hosts = ["py" + "pi.org", "proxy.golang" + ".org", "sum.golang" + ".org", "files.python" + "hosted"]
    for name in filter(None, listed.stdout.split("\0")):
        path = REPOSITORY / name
        if path.is_file() and not name.startswith(("schemas/crds", "schemas/kubernetes")):
            text = path.read_text(errors="replace")
            assert not [host for host in hosts if host in text], name
            assert str(REPOSITORY) not in text, name
