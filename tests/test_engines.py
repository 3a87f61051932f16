"""`check --engine`: who judges by schema, what a kubeconform that does not do its work means; nothing is skipped."""

from __future__ import annotations

import os
import re
import shutil
import stat
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from mlspec import schemas
from mlspec.check import engines, kubeconform, tools
from mlspec.check.kubeconform import Refusal, Sheet
from mlspec.check.schema import check_schema, schema_file
from mlspec.check.tools import Tool
from mlspec.k8s.resource import Body
from mlspec.schemas import kubernetes_folder
from tests.cluster.harness.goldens import Golden, goldens
from tests.conftest import KUBECONFORM
from tests.support import REPOSITORY, Result, make_root, mlspec, write_tree

_IS_KUBECONFORM = 'if [ "$1" = -v ]; then echo v0.7.0; exit; fi\n'
_REFUSED = """\
steps:
  a: {kind: job, image: "a:1"}
  b:
    kind: job
    image: "a:1"
    patch:
      - {op: add, path: /spec/template/spec/priorityclass, value: low}
"""


def _program(folder: Path, script: str) -> Path:
    path = folder / "kubeconform"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return path


def _real() -> Path:
    assert KUBECONFORM is not None, "run `make tools`"
    return KUBECONFORM.path


def _lying(folder: Path, kind: str, status: str, words: str) -> Path:
    """Return kubeconform with another verdict of one kind."""
    change = folder / "change.py"
    change.write_text(
        "import json, sys\n"
        "report = json.load(sys.stdin)\n"
        "for item in report['resources']:\n"
        f"    item |= {{'status': {status!r}, 'msg': {words!r}}} if item['kind'] == {kind!r} else {{}}\n"
        "json.dump(report, sys.stdout)\n"
    )
    return _program(folder, f'{_IS_KUBECONFORM}{_real()} "$@" | {sys.executable} {change}')


