"""`mlspec render`: what is printed is what is written and what will exist, valid, in one stream."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec import yamltext
from mlspec.check.schema import check_schema
from mlspec.diagnostics import has_errors
from mlspec.files.marks import digest
from mlspec.k8s.projected import ProjectedPods, Projection
from mlspec.pipeline import compile_workspace
from mlspec.report import stream
from mlspec.spec.load import load
from tests.cluster.harness.goldens import goldens, roots
from tests.support import ENVIRONMENT, PROJECT, REPOSITORY, make_root, mlspec, snapshot, write_tree

Body = dict[str, Any]
_STEP: Final = "steps: {train: {kind: pytorch, image: 'i:1', command: [train], nodes: 3}}\n"
_SERVICE: Final = "services: {chat: {kind: kserve, model: {format: onnx, uri: 's3://models/chat'}}}\n"
_ROOTS: Final = roots()
_each_root = pytest.mark.parametrize("root", _ROOTS, ids=[path.relative_to(REPOSITORY).as_posix() for path in _ROOTS])


def _environments(root: Path) -> list[str]:
    return sorted(path.stem for path in (root / "environments").glob("*.yaml") if path.stem != "common")


def _arguments(root: Path) -> list[str]:
    return [word for name in _environments(root) for word in ("-e", name)]


def _identity(body: Body) -> tuple[str, ...]:
    meta = body["metadata"]
    return body["apiVersion"], body["kind"], meta.get("namespace", ""), meta["name"]


@_each_root
def test_plain_is_what_is_built(root: Path) -> None:
    """Every object of every overlay, which kustomize builds to the same (law 2), and Argo CD's, each once."""
    compilation = compile_workspace(load(root))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    expected = []
    for compiled in compilation.projects:
        for name in compiled.plans:
            expected += compiled.layout.builds.get(f"{compiled.project.name}/overlays/{name}", [])
            expected += compiled.argocd[name]
    result = mlspec(root, "render", *_arguments(root))
    assert result.code == 0, result.stderr
    found = yamltext.load_all(result.stdout)
    assert sorted(found, key=_identity) == sorted(expected, key=_identity)


@_each_root
def test_projected_is_valid(root: Path) -> None:
    """Pods against the strict schema of a Job's template, Services against their own; names are distinct."""
    result = mlspec(root, "render", "--projected", *_arguments(root))
    assert result.code == 0, result.stderr
    found = yamltext.load_all(result.stdout)
    folders = next(golden.schemas for golden in goldens() if golden.root == root)
    for body in found:
        assert list(check_schema(folders, _as_known(body))) == [], _identity(body)
    assert [name for name, count in Counter(map(_identity, found)).items() if count > 1] == []


def _as_known(body: Body) -> Body:
    """Return a Pod as the template of a Job, whose schema holds all of a pod's."""
    if body["kind"] != "Pod":
        return body
    template = {"metadata": body["metadata"], "spec": body["spec"]}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "any"}, "spec": {"template": template}}


@_each_root
def test_projected_is_every_pod_of_every_object(root: Path) -> None:
    result = mlspec(root, "render", "--projected", *_arguments(root))
    kinds = Counter(body["kind"] for body in yamltext.load_all(result.stdout))
    projections = [
        resource.projection
        for golden in goldens()
        if golden.root == root
        for resource in golden.resources
        if resource.projection is not None
    ]
    assert kinds["Pod"] == sum(pods.count for found in projections for pods in found.pods)
    assert kinds["Service"] == sum(len(found.services) for found in projections)
    assert set(kinds) <= {"Pod", "Service"}


def test_the_living_example_is_run_and_served() -> None:
    """Not an empty stream: the training's four pods, the service and its gate."""
    result = mlspec(REPOSITORY, "render", "--projected", "-e", "prod")
    roles = Counter(line.partition(" of ")[0] for line in result.stdout.splitlines() if line.startswith("# "))
    assert roles["# master"] == 1
    assert roles["# worker"] == 3
    assert roles["# Project image-classifier in prod"] == 1


