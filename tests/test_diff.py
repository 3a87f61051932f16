"""`mlspec diff`: two revisions in, what differs by meaning out, read by a person.

A case in `tests/diffs/<case>/` is `before.yaml` and `after.yaml`, each an mlproject.yaml; `<env>.yaml`, or
`before-<env>.yaml` and `after-<env>.yaml`, are environments (else `tests/diffs/dev.yaml` is); `before-files/` and
`after-files/` lie beside the project file. With `earlier.yaml` generated files are committed, too.
"""

from __future__ import annotations

import copy
import json
import os
import re
import subprocess
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from mlspec.changes import exposure
from mlspec.changes.compare import compare, compare_projects
from mlspec.changes.load import load as load_of
from mlspec.changes.sides import Project
from mlspec.commands import comparing
from mlspec.commands.comparing import projects
from mlspec.compiled import Compilation
from mlspec.diagnostics import has_errors
from mlspec.k8s import meta
from mlspec.pipeline import compile_workspace
from mlspec.report.changes.lines import Section
from mlspec.report.changes.sections import opening, sections
from mlspec.report.inline import code
from mlspec.spec.load import load
from mlspec.spec.workspace import Workspace
from tests.edits import HASHED_EDITS, UNHASHED_EDITS
from tests.strategies import Root, roots
from tests.support import ENVIRONMENT, PROJECT, REPOSITORY, check_golden, mlspec, snapshot, write_tree

_FOLDER = Path(__file__).parent / "diffs"
CASES = sorted(path.name for path in _FOLDER.iterdir() if path.is_dir())
_FORMATS = {"text": "txt", "markdown": "md", "json": "json"}
_AUTHOR = {f"GIT_{who}_{what}": "a@example.com" for who in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}


