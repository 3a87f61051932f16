"""The files of a project: what lies in base and in overlays, and the few words of kustomize that are used."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import Any

import pytest

from mlspec import layout, yamltext
from mlspec.ir import Place
from mlspec.k8s.resource import Body, Resource
from mlspec.layout import PlannedEnvironment, lay_out
from tests.samples import sample


def config(
    name: str, value: str, *, namespace: str | None = None, place: Place = Place.FOUNDATION, run: bool = False
) -> Resource:
    """Return a small object."""
    metadata = {"name": name, **({"namespace": namespace} if namespace else {})}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": {"k": value}}
    return Resource(body, place, run=name if run else None)


def environment(name: str, *resources: Resource) -> PlannedEnvironment:
    """Return an environment with these objects and nothing of Argo CD."""
    return PlannedEnvironment(name, f"n-{name}", resources, [])


def read(files: dict[str, bytes], path: str) -> Any:
    """Return the only document of a file."""
    [document] = yamltext.load_all(files[path].decode())
    return document


def test_the_base_holds_what_every_environment_has() -> None:
    base = [config("all", "1"), config("one", "1"), config("none", "1")]
    dev = environment("dev", config("all", "1", namespace="n-dev"), config("one", "1", namespace="n-dev"))
    prod = environment("prod", config("all", "2", namespace="n-prod"))
    files = lay_out("p", base, [dev, prod], {}).files
    assert read(files, "p/base/foundation/resources.yaml")["metadata"] == {"name": "all"}
    assert read(files, "p/overlays/dev/foundation/resources.yaml")["metadata"]["name"] == "one"
    assert read(files, "p/overlays/dev/foundation/kustomization.yaml") == {
        "apiVersion": "kustomize.config.k8s.io/v1beta1",
        "kind": "Kustomization",
        "namespace": "n-dev",
        "resources": ["../../../base/foundation", "resources.yaml"],
    }
    assert "p/overlays/prod/foundation/resources.yaml" not in files
    [patch] = read(files, "p/overlays/prod/foundation/kustomization.yaml")["patches"]
    assert patch["target"] == {"version": "v1", "kind": "ConfigMap", "name": "all"}
    assert yamltext.load_all(patch["patch"]) == [
        [{"op": "test", "path": "/data/k", "value": "1"}, {"op": "replace", "path": "/data/k", "value": "2"}]
    ]


def test_an_object_of_another_kind_or_place_goes_whole_into_the_overlay() -> None:
    other = Resource({**config("a", "1").body, "kind": "Secret"}, Place.FOUNDATION)
    moved = config("a", "1", place=Place.SERVING)
    for resource in (other, moved):
        files = lay_out("p", [config("a", "1")], [environment("dev", resource)], {}).files
        assert not any(path.startswith("p/base") for path in files)


def test_nothing_for_no_environment() -> None:
    assert lay_out("p", [config("a", "1")], [], {}).files == {}
    assert lay_out("p", [config("a", "1")], [environment("dev")], {}).files == {}


def test_a_run_that_exists_is_taken_and_an_old_one_is_kept() -> None:
    run = config("r-1", "new", namespace="n-dev", place=Place.PIPELINE, run=True)
    written = yamltext.dump({**run.body, "data": {"k": "old"}}).encode()
    runs = {layout.run_path("p", "dev", "r-1"): written, layout.run_path("p", "dev", "r-0"): b"whatever: 1\n"}
    runs[layout.run_path("p", "prod", "r-0")] = b"of an environment that is gone"
    found = lay_out("p", [run], [environment("dev", run)], runs)
    assert found.files["p/overlays/dev/pipeline/r-1.yaml"] == written
    assert found.builds["p/overlays/dev/pipeline"] == [{**run.body, "data": {"k": "old"}}]
    assert found.superseded == ["p/overlays/dev/pipeline/r-0.yaml"]
    assert read(found.files, "p/overlays/dev/pipeline/kustomization.yaml")["resources"] == ["r-1.yaml"]
    assert not any("prod" in path or "base" in path for path in found.files)


def test_superseded_runs_are_in_one_order_whatever_the_environments_are_called() -> None:
    runs = {layout.run_path("p", name, "r-0"): b"a: 1\n" for name in ("a", "a-b", "a0")}
    found = lay_out("p", [], [environment(name) for name in ("a", "a-b", "a0")], runs)
    assert found.superseded == sorted(found.superseded)


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        ("p/overlays/dev/pipeline/a-1.yaml", True),
        ("p/overlays/dev/pipeline/kustomization.yaml", False),
        ("p/overlays/dev/serving/a-1.yaml", False),
        ("p/base/dev/pipeline/a-1.yaml", False),
        ("p/overlays/dev/pipeline/x/a-1.yaml", False),
    ],
)
def test_run_paths(path: str, expected: bool) -> None:
    assert layout.is_run_path(path) is expected


def _trees() -> list[tuple[str, layout.Layout]]:
    return [(item.project.name, item.layout) for compilation in sample() for item in compilation.projects]


def test_kustomizations_use_resources_namespace_and_patches_alone() -> None:
    seen: set[str] = set()
    for _, found in _trees():
        for path, content in found.files.items():
            if path.endswith("kustomization.yaml"):
                [document] = yamltext.load_all(content.decode())
                seen |= document.keys()
                assert path.count("/") < 4 or "/overlays/" in path
                assert ("namespace" in document) == ("/overlays/" in path and path.count("/") == 4), path
                for entry in document["resources"]:
                    assert ":" not in entry
                    target = PurePosixPath(path).parent / entry
                    assert _folded(target) in found.files or f"{_folded(target)}/kustomization.yaml" in found.files, (
                        target
                    )
    assert seen == {"apiVersion", "kind", "resources", "namespace", "patches"}


def _folded(path: PurePosixPath) -> str:
    parts: list[str] = []
    for part in path.parts:
        if part == "..":
            parts.pop()
        else:
            parts.append(part)
    return "/".join(parts)


def test_every_file_belongs_to_a_kustomization_to_argocd_or_to_history() -> None:
    for project, found in _trees():
        for path in found.files:
            folder, _, name = path.rpartition("/")
            if name != "kustomization.yaml" and not path.startswith("argocd/"):
                listed = yamltext.load_all(found.files[f"{folder}/kustomization.yaml"].decode())[0]["resources"]
                assert name in listed, path
            assert path.startswith(f"{project}/") or path == f"argocd/{path.split('/')[1]}/{project}.yaml"


def test_runs_are_never_in_the_base_and_have_a_file_each() -> None:
    runs = 0
    for _, found in _trees():
        for path, content in found.files.items():
            bodies: list[Body] = yamltext.load_all(content.decode())
            # The policy of a run whose pods talk to one another stands in foundation, to be there before them.
            others = [body for body in bodies if body.get("kind") != "NetworkPolicy"]
            labels = [body.get("metadata", {}).get("labels", {}) for body in others]
            is_run = any("mlspec.dev/run" in found for found in labels)
            assert is_run == layout.is_run_path(path), path
            if is_run:
                runs += 1
                *shipped, run = bodies
                name = run["metadata"]["name"]
                assert path.endswith(f"/{name}.yaml")
                assert run["kind"] in ("Job", "PyTorchJob")
                assert [(b["kind"], b["metadata"]["name"]) for b in shipped] in ([], [("ConfigMap", f"{name}-files")])
    assert runs > 20


def test_base_objects_name_no_namespace_and_are_in_every_environment() -> None:
    for project, found in _trees():
        environments = {folder.split("/")[2] for folder in found.builds}
        for place in (Place.FOUNDATION, Place.SERVING):
            for body in yamltext.load_all(found.files.get(f"{project}/base/{place}/resources.yaml", b"").decode()):
                assert "namespace" not in body["metadata"]
                for name in environments:
                    built = found.builds[f"{project}/overlays/{name}/{place}"]
                    key = (body["kind"], body["metadata"]["name"])
                    assert key in {(other["kind"], other["metadata"]["name"]) for other in built}
