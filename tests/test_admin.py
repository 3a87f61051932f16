"""`generated/argocd/admin/`: what it holds, and that the root's own lock keeps it as a lock keeps a project."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable
from pathlib import Path
from typing import NoReturn

import pytest

from mlspec import admin, health, names, schemas, yamltext
from mlspec.check import tools
from mlspec.check.schema import check_schema
from mlspec.files import lock, marks
from tests.files import STEP, generated, refused, two_projects
from tests.interrupt import KilledError, at
from tests.support import ENVIRONMENT, PROJECT, REPOSITORY, make_root, mlspec, snapshot, write_tree

FILE = "argocd/admin/argocd-cm.yaml"
LOCK = "mlspec.lock"
BARE = ENVIRONMENT.replace("training: kubeflow.org/v1 1.9\n", "")
SELDON = "seldon: {version: 1.16}\n"
KUEUE = "kueue: {version: 0.17}\n"
_TRAINING = ["kubeflow.org_PyTorchJob", "kubeflow.org_TFJob"]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root, generated, with two projects and two environments, which declare a training operator."""
    return two_projects(tmp_path / "root")


def own(files: Iterable[str]) -> set[str]:
    """Return those files that belong to the root and no project."""
    return {path for path in files if path.startswith(("argocd/admin/", LOCK))}


def checks(root: Path) -> dict[str, str]:
    """Return the generated checks by group and kind."""
    (body,) = yamltext.load_all((root / "generated" / FILE).read_text())
    data: dict[str, str] = body["data"]
    return {key.removeprefix("resource.customizations.health."): text for key, text in data.items()}


# What it holds


@pytest.mark.parametrize(
    ("environments", "kinds"),
    [
        ([BARE], []),
        ([ENVIRONMENT], _TRAINING),
        ([BARE, ENVIRONMENT], _TRAINING),
        ([BARE + SELDON], ["machinelearning.seldon.io_SeldonDeployment"]),
        ([BARE + KUEUE], ["batch_Job"]),
        ([BARE + KUEUE, BARE + SELDON], ["batch_Job", "machinelearning.seldon.io_SeldonDeployment"]),
        ([ENVIRONMENT + KUEUE + SELDON], ["batch_Job", *_TRAINING, "machinelearning.seldon.io_SeldonDeployment"]),
    ],
)
def test_it_holds_the_checks_that_any_environment_needs(
    environments: list[str], kinds: list[str], tmp_path: Path
) -> None:
    root = make_root(tmp_path, STEP, {f"e{number}": text for number, text in enumerate(environments)})
    assert mlspec(root, "generate").code == 0
    assert own(generated(root)) == ({FILE, LOCK} if kinds else set())
    if kinds:
        texts = {f"{check.group}_{check.kind}": check.text() for check in health.CHECKS}
        assert checks(root) == {kind: texts[kind] for kind in kinds}
    assert mlspec(root, "generate", "--check").code == 0


def test_what_common_declares_counts(tmp_path: Path) -> None:
    root = make_root(tmp_path, STEP, {"common": KUEUE, "dev": BARE})
    assert mlspec(root, "generate").code == 0
    assert list(checks(root)) == ["batch_Job"]


def test_it_is_a_patch_of_argocd_cm_for_any_namespace(root: Path) -> None:
    text = (root / "generated" / FILE).read_text()
    (body,) = yamltext.load_all(text)
    assert {key: value for key, value in body.items() if key != "data"} == {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        # Argo CD overlooks a ConfigMap without the label.
        "metadata": {"name": "argocd-cm", "labels": {"app.kubernetes.io/part-of": "argocd"}},
    }
    for key, lua in body["data"].items():
        lines = "".join(f"    {line}".rstrip() + "\n" for line in lua.splitlines())
        assert f"\n  {key}: |\n{lines}" in text, "a person can read it"
    for version in schemas.kubernetes_versions():
        assert not list(check_schema((schemas.kubernetes_folder(version),), body))