def git(folder: Path, *words: str) -> str:
    """Run git with an author of its own and none of the user's settings."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    environment = {"PATH": os.environ["PATH"], "HOME": str(folder), **settings, **_AUTHOR}
    result = subprocess.run(
        ["git", "-c", "init.defaultBranch=main", "-c", "protocol.file.allow=always", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return result.stdout.strip()


def commit(folder: Path) -> str:
    """Commit everything, and return the commit."""
    if not (folder / ".git").exists():
        git(folder, "init", "--quiet")
    git(folder, "add", "--all", "--force")
    git(folder, "commit", "--quiet", "--allow-empty", "--message", "a commit")
    return git(folder, "rev-parse", "HEAD")


def make(folder: Path, project: str, environments: dict[str, str] | None = None) -> Path:
    """Write a root with one project, as `tests.support.make_root` does, and commit it."""
    files = {f"environments/{name}.yaml": text for name, text in (environments or {"dev": ENVIRONMENT}).items()}
    write_tree(folder, {**files, "mlproject.yaml": PROJECT + project})
    commit(folder)
    return folder


def edit(root: Path, before: str, after: str, path: str = "mlproject.yaml") -> None:
    """Replace text that is in a file."""
    text = (root / path).read_text()
    assert before in text
    (root / path).write_text(text.replace(before, after))


def changes(root: Path, *arguments: str) -> dict[str, Any]:
    """Return what `mlspec diff` says as JSON."""
    result = mlspec(root, "diff", "--format", "json", *arguments)
    assert result.code in (0, 1), result.stderr
    return result.json()


def only(document: dict[str, Any]) -> dict[str, Any]:
    """Return the differences of the one project and environment that has any."""
    (project,) = document["projects"]
    (environment,) = project["environments"]
    found: dict[str, Any] = environment["differences"]
    return found


# --- golden cases ---


def _side(case: Path, when: str) -> dict[str, str | bytes]:
    """Return the files of one side of a case."""
    found: dict[str, str | bytes] = {}
    project = case / f"{when}.yaml"
    if project.exists():
        found["mlproject.yaml"] = project.read_text()
    taken = {"earlier.yaml", "before.yaml", "after.yaml"}
    for path in [_FOLDER / "dev.yaml", *sorted(case.glob("*.yaml"))]:
        sided = path.name.startswith(("before-", "after-"))
        side, _, name = path.name.rpartition("-") if sided else ("", "", path.name)
        if side in ("", when) and path.name not in taken:
            found[f"environments/{name}"] = path.read_text()
    for path in (case / f"{when}-files").glob("*"):
        found[path.name] = path.read_bytes()
    return found


def _prepare(case: Path, root: Path) -> None:
    history = case / "earlier.yaml"
    if history.exists():
        write_tree(root, {**_side(case, "before"), "mlproject.yaml": history.read_text()})
        assert mlspec(root, "generate").code == 0
    write_tree(root, _side(case, "before"))
    if history.exists():
        assert mlspec(root, "generate").code == 0
    commit(root)
    for path in snapshot(root):
        if not path.startswith((".git/", "generated/")):
            (root / path).unlink()
    write_tree(root, _side(case, "after"))


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, tmp_path: Path, update_golden: bool) -> None:
    _prepare(_FOLDER / case, tmp_path)
    name = git(tmp_path, "rev-parse", "HEAD")
    before = snapshot(tmp_path)
    for output_format, ending in _FORMATS.items():
        result = mlspec(tmp_path, "diff", "--format", output_format)
        text = result.stdout.replace(name, "0" * 40).replace(name[:7], "0" * 7)
        check_golden(_FOLDER / case / f"expected.{ending}", text, update=update_golden)
        nothing = output_format != "json" and "othing differs" in text
        assert result.code == (0 if nothing or (output_format == "json" and not result.json()["projects"]) else 1)
    assert snapshot(tmp_path) == before, "diff writes nothing"


def test_the_cases_show_every_subject() -> None:
    shown = {name for case in CASES for item in _differences(case) for name, rows in item.items() if rows}
    assert shown == {name for case in ("args",) for item in _differences(case) for name in item}


def _differences(case: str) -> Iterator[dict[str, Any]]:
    document = json.loads((_FOLDER / case / "expected.json").read_text())
    for project in document["projects"]:
        yield from (environment["differences"] for environment in project["environments"])


# --- properties ---


def _compiled(folder: Path, root: Root) -> dict[str, Project]:
    compilation = compile_workspace(load(root.write(folder)))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    return projects(compilation)


@settings(max_examples=25)
@given(roots())
def test_a_root_does_not_differ_from_itself(root: Root) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        assert list(compare_projects(_compiled(Path(one), root), _compiled(Path(two), root))) == []


@settings(max_examples=25)
@given(roots(), roots())
def test_where_nothing_is_told_all_objects_are_equal(first: Root, second: Root) -> None:
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        before, after = _compiled(Path(one), first), _compiled(Path(two), second)
    told = {(p.project, e.environment) for p in compare_projects(before, after) for e in p.environments}
    for name in before.keys() & after.keys():
        for environment in before[name].sides.keys() & after[name].sides.keys():
            if (name, environment) not in told:
                old, new = before[name].sides[environment], after[name].sides[environment]
                assert [r.body for r in old.resources] == [r.body for r in new.resources]
                assert old.argocd == new.argocd


@settings(max_examples=25)
@given(roots(), st.data())
def test_exactly_the_runs_with_another_name_start_or_end(root: Root, data: st.DataObject) -> None:
    edited = copy.deepcopy(root)
    places = [(index, step) for index, project in enumerate(root.projects) for step in project.get("steps", {})]
    assume(places)
    index, step = data.draw(st.sampled_from(places))
    edit_one = data.draw(st.sampled_from(sorted({*HASHED_EDITS, *UNHASHED_EDITS} - {"files", "queue"})))
    spec = edited.projects[index]["steps"][step]
    assume("mounts" not in edit_one or "mounts" in spec)
    assume("resources" in spec or not edit_one.startswith(("cpu", "memory", "shared", "extended")))
    (HASHED_EDITS | UNHASHED_EDITS)[edit_one](spec)
    with TemporaryDirectory() as one, TemporaryDirectory() as two:
        before = _compiled(Path(one), root)
        compilation = compile_workspace(load(edited.write(Path(two))))
        assume(not has_errors(compilation.diagnostics))
        after = projects(compilation)
    found = list(compare_projects(before, after))
    differences = [(p.project, e.environment, e.differences) for p in found for e in p.environments]
    old, new = _runs(before), _runs(after)
    assert {(p, e, start.run) for p, e, d in differences for start in d.starts} == new - old
    assert {(p, e, end.run) for p, e, d in differences for end in d.superseded} == old - new
    assert all(start.reasons for _, _, d in differences for start in d.starts), "each has a reason"


def _runs(found: dict[str, Project]) -> set[tuple[str, str, str]]:
    return {
        (name, environment, stated.workload.object_name)
        for name, project in found.items()
        for environment, side in project.sides.items()
        for stated in side.plan.steps
    }


def _leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from _leaves(item, (*path, key))
    if not isinstance(value, dict | list):
        yield path


def _changed(body: dict[str, Any], path: tuple[Any, ...]) -> dict[str, Any]:
    """Return an object in which one value is another one of its type."""
    found = copy.deepcopy(body)
    node: Any = found
    for key in path[:-1]:
        node = node[key]
    value = node[path[-1]]
    other: Any = not value if isinstance(value, bool) else value + 1 if isinstance(value, int) else f"{value}x"
    if path[-1] == "storage":
        other = "7Gi"
    elif path[-1] == "cidr":
        other = "192.0.2.0/24"
    node[path[-1]] = other
    return found


def test_no_value_of_any_object_changes_unseen() -> None:
    """Each value of each object of the living example, changed alone, is told."""
    side = projects(compile_workspace(load(REPOSITORY)))["image-classifier"].sides["prod"]
    tried = 0
    for index, resource in enumerate(side.resources):
        for path in _leaves(resource.body):
            if path[-1] in ("name", meta.RUN) and exposure.of_run(resource.body):
                continue  # the policy of a run is told by the run
            resources = list(side.resources)
            resources[index] = replace(resource, body=_changed(resource.body, path))
            assert compare(side, replace(side, resources=tuple(resources))), (resource.key, path)
            tried += 1
    for index, body in enumerate(side.argocd):
        for path in _leaves(body):
            bodies = list(side.argocd)
            bodies[index] = _changed(body, path)
            assert compare(side, replace(side, argocd=tuple(bodies))), (body["kind"], path)
            tried += 1
    assert tried > 500
    assert not compare(side, side)


def test_whatever_leaves_or_comes_is_told() -> None:
    side = projects(compile_workspace(load(REPOSITORY)))["image-classifier"].sides["prod"]
    for index in range(len(side.resources)):
        fewer = replace(side, resources=side.resources[:index] + side.resources[index + 1 :])
        assert compare(side, fewer), side.resources[index].key
        assert compare(fewer, side), side.resources[index].key


@settings(max_examples=25)
@given(roots())
def test_gpus_are_those_of_the_objects(root: Root) -> None:
    """What the catalogue's types come to is what the pods in the objects ask for."""
    with TemporaryDirectory() as folder:
        found = _compiled(Path(folder), root)
    for side in (side for project in found.values() for side in project.sides.values()):
        for key, resource in side.run_objects.items():
            stated = side.steps[resource.origin[-1]]
            if key.name != stated.workload.object_name:
                continue  # its files
            asked: dict[str, int] = {}
            for gpus in load_of(stated, side).gpus:
                device = side.environment.gpus[gpus.type].resource
                asked[device] = asked.get(device, 0) + gpus.count
            assert asked == dict(_asked(resource.body)), key


