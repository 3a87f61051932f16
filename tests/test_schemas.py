"""Schemas as others use them: they compile everywhere, in both layouts; none can be missing unseen; they stay small."""

from __future__ import annotations

import gzip
import io
import json
import re
import shutil
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from functools import cache, partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, Final

import jsonschema
import jsonschema_rs
import pytest

from mlspec import schemas
from mlspec.all_kinds import OPERATORS
from mlspec.check.schema import check_schema, schema_file
from mlspec.check.tools import find_kustomize
from mlspec.validation import structure
from mlspec.validation.cel.text import asked_on_creation
from tests.cluster.harness.goldens import goldens
from tests.conftest import KUBECONFORM
from tests.support import REPOSITORY, mlspec

Body = dict[str, Any]
FOLDER: Final = schemas.folder()
FILES: Final = sorted(path for top in ("kubernetes", "crds") for path in (FOLDER / top).rglob("*.json"))
_MOST: Final = 6_000_000
_MOST_PACKED: Final = 500_000
_README: Final = (FOLDER / "README.md").read_text()
_each_file = pytest.mark.parametrize("path", FILES, ids=lambda path: f"{path.parent.name}/{path.name}")


def _kind(path: Path) -> tuple[str, str]:
    properties = json.loads(path.read_bytes())["properties"]
    (api_version,), (kind,) = properties["apiVersion"]["enum"], properties["kind"]["enum"]
    return api_version, kind


@cache
def _candidates() -> dict[tuple[str, str], list[Body]]:
    found: dict[tuple[str, str], list[Body]] = {}
    for golden in goldens():
        for body in golden.bodies:
            found.setdefault((body["apiVersion"], body["kind"]), []).append(body)
    return found


def _valid(path: Path) -> Body:
    """Return an object that a schema accepts: a golden's, or the least that it asks for."""
    its = jsonschema_rs.validator_for(json.loads(path.read_bytes()))
    api_version, kind = _kind(path)
    least: Body = {"apiVersion": api_version, "kind": kind, "metadata": {"name": "least"}}
    if kind == "Pod":
        least["spec"] = {"containers": [{"name": "main", "image": "main:1"}]}
    return next(body for body in [*_candidates().get((api_version, kind), []), least] if its.is_valid(body))


def _catalogued(path: Path) -> Path:
    api_version, kind = _kind(path)
    group, _, version = api_version.rpartition("/")
    release = path.parent.name
    if path.parent.parent.name == "kubernetes":
        release = "kubernetes-" + ".".join(release.removeprefix("v").split(".")[:2])
    return FOLDER / "catalogue" / release / (group or version) / f"{kind.lower()}_{version}.json"


@_each_file
def test_each_compiles_in_python(path: Path) -> None:
    """jsonschema, the reference, and jsonschema-rs compile it as draft 7, and say the same of good and bad objects."""
    content = json.loads(path.read_bytes())
    jsonschema.Draft7Validator.check_schema(content)
    reference, ours = jsonschema.Draft7Validator(content), jsonschema_rs.validator_for(content)
    body = _valid(path)
    assert reference.is_valid(body)
    bads: list[Any] = [{**body, "unknown": 1}, {**body, "metadata": {"nam": "x"}}, {**body, "status": {}}, []]
    for bad in bads:
        assert not reference.is_valid(bad), bad
        assert not ours.is_valid(bad), bad


@_each_file
def test_each_has_its_name_in_the_catalogue(path: Path) -> None:
    assert _catalogued(path).read_bytes() == path.read_bytes()


def test_the_catalogue_holds_nothing_else() -> None:
    assert {_catalogued(path) for path in FILES} == set((FOLDER / "catalogue").rglob("*.json"))


_LAYOUTS: Final = {
    "by kind": lambda path: f"{path.parent}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json",
    "catalogue": lambda path: (
        f"{_catalogued(path).parents[1]}/{{{{.Group}}}}/{{{{.ResourceKind}}}}_{{{{.ResourceAPIVersion}}}}.json"
    ),
}


