"""`mlspec promote`: which run is pinned, what is written and said, and everything that it refuses to do."""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.interrupt import KilledError, at
from tests.support import ENVIRONMENT, PROJECT, REPOSITORY, Result, make_root, mlspec, snapshot, write_tree

_STEPS = """\
volumes:
  models: {size: 1Gi, access: ReadWriteMany}
steps:
  train:
    kind: job
    image: ghcr.io/acme/train:1.0
    command: [python, /opt/train.py]
    args: {epochs: 10}
    mounts: {models: /models}
  tune:
    kind: job
    image: ghcr.io/acme/tune:1.0
    command: [python, /opt/tune.py]
    mounts: {models: /models}
"""
_SERVICES = """\
services: # long-lived
  classifier:
    kind: kserve
    model: {format: onnx, from: train, path: export} # which run: below
  stock:
    kind: kserve
    model: {format: onnx, uri: "pvc://models/stock"}
"""
_ENVIRONMENTS = """\
environments:
  # what differs
  prod: {steps: {train: {args: {epochs: 20}}}}
"""
_FILE = "mlproject.yaml"


def _write(folder: Path, **environments: str) -> Path:
    dev, prod = f"{ENVIRONMENT}promotion: follow\n", ENVIRONMENT
    return make_root(folder, _STEPS + _SERVICES + _ENVIRONMENTS, {"dev": dev, "prod": prod, **environments})


def _edit(root: Path, before: str, after: str) -> None:
    path = root / _FILE
    assert before in path.read_text()
    path.write_text(path.read_text().replace(before, after))


def _generate(root: Path) -> None:
    result = mlspec(root, "generate")
    assert result.code == 0, result.stderr


