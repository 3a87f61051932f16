"""`mlspec init`: what it writes generates and checks as it stands, and it is all there or not at all."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest
import yaml

from mlspec import starter
from mlspec.spec.discover import find_projects
from mlspec.spec.json_schema import environment_schema, project_schema
from mlspec.spec.load import load
from tests.interrupt import KilledError, at
from tests.support import ENVIRONMENT, REPOSITORY, Result, mlspec, snapshot, write_tree

_YAML = [
    "environments/common.yaml",
    "environments/dev.yaml",
    "environments/prod.yaml",
    "environments/staging.yaml",
    "mlproject.yaml",
]
_FILES = sorted([*_YAML, ".mlspec/environment.schema.json", ".mlspec/mlproject.schema.json"])


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "classifier").mkdir()
    return tmp_path / "classifier"


@pytest.fixture
def begun(folder: Path) -> Path:
    assert mlspec(folder, "init").code == 0
    return folder


def _quiet(root: Path) -> None:
    generated = mlspec(root, "generate")
    assert generated.code == 0, generated.output
    assert "error" not in generated.stderr
    checked = mlspec(root, "check")
    assert (checked.code, checked.stdout) == (0, ""), checked.output


def test_what_it_writes_generates_and_checks_as_it_stands(folder: Path) -> None:
    result = mlspec(folder, "init")
    assert (result.code, result.stdout) == (0, "")
    assert sorted(snapshot(folder)) == sorted([*_FILES, ".gitattributes"])
    for name in snapshot(folder):
        assert f"  {name}\n" in result.stderr
    assert result.stderr.startswith("project classifier: 8 files written\n")
    assert "  mlspec generate\n  mlspec check\n" in result.stderr
    _quiet(folder)
    assert "in 3 environments" in mlspec(folder, "check").stderr


def test_all_kinds_of_work_are_shown(begun: Path) -> None:
    project = load(begun).projects[0].base.model
    kinds = [getattr(spec, "kind") for spec in (*project.steps.values(), *project.services.values())]  # noqa: B009
    assert kinds == ["job", "pytorch", "kserve"]


def test_a_folder_that_is_not_there_is_made(tmp_path: Path) -> None:
    result = mlspec(tmp_path, "init", "teams/vision")
    assert result.code == 0
    assert "  cd teams/vision\n" in result.stderr
    assert "name: vision #" in (tmp_path / "teams/vision/mlproject.yaml").read_text()
    _quiet(tmp_path / "teams/vision")


def test_the_root_option_is_the_folder(tmp_path: Path) -> None:
    assert mlspec(tmp_path, "--root", "there", "init").code == 0
    assert (tmp_path / "there/mlproject.yaml").is_file()


@pytest.mark.parametrize("name", _YAML)
def test_the_first_line_leads_an_editor_to_a_schema_that_fits(begun: Path, name: str) -> None:
    text = (begun / name).read_text()
    found = re.match(r"# yaml-language-server: \$schema=(\S+)\n", text)
    assert found is not None
    schema = json.loads(((begun / name).parent / found[1]).read_text())
    assert schema == (project_schema() if name == "mlproject.yaml" else environment_schema())
    assert not list(jsonschema.Draft7Validator(schema).iter_errors(yaml.safe_load(text)))


@pytest.mark.parametrize("name", _YAML)
def test_comments_teach(begun: Path, name: str) -> None:
    lines = (begun / name).read_text().splitlines()
    assert max(map(len, lines)) <= 120
    assert sum("#" in line for line in lines) >= 4
    assert "CHANGE" in "".join(lines)


@pytest.mark.parametrize(
    ("file", "edits"),
    [
        (
            "environments/common.yaml",
            [("# prometheus:", "prometheus:"), ("#   version", "  version"), ("#   namespace", "  namespace"),
             ("#   podLabels", "  podLabels")],
        ),
        ("mlproject.yaml", [("# egress: [internet]", "egress: [internet]")]),
        (
            "mlproject.yaml",
            [("# env: {HF_TOKEN", "env: {HF_TOKEN"), ("\nsteps:\n", "\nsecrets: {hub: {keys: [token]}}\nsteps:\n")],
        ),
        ("environments/dev.yaml", [("gpus:", "defaults: {gpu: t4}\ngpus:")]),
        ("environments/prod.yaml", [("quota:", "cluster: {server: https://prod.example.com}\nquota:")]),
    ],
)  # fmt: skip
def test_what_comments_propose_is_true(begun: Path, file: str, edits: list[tuple[str, str]]) -> None:
    text = (begun / file).read_text()
    for old, new in edits:
        assert text.count(old) == 1, old
        text = text.replace(old, new)
    (begun / file).write_text(text)
    _quiet(begun)


# --- the name ---


@pytest.mark.parametrize(
    ("folder", "name"),
    [
        ("classifier", "classifier"),
        ("My_Team.app", "my-team-app"),
        ("--x--", "x"),
        ("2nd try", "nd-try"),
        ("123", "my-project"),
        ("模型", "my-project"),
        ("argocd", "my-project"),
        ("", "my-project"),
        ("a" * 80, "a" * starter.LONGEST_NAME),
        ("a" * (starter.LONGEST_NAME - 1) + "-b", "a" * (starter.LONGEST_NAME - 1)),
    ],
)
def test_the_name_of_a_folder_is_made_a_name(folder: str, name: str) -> None:
    assert starter.name_for(folder) == name
    assert starter.problem_with(name) is None


@pytest.mark.parametrize("name", ["null", "no", "y", "true", "on", "e", "x" * starter.LONGEST_NAME])
def test_every_name_stays_a_name(folder: Path, name: str) -> None:
    assert mlspec(folder, "init", "--name", name).code == 0
    assert load(folder).projects[0].name == name
    assert yaml.safe_load((folder / "mlproject.yaml").read_text())["name"] == name
    _quiet(folder)


def test_nothing_but_the_name_differs(tmp_path: Path) -> None:
    for name in ("one", "null"):
        assert mlspec(tmp_path, "init", name, "--name", name).code == 0
    one, two = ((tmp_path / name / "mlproject.yaml").read_text() for name in ("one", "null"))
    assert one.replace("\nname: one #", '\nname: "null" #') == two


@pytest.mark.parametrize(
    "name", ["", "Upper", "a_b", "1a", "a-", "a: b", "a\n", "{project}", "argocd", "x" * (starter.LONGEST_NAME + 1)]
)
def test_what_is_no_name_is_a_usage_error(folder: Path, name: str) -> None:
    result = mlspec(folder, "init", "--name", name)
    assert result.code == 2
    assert "--name" in result.stderr
    assert snapshot(folder) == {}


def test_a_longer_name_would_not_fit(begun: Path) -> None:
    path = begun / "mlproject.yaml"
    path.write_text(path.read_text().replace("name: classifier", f"name: {'x' * (starter.LONGEST_NAME + 1)}"))
    assert "MLS210" in mlspec(begun, "generate").stderr


# --- all or nothing ---


def _refused(folder: Path, code: str, *arguments: str) -> Result:
    before = snapshot(folder)
    result = mlspec(folder, "init", *arguments)
    assert result.stdout == ""
    assert code in result.stderr
    assert "internal error" not in result.stderr
    assert snapshot(folder) == before
    assert not [path for path in folder.rglob("*") if path.is_dir() and not any(path.iterdir())]
    return result


@pytest.mark.parametrize("name", _FILES)
def test_nothing_is_overwritten(folder: Path, name: str) -> None:
    write_tree(folder, {name: "mine\n"})
    result = _refused(folder, "MLS510")
    assert result.code == 1
    assert result.stderr == f"{name}:1:1: error[MLS510] exists already\nfound 1 error in 1 file\n"


def test_every_file_that_exists_is_named(begun: Path) -> None:
    result = _refused(begun, "MLS510")
    assert [line.split(":")[0] for line in result.stderr.splitlines()[:-1]] == _FILES


def test_a_link_to_nowhere_is_not_written_through(folder: Path) -> None:
    (folder / "mlproject.yaml").symlink_to("elsewhere")
    assert _refused(folder, "MLS510").code == 1
    assert not (folder / "elsewhere").exists()


def test_environments_of_another_are_not_given_a_common(folder: Path) -> None:
    write_tree(folder, {"environments/qa.yaml": ENVIRONMENT})
    result = _refused(folder, "environments/qa.yaml:1:1: error[MLS510] exists already, and common.yaml")
    assert result.code == 1


def test_a_file_instead_of_a_folder_is_2(folder: Path) -> None:
    write_tree(folder, {"here": "a file\n"})
    result = _refused(folder, "error[MLS506] cannot be written: not a directory", "here")
    assert result.code == 2


def test_a_file_named_environments_is_2(folder: Path) -> None:
    write_tree(folder, {"environments": "a file\n"})
    assert _refused(folder, "MLS506").code == 2


def _once(error: BaseException) -> Callable[[], None]:
    errors = [error]

    def stop() -> None:
        if errors:
            raise errors.pop()

    return stop


def _calls(folder: Path) -> int:
    with at(10_000, lambda: None) as begun:
        assert mlspec(folder, "init", "measured").code == 0
    return len(begun)


def test_whatever_the_disk_refuses_nothing_is_left(tmp_path: Path) -> None:
    calls = _calls(tmp_path)
    assert calls > 20
    for number in range(calls):
        folder = tmp_path / str(number)
        folder.mkdir()
        with at(number, _once(PermissionError(13, "Permission denied"))):
            result = mlspec(folder, "init", "new")
        assert result.code == 2, result.output
        assert "error[MLS506] cannot be written: permission denied" in result.stderr
        assert not list(folder.iterdir()), number


@pytest.mark.parametrize("error", [KeyboardInterrupt(), KilledError()])
def test_an_interrupt_leaves_nothing(tmp_path: Path, error: BaseException) -> None:
    for number in range(_calls(tmp_path)):
        folder = tmp_path / str(number)
        folder.mkdir()
        with at(number, _once(error)):
            try:
                assert mlspec(folder, "init", "new").code == 130
            except KilledError:
                assert isinstance(error, KilledError)
        assert not list(folder.iterdir()), number


def test_a_file_that_appears_meanwhile_is_kept(folder: Path) -> None:
    def appear() -> None:
        if not (folder / "mlproject.yaml").exists():
            (folder / "mlproject.yaml").write_text("mine\n")

    with at(12, appear):
        result = mlspec(folder, "init")
    assert result.code == 2
    assert "file exists" in result.stderr
    assert snapshot(folder) == {"mlproject.yaml": b"mine\n"}


# --- where it is ---


def test_a_root_inside_a_root_is_said(begun: Path) -> None:
    result = mlspec(begun, "init", "inner")
    assert result.code == 0
    assert f"this is a root of its own inside the root {begun}" in result.stderr
    _quiet(begun)
    assert not (begun / "generated" / "inner").exists()
    _quiet(begun / "inner")


def test_attributes_of_git_are_added_to_by_hand(folder: Path) -> None:
    write_tree(folder, {".gitattributes": "*.bin binary\n"})
    result = mlspec(folder, "init")
    assert result.code == 0
    assert (folder / ".gitattributes").read_text() == "*.bin binary\n"
    assert f"  add `{starter.ATTRIBUTES_LINE}` to .gitattributes" in result.stderr


def test_attributes_that_say_it_already_are_fine(folder: Path) -> None:
    write_tree(folder, {".gitattributes": f"{starter.ATTRIBUTES_LINE}\n"})
    assert "gitattributes" not in mlspec(folder, "init").stderr
    assert starter.ATTRIBUTES_LINE in (REPOSITORY / ".gitattributes").read_text().splitlines()


def test_a_folder_inside_a_repository_is_told_its_place(folder: Path) -> None:
    (folder / ".git").mkdir()
    result = mlspec(folder, "init", "ml")
    assert "add `path: ml` under `argocd:` in environments/common.yaml" in result.stderr
    path = folder / "ml" / "environments" / "common.yaml"
    path.write_text(path.read_text().replace("argocd:\n", "argocd:\n  path: ml\n"))
    _quiet(folder / "ml")


def test_an_unreadable_attributes_file_is_no_reason_to_stop(folder: Path) -> None:
    (folder / ".gitattributes").symlink_to("nowhere")
    result = mlspec(folder, "init")
    assert result.code == 0
    assert os.path.lexists(folder / ".gitattributes")


# --- the template image-classifier ---


@pytest.fixture
def classifier(tmp_path: Path) -> Path:
    result = mlspec(tmp_path, "init", "digits", "--template", "image-classifier")
    assert result.code == 0, result.output
    assert "  mlspec run -e dev, which trains here; README.md says more\n" in result.stderr
    return tmp_path / "digits"


def test_the_classifier_generates_and_checks_as_it_stands(classifier: Path) -> None:
    _quiet(classifier)
    project = load(classifier).projects[0].base.model
    assert list(project.steps) == ["preprocess", "train", "evaluate"]


def test_the_classifier_has_the_programs_that_run_here(classifier: Path) -> None:
    """What is copied is what the living example runs, and what the README of the template names."""
    ours = {path.name: path.read_bytes() for path in (REPOSITORY / "mlspec/training").iterdir() if path.is_file()}
    del ours["__init__.py"]
    assert {path.name: path.read_bytes() for path in (classifier / "training").iterdir()} == ours
    readme = (classifier / "README.md").read_text()
    assert set(re.findall(r"`training/([\w.]+)`", readme)) == set(ours)


def test_the_classifier_is_the_living_example(classifier: Path) -> None:
    """It differs in names, images' owners, comments, pins, and in what its own environments need not allow."""

    def told(path: Path) -> object:
        text = path.read_text().replace("mlspec/training/", "training/").replace("ghcr.io/acme/", "ghcr.io/my-team/")
        found = yaml.safe_load(text.replace("[s3]", "[internet]").replace("classifier:", "model:"))
        for environment in found["environments"].values():
            environment.get("services", {}).get("model", {}).pop("model", None)
        environments = {
            name: entry for name, entry in found["environments"].items() if entry.get("services") != {"model": {}}
        }
        for step in found["steps"].values():
            step.pop("allow", None)
        return {**found, "name": "", "owner": "", "environments": environments}

    assert told(classifier / "mlproject.yaml") == told(REPOSITORY / "mlproject.yaml")


@pytest.mark.parametrize("name", ["null", "x" * starter.LONGEST_NAME])
def test_every_name_suits_the_classifier(folder: Path, name: str) -> None:
    assert mlspec(folder, "init", "--template", "image-classifier", "--name", name).code == 0
    _quiet(folder)


def test_a_template_that_is_not_there_is_a_usage_error(folder: Path) -> None:
    result = mlspec(folder, "init", "--template", "image-clasifier")
    assert result.code == 2
    assert "image-classifier" in result.stderr
    assert snapshot(folder) == {}


def test_no_template_is_a_project_of_this_repository() -> None:
    found = {path.parent for path in find_projects(REPOSITORY, REPOSITORY, print)}
    assert not {REPOSITORY / "mlspec" / "templates" / name for name in starter.TEMPLATES} & found
