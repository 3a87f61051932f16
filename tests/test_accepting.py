"""What a project can accept with `allow`, and what it cannot, whatever the reason."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support import ENVIRONMENT, PROJECT, make_root, mlspec

_LOCKED = """\
steps:
  train:
    kind: job
    image: "ghcr.io/acme/train:1.0"
    security: {capabilities: [IPC_LOCK]}
    allow: {MLS408: "RDMA registers memory", MLS409: "it has always been so"}
"""


def _findings(folder: Path, project: str, environment: str = ENVIRONMENT) -> list[dict[str, Any]]:
    root = make_root(folder, PROJECT + project, {"dev": environment})
    assert mlspec(root, "generate").code in (0, 1)
    found: list[dict[str, Any]] = mlspec(root, "check", "--output-format", "json").json()["diagnostics"]
    return found


def _of(found: list[dict[str, Any]], code: str) -> list[dict[str, Any]]:
    return [item for item in found if item["code"] == code]


def test_pods_that_the_cluster_refuses_cannot_be_accepted(tmp_path: Path) -> None:
    found = _findings(tmp_path, _LOCKED)
    (refused,) = _of(found, "MLS409")
    assert refused["severity"] == "error"
    (useless,) = _of(found, "MLS252")
    assert "no reason changes that" in useless["message"]
    assert useless["path"] == "steps.train.allow.MLS409"


def test_in_a_namespace_of_others_they_can_be(tmp_path: Path) -> None:
    theirs = ENVIRONMENT + "namespace: {manage: false, pattern: ml}\n"
    found = _findings(tmp_path, _LOCKED, theirs)
    assert _of(found, "MLS409") == []
    assert _of(found, "MLS252") == []


def test_what_stands_in_the_environment_is_not_the_projects_to_accept(tmp_path: Path) -> None:
    """The finding is there, so it would be wrong to say that nothing is reported."""
    project = """\
allow: {MLS430: "it is nobody's"}
steps: {train: {kind: job, image: "ghcr.io/acme/a:1.0"}}
"""
    found = _findings(
        tmp_path, project, ENVIRONMENT + "serviceAccounts: {annotations: {a.example.com/api-key: hunter2}}\n"
    )
    assert {item["file"] for item in _of(found, "MLS430")} == {"environments/dev.yaml"}
    (useless,) = _of(found, "MLS252")
    assert "environments/dev.yaml" in useless["message"]


def test_a_flag_in_a_list_is_found_at_its_word(tmp_path: Path) -> None:
    """A list of flags may look like what becomes of a map; each is pointed at as it is written."""
    project = """\
steps:
  map: {kind: job, image: "ghcr.io/acme/a:1.0", script: /a.py, args: {password: hunter2x}}
  list: {kind: job, image: "ghcr.io/acme/a:1.0", script: /a.py, args: [--password, hunter2y]}
"""
    found = {item["path"]: item["range"]["start"] for item in _of(_findings(tmp_path, project), "MLS430")}
    assert found.keys() == {"steps.map.args.password", "steps.list.args.1"}
    lines = (PROJECT + project).splitlines()
    for path, word in (("steps.map.args.password", "hunter2x"), ("steps.list.args.1", "hunter2y")):
        line = next(index for index, text in enumerate(lines) if word in text)
        assert (found[path]["line"], found[path]["column"]) == (line + 1, lines[line].index(word) + 1)


def test_what_a_patch_brings_is_found_at_its_operation(tmp_path: Path) -> None:
    """Also where the key is escaped in the pointer, and where the container says nothing of what it lacks."""
    project = """\
steps:
  train:
    kind: job
    image: "ghcr.io/acme/a:1.0"
    patch:
      - {op: add, path: /metadata/labels/team, value: a}
      - {op: add, path: /spec/template/metadata/annotations/k8s.v1.cni.cncf.io~1networks, value: macvlan}
      - {op: add, path: /spec/template/spec/initContainers, value: [{name: warm, image: "ghcr.io/acme/a:1.0"}]}
"""
    found = _findings(tmp_path, project)
    brought = {"steps.train.patch.1.value", "steps.train.patch.2.value.0"}
    assert {item["path"] for item in _of(found, "MLS414")} == brought
    assert {item["path"] for item in _of(found, "MLS413")} == {"steps.train.patch.2.value.0"}
