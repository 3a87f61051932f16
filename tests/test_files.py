"""The writer: what is somebody else's stays, what was edited is told, and no lock leads it astray."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.files import STEP, generated, refused, two_projects
from tests.support import ENVIRONMENT, make_root, mlspec, snapshot, write_tree


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root, generated, with two projects and two environments."""
    return two_projects(tmp_path / "root")


def run_file(root: Path, environment: str = "dev") -> Path:
    """Return the file of the only run."""
    return next(path for path in (root / f"generated/demo/overlays/{environment}/pipeline").glob("a-*.yaml"))


# What was edited


@pytest.mark.parametrize(
    "name", ["demo/base/foundation/resources.yaml", "argocd/dev/demo.yaml", "demo/overlays/dev/kustomization.yaml"]
)
def test_an_edited_file_is_restored_and_named(name: str, root: Path) -> None:
    before = generated(root)
    (root / "generated" / name).write_text("edited\n")
    checked = mlspec(root, "generate", "--check")
    assert (checked.code, checked.stdout.count("MLS503")) == (1, 1)
    result = mlspec(root, "generate")
    assert result.code == 0
    assert f"generated/{name}:1:1: warning[MLS503]" in result.stderr
    assert generated(root) == before


def test_a_deleted_file_comes_back(root: Path) -> None:
    before = generated(root)
    run_file(root).unlink()
    (root / "generated/demo/base/foundation/kustomization.yaml").unlink()
    checked = mlspec(root, "generate", "--check")
    assert (checked.code, checked.stdout.count("MLS502")) == (1, 2)
    assert mlspec(root, "generate").code == 0
    assert generated(root) == before


def test_an_edited_run_is_restored_where_it_can_be(root: Path) -> None:
    before = generated(root)
    run_file(root).write_text("edited\n")
    assert "MLS508" in mlspec(root, "generate", "--check").stdout
    result = mlspec(root, "generate")
    assert result.code == 0
    assert "MLS508" in result.stderr
    assert generated(root) == before