@pytest.mark.parametrize("layout", _LAYOUTS)
@pytest.mark.parametrize("folder", sorted({path.parent for path in FILES}), ids=lambda path: path.name)
def test_kubeconform_compiles_each(folder: Path, layout: str) -> None:
    """A file that it cannot compile it calls missing: so each judges a good object, and one with an unknown field."""
    assert KUBECONFORM is not None, "`make tools` builds kubeconform"
    files = [path for path in FILES if path.parent == folder]
    good = [_valid(path) for path in files]
    bad = [{**body, "unknown": 1} for body in good]
    command = [str(KUBECONFORM.path), "-strict", "-output", "json", "-summary"]
    command += ["-schema-location", _LAYOUTS[layout](files[0]), "-"]
    for bodies, valid, invalid in ((good, len(good), 0), (bad, 0, len(bad))):
        text = "\n---\n".join(json.dumps(body) for body in bodies)
        done = subprocess.run(command, input=text, capture_output=True, text=True, check=False)
        summary = json.loads(done.stdout)["summary"]
        assert summary == {"valid": valid, "invalid": invalid, "errors": 0, "skipped": 0}, done.stdout


def test_they_stay_small() -> None:
    """Bytes of all files, and of a `.tar.gz` at level 9, which is what a download of a folder is."""
    packed = io.BytesIO()
    paths = sorted(path for path in FOLDER.rglob("*") if path.is_file() and path.suffix in (".json", ".toml", ".md"))
    with gzip.GzipFile(fileobj=packed, mode="wb", mtime=0) as stream, tarfile.open(fileobj=stream, mode="w") as archive:
        for path in paths:
            archive.add(path, path.relative_to(FOLDER).as_posix())
    assert sum(path.stat().st_size for path in paths) < _MOST
    assert len(packed.getvalue()) < _MOST_PACKED


def test_every_release_is_there() -> None:
    """What an environment may declare has every kind that is emitted for it; `schemas/README.md` says the same."""
    folders = {path.name for path in (FOLDER / "crds").iterdir()}
    for operator in OPERATORS:
        name = operator.schemas(_declared(operator.field)).rpartition("-")[0]
        assert {name.rpartition("-")[0] for name in folders} >= {name}
    assert schemas.kubernetes_versions() == tuple(f"1.{minor}" for minor in range(31, 38))
    assert schemas.operator_versions("kserve") == tuple(f"0.{minor}" for minor in range(15, 21))
    assert schemas.operator_versions("training-operator") == ("1.8", "1.9")
    for name in sorted({folder.rpartition("-")[0] for folder in folders}):
        versions = schemas.operator_versions(name)
        kinds = {
            frozenset(_kind(path)[1] for path in (FOLDER / "crds" / f"{name}-{each}").iterdir()) for each in versions
        }
        assert len(kinds) == 1, f"{name} has other kinds in some releases"
        said = re.search(rf"^\| `crds/{name}-…` \| (?P<versions>[^|]+) \| (?P<kinds>[^|]+) \|$", _README, re.MULTILINE)
        assert said is not None, name
        assert set(re.findall(r"\d+\.\d+", said["versions"])) >= {versions[0], versions[-1]}
        assert set(said["kinds"].split(", ")) == set(*kinds)


def _declared(field: str) -> Any:
    return next(value for golden in goldens() if (value := golden.plan.target.operators.get(field)) is not None)


def test_kserve_0_18_is_that_of_its_neighbours() -> None:
    """Its module cannot be had; both neighbours have the very same definition (schemas/README.md)."""
    name = "inferenceservice-serving-v1beta1.json"
    found = {(schemas.operator_folder(f"kserve-0.{minor}") / name).read_bytes() for minor in (17, 18, 19)}
    assert len(found) == 1


@_each_file
def test_no_rule_needs_the_evaluator_and_no_default_decides(path: Path) -> None:
    """Why CEL is an extra, and why a schema may be asked of what is written, though the server fills in defaults first.

    A kind with a rule for new objects makes cel-expr-python a dependency; one whose required field, or a combiner, goes
    by a default is judged otherwise by the server until defaults are filled in before its schema is asked.
    """
    found = structure.read(path)
    assert not [rule["rule"] for rule in found.rules() if asked_on_creation(rule)]
    for node in _nodes(found, found.root, set()):
        with_default = [
            name for name, child in node.get("properties", {}).items() if "default" in found.resolved(child)
        ]
        assert not set(with_default) & set(node.get("required", ()))
        branches = json.dumps([node.get(name) for name in ("allOf", "anyOf", "oneOf", "not")])
        assert not [name for name in with_default if f'"{name}"' in branches]