def _asked(body: dict[str, Any]) -> Counter[str]:
    """Return the GPUs of all pods of a Job, PyTorchJob or TFJob."""
    spec = body["spec"]
    found: Counter[str] = Counter()
    for replicas in (spec.get("pytorchReplicaSpecs") or spec.get("tfReplicaSpecs") or {"Job": spec}).values():
        for container in replicas["template"]["spec"]["containers"]:
            for device, count in container["resources"]["limits"].items():
                if device.startswith("nvidia.com/"):
                    found[device] += int(count) * replicas.get("replicas", 1)
    return found


# --- what is read of Git ---

_STEP = "steps: {train: {kind: job, image: 'i:1'}}\n"


def test_what_is_not_committed_is_shown_and_nothing_is_touched(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP)
    edit(root, "i:1", "i:2")
    write_tree(root, {"other/mlproject.yaml": PROJECT.replace("demo", "other"), "other/data.bin": b"\0\xff" * 1000})
    git(root, "add", "mlproject.yaml")
    before = snapshot(root)
    found = changes(root)
    assert snapshot(root) == before
    assert [project["project"] for project in found["projects"]] == ["demo", "other"]
    assert [project["change"] for project in found["projects"]] == ["changed", "added"]


def test_a_branch_is_compared_with_where_it_goes(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP)
    git(root, "branch", "before")
    edit(root, "i:1", "i:2")
    name = commit(root)
    assert changes(root)["projects"] == []
    found = changes(root, "--against", "before")
    assert found["against"] == "before"
    (start,) = only(found)["starts"]
    assert start["reasons"] == [{"path": "image", "before": "i:1", "after": "i:2"}]
    for revision in (name, name[:9], "HEAD~0", "main", "main@{0}"):
        assert mlspec(root, "diff", "--against", revision).code == 0, revision
    assert mlspec(root, "diff", "--against", "HEAD~1").code == 1


