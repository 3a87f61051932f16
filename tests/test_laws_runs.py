"""Law 4, a run is immutable and named by what it computes."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterable
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec import yamltext
from mlspec.files import marks
from mlspec.k8s.resource import Body
from tests.edits import HASHED_EDITS, UNHASHED_EDITS, Edit
from tests.flow import Data
from tests.samples import compiled, run_names
from tests.strategies import Root, roots
from tests.support import ENVIRONMENT, make_root, mlspec, snapshot

Key = tuple[str, str, str]


def dependants(project: Data, step: str) -> set[str]:
    """Return a step and everything that needs it, directly or not."""
    found = {step}
    while more := {name for name, spec in project["steps"].items() if found & set(spec.get("needs", ()))} - found:
        found |= more
    return found


def changed(before: dict[Key, str], after: dict[Key, str]) -> set[Key]:
    """Return the runs that have another name now; none may have come or gone."""
    assert before.keys() == after.keys()
    return {key for key in before if before[key] != after[key]}


with_steps = roots().filter(lambda root: any(project["steps"] for project in root.projects))


@st.composite
def edits(draw: st.DrawFn, table: dict[str, Edit]) -> tuple[Root, Root, int, str, str]:
    """Draw a root, the same root after an edit, and what was edited: project, step, name of the edit."""
    root = draw(with_steps)
    for project in root.projects:
        # What an override sets, an edit above it does not reach.
        project["environments"] = {name: {"enabled": False} for name in project["environments"] if draw(st.booleans())}
        # What a step is served for is no part of its run, but not every edit leaves something to serve.
        for service in project["services"].values():
            if "from" in service["model"]:
                service["model"] = {"format": "sklearn", "uri": "oci://r/m:1"}
    index = draw(st.sampled_from([i for i, project in enumerate(root.projects) if project["steps"]]))
    step = draw(st.sampled_from(sorted(root.projects[index]["steps"])))
    name = draw(st.sampled_from(sorted(table)))
    edited = copy.deepcopy(root)
    table[name](edited.projects[index]["steps"][step])
    return root, edited, index, step, name


def _as_written(step: Data) -> str:
    return json.dumps(step, sort_keys=True)


@settings(max_examples=50)
@given(edits(HASHED_EDITS))
def test_a_hashed_edit_renames_the_step_and_its_dependants_alone(drawn: tuple[Root, Root, int, str, str]) -> None:
    root, edited, index, step, _ = drawn
    project = root.projects[index]
    before, after = run_names(compiled(root)), run_names(compiled(edited))
    same = _as_written(project["steps"][step]) == _as_written(edited.projects[index]["steps"][step])
    expected = (
        set() if same else {key for key in before if key[0] == project["name"] and key[2] in dependants(project, step)}
    )
    assert changed(before, after) == expected
    assert len(set(after.values())) == len(after), "an environment's name is part of a run's"


@settings(max_examples=30)
@given(edits(UNHASHED_EDITS))
def test_an_unhashed_edit_renames_nothing(drawn: tuple[Root, Root, int, str, str]) -> None:
    root, edited, _, _, _ = drawn
    edited.comments = ["a comment", "and: another"]
    assert changed(run_names(compiled(root)), run_names(compiled(edited))) == set()


@settings(max_examples=20)
@given(with_steps, roots(), st.data())
def test_environment_files_and_other_projects_rename_nothing(root: Root, other: Root, data: st.DataObject) -> None:
    before = run_names(compiled(root))
    edited = copy.deepcopy(root)
    for fields in edited.environments.values():
        for name in ("defaults", "placement", "images", "serviceAccounts", "quota", "access", "prometheus", "cluster"):
            if name in next(iter(other.environments.values())) and name not in ("defaults",):
                fields[name] = next(iter(other.environments.values()))[name]
        fields["defaults"] = {**fields["defaults"], "cpu": "13", "memory": "13Gi"}
        fields["gpus"] = {"t4": {"nodeSelector": {"other": "node"}, "resource": "example.com/gpu"}, **fields["gpus"]}
        fields["defaults"]["gpu"] = "t4"
    if len(edited.projects) > 1 and data.draw(st.booleans()):
        edited.projects.reverse()
    elif len(edited.projects) > 1:
        removed = edited.projects.pop()["name"]
        before = {key: name for key, name in before.items() if key[0] != removed}
    assert changed(before, run_names(compiled(edited))) == set()


@pytest.mark.parametrize(
    "edit", ["cleanPodPolicy: All", "retries: 0", "deadline: 1h", "egress: [s3]", "env: {}", "args: []"]
)
def test_what_does_not_compute_has_no_name(edit: str, tmp_path: Path) -> None:
    head = "steps: {a: {kind: pytorch, image: 'i:1'"
    before = _runs(make_root(tmp_path / "a", head + "}}\n"))
    assert _runs(make_root(tmp_path / "b", f"{head}, {edit}}}}}\n")) == before


@pytest.mark.parametrize(
    "edit",
    [
        "nodes: 2",
        "processes: 2",
        "script: /opt/x.py",
        "command: [x]",
        "command: [x, y]",
        "gpu: 1",
        "gpu: t4:1",
        "gpu: 0",
    ],
)
def test_what_computes_has_a_name(edit: str, tmp_path: Path) -> None:
    head = "steps: {a: {kind: pytorch, image: 'i:1'"
    before = _runs(make_root(tmp_path / "a", head + "}}\n"))
    assert not _runs(make_root(tmp_path / "b", f"{head}, {edit}}}}}\n")) & before


def test_the_kind_and_the_name_of_the_environment_count(tmp_path: Path) -> None:
    job = _runs(make_root(tmp_path / "a", "steps: {a: {kind: job, image: 'i:1'}}\n"))
    pytorch = _runs(make_root(tmp_path / "b", "steps: {a: {kind: pytorch, image: 'i:1'}}\n"))
    elsewhere = _runs(make_root(tmp_path / "c", "steps: {a: {kind: job, image: 'i:1'}}\n", {"prod": ENVIRONMENT}))
    assert len(job | pytorch | elsewhere) == 3


def _runs(root: Path) -> set[str]:
    assert mlspec(root, "generate").code == 0
    return {path.stem for path in (root / "generated").glob("demo/overlays/*/pipeline/*.yaml")} - {"kustomization"}


def _listed(root: Path) -> list[str]:
    text = (root / "generated/demo/overlays/dev/pipeline/kustomization.yaml").read_text()
    return list(yamltext.load_all(text)[0]["resources"])


def _superseded(root: Path) -> list[str]:
    return [
        path.rsplit("/", 1)[-1] for path in json.loads((root / "generated/demo/mlspec.lock").read_text())["superseded"]
    ]


def _files(root: Path) -> dict[str, bytes]:
    found = snapshot(root / "generated/demo/overlays/dev/pipeline")
    return {name: content for name, content in found.items() if name != "kustomization.yaml"}


def _write(root: Path, project: str) -> Path:
    make_root(root, project)
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    assert mlspec(root, "generate", "--check").code == 0
    return root


_STEPS = "steps: {{a: {{kind: job, image: 'i:{tag}'{more}}}, b: {{kind: job, image: 'j:1', needs: [a]}}}}\n"


def test_an_existing_run_is_not_written_again(tmp_path: Path) -> None:
    before = _files(_write(tmp_path, _STEPS.format(tag=1, more="")))
    for more in (", deadline: 1h", ", retries: 0", ", egress: [s3], deadline: 3d", ""):
        root = _write(tmp_path, _STEPS.format(tag=1, more=more))
        assert _files(root) == before, more
        assert mlspec(root, "check").code == 0
    assert _superseded(tmp_path) == []


def test_superseded_runs_stay_as_files_and_a_revert_lists_them_again(tmp_path: Path) -> None:
    first = _files(_write(tmp_path, _STEPS.format(tag=1, more=", deadline: 1h")))
    assert _listed(tmp_path) == sorted(first)
    second = _files(_write(tmp_path, _STEPS.format(tag=2, more="")))
    assert first.items() <= second.items()
    new = second.keys() - first.keys()
    assert _listed(tmp_path) == sorted(new)
    assert _superseded(tmp_path) == sorted(first)
    assert {name.rsplit("-", 1)[0] for name in new} == {"a", "b"}
    third = _files(_write(tmp_path, _STEPS.format(tag=1, more="")))
    assert third == second
    assert _listed(tmp_path) == sorted(first)
    assert _superseded(tmp_path) == sorted(new)


def test_a_step_that_is_gone_leaves_its_runs(tmp_path: Path) -> None:
    first = _files(_write(tmp_path, _STEPS.format(tag=1, more="")))
    _write(tmp_path, "services: {s: {kind: kserve, model: {format: onnx, uri: 's3://b/m'}}}\n")
    assert _files(tmp_path) == first
    assert _superseded(tmp_path) == sorted(first)
    assert not (tmp_path / "generated/demo/overlays/dev/pipeline/kustomization.yaml").exists()


def test_superseded_runs_of_environments_whose_names_begin_alike_are_no_drift(tmp_path: Path) -> None:
    environments = dict.fromkeys(("a", "a-b", "a0"), ENVIRONMENT)
    for tag in (1, 2, 3):
        make_root(tmp_path, _STEPS.format(tag=tag, more=""), environments)
        assert mlspec(tmp_path, "generate").code == 0
    assert mlspec(tmp_path, "generate", "--check").code == 0
    assert len(_superseded(tmp_path)) == 12


def _with_lock(root: Path, path: str, content: bytes) -> None:
    """Put a file into generated/ as if mlspec had written it."""
    (root / "generated" / path).write_bytes(content)
    where = root / "generated/demo/mlspec.lock"
    found = json.loads(where.read_text())
    found["outputs"][path] = marks.digest(content)
    where.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n")


def _other(body: Body) -> Iterable[bytes]:
    yield yamltext.dump({**body, "kind": "CronJob"}).encode()
    yield yamltext.dump({**body, "metadata": {**body["metadata"], "namespace": "kube-system"}}).encode()
    yield yamltext.dump_all([body, {**body, "kind": "ClusterRoleBinding"}]).encode()
    yield b"kind: Job\n"
    yield b"- a\n"
    yield b"\xff"
    yield b"a: ["
    yield b"a: &a [1]\nb: &b [*a, *a]\n"
    yield b""


def test_a_run_file_with_something_else_in_it_is_never_taken(tmp_path: Path) -> None:
    """Not even where the lock lists its digest: both come from the same pull request."""
    root = _write(tmp_path, _STEPS.format(tag=1, more=""))
    before = snapshot(root / "generated")
    path = next(path for path in before if "/pipeline/a-" in path)
    for content in _other(yamltext.load_all(before[path].decode())[0]):
        _with_lock(root, path, content)
        checked = mlspec(root, "check")
        assert checked.code == 1, content
        assert path in checked.stdout
        assert mlspec(root, "generate").code == 0
        assert snapshot(root / "generated") == before