def _root(folder: Path) -> Path:
    """Write a root with a LimitRange, which would stand before its namespace by name."""
    environment = ENVIRONMENT + "quota: {cpu: 100, memory: 1Ti}\n"
    return make_root(folder, _STEP + _SERVICE, {"dev": environment, "prod": environment})


def _comments(text: str) -> list[str]:
    return [line for line in text.splitlines() if line.startswith("# ")]


def test_sections_are_named_and_ordered(tmp_path: Path) -> None:
    """Projects in their order, environments as asked for, each once; namespaces first, then as they are written."""
    root = _root(tmp_path)
    result = mlspec(root, "render", "-e", "prod", "-e", "dev", "-e", "prod")
    assert _comments(result.stdout) == ["# Project demo in prod", "# Project demo in dev"]
    bodies = yamltext.load_all(result.stdout)
    prod = [body for body in bodies if body["metadata"].get("namespace") == "demo-prod"]
    kinds = [kind for kind, _ in itertools.groupby(body["kind"] for body in prod)]
    assert bodies[0]["kind"] == "Namespace"
    assert kinds[0] == "LimitRange"
    assert kinds.index("NetworkPolicy") < kinds.index("PyTorchJob") < kinds.index("InferenceService")
    assert [body["kind"] for body in bodies if body["apiVersion"].startswith("argoproj.io")].count("AppProject") == 2


def test_pods_that_are_alike_are_counted(tmp_path: Path) -> None:
    root = make_root(tmp_path, "services: {chat: {kind: kserve, replicas: 3, model: {format: onnx, uri: 's3://m'}}}\n")
    result = mlspec(root, "render", "--projected", "-e", "dev")
    lines = [line for line in _comments(result.stdout) if line.startswith("# predictor")]
    assert lines == [f"# predictor of InferenceService chat, {number} of 3" for number in (1, 2, 3)]
    pods = [body for body in yamltext.load_all(result.stdout) if body["kind"] == "Pod"]
    assert len({body["metadata"]["name"] for body in pods}) == 3
    first, *others = ({**body, "metadata": {**body["metadata"], "name": ""}} for body in pods)
    assert others == [first, first]


def test_json_is_the_same(tmp_path: Path) -> None:
    root = _root(tmp_path)
    for more in ((), ("--projected",)):
        found = mlspec(root, "render", "-e", "dev", *more, "--output-format", "json").json()
        assert (found["apiVersion"], found["kind"]) == ("v1", "List")
        assert found["items"] == yamltext.load_all(mlspec(root, "render", "-e", "dev", *more).stdout)


def test_a_run_is_printed_as_its_file_has_it(tmp_path: Path) -> None:
    """A run is written once: what a former version wrote stays, and is what would be applied."""
    root = _root(tmp_path)
    assert mlspec(root, "generate").code == 0
    generated = root / "generated"
    (file,) = generated.glob("demo/overlays/dev/pipeline/train-*.yaml")
    old = file.read_text().replace("metadata:\n", 'metadata:\n  annotations: {example.com/old: "1"}\n', 1)
    file.write_text(old)
    lock = json.loads((generated / "demo/mlspec.lock").read_text())
    lock["outputs"][file.relative_to(generated).as_posix()] = digest(old.encode())
    (generated / "demo/mlspec.lock").write_text(json.dumps(lock))
    result = mlspec(root, "render", "-e", "dev")
    (run,) = (body for body in yamltext.load_all(result.stdout) if body["kind"] == "PyTorchJob")
    assert [run] == yamltext.load_all(old)


def test_paths_choose_projects(tmp_path: Path) -> None:
    other = PROJECT.replace("name: demo", "name: other") + _STEP
    root = write_tree(_root(tmp_path), {"other/mlproject.yaml": other})
    both = _comments(mlspec(root, "render", "-e", "dev").stdout)
    assert both == ["# Project demo in dev", "# Project other in dev"]
    assert _comments(mlspec(root, "render", "other", "-e", "dev").stdout) == ["# Project other in dev"]