def test_an_edited_run_that_would_be_written_otherwise_now_is_refused(root: Path) -> None:
    make_root(root, "steps: {a: {kind: job, image: 'i:1', deadline: 1h}}\n", {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert mlspec(root, "generate").code == 0
    run_file(root).write_text(run_file(root).read_text() + "# edited\n")
    result = refused(root, "MLS508", run_file(root).relative_to(root / "generated").as_posix())
    assert "git checkout" in result.stderr


def test_an_edited_run_that_is_superseded_is_refused(root: Path) -> None:
    old = run_file(root)
    make_root(root, "steps: {a: {kind: job, image: 'j:1'}}\n", {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert mlspec(root, "generate").code == 0
    old.write_text("edited\n")
    refused(root, "MLS508", old.relative_to(root / "generated").as_posix())


def test_an_edited_file_is_not_pruned(root: Path) -> None:
    (root / "generated/other/base/foundation/resources.yaml").write_text("edited\n")
    (root / "second/mlproject.yaml").unlink()
    result = refused(root, "MLS503", "other/base/foundation/resources.yaml")
    assert "does not delete" in result.stderr
    (root / "generated/other/base/foundation/resources.yaml").unlink()
    assert mlspec(root, "generate").code == 0
    assert not (root / "generated/other").exists()


# What is somebody else's


def test_a_foreign_file_in_the_way_is_refused(tmp_path: Path) -> None:
    root = make_root(tmp_path, STEP)
    write_tree(root, {"generated/demo/base/foundation/resources.yaml": "mine\n"})
    assert "move it away" in refused(root, "MLS504", "demo/base/foundation/resources.yaml").stderr


def test_a_foreign_file_beside_is_named_and_stays(root: Path) -> None:
    write_tree(root, {"generated/demo/notes.txt": "mine\n", "generated/demo/overlays/dev/mlspec.lock": "mine\n"})
    checked = mlspec(root, "generate", "--check")
    assert (checked.code, checked.stdout.count("MLS504")) == (1, 2)
    make_root(root, "steps: {a: {kind: job, image: 'j:1'}}\n", {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert mlspec(root, "generate").code == 0
    assert (root / "generated/demo/notes.txt").read_text() == "mine\n"


def test_a_foreign_file_keeps_its_folder(root: Path) -> None:
    write_tree(root, {"generated/other/base/notes.txt": "mine\n"})
    (root / "second/mlproject.yaml").unlink()
    assert mlspec(root, "generate").code == 0
    assert [path for path in generated(root) if path.startswith("other")] == ["other/base/notes.txt"]


def test_gitattributes_may_lie_there(root: Path) -> None:
    write_tree(root, {"generated/.gitattributes": "* linguist-generated\n"})
    assert mlspec(root, "generate", "--check").code == 0


@pytest.mark.parametrize(
    ("path", "obstacle", "shown"),
    [
        ("", "link", "generated"),
        ("demo", "link", "generated/demo"),
        ("demo/base", "link", "generated/demo/base"),
        ("demo/base/foundation/resources.yaml", "link", "generated/demo/base/foundation/resources.yaml"),
        ("demo/mlspec.lock", "link", "generated/demo/mlspec.lock"),
        ("argocd/dev", "link", "generated/argocd/dev"),
        ("", "file", "generated"),
        ("demo", "file", "generated/demo"),
        ("demo/base/foundation", "file", "generated/demo/base/foundation"),
        ("demo/base/foundation/resources.yaml", "folder", "generated/demo/base/foundation/resources.yaml"),
        ("demo/mlspec.lock", "folder", "generated/demo/mlspec.lock"),
        ("demo/base/foundation/resources.yaml", "pipe", "generated/demo/base/foundation/resources.yaml"),
        ("demo/mlspec.lock", "pipe", "generated/demo/mlspec.lock"),
    ],
)
def test_what_stands_in_the_way_is_refused_once(path: str, obstacle: str, shown: str, tmp_path: Path) -> None:
    """Nothing is written, read or deleted through a link."""
    root = make_root(tmp_path / "root", STEP)
    assert mlspec(root, "generate").code == 0
    place = root / "generated" / path if path else root / "generated"
    moved = place.rename(tmp_path / "moved")
    outside = snapshot(tmp_path) if moved.is_dir() else {"moved": moved.read_bytes()}
    make: dict[str, Callable[[], object]] = {
        "link": lambda: place.symlink_to(moved),
        "file": lambda: place.write_text("x"),
        "folder": place.mkdir,
        "pipe": lambda: os.mkfifo(place),
    }
    make[obstacle]()
    (root / "mlproject.yaml").write_text((root / "mlproject.yaml").read_text().replace("image: 'i:1'", "image: 'j:1'"))
    for arguments in (("generate", "--check"), ("generate",)):
        result = mlspec(root, *arguments)
        assert result.code == 1, result.output
        assert result.output.count("MLS504") >= 1
        assert shown in result.output
        assert "internal error" not in result.output
    found = snapshot(tmp_path) if moved.is_dir() else {"moved": moved.read_bytes()}
    assert {p: c for p, c in found.items() if p.startswith("moved")} == {
        p: c for p, c in outside.items() if p.startswith("moved")
    }


def test_a_name_that_is_no_text_is_named_all_the_same(root: Path) -> None:
    (root / "generated/demo" / os.fsdecode(b"no\xfftext\n")).write_text("mine\n")
    checked = mlspec(root, "generate", "--check")
    assert checked.code == 1
    assert "MLS504" in checked.stdout
    assert "internal error" not in checked.output


def test_a_linked_folder_beside_is_named(root: Path, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (root / "generated/demo/more").symlink_to(tmp_path / "outside")
    checked = mlspec(root, "generate", "--check")
    assert "generated/demo/more:1:1: error[MLS504]" in checked.stdout


def test_a_link_in_place_of_a_temporary_file_is_not_followed(root: Path, tmp_path: Path) -> None:
    victim = tmp_path / "victim"
    victim.write_text("precious\n")
    for path in [p for p in generated(root) if p.startswith("demo/")]:
        target = root / "generated" / path
        target.with_name(f".mlspec-tmp-{target.name}").symlink_to(victim)
    make_root(root, "steps: {a: {kind: job, image: 'j:1'}}\n", {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert mlspec(root, "generate").code == 0
    assert victim.read_text() == "precious\n"
    assert mlspec(root, "generate", "--check").code == 0


# What is gone


def test_a_project_that_is_gone_is_pruned(root: Path) -> None:
    (root / "second/mlproject.yaml").unlink()
    assert "MLS509" in mlspec(root, "generate", "--check").stdout
    result = mlspec(root, "generate")
    assert result.code == 0
    assert "other: gone" in result.stderr
    assert not any("other" in path for path in generated(root))
    assert not (root / "generated/other").exists()
    assert mlspec(root, "generate", "--check").code == 0


def test_a_project_that_is_gone_with_its_files_leaves_no_lock(root: Path) -> None:
    (root / "second/mlproject.yaml").unlink()
    for path in [p for p in generated(root) if "other" in p and not p.endswith("mlspec.lock")]:
        (root / "generated" / path).unlink()
    assert "MLS509" in mlspec(root, "generate", "--check").stdout
    assert mlspec(root, "generate").code == 0
    assert not (root / "generated/other/mlspec.lock").exists()
    assert mlspec(root, "generate", "--check").code == 0


@pytest.mark.parametrize("how", ["file", "enabled"])
def test_an_environment_that_is_gone_is_pruned(how: str, root: Path) -> None:
    if how == "file":
        (root / "environments/prod.yaml").unlink()
    else:
        for file in ("mlproject.yaml", "second/mlproject.yaml"):
            with (root / file).open("a") as opened:
                opened.write("environments: {prod: {enabled: false}}\n")
    result = mlspec(root, "generate")
    assert result.code == 0
    assert "removed" in result.stderr
    assert not any("/prod/" in path for path in generated(root))
    assert not (root / "generated/demo/overlays/prod").exists()
    assert mlspec(root, "generate", "--check").code == 0


def test_a_path_prunes_nothing_of_others(root: Path) -> None:
    (root / "second/mlproject.yaml").unlink()
    before = generated(root)
    assert mlspec(root, "generate", "mlproject.yaml").code == 0
    assert generated(root) == before
    assert mlspec(root, "generate", "mlproject.yaml", "--check").code == 0
    assert mlspec(root, "generate").code == 0
    assert generated(root).keys() < before.keys()


def test_a_path_writes_only_its_own(root: Path) -> None:
    for name in ("mlproject.yaml", "second/mlproject.yaml"):
        (root / name).write_text((root / name).read_text().replace("image: 'i:1'", "image: 'j:1'"))
    before = generated(root)
    assert mlspec(root, "generate", "second").code == 0
    after = generated(root)
    changed = {path for path in before.keys() | after.keys() if before.get(path) != after.get(path)}
    assert changed
    assert all(path.startswith("other/") for path in changed)


def test_check_says_once_what_is_the_same_of_many_files(root: Path) -> None:
    """`generate --check` names each file; here three are named, and the rest is counted."""
    environment = root / "environments/dev.yaml"
    environment.write_text(environment.read_text().replace("istio-system", "gateways") + "access: {viewers: [all]}\n")
    (root / "mlproject.yaml").write_text((root / "mlproject.yaml").read_text().replace("owner: team", "owner: others"))
    each = [line for line in mlspec(root, "generate", "--check").stdout.splitlines() if "[MLS501]" in line]
    assert len(each) > 3
    (line,) = [
        line
        for line in mlspec(root, "check", "--output-format", "concise").stdout.splitlines()
        if "[MLS501]" in line and "project demo" in line
    ]
    own = [one for one in each if "/demo" in one]
    named = ", ".join(one.partition(":")[0].removeprefix("generated/") for one in own[:3])
    assert line == f"{own[0]}: {len(own)} files of project demo: {named}, {len(own) - 3} more"


def test_check_says_once_that_a_project_is_gone(root: Path) -> None:
    (root / "second/mlproject.yaml").unlink()
    lines = mlspec(root, "check", "--output-format", "concise").stdout.splitlines()
    (line,) = [line for line in lines if "[MLS509]" in line]
    assert line.startswith("generated/other/mlspec.lock:1:1: error[MLS509] not needed any more: ")
    assert " files of project other: argocd/dev/other.yaml, " in line
    assert line.endswith(" more")


def test_of_the_environments_that_are_asked_for_alone(root: Path) -> None:
    for name in ("dev", "prod"):
        path = root / f"environments/{name}.yaml"
        path.write_text(path.read_text().replace("istio-system", "gateways") + "access: {viewers: [all]}\n")
        for file in (root / "generated/demo/overlays" / name).rglob("*.yaml"):
            file.unlink()
    text = mlspec(root, "check", "-e", "prod", "--output-format", "concise").stdout
    assert "demo/overlays/prod/" in text
    assert "demo/overlays/dev/" not in text


def test_a_lock_that_is_renewed_alone_is_told(root: Path) -> None:
    environment = root / "environments/dev.yaml"
    environment.write_text(f"# a comment\n{environment.read_text()}")
    lines = mlspec(root, "generate").stderr.splitlines()
    assert next(line for line in lines if line.startswith("demo: ")).endswith(" files written; its lock was renewed")
    assert not any("lock" in line for line in mlspec(root, "generate").stderr.splitlines())