@pytest.mark.parametrize("where", [{}, {"namespace": "argocd"}])
def test_it_is_a_patch_for_kustomize_too(where: dict[str, str], root: Path, tmp_path: Path) -> None:
    tool = tools.find_kustomize()
    assert tool is not None
    shutil.copy(root / "generated" / FILE, tmp_path / "patch.yaml")
    metadata = {"name": "argocd-cm", **where, "labels": {"app.kubernetes.io/name": "argocd-cm"}}
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"url": "https://cd.example.com"}}
    patch = {"path": "patch.yaml", "target": {"kind": "ConfigMap", "name": "argocd-cm"}}
    (tmp_path / "config.yaml").write_text(yamltext.dump(config))
    kustomization = {"namespace": "argocd", "resources": ["config.yaml"], "patches": [patch]}
    (tmp_path / "kustomization.yaml").write_text(yamltext.dump(kustomization))
    built = tools.run([*tool.prefix, str(tmp_path)])
    assert built.returncode == 0, built.stderr
    (body,) = yamltext.load_all(built.stdout)
    assert body["metadata"]["labels"] == {"app.kubernetes.io/name": "argocd-cm", "app.kubernetes.io/part-of": "argocd"}
    keys = {f"resource.customizations.health.{kind}" for kind in _TRAINING}
    assert body["data"].keys() == {"url", *keys}


def test_the_file_and_the_readme_say_how_to_apply_it(root: Path) -> None:
    command = f"kubectl patch configmap argocd-cm --namespace argocd --patch-file generated/{FILE}"
    assert f"# {command}\n" in (root / "generated" / FILE).read_text()
    assert f"    {command}\n" in (REPOSITORY / "README.md").read_text()


def test_a_project_of_the_same_name_has_other_files(tmp_path: Path) -> None:
    project = PROJECT.replace("name: demo", "name: argocd-cm") + STEP
    root = make_root(tmp_path, project)
    assert mlspec(root, "generate").code == 0
    assert {FILE, "argocd/dev/argocd-cm.yaml"} <= generated(root).keys()
    assert mlspec(root, "check").code == 0


# Its lock


def test_the_lock_says_what_was_read_and_written(root: Path) -> None:
    found = json.loads((root / "generated" / LOCK).read_text())
    assert sorted(found["inputs"]) == ["../environments/dev.yaml", "../environments/prod.yaml"]
    assert found["outputs"] == {FILE: marks.digest(generated(root)[FILE])}
    assert found["superseded"] == []


@pytest.mark.parametrize(
    "outputs",
    [
        *({path: "sha256:0"} for path in ("demo/x", "argocd/dev/demo.yaml", "argocd/admin", "argocd/admin/../dev/x")),
        *({path: "sha256:0"} for path in ("../x", "/etc/passwd", "x", "", "argocd/admin/.git", "argocd/admin//x")),
        {FILE: 3},
    ],
)
def test_a_strange_lock_is_refused(outputs: dict[str, object], root: Path) -> None:
    content = json.dumps({"format": 1, "inputs": {}, "outputs": outputs, "superseded": []})
    for name in (LOCK, f"{LOCK}.pending"):
        before = (root / "generated" / LOCK).read_bytes()
        (root / "generated" / name).write_text(content)
        assert "generated/argocd/admin/" in refused(root, "MLS507", name).stderr
        (root / "generated" / name).unlink()
        (root / "generated" / LOCK).write_bytes(before)


def test_no_project_can_own_it(tmp_path: Path) -> None:
    root = make_root(tmp_path, PROJECT.replace("name: demo", "name: argocd-cm") + STEP)
    assert mlspec(root, "generate").code == 0
    theirs = root / "generated/argocd-cm" / LOCK
    content = json.loads(theirs.read_text())
    content["outputs"][FILE] = marks.digest(generated(root)[FILE])
    theirs.write_text(json.dumps(content))
    refused(root, "MLS507", f"argocd-cm/{LOCK}")


def test_it_may_list_every_file_of_its_folder(tmp_path: Path) -> None:
    content = json.dumps({"format": 1, "inputs": {}, "outputs": {"argocd/admin/a/b.yaml": ""}, "superseded": []})
    write_tree(tmp_path, {LOCK: content})
    assert not lock.read_state(tmp_path, marks.ROOT).diagnostics


def test_a_lock_that_is_lost_is_written_again_over_an_equal_file(root: Path) -> None:
    before = generated(root)
    (root / "generated" / LOCK).unlink()
    assert f"generated/{LOCK}:1:1: error[MLS502]" in mlspec(root, "generate", "--check").stdout
    assert mlspec(root, "generate").code == 0
    assert generated(root) == before


# Drift


def test_a_root_that_was_never_generated(tmp_path: Path) -> None:
    root = make_root(tmp_path, STEP)
    lines = mlspec(root, "generate", "--check").stdout.splitlines()
    assert (
        len([line for line in lines if "MLS502" in line and ("/admin/" in line or f"generated/{LOCK}:" in line)]) == 2
    )
    found = mlspec(root, "check", "--output-format", "concise").stdout
    # Said once: what belongs to the root is made together with what belongs to its projects.
    assert "generated/demo/mlspec.lock:1:1: error[MLS502] project demo was never generated" in found
    assert f"generated/{LOCK}:" not in found
    shutil.rmtree(root / "generated", ignore_errors=True)
    assert mlspec(root, "generate").code == 0
    (root / f"generated/{LOCK}").unlink()
    (root / f"generated/{FILE}").unlink()
    found = mlspec(root, "check", "--output-format", "concise").stdout
    assert f"generated/{LOCK}:1:1: error[MLS502] what belongs to the root was never generated: 2 files" in found