def test_a_root_may_be_a_folder_of_its_repository(tmp_path: Path) -> None:
    make(tmp_path / "teams" / "vision", _STEP)
    (tmp_path / "teams/vision/.git").rename(tmp_path / ".git")
    write_tree(tmp_path, {"mlproject.yaml": "not ours", "environments/dev.yaml": "not ours"})
    commit(tmp_path)
    root = tmp_path / "teams/vision"
    assert changes(root)["projects"] == []
    edit(root, "i:1", "i:2")
    assert len(only(changes(root))["starts"]) == 1
    from_elsewhere = mlspec(tmp_path, "diff", "--root", "teams/vision")
    assert (from_elsewhere.code, from_elsewhere.stderr) == (1, "")


def test_other_roots_hidden_folders_and_generated_are_left_out_on_both_sides(tmp_path: Path) -> None:
    other = PROJECT.replace("demo", "elsewhere") + _STEP
    inner = {"mlproject.yaml": other, "environments/dev.yaml": ENVIRONMENT}
    write_tree(tmp_path, {f"tests/case/{path}": text for path, text in inner.items()})
    write_tree(tmp_path, {"tests/case/deep/er/mlproject.yaml": other, ".hidden/mlproject.yaml": other})
    write_tree(tmp_path, {"generated/mlproject.yaml": other, "same/mlproject.yaml": PROJECT.replace("demo", "same")})
    root = make(tmp_path, _STEP)
    edit(root, "i:1", "i:2")
    assert [project["project"] for project in changes(root)["projects"]] == ["demo"]


def test_what_the_environment_does_to_a_service_is_told_beside_what_is_written(tmp_path: Path) -> None:
    root = make(tmp_path, "services: {s: {kind: kserve, model: {format: onnx, uri: 's3://b/m'}}}\n")
    edit(root, "uri: 's3://b/m'}", "uri: 's3://b/m'}, replicas: 2")
    with (root / "environments/dev.yaml").open("a") as file:
        file.write("placement: {nodeSelector: {pool: cpu}}\n")
    (service,) = only(changes(root))["services"]
    paths = [row["path"] for row in service["fields"]]
    assert "spec.predictor.nodeSelector" in paths
    assert "spec.predictor.minReplicas" not in paths, "it follows from what is written"