def _runs(root: Path, environment: str, step: str = "train") -> set[str]:
    return {path.stem for path in (root / "generated").glob(f"*/overlays/{environment}/pipeline/{step}-*.yaml")}


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a root, generated, in which every environment has a current run of `train` and a superseded one."""
    root = _write(tmp_path_factory.mktemp("template") / "root")
    _generate(root)
    _edit(root, "image: ghcr.io/acme/train:1.0", "image: ghcr.io/acme/train:1.1")
    _generate(root)
    return root


@pytest.fixture
def root(template: Path, tmp_path: Path) -> Path:
    """Return a copy of the template."""
    return Path(shutil.copytree(template, tmp_path / "root"))


def _current(root: Path, environment: str = "prod") -> str:
    """Return the run of `train` that the overlay lists."""
    kustomization = (root / f"generated/demo/overlays/{environment}/pipeline/kustomization.yaml").read_text()
    (found,) = re.findall(r"- (train-[0-9a-f]{8})\.yaml", kustomization)
    return str(found)


def _older(root: Path, environment: str = "prod") -> str:
    (found,) = _runs(root, environment) - {_current(root, environment)}
    return found


def _promote(root: Path, *arguments: str) -> Result:
    """Promote, which succeeds, says nothing on stdout and touches nothing but the project file."""
    before = snapshot(root)
    result = mlspec(root, "promote", *arguments)
    assert (result.code, result.stdout) == (0, ""), result.stderr
    after = snapshot(root)
    assert {**before, _FILE: b""} == {**after, _FILE: b""}
    return result


def _refused(root: Path, *arguments: str, code: int = 1) -> str:
    """Promote, which is refused; returns what was said."""
    before = snapshot(root)
    result = mlspec(root, "promote", *arguments)
    assert (result.code, result.stdout) == (code, ""), result.stderr
    assert snapshot(root) == before
    if code == 1:
        assert result.stderr.endswith("nothing was written\n")
    return result.stderr


def _served(root: Path, environment: str = "prod") -> str:
    """Return the run whose model the overlay serves."""
    texts = (root / "generated" / "demo" / "overlays" / environment / "serving").glob("*.yaml")
    found = {
        uri for path in texts for uri in re.findall(r"pvc://models/demo/(train-[0-9a-f]{8})/export", path.read_text())
    }
    (run,) = found
    return str(run)


# --- what it does ---


def test_the_current_run_is_pinned(root: Path) -> None:
    run, before = _current(root), (root / _FILE).read_text()
    result = _promote(root, "classifier", "--to", "prod")
    assert result.stderr == (
        f"classifier in prod now serves {run} (was not served); run `mlspec generate` and commit both\n"
    )
    digest = run.rpartition("-")[2]
    shown = f'"{digest}"' if digest.replace("e", "").isdecimal() else digest
    assert (root / _FILE).read_text() == before.replace(
        "prod: {steps: {train: {args: {epochs: 20}}}}",
        f"prod: {{steps: {{train: {{args: {{epochs: 20}}}}}}, services: {{classifier: {{model: {{run: {shown}}}}}}}}}",
    )
    _generate(root)
    assert _served(root) == run
    assert mlspec(root, "check").code == 0


@pytest.mark.parametrize("name", [str, lambda run: run.rpartition("-")[2]], ids=["name", "hash"])
def test_a_kept_run_is_pinned_and_back(root: Path, name: Callable[[str], str]) -> None:
    older, run = _older(root), _current(root)
    runs = _runs(root, "prod")
    _promote(root, "classifier", "--to", "prod")
    pinned = (root / _FILE).read_bytes()
    result = _promote(root, "classifier", "--to", "prod", "--run", name(older))
    assert f"now serves {older} (was {run}); run `mlspec generate`" in result.stderr
    _generate(root)
    assert _served(root) == older
    result = _promote(root, "classifier", "--to", "prod", "--run", name(run))
    assert f"now serves {run} (was {older})" in result.stderr
    assert (root / _FILE).read_bytes() == pinned
    _generate(root)
    assert _runs(root, "prod") == runs


def test_what_is_pinned_already_is_said(root: Path) -> None:
    _promote(root, "classifier", "--to", "prod")
    before = snapshot(root)
    result = _promote(root, "classifier", "--to", "prod", "--run", _current(root))
    assert result.stderr == f"classifier in prod serves {_current(root)} already; nothing was written\n"
    assert snapshot(root) == before


def test_a_pin_for_all_environments_counts(root: Path) -> None:
    digest = _current(root).rpartition("-")[2]
    _edit(root, "path: export}", f'path: export, run: "{digest}"}}')
    assert "already" in _promote(root, "classifier", "--to", "prod").stderr


def test_a_followed_service_stays_with_its_pin(root: Path) -> None:
    run, older = _current(root, "dev"), _older(root, "dev")
    assert _served(root, "dev") == run
    result = _promote(root, "classifier", "--to", "dev", "--run", older)
    assert result.stderr.splitlines() == [
        f"classifier in dev now serves {older} (was the newest, {run}); run `mlspec generate` and commit both",
        f"dev follows the newest run otherwise: it stays with {older} until `model.run` is removed",
    ]
    _generate(root)
    assert _served(root, "dev") == older


def test_an_override_that_says_nothing_is_filled(root: Path) -> None:
    _edit(root, "prod: {steps: {train: {args: {epochs: 20}}}}", "prod: {enabled: true}")
    _generate(root)
    run = _current(root)
    _edit(root, "prod: {enabled: true}", "prod: # as it is")
    assert "MLS104" in mlspec(root, "check").stdout
    assert f"now serves {run}" in _promote(root, "classifier", "--to", "prod").stderr
    assert "  prod: # as it is\n    services:\n      classifier:\n        model: {run: " in (root / _FILE).read_text()
    _generate(root)


def test_a_pin_that_is_gone_can_be_replaced(root: Path) -> None:
    _edit(root, "prod: {steps", "prod: {services: {classifier: {model: {run: 9999aaaa}}}, steps")
    assert "MLS241" in mlspec(root, "check").stdout
    assert f"now serves {_current(root)} (was train-9999aaaa)" in _promote(root, "classifier", "--to", "prod").stderr
    _generate(root)


def test_the_second_document_of_a_file(tmp_path: Path) -> None:
    text = PROJECT + _STEPS + _SERVICES
    both = text.replace("name: demo", "name: first").replace("classifier", "other") + "--- # two\n" + text
    root = make_root(tmp_path, both, {"prod": ENVIRONMENT})
    _generate(root)
    _promote(root, "classifier", "--to", "prod")
    assert (root / _FILE).read_text().startswith(both)
    _generate(root)


def test_files_that_steps_ship_are_found(root: Path) -> None:
    write_tree(root, {"training/train.py": "print()\n"})
    _edit(root, "command: [python, /opt/train.py]", "script: training/train.py")
    _generate(root)
    said = _promote(root, "classifier", "--to", "prod").stderr
    _generate(root)
    served = said.partition(" now serves ")[2].split(" ")[0].rstrip(";")
    assert served.startswith("train-")
    assert f"/{served}/" in (root / "generated/demo/overlays/prod/serving/kustomization.yaml").read_text()


_SELDON = """\
services:
  classifier:
    kind: seldon
    predictors:
      main: {traffic: 90, model: {implementation: SKLEARN_SERVER, from: train}}
      canary: {traffic: 10, model: {implementation: SKLEARN_SERVER, from: train, path: export}}
      fixed: {shadow: true, model: {implementation: SKLEARN_SERVER, uri: "pvc://models/stock"}}