def test_an_edited_file_is_restored_and_named(root: Path) -> None:
    before = generated(root)
    (root / "generated" / FILE).write_text("edited\n")
    for arguments in (("generate", "--check"), ("check", "-e", "dev"), ("check",)):
        checked = mlspec(root, *arguments)
        assert (checked.code, checked.stdout.count("MLS503")) == (1, 1), arguments
    result = mlspec(root, "generate")
    assert result.code == 0
    assert f"generated/{FILE}:1:1: warning[MLS503]" in result.stderr
    assert generated(root) == before


def test_a_deleted_file_comes_back(root: Path) -> None:
    before = generated(root)
    (root / "generated" / FILE).unlink()
    assert f"generated/{FILE}:1:1: error[MLS502]" in mlspec(root, "generate", "--check").stdout
    result = mlspec(root, "generate")
    assert (result.code, f"{FILE}: written" in result.stderr) == (0, True)
    assert generated(root) == before


def test_another_environment_makes_it_out_of_date(root: Path) -> None:
    (root / "environments/prod.yaml").write_text(ENVIRONMENT + KUEUE)
    assert f"generated/{FILE}:1:1: error[MLS501]" in mlspec(root, "generate", "--check").stdout
    assert "+  resource.customizations.health.batch_Job: |" in mlspec(root, "generate", "--diff").stdout
    assert mlspec(root, "generate").code == 0
    assert "batch_Job" in checks(root)
    assert mlspec(root, "generate", "--check").code == 0


def test_an_environment_that_changes_otherwise_makes_its_lock_out_of_date(root: Path) -> None:
    with (root / "environments/dev.yaml").open("a") as opened:
        opened.write("# a comment\n")
    assert mlspec(root, "generate", "--check").code == 1
    before = (root / f"generated/{LOCK}").read_bytes()
    result = mlspec(root, "generate")
    assert (result.code, FILE in result.stderr) == (0, False)
    assert (root / f"generated/{LOCK}").read_bytes() != before
    assert mlspec(root, "generate", "--check").code == 0


@pytest.mark.parametrize("how", ["operator", "projects"])
def test_it_is_pruned_when_nothing_needs_it(how: str, root: Path) -> None:
    if how == "operator":
        for name in ("dev", "prod"):
            (root / f"environments/{name}.yaml").write_text(BARE)
    else:
        for name in ("mlproject.yaml", "second/mlproject.yaml"):
            (root / name).unlink()
    checked = mlspec(root, "generate", "--check").stdout
    assert f"generated/{FILE}:1:1: error[MLS509]" in checked
    assert f"generated/{LOCK}:1:1: error[MLS509]" in checked
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    assert f"{FILE}: removed" in result.stderr
    assert not own(generated(root))
    assert not (root / "generated/argocd/admin").exists()
    if how == "operator":
        assert mlspec(root, "generate", "--check").code == 0


def test_an_edited_file_is_not_pruned(root: Path) -> None:
    (root / "generated" / FILE).write_text("edited\n")
    for name in ("dev", "prod"):
        (root / f"environments/{name}.yaml").write_text(BARE)
    assert "does not delete" in refused(root, "MLS503", FILE).stderr
    (root / "generated" / FILE).unlink()
    assert mlspec(root, "generate").code == 0
    assert not own(generated(root))


# What is somebody else's


def test_a_foreign_file_in_the_way_is_refused(tmp_path: Path) -> None:
    root = make_root(tmp_path, STEP)
    write_tree(root, {f"generated/{FILE}": "mine\n"})
    assert "move it away" in refused(root, "MLS504", FILE).stderr


def test_a_foreign_file_beside_is_named_and_stays(root: Path) -> None:
    write_tree(root, {"generated/argocd/admin/notes.txt": "mine\n"})
    checked = mlspec(root, "generate", "--check")
    assert (checked.code, checked.stdout.count("MLS504")) == (1, 1)
    for name in ("dev", "prod"):
        (root / f"environments/{name}.yaml").write_text(BARE)
    assert mlspec(root, "generate").code == 0
    assert own(generated(root)) == {"argocd/admin/notes.txt"}