def _use(monkeypatch: pytest.MonkeyPatch, path: Path) -> None:
    monkeypatch.setattr(tools, "find_kubeconform", lambda: Tool("kubeconform", path, (str(path),)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    root = make_root(tmp_path / "root", 'steps: {a: {kind: job, image: "a:1"}, b: {kind: job, image: "a:1"}}\n')
    assert mlspec(root, "generate").code == 0
    return root


@pytest.fixture
def refused(tmp_path: Path) -> Path:
    """Return a root with one object that both engines refuse."""
    return make_root(tmp_path / "refused", _REFUSED)


def check(root: Path, *arguments: str) -> Result:
    return mlspec(root, "check", "--kustomize", "none", "--output-format", "concise", *arguments)


# What the option means


def test_without_the_option_kubeconform_is_asked_if_it_is_there(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_kubeconform", lambda: None)
    result = check(root)
    assert result.code == 0
    assert "kubeconform: not asked, there is none (optional; --engine all requires it)\n" in result.stderr
    _use(monkeypatch, _real())
    result = check(root)
    assert result.code == 0
    assert "kubeconform: 15 of 15 objects valid by schema\n" in result.stderr


def test_embedded_asks_no_other_program(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, _program(tmp_path, f"touch {tmp_path}/started"))
    result = check(root, "--engine", "embedded")
    assert (result.code, result.stdout) == (0, "")
    assert "kubeconform: not asked, since --engine is embedded\n" in result.stderr
    assert not (tmp_path / "started").exists()


@pytest.mark.parametrize("engine", ["kubeconform", "all"])
def test_a_kubeconform_that_is_asked_for_and_missing(root: Path, engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_kubeconform", lambda: None)
    result = check(root, "--engine", engine)
    assert (result.code, result.stdout) == (2, "mlspec: error[MLS317] there is no kubeconform\n")
    assert "put kubeconform v0.7.0 or later on PATH (`go install" in mlspec(root, "check", "--engine", engine).stdout
    assert "kubeconform: nothing judged\n" in result.stderr


def test_of_what_both_refuse_one_speaks(refused: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Under `all` the embedded engine does, under `kubeconform` kubeconform; each at the operation or its step."""
    _use(monkeypatch, _real())
    for arguments in ((), ("--engine", "all"), ("--engine", "embedded")):
        result = check(refused, *arguments)
        assert result.code == 1
        assert result.stdout.count("error[") == 1
        assert "mlproject.yaml:11:25: error[MLS301]" in result.stdout
    result = check(refused, "--engine", "kubeconform")
    assert result.code == 1
    assert result.stdout.count("error[") == 1
    assert "mlproject.yaml:11:25: error[MLS307] Job b-" in result.stdout
    assert "spec.template.spec: additional properties 'priorityclass' not allowed" in result.stdout
    assert "kubeconform: 14 of 15 objects valid by schema\n" in result.stderr


def test_what_both_environments_have_is_one_finding(refused: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (refused / "environments/prod.yaml").write_text((refused / "environments/dev.yaml").read_text())
    _use(monkeypatch, _real())
    result = check(refused, "--engine", "kubeconform")
    (line,) = result.stdout.splitlines()
    assert line.startswith("mlproject.yaml:11:25: error[MLS307] Job b-")
    assert " in dev, Job b-" in line
    assert " in prod: spec.template.spec: additional" in line


def test_what_only_kubeconform_refuses(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = "jsonschema validation failed - at '/spec/backoffLimit': odd"
    _use(monkeypatch, _lying(tmp_path, "Job", "statusInvalid", words))
    for arguments in ((), ("--engine", "kubeconform")):
        result = check(root, *arguments)
        assert result.code == 1
        assert [line.split(" Job ")[0] for line in result.stdout.splitlines()] == [
            "mlproject.yaml:5:9: error[MLS307]",
            "mlproject.yaml:5:39: error[MLS307]",
        ]
        assert "spec.backoffLimit: odd" in result.stdout
    result = check(root, "--engine", "all")
    assert result.code == 1
    assert result.stdout.count("error[MLS315]") == 2
    assert "the engines disagree: embedded accepts it, kubeconform refuses it: spec.backoffLimit: odd" in result.stdout
    assert "kubeconform v0.7.0: 13 of 15 objects valid by schema\n" in result.stderr


def test_what_only_the_embedded_engine_refuses(refused: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It stays refused, whoever is asked."""
    _use(monkeypatch, _lying(tmp_path, "Job", "statusValid", ""))
    found = check(refused, "--engine", "all")
    words = "the engines disagree: kubeconform accepts it, embedded refuses it: spec.template.spec: unknown field"
    assert found.code == 1
    assert words in found.stdout
    assert found.stdout.count("error[MLS301]") == found.stdout.count("error[MLS315]") == 1
    assert "error[MLS301]" in check(refused, "--engine", "kubeconform").stdout


def test_many_projects_are_judged_and_located_like_one(
    refused: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Workers keep the objects of what they compile to themselves."""
    monkeypatch.setattr("mlspec.parallel._FEW", 1)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: {0, 1})
    (refused / "other").mkdir()
    text = (refused / "mlproject.yaml").read_text()
    (refused / "other" / "mlproject.yaml").write_text(text.replace("name: demo", "name: other"))
    _use(monkeypatch, _real())
    result = check(refused, "--engine", "kubeconform")
    assert [line.split(" Job ")[0] for line in result.stdout.splitlines()] == [
        "mlproject.yaml:11:25: error[MLS307]",
        "other/mlproject.yaml:11:25: error[MLS307]",
    ]
    assert "kubeconform: 28 of 30 objects valid by schema\n" in result.stderr


# A kubeconform that does not do its work

_WRONG = {
    "another program": ("echo hello, world", "is not kubeconform: it gives no version"),
    "a program without a version": ("exit 64", "does not tell its version: exit 64, it says nothing"),
    "too old": ("echo v0.6.7", "kubeconform v0.6.7 is too old, v0.7 or later is needed"),
    "hangs before it begins": ("exec sleep 60", "does not tell its version: exit 124, took more than 1 seconds"),
    "rubbish": (_IS_KUBECONFORM + "echo oops", "gave no verdict: exit 0, oops"),
    "JSON of another kind": (_IS_KUBECONFORM + "echo '[]'", "gave no verdict: exit 0, []"),
    "half a verdict": (
        _IS_KUBECONFORM + """echo '{"resources": [{"filename": "0.yaml"}]}'""",
        'gave no verdict: exit 0, {"resources"',
    ),
    "crashes": (_IS_KUBECONFORM + "echo panic: no >&2; kill -SEGV $$", "gave no verdict: exit -11, panic: no"),
    "hangs": (_IS_KUBECONFORM + "exec sleep 60", "gave no verdict: exit 124, took more than 1 seconds"),
}


@pytest.mark.parametrize("case", _WRONG)
@pytest.mark.parametrize("arguments", [(), ("--engine", "all")], ids=["found", "asked for"])
def test_a_wrong_kubeconform(
    root: Path, tmp_path: Path, case: str, arguments: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    script, words = _WRONG[case]
    _use(monkeypatch, _program(tmp_path, script))
    monkeypatch.setattr(kubeconform, "_START_SECONDS", 1)
    monkeypatch.setattr(engines, "_PROBE_SECONDS", 1)
    result = check(root, *arguments)
    assert result.code == 2
    assert "mlspec: error[MLS317] " in result.stdout
    assert words in result.stdout
    assert "kubeconform: nothing judged\n" in result.stderr
    assert ("`--engine embedded` does without" in mlspec(root, "check").stdout) is True


def test_one_that_cannot_be_executed(root: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = _program(tmp_path, "true")
    path.chmod(0o644)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr("mlspec.cache.programs", lambda: tmp_path / "cache")
    result = check(root, "--engine", "all")
    assert (result.code, result.stdout.split("MLS317] ")[1]) == (
        2,
        f"there is no kubeconform: {path} is not executable\n",
    )
    assert check(root).code == 0
    path.write_bytes(b"\x7fELF no program")
    path.chmod(0o755)
    result = check(root)
    assert result.code == 2
    assert "exit 126, cannot be run: " in result.stdout


# Nothing is skipped


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ('exec {real} -skip Job "$@"', "it was skipped, so nothing judged it"),
        ("""echo '{{"resources": [], "summary": {{}}}}'""", "it gave no verdict"),
        ('exec {real} -reject Job "$@"', "it could not be judged: prohibited resource kind Job"),
    ],
)
def test_an_object_without_a_verdict_is_a_finding(
    root: Path, tmp_path: Path, options: str, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    _use(monkeypatch, _program(tmp_path, _IS_KUBECONFORM + options.format(real=_real())))
    result = check(root)
    assert result.code == 1
    # What is said alike of several objects of one step is one finding, which names them.
    jobs = [line for line in result.stdout.splitlines() if re.search(r"error\[MLS307\] ([^:]*, )?Job [ab]-", line)]
    assert len(jobs) == 2
    assert all(line.endswith(words) for line in jobs)


@cache
def _used() -> dict[str, Golden]:
    """Return every schema file that goldens of the newest Kubernetes in use need, with one that does."""
    found: dict[str, Golden] = {}
    for golden in goldens():
        for body in golden.bodies:
            path = schema_file(golden.schemas, body["apiVersion"], body["kind"])
            assert path is not None
            found.setdefault(path.name, golden)
    return found


@pytest.fixture
def own_schemas(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Return a copy of schemas/ that mlspec uses instead."""
    folder = tmp_path / "schemas"
    shutil.copytree(schemas.folder(), folder, copy_function=os.link)
    cached = (schemas.kubernetes_folder, schemas.operator_folder)
    monkeypatch.setattr(schemas, "folder", lambda: folder)
    for function in cached:
        function.cache_clear()
    yield folder
    for function in cached:
        function.cache_clear()


@pytest.mark.parametrize("name", sorted(_used()))
def test_without_any_one_schema_check_fails_and_names_the_kind(name: str, own_schemas: Path) -> None:
    golden = _used()[name]
    kind = next(
        body["kind"]
        for body in golden.bodies
        if (path := schema_file(golden.schemas, body["apiVersion"], body["kind"])) and path.name == name
    )
    assert "MLS302" not in check(golden.root, "-e", golden.environment).stdout
    for path in own_schemas.rglob(name):
        path.unlink()
    schema_file.cache_clear()
    result = check(golden.root, "-e", golden.environment)
    assert result.code == 1
    assert f"error[MLS302] {kind} " in result.stdout
    assert f"there is no schema of {kind} " in result.stdout


_DAMAGE = {
    "half": b'{"properties": {"spec"',
    "empty": b"",
    "no map": b"[]",
    "states nothing": b"{}",
    "no JSON Schema": b'{"properties": {"spec": {"type": "no such type"}}}',
    "leads nowhere": b'{"properties": {"spec": {"$ref": "#/definitions/None"}}}',
    "no text": b"\xff\xfe\xfd",
}


@pytest.mark.parametrize("damage", _DAMAGE)
def test_a_damaged_schema_is_no_missing_one(root: Path, own_schemas: Path, damage: str) -> None:
    path = next(own_schemas.rglob("v1.34.0-*/job-batch-v1.json"))
    path.unlink()
    path.write_bytes(_DAMAGE[damage])
    schema_file.cache_clear()
    result = check(root)
    assert result.code == 2
    assert result.stdout.count("error[MLS316]") == 2
    assert f"the schema {path.parent.name}/job-batch-v1.json cannot be used: " in result.stdout


@pytest.mark.parametrize("damage", sorted(_DAMAGE.keys() - {"states nothing", "no map"}))
def test_kubeconform_skips_what_it_cannot_compile_and_that_is_a_refusal(damage: str, tmp_path: Path) -> None:
    folder = Path(shutil.copytree(kubernetes_folder("1.34"), tmp_path / "schemas"))
    (folder / "job-batch-v1.json").write_bytes(_DAMAGE[damage])
    body = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "a"}}
    assert [found.code for found in check_schema((folder,), body)] == ["MLS316"]
    sheet = Sheet([body])
    kubeconform.judge(Tool("kubeconform", _real(), (str(_real()),)), "1.34", (folder,), [sheet])
    assert len(sheet.refusals) == 1
    assert sheet.refusals[0].message.startswith(
        ("it cannot use the schema schemas/job-batch-v1.json", "it could not be")
    )


# What is remembered, and what is read of a message


def test_a_valid_verdict_is_remembered_and_a_refusal_is_not(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path / "cache"))
    path = _program(tmp_path, f'echo x >> {tmp_path}/calls\nexec {_real()} "$@"')
    tool, folders = Tool("kubeconform", path, (str(path),)), (kubernetes_folder("1.34"),)
    good: Body = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    bad = {**good, "extra": "x"}

    def calls(version: str, *bodies: Body) -> int:
        before = (tmp_path / "calls").read_text().count("x") if (tmp_path / "calls").exists() else 0
        for_version = (kubernetes_folder(version),) if version != "1.34" else folders
        kubeconform.judge(tool, version, for_version, [Sheet([body]) for body in bodies])
        return (tmp_path / "calls").read_text().count("x") - before

    assert [calls("1.34", good), calls("1.34", good)] == [1, 0]
    assert [calls("1.34", bad, good), calls("1.34", bad)] == [1, 1]
    assert calls("1.33", good) == 1
    own = Path(shutil.copytree(folders[0], tmp_path / "own"))
    (own / "serviceaccount-v1.json").write_bytes((own / "serviceaccount-v1.json").read_bytes() + b"\n")
    folders = (own,)
    assert calls("1.34", good) == 1


def test_objections_are_the_innermost_with_their_fields() -> None:
    message = (
        "problem validating schema. Check JSON formatting: jsonschema validation failed with 'file:///x.json#' "
        "- at '/metadata/labels/a~1b': got number, want string - at '/spec': validation failed   "
        "- at '/spec/containers/0/resources': anyOf failed     - at '/spec/containers/0/resources': got array, want "
        "number     - at '/spec/containers/0/resources': got array, want string"
    )
    assert kubeconform.objections(message) == [
        (("metadata", "labels", "a/b"), "metadata.labels.a/b: got number, want string"),
        (("spec", "containers", 0, "resources"), "spec.containers[0].resources: got array, want number"),
        (("spec", "containers", 0, "resources"), "spec.containers[0].resources: got array, want string"),
    ]
    assert kubeconform.objections("error while parsing: x") == [((), "error while parsing: x")]


def test_a_verdict_is_of_the_object_of_that_name() -> None:
    """Two sheets may hold objects of one name; the refused one is told from the other."""
    good = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "a"}}
    sheets = [Sheet([good]), Sheet([good, {**good, "metadata": {"name": "b", "x": 1}}]), Sheet([])]
    kubeconform.judge(Tool("kubeconform", _real(), (str(_real()),)), "1.34", (kubernetes_folder("1.34"),), sheets)
    text = "metadata: additional properties 'x' not allowed"
    assert [sheet.refusals for sheet in sheets] == [[], [Refusal(1, text, ("metadata",))], []]


# The whole repository, and many findings


def test_the_living_example_under_every_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    _use(monkeypatch, _real())
    for engine in engines.Engine:
        result = check(REPOSITORY, "--engine", engine.value)
        assert (result.code, result.stdout) == (0, "")


def test_five_thousand_findings_are_told_in_order_and_whole(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    for number in range(10, 35):
        steps = "".join(f'  s{step:03}: {{kind: job, image: "a:1", imge: x}}\n' for step in range(200))
        head = f"apiVersion: mlspec.dev/v1alpha1\nkind: Project\nname: p{number}\nowner: team\nsteps:\n"
        write_tree(root, {f"p{number}/mlproject.yaml": head + steps})
    places = [(f"p{number}/mlproject.yaml", step + 6) for number in range(10, 35) for step in range(200)]
    result = check(root)
    assert (result.code, result.stderr) == (1, "found 5000 errors in 25 files\n")
    assert [(line.split(":")[0], int(line.split(":")[1])) for line in result.stdout.splitlines()] == places
    assert set(re.findall(r"(?<=error)\[MLS.*", result.stdout)) == {"[MLS102] unknown key `imge`"}
    found = mlspec(root, "check", "--output-format", "json").json()["diagnostics"]
    assert [(item["file"], item["range"]["start"]["line"]) for item in found] == places
    assert mlspec(root, "check").stdout.count(" --> p34/mlproject.yaml:205:") == 1