def _nodes(its: structure.Structure, node: Any, seen: set[int]) -> Iterator[Any]:
    node = its.resolved(node)
    if id(node) not in seen:
        seen.add(id(node))
        yield node
        children = [*node.get("properties", {}).values(), node.get("items"), node.get("additionalProperties")]
        for child in children:
            if isinstance(child, dict):
                yield from _nodes(its, child, seen)


@cache
def _used() -> dict[str, Path]:
    """Return, by schema that some golden needs, the root of a golden that does."""
    found: dict[str, Path] = {}
    for golden in goldens():
        for body in golden.bodies:
            path = schema_file(golden.schemas, body["apiVersion"], body["kind"])
            assert path is not None
            found.setdefault(path.relative_to(FOLDER).as_posix(), golden.root)
    return found


@pytest.mark.parametrize("name", sorted(_used()))
def test_a_missing_schema_is_an_error(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No kind is skipped: without its schema `check` fails and names it."""
    folder = tmp_path / "schemas"
    for path in FILES:
        other = folder / path.relative_to(FOLDER)
        other.parent.mkdir(parents=True, exist_ok=True)
        if path.relative_to(FOLDER).as_posix() != name:
            other.symlink_to(path)
    monkeypatch.setattr(schemas, "folder", lambda: folder)
    caches = (schemas.kubernetes_folder, schemas.operator_folder, schema_file)
    for known in caches:
        known.cache_clear()
    try:
        result = mlspec(_used()[name], "check", "--output-format", "concise")
    finally:
        for known in caches:
            known.cache_clear()
    api_version, kind = _kind(FOLDER / name)
    assert result.code == 1, result.output
    assert "error[MLS302]" in result.stdout
    assert f"there is no schema of {kind} {api_version} in the declared versions" in result.stdout


# What schemas/README.md says


def _commands() -> list[str]:
    return re.findall(r"```sh\n(.*?)```", _README, re.DOTALL)


@pytest.fixture(scope="module", params=["folder", "address"])
def place(request: pytest.FixtureRequest) -> Iterator[str]:
    """Say where the schemas are: in a folder, or behind an address as the raw files of a repository are."""
    if request.param == "folder":
        yield str(FOLDER)
        return

    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *args: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(FOLDER))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.mark.parametrize("number", range(len(_commands())))
def test_the_command_lines_of_the_readme_work(number: int, place: str, tmp_path: Path) -> None:
    """These very lines, with every object valid and none skipped."""
    kustomize = find_kustomize()
    assert KUBECONFORM is not None, "`make tools` builds kubeconform"
    assert kustomize is not None
    (tmp_path / "kubectl").write_text(f'#!/bin/sh\nshift\nexec {" ".join(kustomize.prefix)} "$@"\n')
    (tmp_path / "mlspec").write_text(f'#!/bin/sh\nexec {sys.executable} -m mlspec "$@"\n')
    for name in ("kubectl", "mlspec"):
        (tmp_path / name).chmod(0o755)
    (tmp_path / "kubeconform").symlink_to(KUBECONFORM.path)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "SCHEMAS": place, "HOME": str(tmp_path)}
    shell = shutil.which("bash")
    assert shell is not None
    command = [shell, "-euo", "pipefail", "-c", _commands()[number]]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    summary = re.search(r"Summary: (\d+) resources? .* Valid: (\d+), Invalid: 0, Errors: 0, Skipped: 0", done.stdout)
    assert summary is not None, done.stdout
    assert summary[1] == summary[2] != "0"


def test_the_line_for_editors_leads_to_a_schema() -> None:
    named = re.findall(r"\$schema=schemas/(\S+)", _README)
    assert named
    for name in named:
        assert FOLDER / name in {_catalogued(path) for path in FILES}


def test_a_schema_says_the_same_in_both_layouts(tmp_path: Path) -> None:
    """An object is refused by mlspec's own lookup for what the catalogue's file refuses."""
    path = schemas.operator_folder("training-operator-1.9") / "pytorchjob-kubeflow-v1.json"
    body = {**_valid(path), "unknown": 1}
    validator = jsonschema_rs.validator_for(json.loads(_catalogued(path).read_bytes()))
    assert len(list(validator.iter_errors(body))) == len(list(check_schema((path.parent,), body))) == 1
