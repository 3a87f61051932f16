"""Law 2, build truth: what the real kustomize builds from the overlays is what was planned, field by field."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlspec import yamltext
from mlspec.check import kustomize, tools
from mlspec.k8s.resource import Body
from tests.samples import sample
from tests.support import ENVIRONMENT, Result, make_root, mlspec, write_tree

_PROJECT = """\
volumes: {data: {size: 10Gi, access: ReadWriteMany}}
services:
  serve: {kind: kserve, model: {format: onnx, uri: "s3://b/m"}}
environments:
  dev: {volumes: {data: {size: 1Gi}}, services: {serve: {replicas: 2}}}
"""


def build(folder: Path) -> Result:
    """Build a folder with the kustomize that `check` uses."""
    tool = tools.find_kustomize()
    assert tool is not None, "tests need the extra `kustomize`"
    result = tools.run([*tool.prefix, str(folder)])
    return Result(result.returncode, result.stdout, result.stderr)


@pytest.mark.parametrize("place", ["", "/foundation", "/pipeline", "/serving"])
def test_every_overlay_builds_what_was_planned(place: str, tmp_path: Path) -> None:
    """One build over many roots saves a process each; a parent that only lists folders changes nothing in them."""
    expected: list[Body] = []
    folders: list[str] = []
    for compilation in sample():
        for item in compilation.projects:
            write_tree(tmp_path, item.layout.files)
            for folder, built in item.layout.builds.items():
                if folder.count("/") == 2 + bool(place) and folder.endswith(place):
                    folders.append(folder)
                    expected += built
    assert len(folders) > 20
    (tmp_path / "kustomization.yaml").write_text(yamltext.dump({"resources": folders}))
    result = build(tmp_path)
    assert result.code == 0, result.stderr
    assert list(kustomize.compare(expected, yamltext.load_all(result.stdout))) == []


@pytest.fixture
def generated(tmp_path: Path) -> Path:
    """Return generated/ of a root whose environments patch a claim and a service."""
    root = make_root(tmp_path, _PROJECT, {"dev": ENVIRONMENT, "prod": ENVIRONMENT, "common": ENVIRONMENT})
    assert mlspec(root, "generate").code == 0
    return root / "generated" / "demo"


@pytest.mark.parametrize(
    ("place", "before", "after"),
    [
        ("foundation", 'storage: "10Gi"', 'storage: "20Gi"'),
        ("serving", "minReplicas: 1", "minReplicas: 5"),
        ("serving", "maxReplicas: 1", "maxReplica: 1"),
    ],
)
def test_a_patch_refuses_another_base(place: str, before: str, after: str, generated: Path) -> None:
    base = generated / "base" / place / "resources.yaml"
    overlay = generated / "overlays" / "dev" / place
    assert "op: test" in (overlay / "kustomization.yaml").read_text()
    assert build(overlay).code == 0
    text = base.read_text()
    assert before in text
    base.write_text(text.replace(before, after))
    result = build(overlay)
    assert result.code != 0
    assert "test" in result.stderr or "no matches" in result.stderr, result.stderr


def test_a_base_that_lost_an_object_builds_something_that_check_refuses(generated: Path) -> None:
    """kustomize leaves out a patch whose target is not there, without a word."""
    base = generated / "base" / "foundation" / "resources.yaml"
    documents = yamltext.load_all(base.read_text())
    before = yamltext.load_all(build(generated / "overlays" / "dev").stdout)
    base.write_text(yamltext.dump_all(body for body in documents if body["kind"] != "PersistentVolumeClaim"))
    result = build(generated / "overlays" / "dev")
    assert result.code == 0
    differences = list(kustomize.compare(before, yamltext.load_all(result.stdout)))
    assert differences[1:] == ["v1 PersistentVolumeClaim demo-dev data is planned but not built"]
    checked = mlspec(generated.parent.parent, "check")
    assert checked.code == 1
    assert "MLS503" in checked.stdout


def test_only_additions_are_guarded_by_the_name(tmp_path: Path) -> None:
    annotated = ENVIRONMENT.replace("digests: off", "digests: off, pullSecrets: [registry]")
    root = make_root(tmp_path, "steps: {a: {kind: job, image: 'i:1'}}\n", {"common": ENVIRONMENT, "dev": annotated})
    assert mlspec(root, "generate").code == 0
    [patch] = yamltext.load_all((root / "generated/demo/overlays/dev/foundation/kustomization.yaml").read_text())[0][
        "patches"
    ]
    assert yamltext.load_all(patch["patch"])[0] == [
        {"op": "test", "path": "/metadata/name", "value": "a"},
        {"op": "add", "path": "/imagePullSecrets", "value": [{"name": "registry"}]},
    ]