def test_the_metadata_address_is_named_where_it_is_opened(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP)
    side = projects(compile_workspace(load(root)))["demo"].sides["dev"]
    peers = {
        "0.0.0.0/0:443": {"cidr": "0.0.0.0/0", "except": ["169.254.169.254/32"]},
        "0.0.0.0/0 with the metadata address, port 443": {"cidr": "0.0.0.0/0"},
        "169.254.0.0/16 without 169.254.1.0/24 with the metadata address, port 443": {
            "cidr": "169.254.0.0/16",
            "except": ["169.254.1.0/24"],
        },
        "10.1.0.0/16:443": {"cidr": "10.1.0.0/16"},
        "2001:db8::/32, port 443": {"cidr": "2001:db8::/32"},
    }
    for words, block in peers.items():
        resources = list(side.resources)
        index = next(i for i, r in enumerate(resources) if (r.key.kind, r.key.name) == ("NetworkPolicy", "train"))
        body = copy.deepcopy(resources[index].body)
        body["spec"]["egress"].append({"to": [{"ipBlock": block}], "ports": [{"protocol": "TCP", "port": 443}]})
        resources[index] = replace(resources[index], body=body)
        (found,) = compare(side, replace(side, resources=tuple(resources))).exposure
        assert opening(found).shown(str) == f"train may now reach {words}"


def test_only_the_environments_that_are_asked_for(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    edit(root, "i:1", "i:2")
    (root / "environments/prod.yaml").unlink()
    (project,) = changes(root)["projects"]
    assert [(e["environment"], e["change"]) for e in project["environments"]] == [
        ("dev", "changed"),
        ("prod", "removed"),
    ]
    (project,) = changes(root, "-e", "prod")["projects"]
    assert [e["environment"] for e in project["environments"]] == ["prod"], "it was there"
    for name in ("staging", "common", "../x"):
        result = mlspec(root, "diff", "-e", name)
        assert (result.code, result.stdout) == (2, ""), name


def test_an_environment_that_a_project_leaves_out(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    with (root / "mlproject.yaml").open("a") as file:
        file.write("environments: {prod: {enabled: false}}\n")
    (project,) = changes(root)["projects"]
    assert [(e["environment"], e["change"]) for e in project["environments"]] == [("prod", "removed")]


@pytest.mark.parametrize(
    ("revision", "words"),
    [
        ("nowhere", "holds no revision `nowhere`"),
        ("0123456789abcdef0123456789abcdef01234567", "holds no revision"),
        ("HEAD~9", "holds no revision"),
        ("HEAD:mlproject.yaml", "holds no revision"),
        ("--output=x", "`--output=x` is not a revision"),
        ("-x", "is not a revision"),
        ("", "is not a revision"),
        ("a b; touch x", "holds no revision"),
        ("main\n--output=x", "holds no revision"),
    ],
)
def test_an_unknown_revision_is_2_and_says_what_to_do(tmp_path: Path, revision: str, words: str) -> None:
    root = make(tmp_path, _STEP)
    result = mlspec(root, "diff", f"--against={revision}")
    assert (result.code, result.stdout) == (2, "")
    assert words in result.stderr
    assert "help: " in result.stderr
    assert not (root / "x").exists()


def test_without_a_repository_a_commit_or_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"environments/dev.yaml": ENVIRONMENT, "mlproject.yaml": PROJECT + _STEP})
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    result = mlspec(tmp_path, "diff")
    assert (result.code, result.stdout) == (2, "")
    assert "not in a Git repository" in result.stderr
    git(tmp_path, "init", "--quiet")
    result = mlspec(tmp_path, "diff")
    assert result.code == 2
    assert "there is no commit yet" in result.stderr
    monkeypatch.setenv("PATH", str(tmp_path))
    result = mlspec(tmp_path, "diff")
    assert (result.code, result.stdout) == (2, "")
    assert "there is no git on PATH" in result.stderr