@pytest.mark.parametrize("path", [FILE, "argocd/admin", LOCK])
def test_nothing_is_written_through_a_link(path: str, root: Path, tmp_path: Path) -> None:
    place = root / "generated" / path
    moved = place.rename(tmp_path / "moved")
    place.symlink_to(moved)
    (root / "environments/dev.yaml").write_text(ENVIRONMENT + KUEUE)
    outside = snapshot(tmp_path / "moved") or moved.read_bytes()
    for arguments in (("generate", "--check"), ("generate",)):
        result = mlspec(root, *arguments)
        assert result.code == 1
        assert "MLS504" in result.output
        assert f"generated/{path}" in result.output
    assert (snapshot(tmp_path / "moved") or moved.read_bytes()) == outside


@pytest.mark.parametrize("name", sorted(names.RESERVED_ENVIRONMENTS - {"common"}))
def test_no_environment_has_its_name(name: str, tmp_path: Path) -> None:
    root = make_root(tmp_path, STEP, {"dev": ENVIRONMENT, name: ENVIRONMENT})
    for arguments in (("generate",), ("generate", "--check"), ("check",)):
        result = mlspec(root, *arguments)
        assert result.code == 1
        assert "MLS213" in result.output
        assert f"environments/{name}.yaml" in result.output
    assert not (root / "generated").exists()


# A part of the root, a second time, and a run that was killed


def test_a_part_of_the_root_knows_it_whole(root: Path) -> None:
    before = generated(root)
    (root / "second/mlproject.yaml").unlink()
    assert mlspec(root, "generate", "mlproject.yaml").code == 0
    assert generated(root) == before
    (root / "generated" / FILE).unlink()
    assert "MLS502" in mlspec(root, "generate", "--check", "mlproject.yaml").stdout
    assert mlspec(root, "generate", "mlproject.yaml").code == 0
    assert generated(root) == before


def test_a_part_of_the_root_brings_it_up_to_date(root: Path) -> None:
    (root / "environments/dev.yaml").write_text(ENVIRONMENT + KUEUE)
    assert mlspec(root, "generate", "mlproject.yaml").code == 0
    partly = {path: generated(root)[path] for path in own(generated(root))}
    assert "batch_Job" in checks(root)
    assert mlspec(root, "generate").code == 0
    assert {path: generated(root)[path] for path in own(generated(root))} == partly


def test_an_unchanged_root_is_remembered(root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MLSPEC_CACHE_DIR", str(tmp_path / "cache"))
    for name in ("mlproject.yaml", "second/mlproject.yaml"):
        (root / name).write_text((root / name).read_text().replace("'i:1'", "'i:2'"))
    assert mlspec(root, "generate").code == 0
    first, second = mlspec(root, "generate"), mlspec(root, "generate")
    assert first == second
    assert len(list((tmp_path / "cache/roots").iterdir())) == 1
    (root / "generated" / FILE).write_text("edited\n")
    assert mlspec(root, "generate", "--check").code == 1
    assert "MLS503" in mlspec(root, "generate").stderr


def _kill() -> NoReturn:
    raise KilledError


def _killed_anywhere(begun: Path, folder: Path) -> int:
    """Kill a generate at each of its changing calls; the next one gives what an undisturbed one does."""
    whole = Path(shutil.copytree(begun, folder / "whole"))
    with at(10**6, _kill) as calls:
        assert mlspec(whole, "generate").code == 0
    for number in range(len(calls)):
        root = Path(shutil.copytree(begun, folder / str(number)))
        with at(number, _kill), pytest.raises(KilledError):
            mlspec(root, "generate")
        if generated(root) not in (generated(begun), generated(whole)):
            assert "MLS505" in mlspec(root, "generate", "--check").stdout, number
        again = mlspec(root, "generate")
        # The last call may be the one after which nothing is left to do, not even a project.
        assert again.code == 0 or (not generated(whole) and "MLS225" in again.stderr), again.output
        assert generated(root) == generated(whole), number
    return len(calls)


@pytest.mark.parametrize("after", [ENVIRONMENT + KUEUE, BARE], ids=["changed", "pruned"])
def test_killed_anywhere_it_converges(after: str, root: Path, tmp_path: Path) -> None:
    for name in ("dev", "prod"):
        (root / f"environments/{name}.yaml").write_text(after)
    assert _killed_anywhere(root, tmp_path) > 8


def test_killed_anywhere_while_the_last_project_goes_nothing_is_left(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", STEP)
    assert mlspec(root, "generate").code == 0
    (root / "mlproject.yaml").unlink()
    assert _killed_anywhere(root, tmp_path) > 8


def test_nothing_for_no_environment() -> None:
    assert admin.files([]) == {}