"""


def _seldon(folder: Path, services: str) -> Path:
    environment = f"{ENVIRONMENT}seldon: {{version: 1.16}}\n"
    root = make_root(folder, _STEPS + services, {"prod": environment})
    _generate(root)
    return root


def test_all_predictors_that_follow_a_step_are_pinned(tmp_path: Path) -> None:
    root = _seldon(tmp_path, _SELDON)
    (run,) = _runs(root, "prod")
    result = _promote(root, "classifier", "--to", "prod")
    assert f"classifier (main, canary) in prod now serves {run} (was not served)" in result.stderr
    _generate(root)
    text = "".join(path.read_text() for path in (root / "generated").rglob("serving/*.yaml"))
    uris = [f"pvc://models/demo/{run}", f"pvc://models/demo/{run}/export", "pvc://models/stock"]
    assert {*re.findall(r"pvc://[^\s\"]+", text)} == {*uris}


def test_predictors_of_different_steps_need_the_name_of_one(tmp_path: Path) -> None:
    root = _seldon(tmp_path, _SELDON.replace("from: train, path", "from: tune, path"))
    said = _refused(root, "classifier", "--to", "prod", code=2)
    assert "come from different steps; say of which: `--run train-…` or `--run tune-…`" in said
    (train,), (tune,) = _runs(root, "prod"), _runs(root, "prod", "tune")
    assert "different steps" in _refused(root, "classifier", "--to", "prod", "--run", train[-8:], code=2)
    assert (
        f"classifier (main) in prod now serves {train}"
        in _promote(root, "classifier", "--to", "prod", "--run", train).stderr
    )
    assert (
        f"classifier (canary) in prod now serves {tune}"
        in _promote(root, "classifier", "--to", "prod", "--run", tune).stderr
    )
    _generate(root)


# --- runs that are none ---


def test_an_unknown_run_is_refused_and_the_known_ones_are_shown(root: Path) -> None:
    run, older = _current(root), _older(root)
    said = _refused(root, "classifier", "--to", "prod", "--run", "01234567")
    assert said == (
        "error[MLS512]: environment prod has no run `train-01234567`\n"
        "  --> mlproject.yaml:22:33\n"
        "   |\n"
        "21 |     kind: kserve\n"
        "22 |     model: {format: onnx, from: train, path: export} # which run: below\n"
        "   |                                 ^^^^^\n"
        "23 |   stock:\n"
        f"   = help: runs of `train` there, the current one first: `{run}`, `{older}`\n"
        "found 1 error in 1 file\n"
        "nothing was written\n"
    )


def test_a_run_of_another_environment_is_refused(root: Path) -> None:
    other = _current(root, "dev")
    assert f"environment prod has no run `{other}`" in _refused(root, "classifier", "--to", "prod", "--run", other)


def test_a_current_run_that_was_never_generated_is_refused(root: Path) -> None:
    _edit(root, "train:1.1", "train:1.2")
    said = _refused(root, "classifier", "--to", "prod")
    assert "error[MLS512]: run `train-" in said
    assert "is current in environment prod, but not in generated/" in said
    assert "= help: run `mlspec generate`, and commit, first" in said
    _promote(root, "classifier", "--to", "prod", "--run", _older(root))


def test_a_run_whose_file_was_edited_is_none(root: Path) -> None:
    older = _older(root)
    path = root / f"generated/demo/overlays/prod/pipeline/{older}.yaml"
    path.write_text(path.read_text() + "# mine\n")
    assert f"has no run `{older}`" in _refused(root, "classifier", "--to", "prod", "--run", older)


def test_a_run_of_another_step_is_refused(root: Path) -> None:
    (tune,) = _runs(root, "prod", "tune")
    said = _refused(root, "classifier", "--to", "prod", "--run", tune)
    assert f"error[MLS512]: `{tune}` is a run of another step: `classifier` serves runs of `train`" in said
    assert "mlproject.yaml:22:33" in said


def test_a_service_without_a_step_has_no_runs(root: Path) -> None:
    said = _refused(root, "stock", "--to", "prod")
    assert "error[MLS512]: service `stock` serves no run: its model does not say `from`" in said
    assert "mlproject.yaml:25:5" in said
    _edit(root, 'model: {format: onnx, uri: "pvc://models/stock"}', "image: ghcr.io/acme/serve:1.0")
    assert "mlproject.yaml:23:3" in _refused(root, "stock", "--to", "prod")


def test_a_disabled_project_has_no_runs(root: Path) -> None:
    _edit(root, "prod: {steps", "prod: {enabled: false, steps")
    said = _refused(root, "classifier", "--to", "prod")
    assert "error[MLS512]: project `demo` has no runs in environment prod: it is disabled there" in said
    assert "mlproject.yaml:28:19" in said


def test_a_service_that_an_override_takes_away(root: Path) -> None:
    _edit(root, "prod: {steps", "prod: {services: {classifier: ~}, steps")
    said = _refused(root, "classifier", "--to", "prod")
    assert "error[MLS512]: there is no service `classifier` in environment prod" in said
    assert "mlproject.yaml:28:21" in said


# --- names that nothing has ---


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["clasifier", "--to", "prod"], "no project has a service `clasifier`; did you mean `classifier`?"),
        (["x", "--to", "prod"], "no project has a service `x`; there are: `classifier`, `stock`"),
        (["demo/x", "--to", "prod"], "project `demo` has no service `x`; there are: `classifier`, `stock`"),
        (["dmeo/classifier", "--to", "prod"], "there is no project `dmeo`; did you mean `demo`?"),
        (["", "--to", "prod"], "no project has a service ``"),
        (["\udcff", "--to", "prod"], "no project has a service"),
        (["classifier", "--to", "prd"], "there is no environments/prd.yaml; did you mean `prod`?"),
        (["classifier", "--to", "common"], "there is no environments/common.yaml; there are: `dev`, `prod`"),
        (["classifier", "--to", "../environments/prod"], "there is no environments/"),
        (["classifier"], "Missing option '--to'"),
        (["--to", "prod"], "Missing argument 'SERVICE'"),
        (["classifier", "--to", "prod", "--run", "latest"], "`latest` is not the name of a run; write such as `train-"),
        (["classifier", "--to", "prod", "--run", "0123ABCD"], "is not the name of a run"),
        (["classifier", "--to", "prod", "--run", ""], "is not the name of a run"),
    ],
)
def test_names_that_nothing_has_are_2(root: Path, arguments: list[str], message: str) -> None:
    assert message in _refused(root, *arguments, code=2)


def test_a_service_of_several_projects_needs_its_project(tmp_path: Path) -> None:
    text = PROJECT + _STEPS + _SERVICES
    files: dict[str, str | bytes] = {
        f"teams/{name}/{_FILE}": text.replace("name: demo", f"name: {name}") for name in ("alpha", "beta")
    }
    root = write_tree(make_root(tmp_path, None, {"prod": ENVIRONMENT}), files)
    _generate(root)
    said = _refused(root, "classifier", "--to", "prod", code=2)
    assert "several projects have a service `classifier`: write `alpha/classifier` or `beta/classifier`" in said
    before = snapshot(root)
    assert mlspec(root / "teams", "promote", "beta/classifier", "--to", "prod").code == 0
    assert {path for path, content in snapshot(root).items() if before[path] != content} == {f"teams/beta/{_FILE}"}


def test_one_name_for_two_projects_is_refused(root: Path) -> None:
    text = (root / _FILE).read_text()
    write_tree(root, {f"copy/{_FILE}": text})
    assert "MLS211" in _refused(root, "demo/classifier", "--to", "prod")


# --- content that stands in the way ---


def test_an_environment_that_lets_nobody_set_it_is_told_before(root: Path) -> None:
    environment = f"{ENVIRONMENT}overrides: [steps.*.args.*]\n"
    write_tree(root, {"environments/prod.yaml": environment})
    said = _refused(root, "classifier", "--to", "prod")
    assert "error[MLS218]: `services.classifier.model.run` may not be overridden in prod" in said
    assert "= help: the platform adds `services.*.model.run` to `overrides` in environments/prod.yaml" in said
    assert "= note: environments/prod.yaml:17:1: what projects may set" in said
    wider = environment.replace("args.*]", "args.*, services.*.model.run]")
    write_tree(root, {"environments/prod.yaml": wider})
    _promote(root, "classifier", "--to", "prod")


def test_a_project_that_would_not_be_valid_is_left_alone(root: Path) -> None:
    _edit(root, "epochs: 20", "epochs: [")
    assert "MLS101" in _refused(root, "classifier", "--to", "prod")
    _edit(root, "epochs: [", "epochs: 20")
    _edit(root, "kind: job\n    image: ghcr.io/acme/tune:1.0", "kind: job\n    gpu: h100:1\n    image: x:1")
    assert "MLS205" in _refused(root, "classifier", "--to", "prod")


def test_an_environment_that_is_not_valid_is_shown(root: Path) -> None:
    write_tree(root, {"environments/prod.yaml": ENVIRONMENT + "promotion: maybe\n"})
    assert "environments/prod.yaml:17:12" in _refused(root, "classifier", "--to", "prod")


def test_a_pin_of_the_wrong_form_is_shown(root: Path) -> None:
    _edit(root, "path: export}", "path: export, run: newest}")
    assert "`newest` is not" in _refused(root, "classifier", "--to", "prod")


def test_a_lock_that_cannot_be_read_is_shown(root: Path) -> None:
    (root / "generated/demo/mlspec.lock").write_text("{")
    assert "MLS507" in _refused(root, "classifier", "--to", "prod")


def test_a_text_block_is_left_to_its_author(root: Path) -> None:
    older = _older(root)
    pin = "prod:\n    services:\n      classifier:\n        model:\n          run: >-\n            9999aaaa\n"
    _edit(root, "prod: {steps: {train: {args: {epochs: 20}}}}\n", pin + "    steps: {train: {args: {epochs: 20}}}\n")
    said = _refused(root, "classifier", "--to", "prod", "--run", older)
    assert "error[MLS513]: the pin cannot be written in place: the value is a block of text" in said
    assert "mlproject.yaml:32:16" in said
    assert f'write it by hand: `environments.prod.services.classifier.model.run: "{older[-8:]}"`' in said


def test_a_symbolic_link_is_not_followed(root: Path) -> None:
    (root / _FILE).rename(root / "elsewhere.yaml")
    (root / _FILE).symlink_to("elsewhere.yaml")
    said = _refused(root, "classifier", "--to", "prod")
    assert "error[MLS513]: this is a symbolic link, which is not followed" in said
    assert (root / _FILE).is_symlink()


# --- Git ---


def _git(root: Path, *words: str, code: int = 0) -> None:
    settings = ["-c", "user.name=team", "-c", "user.email=team@example.com", "-c", "commit.gpgsign=false"]
    result = subprocess.run(["git", *settings, *words], cwd=root, capture_output=True, check=False)
    assert result.returncode == code, result.stderr


@pytest.fixture
def repository(root: Path) -> Path:
    """Return the root as a Git repository in which everything is committed."""
    _git(root, "init", "--quiet", "--initial-branch=main")
    _git(root, "add", "--all")
    _git(root, "commit", "--quiet", "--message=first")
    return root


def test_a_clean_file_is_edited_whatever_else_is_not(repository: Path) -> None:
    write_tree(repository, {"notes.txt": "new\n", "environments/dev.yaml": f"{ENVIRONMENT}promotion: follow\n# new\n"})
    before = (repository / _FILE).read_text()
    _promote(repository, "classifier", "--to", "prod")
    assert (repository / _FILE).read_text() != before


def test_changes_that_are_not_committed_are_refused(repository: Path) -> None:
    path = repository / _FILE
    committed = path.read_text()
    path.write_text(committed + "# mine\n")
    said = _refused(repository, "classifier", "--to", "prod")
    assert "error[MLS511]: this file has changes that are not committed\n --> mlproject.yaml:1:1" in said
    _git(repository, "add", _FILE)
    assert "MLS511" in _refused(repository, "classifier", "--to", "prod")
    path.write_text(committed)
    assert "MLS511" in _refused(repository, "classifier", "--to", "prod")
    _git(repository, "add", _FILE)
    _promote(repository, "classifier", "--to", "prod")
    assert "MLS511" in _refused(repository, "classifier", "--to", "prod", "--run", _older(repository))
    _git(repository, "commit", "--quiet", "--all", "--message=pinned")
    _promote(repository, "classifier", "--to", "prod", "--run", _older(repository))


def test_a_file_that_git_does_not_know_is_refused(repository: Path) -> None:
    _git(repository, "rm", "--quiet", "--cached", _FILE)
    _git(repository, "commit", "--quiet", "--message=gone")
    assert "MLS511" in _refused(repository, "classifier", "--to", "prod")


def test_a_merge_that_is_not_resolved_is_refused(repository: Path) -> None:
    path = repository / _FILE
    committed = path.read_text()
    for branch, epochs in (("theirs", "30"), ("main", "40")):
        _git(repository, "checkout", "--quiet", "-B", branch, "main")
        path.write_text(committed.replace("epochs: 20", f"epochs: {epochs}"))
        _git(repository, "commit", "--quiet", "--all", f"--message={epochs}")
        if branch == "theirs":
            _git(repository, "checkout", "--quiet", "main")
    _git(repository, "merge", "--quiet", "theirs", code=1)
    said = _refused(repository, "classifier", "--to", "prod")
    assert "error[MLS511]: this file holds an unresolved merge conflict" in said
    assert "mlproject.yaml:28:1" in said
    path.write_text(committed)
    assert "changes that are not committed" in _refused(repository, "classifier", "--to", "prod")


def test_conflict_markers_outside_of_git_are_refused(root: Path) -> None:
    _edit(root, "owner: team\n", "<<<<<<< ours\nowner: team\n=======\nowner: other\n>>>>>>> theirs\n")
    said = _refused(root, "classifier", "--to", "prod")
    assert "error[MLS511]: this file holds an unresolved merge conflict\n --> mlproject.yaml:4:1" in said


# --- the file as a whole ---


def test_rights_are_kept(root: Path) -> None:
    (root / _FILE).chmod(0o640)
    _promote(root, "classifier", "--to", "prod")
    assert (root / _FILE).stat().st_mode & 0o7777 == 0o640


def _once(action: Callable[[], Any]) -> Callable[[], None]:
    left = [action]

    def stop() -> None:
        if left:
            left.pop()()

    return stop


def _raise(error: BaseException) -> Callable[[], None]:
    def stop() -> None:
        raise error

    return stop


@pytest.mark.parametrize("error", [PermissionError(13, "Permission denied"), KeyboardInterrupt(), KilledError()])
def test_whatever_stops_it_the_file_is_whole(root: Path, error: BaseException) -> None:
    before = snapshot(root)
    with at(10_000, lambda: None, ("fsync", "replace")) as calls:
        assert mlspec(root, "promote", "classifier", "--to", "prod").code == 0
    after = snapshot(root)
    assert calls == ["fsync", "replace", "fsync"]
    for number in range(len(calls)):
        (root / _FILE).write_bytes(before[_FILE])
        with at(number, _once(_raise(error)), ("fsync", "replace")):
            try:
                result = mlspec(root, "promote", "classifier", "--to", "prod")
            except KilledError:
                assert isinstance(error, KilledError)
            else:
                # A folder that does not settle is no failure: the new file is there.
                refused = isinstance(error, PermissionError) and number == 2
                assert result.code == (0 if refused else 130 if isinstance(error, KeyboardInterrupt) else 2)
                assert "internal" not in result.stderr
        assert snapshot(root) == (after if number == 2 else before)


def test_what_a_killed_run_left_is_no_obstacle(root: Path) -> None:
    left = root / f".mlspec-tmp-{_FILE}"
    left.write_text("half")
    before = snapshot(root)
    assert mlspec(root, "promote", "classifier", "--to", "prod").code == 0
    assert before.keys() - snapshot(root).keys() == {left.name}


def test_an_editor_that_saves_meanwhile_wins(root: Path) -> None:
    path = root / _FILE
    saved = path.read_text() + "# saved meanwhile\n"
    with at(0, _once(lambda: path.write_text(saved)), ("fsync",)):
        result = mlspec(root, "promote", "classifier", "--to", "prod")
    assert result.code == 1
    assert "error[MLS511]: the file was changed meanwhile" in result.stderr
    assert path.read_text() == saved
    assert not list(root.glob(".mlspec-tmp-*"))


def test_it_waits_for_another_that_holds_the_root(root: Path) -> None:
    handle = os.open(root / "environments", os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_SH)
    command = [sys.executable, "-m", "mlspec", "promote", "classifier", "--to", "prod"]
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    with subprocess.Popen(command, cwd=root, env=environment, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "another mlspec is at work in this root; waiting\n"
        before = (root / _FILE).read_bytes()
        os.close(handle)
        assert "now serves" in process.stderr.read()
    assert process.returncode == 0
    assert (root / _FILE).read_bytes() != before