def test_a_shallow_clone_says_how_to_get_the_revision(tmp_path: Path) -> None:
    origin = make(tmp_path / "origin", _STEP)
    first = git(origin, "rev-parse", "HEAD")
    git(origin, "branch", "target")
    edit(origin, "i:1", "i:2")
    commit(origin)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{origin}", "clone")
    clone = tmp_path / "clone"
    assert changes(clone)["projects"] == []
    told = {
        "origin/target": "git fetch --depth=1 origin +refs/heads/target:refs/remotes/origin/target",
        first: f"git fetch --depth=1 origin {first}",
        "HEAD~1": "git fetch --unshallow",
    }
    for revision, command in told.items():
        result = mlspec(clone, "diff", "--against", revision)
        assert result.code == 2, revision
        assert "shallow" in result.stderr, revision
        assert f"`{command}`" in result.stderr, revision
    # What is told works.
    git(clone, *told["origin/target"].split()[1:])
    assert len(only(changes(clone, "--against", "origin/target"))["starts"]) == 1


def test_a_partial_clone_reaches_no_network(tmp_path: Path) -> None:
    origin = make(tmp_path / "origin", _STEP)
    edit(origin, "i:1", "i:2")
    commit(origin)
    for setting in ("allowFilter", "allowAnySHA1InWant"):  # git could fetch what is missing
        git(origin, "config", f"uploadpack.{setting}", "true")
    git(tmp_path, "clone", "--quiet", "--filter=blob:none", f"file://{origin}", "clone")
    assert changes(tmp_path / "clone")["projects"] == []
    result = mlspec(tmp_path / "clone", "diff", "--against", "HEAD~1")
    assert (result.code, result.stdout) == (2, "")
    assert "partial clone" in result.stderr


def test_a_revision_that_was_no_root(tmp_path: Path) -> None:
    write_tree(tmp_path, {"README": "nothing yet"})
    commit(tmp_path)
    write_tree(tmp_path, {"environments/dev.yaml": ENVIRONMENT, "mlproject.yaml": PROJECT + _STEP})
    found = changes(tmp_path)
    assert [project["change"] for project in found["projects"]] == ["added"]
    assert found["warnings"] == ["at HEAD this was no root: there was no environments/"]


def test_a_revision_with_errors_is_compared_as_far_as_it_compiles(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP + "services: {a: {kind: kserve}}\n")
    edit(root, "services: {a: {kind: kserve}}\n", "")
    found = changes(root)
    assert found["projects"] == [], "the run is the same, and nothing else is known"
    (warning,) = found["warnings"]
    assert warning.startswith("at HEAD there was an error: of what does not compile only runs are compared")
    assert "mlproject.yaml:6:" in warning
    edit(root, "i:1", "i:2")
    (start,) = only(changes(root))["starts"]
    assert [row["path"] for row in start["reasons"]] == ["image"]
    (root / "mlproject.yaml").write_text("a: [\n")
    commit(root)
    (root / "mlproject.yaml").write_text(PROJECT + _STEP)
    found = changes(root)
    assert [project["change"] for project in found["projects"]] == ["added"]
    assert "mlproject.yaml:2:1: a bracket" in found["warnings"][0]
    result = mlspec(root, "diff")
    assert result.stdout.startswith("warning: at HEAD")


def test_errors_now_are_shown_as_check_does(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP)
    edit(root, "image: 'i:1'", "imge: 'i:1'")
    result = mlspec(root, "diff")
    assert (result.code, result.stdout) == (1, "")
    assert "error[MLS102]" in result.stderr
    (root / "mlproject.yaml").write_text("a: [\n")
    result = mlspec(root, "diff")
    assert (result.code, result.stdout) == (1, "")
    assert "error[MLS101]" in result.stderr