def test_an_environment_that_a_project_does_not_have_is_empty(tmp_path: Path) -> None:
    root = make_root(tmp_path, _STEP + "environments: {dev: {enabled: false}}\n")
    assert mlspec(root, "render", "-e", "dev").stdout == ""
    assert mlspec(root, "render", "-e", "dev", "--output-format", "json").json()["items"] == []


def test_errors_print_nothing(tmp_path: Path) -> None:
    """Findings go to stderr; half of an environment would only mislead."""
    root = make_root(tmp_path, _STEP.replace("nodes: 3", "nodes: 0"))
    for more in ((), ("--projected",), ("--output-format", "json")):
        result = mlspec(root, "render", "-e", "dev", *more)
        assert (result.code, result.stdout) == (1, "")
        assert "error[MLS1" in result.stderr


def test_errors_of_other_environments_do_not_matter(tmp_path: Path) -> None:
    services = _SERVICE + "environments: {prod: {services: {chat: {model: {uri: 'gs://nowhere'}}}}}\n"
    root = make_root(tmp_path, services, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert mlspec(root, "render", "-e", "prod").code == 1
    result = mlspec(root, "render", "-e", "dev")
    assert result.code == 0, result.stderr
    assert _comments(result.stdout) == ["# Project demo in dev"]


@pytest.mark.parametrize("arguments", [(), ("-e", "nowhere"), ("-e", "common"), ("-e", "dev", "nowhere.yaml")])
def test_usage(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """No environment, one that is not there, a path that is not there."""
    root = write_tree(_root(tmp_path), {"environments/common.yaml": ENVIRONMENT})
    result = mlspec(root, "render", *arguments)
    assert (result.code, result.stdout) == (2, "")


def test_nothing_is_written(tmp_path: Path) -> None:
    root = _root(tmp_path)
    before = snapshot(root)
    assert mlspec(root, "render", "-e", "dev").code == 0
    assert snapshot(root) == before


def _rendered(command: str, seed: str = "0") -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(REPOSITORY)}
    words = f"{sys.executable} -m mlspec render --projected -e dev {command}"
    root = REPOSITORY / "tests/projects/three-projects"
    return subprocess.run(["bash", "-c", words], cwd=root, env=environment, capture_output=True, text=True, check=False)


def test_it_is_the_same_every_time() -> None:
    """Whatever the seed of hashes is."""
    first, second = _rendered("", "1"), _rendered("", "2")
    assert first.returncode == 0, first.stderr
    assert first.stdout == second.stdout != ""


def test_a_reader_that_goes_away_is_no_error() -> None:
    found = _rendered("| head -n 1")
    assert found.stdout == "# Project llm-finetune in dev\n"
    assert "Traceback" not in found.stderr
    assert "BrokenPipe" not in found.stderr
    assert "internal error" not in found.stderr


def _projection(count: int) -> Projection:
    def make(number: int) -> Body:
        return {"metadata": {"name": "many-00000"}, "spec": {}}

    return Projection((ProjectedPods("worker", count, make),))


def test_pods_without_end() -> None:
    """What is alike is not printed without end; the last one says how many are left out."""
    found = list(stream.projected("Job many", _projection(10**9)))
    assert len(found) == len({item.body["metadata"]["name"] for item in found}) == 3000
    assert found[-1].comments == ("worker of Job many, 3000 of 1000000000; the other 999997000 are left out",)
    assert [item.comments for item in found if "left out" in item.comments[0]] == [found[-1].comments]


def test_three_thousand_pods_are_all() -> None:
    found = list(stream.projected("Job many", _projection(3000)))
    assert len(found) == 3000
    assert found[-1].comments == ("worker of Job many, 3000 of 3000",)