def test_a_claim_that_shrinks_is_shown_though_generate_refuses_it(tmp_path: Path) -> None:
    write_tree(
        tmp_path, {"environments/dev.yaml": ENVIRONMENT, "mlproject.yaml": PROJECT + "volumes: {a: {size: 9Gi}}\n"}
    )
    assert mlspec(tmp_path, "generate").code == 0
    commit(tmp_path)
    edit(tmp_path, "9Gi", "5Gi")
    result = mlspec(tmp_path, "diff")
    assert result.code == 1
    assert "error: a claim cannot shrink" in result.stdout
    assert mlspec(tmp_path, "generate").code == 1


def test_the_last_project_goes(tmp_path: Path) -> None:
    root = make(tmp_path, _STEP)
    (root / "mlproject.yaml").unlink()
    (project,) = changes(root)["projects"]
    assert (project["project"], project["change"]) == ("demo", "removed")


def test_only_projects_that_differ_are_compiled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("a", "b", "c"):
        write_tree(tmp_path, {f"{name}/mlproject.yaml": PROJECT.replace("demo", name) + _SHIPS, f"{name}/t.py": "1"})
    root = make(tmp_path, _STEP)
    seen: list[list[str]] = []

    def spy(workspace: Workspace, environments: Sequence[str]) -> Compilation:
        seen.append(sorted(project.name for project in workspace.projects))
        return compile_workspace(workspace, environments)

    monkeypatch.setattr("mlspec.commands.comparing.compile_workspace", spy)
    (root / "b/t.py").write_text("2")
    (start,) = only(changes(root))["starts"]
    assert [row["path"] for row in start["reasons"]] == ["file t.py"]
    assert seen == [["b"], ["b"]]
    seen.clear()
    edit(root, "perNode: 4", "perNode: 8", "environments/dev.yaml")
    changes(root)
    assert seen == [["a", "b", "c", "demo"], ["a", "b", "c", "demo"]]


@pytest.mark.parametrize(
    ("written", "path"),
    [
        ("script: t.py", "t.py"),
        ("script: ./t.py", "t.py"),
        ("script: a/./b//t.py", "a/b/t.py"),
        ("script: 'my  file.py'", "my  file.py"),
        ('"script": "t\\x2epy"', "t.py"),
        ("files: {a/settings.json: /etc/x}", "a/settings.json"),
        ("files: {ü.txt: /etc/x}", "ü.txt"),
    ],
)
def test_a_shipped_file_that_differs_is_seen_however_it_is_written(tmp_path: Path, written: str, path: str) -> None:
    write_tree(tmp_path, {path: "one", "other.py": "one"})
    root = make(tmp_path, f"steps: {{train: {{kind: job, image: i, {written}}}}}\n")
    (root / "other.py").write_text("two")
    assert changes(root)["projects"] == []
    (root / path).write_text("two")
    (start,) = only(changes(root))["starts"]
    assert [row["path"] for row in start["reasons"]] == [f"file {path}"]
    write_tree(root, {path: "one"})
    git(root, "rm", "--quiet", "--cached", path)
    git(root, "commit", "--quiet", "--message", "without it")
    found = changes(root)
    assert "there is no file" in found["warnings"][0], "it was missing then"
    assert len(only(found)["starts"]) == 1


_SHIPS = "steps: {train: {kind: job, image: i, script: t.py}}\n"


def test_links_are_followed_inside_the_commit_and_no_further(tmp_path: Path) -> None:
    secret = write_tree(tmp_path / "outside", {"secret.yaml": "a secret"}) / "secret.yaml"
    root = tmp_path / "root"
    write_tree(root, {"shared.yaml": ENVIRONMENT, "environments/dev.yaml": ENVIRONMENT})
    (root / "environments/prod.yaml").symlink_to("../shared.yaml")
    (root / "mlproject.yaml").symlink_to("projects/demo.yaml")
    write_tree(root, {"projects/demo.yaml": PROJECT + _STEP})
    (root / "broken").mkdir()
    for name, target in (("out", str(secret)), ("none", "nothing"), ("loop", "mlproject.yaml")):
        (root / "broken" / name).mkdir()
        (root / "broken" / name / "mlproject.yaml").symlink_to(target)
    commit(root)
    for name in ("out", "none", "loop"):
        (root / "broken" / name / "mlproject.yaml").unlink()
    edit(root, "i:1", "i:2", "projects/demo.yaml")
    found = changes(root)
    (project,) = found["projects"]
    assert [environment["environment"] for environment in project["environments"]] == ["dev", "prod"]
    assert "a secret" not in json.dumps(found)


# --- formats ---


def test_markdown_fits_a_comment_and_says_what_it_left_out(tmp_path: Path) -> None:
    steps = "".join(
        f"  step-{number}: {{kind: job, image: 'i:1', env: {{NOTE: '{'x' * 200}'}}}}\n" for number in range(200)
    )
    root = make(tmp_path, f"steps:\n{steps}", {"dev": ENVIRONMENT, "prod": ENVIRONMENT, "staging": ENVIRONMENT})
    (root / "mlproject.yaml").write_text(
        (root / "mlproject.yaml").read_text().replace("i:1", "i:2").replace("xx", "yy")
    )
    text = mlspec(root, "diff", "--format", "markdown").stdout
    assert 50_000 < len(text) <= 60_000
    assert text.count("<details>") == text.count("</details>") > 0
    assert "starts 600 runs" in text.splitlines()[0]
    last = text.rstrip().splitlines()[-1]
    assert re.fullmatch(r"\d+ more rows left out: `mlspec diff --against HEAD` shows all\.", last)
    shown = len(re.findall(r"^(\| `step-|- )", text, re.MULTILINE))
    assert shown + int(last.split()[0]) == sum(len(section.rows) for section in _all_sections(root))


def _all_sections(root: Path) -> Iterator[Section]:
    found = comparing.compare(root, "HEAD", ())
    for project in compare_projects(found.before, found.after):
        for environment in project.environments:
            yield from sections(environment)


@given(st.text(max_size=60))
def test_whatever_users_write_is_one_code_span(text: str) -> None:
    shown = code(text)
    assert "\n" not in shown
    assert "\r" not in shown
    fence = re.match("`+", shown)
    assert fence is not None
    inside = shown[len(fence[0]) : -len(fence[0])]
    assert shown.endswith(fence[0])
    assert all(len(ticks) != len(fence[0]) for ticks in re.findall("`+", inside))
    assert not re.search(r"(?<!\\)\|", inside)


@pytest.mark.parametrize("output_format", ["text", "markdown"])
def test_each_line_is_a_line(tmp_path: Path, output_format: str) -> None:
    root = make(tmp_path, _STEP)
    with (root / "mlproject.yaml").open("a") as file:
        file.write('environments: {dev: {steps: {train: {args: ["a\\nb\\e[2J\\r", "@team", "<b>"]}}}}\n')
    shown = mlspec(root, "diff", "--format", output_format).stdout
    assert "\x1b" not in shown
    assert "\r" not in shown
    assert sum("@team" in line for line in shown.splitlines()) == 1


def test_json_is_what_its_page_says() -> None:
    """Every key of every case is described in docs/diff.md, and every key that is described is in a case."""
    described = set(re.findall(r"^\| `(\w+)`", (REPOSITORY / "docs/diff.md").read_text(), re.MULTILINE))
    seen = set()
    for case in CASES:
        seen |= set(_keys(json.loads((_FOLDER / case / "expected.json").read_text())))
    assert seen == described


def _keys(value: Any) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
        for item in value.values():
            yield from _keys(item)
    elif isinstance(value, list):
        for item in value:
            yield from _keys(item)
