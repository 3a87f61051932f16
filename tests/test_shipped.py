"""Files of the repository that travel with a run: what reaches the ConfigMap, what names the run, what is refused."""

from __future__ import annotations

import base64
import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlspec import yamltext
from mlspec.check import tools
from mlspec.kinds.job import JobSpec
from mlspec.model.handover import repository_path
from mlspec.plan.runs import shipped
from tests.support import ENVIRONMENT, PROJECT, SCRATCH, make_root, mlspec, objects, write_tree

_PROJECT = """\
volumes: {models: {size: 1Gi, access: ReadWriteMany}}
steps:
  train: {kind: job, image: "a/b:1", script: src/train.py, files: {conf/a.json: /etc/a.json}, mounts: {models: /m}}
  evaluate: {kind: job, needs: [train], image: "a/b:1", command: [evaluate], mounts: {models: /m}}
  other: {kind: job, image: "a/b:1", command: [other]}
"""
_FILES: dict[str, str | bytes] = {"src/train.py": "print('trains')\n", "conf/a.json": "{}\n"}
_MEBIBYTE = 1 << 20


def _root(folder: Path, project: str = _PROJECT, files: dict[str, str | bytes] | None = None) -> Path:
    return write_tree(make_root(folder, project), _FILES if files is None else files)


def _written(root: Path) -> Path:
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    return root


def _runs(root: Path) -> dict[str, str]:
    """Return the file name of each step's current run."""
    text = (root / "generated/demo/overlays/dev/pipeline/kustomization.yaml").read_text()
    return {name.rpartition("-")[0]: name for name in yamltext.load_all(text)[0]["resources"]}


def _built(root: Path) -> list[dict[str, Any]]:
    """Return what kustomize makes of the overlay."""
    tool = tools.find_kustomize()
    assert tool is not None
    result = tools.run([*tool.prefix, str(root / "generated/demo/overlays/dev")])
    assert result.returncode == 0, result.stderr
    return list(yamltext.load_all(result.stdout))


def _contents(config_map: dict[str, Any]) -> dict[str, bytes]:
    binary = {key: base64.b64decode(value) for key, value in config_map.get("binaryData", {}).items()}
    return {key: value.encode() for key, value in config_map.get("data", {}).items()} | binary


def test_a_run_finds_its_files_where_they_are_mounted(tmp_path: Path) -> None:
    root = _written(_root(tmp_path))
    built = {(body["kind"], body["metadata"]["name"]): body for body in _built(root)}
    run = _runs(root)["train"].removesuffix(".yaml")
    config_map, job = built["ConfigMap", f"{run}-files"], built["Job", run]
    assert config_map["immutable"] is True
    assert _contents(config_map) == {"src_train.py": b"print('trains')\n", "conf_a.json": b"{}\n"}
    pod = job["spec"]["template"]["spec"]
    assert {"name": "mlspec-files", "configMap": {"name": f"{run}-files"}} in pod["volumes"]
    main = pod["containers"][0]
    assert main["command"][-2:] == ["python", "/mlspec/src/train.py"]
    mounts = {mount["mountPath"]: mount for mount in main["volumeMounts"]}
    assert mounts["/mlspec/src/train.py"] == {
        "name": "mlspec-files",
        "mountPath": "/mlspec/src/train.py",
        "subPath": "src_train.py",
        "readOnly": True,
    }
    assert mounts["/etc/a.json"]["subPath"] == "conf_a.json"


@settings(max_examples=25, deadline=None)
@given(st.binary(max_size=200) | st.text(max_size=60).map(lambda text: text.encode("utf-8", "surrogatepass")))
def test_every_byte_reaches_the_config_map(tmp_path_factory: pytest.TempPathFactory, content: bytes) -> None:
    root = _written(_root(tmp_path_factory.mktemp("root"), files={**_FILES, "src/train.py": content}))
    config_map = next(body for body in _built(root) if body["kind"] == "ConfigMap")
    assert _contents(config_map)["src_train.py"] == content


@pytest.mark.parametrize("path", sorted(_FILES))
def test_other_bytes_are_another_run_of_the_step_and_its_dependants_alone(tmp_path: Path, path: str) -> None:
    root = _written(_root(tmp_path))
    before = _runs(root)
    (root / path).write_text("# other bytes\n")
    assert mlspec(root, "generate", "--check").code == 1
    after = _runs(_written(root))
    assert {step for step in before if before[step] != after[step]} == {"train", "evaluate"}
    write_tree(root, _FILES)
    assert _runs(_written(root)) == before


def test_a_file_that_nobody_ships_means_nothing(tmp_path: Path) -> None:
    root = _written(_root(tmp_path))
    (root / "src/other.py").write_text("print()\n")
    assert mlspec(root, "generate", "--check").code == 0


def test_the_lock_lists_what_was_read(tmp_path: Path) -> None:
    root = _written(_root(tmp_path))
    inputs = json.loads((root / "generated/demo/mlspec.lock").read_text())["inputs"]
    assert set(inputs) == {"../mlproject.yaml", "../environments/dev.yaml", "../src/train.py", "../conf/a.json"}


def test_paths_begin_at_the_project_and_stay_in_the_root(tmp_path: Path) -> None:
    root = make_root(tmp_path)
    project = PROJECT + _PROJECT
    write_tree(root, {"teams/vision/mlproject.yaml": project, **{f"teams/vision/{k}": v for k, v in _FILES.items()}})
    _written(root)
    inputs = json.loads((root / "generated/demo/mlspec.lock").read_text())["inputs"]
    assert "../teams/vision/src/train.py" in inputs


def test_one_file_has_one_key_and_keys_never_meet(tmp_path: Path) -> None:
    project = """\
steps:
  a:
    kind: job
    image: "a/b:1"
    script: x/y.py
    files: {x/y.py: /again.py, x_y.py: /other.py, "x y.py": /third.py}
"""
    files: dict[str, str | bytes] = {"x/y.py": "1\n", "x_y.py": "2\n", "x y.py": "3\n"}
    root = _written(_root(tmp_path, project, files))
    config_map, job = (next(b for b in objects(root) if b["kind"] == kind) for kind in ("ConfigMap", "Job"))
    contents = _contents(config_map)
    assert sorted(contents.values()) == [b"1\n", b"2\n", b"3\n"]
    mounts = job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    found = {mount["mountPath"]: contents[mount["subPath"]] for mount in mounts if mount != SCRATCH}
    assert found == {"/mlspec/x/y.py": b"1\n", "/again.py": b"1\n", "/other.py": b"2\n", "/third.py": b"3\n"}


_PARTS = st.text("ab.-_ é", min_size=1, max_size=4) | st.just("x" * 120) | st.sampled_from(["..y", "...", "a_b", "a b"])
_PATHS = st.lists(_PARTS.filter(lambda part: part not in (".", "..")), min_size=1, max_size=4).map("/".join)
_KEY_RULE = re.compile(r"[-._a-zA-Z0-9]{1,253}")


def _keys(paths: list[str]) -> dict[str, str]:
    """Return the key of each path in the ConfigMap."""
    files = {path: f"/x/{index}" for index, path in enumerate(paths)}
    spec = JobSpec.model_construct(files=files)
    return {file.source: file.key for file in shipped(spec, dict.fromkeys(paths, b""))}


@given(st.lists(_PATHS.map(repository_path), max_size=8, unique=True))
@example(["..y.py", ".", "..", "...", "_.y.py"])
@example(["/".join(["x" * 100] * 3), "y/" + "/".join(["x" * 100] * 3), "a" + "/.." + "x" * 198])
def test_every_path_has_a_key_of_its_own_that_kubernetes_accepts(paths: list[str]) -> None:
    keys = _keys(paths)
    assert keys.keys() == set(paths)
    assert len(set(keys.values())) == len(paths)
    for key in keys.values():
        assert _KEY_RULE.fullmatch(key)
        assert key != "."
        assert not key.startswith("..")


def test_a_file_that_is_called_like_the_key_of_another_has_a_key_too() -> None:
    hashed = _keys(["a b", "a_b"])["a_b"]
    assert hashed.startswith("a_b-")
    assert len(set(_keys(["a b", "a_b", hashed, hashed.replace("_", " "), f"{hashed}-2"]).values())) == 5


def test_a_script_with_two_dots_is_shipped(tmp_path: Path) -> None:
    project = 'steps: {a: {kind: job, image: "a/b:1", script: ..y.py}}\n'
    root = _written(_root(tmp_path, project, {"..y.py": "1\n"}))
    assert _contents(next(body for body in objects(root) if body["kind"] == "ConfigMap")) == {"_.y.py": b"1\n"}


def test_a_file_is_mounted_at_the_clean_path(tmp_path: Path) -> None:
    project = 'steps: {a: {kind: job, image: "a/b:1", script: t.py, files: {t.py: //mlspec//t.py, b: /x//b/}}}\n'
    root = _written(_root(tmp_path, project, {"t.py": "1\n", "b": "2\n"}))
    job = next(body for body in objects(root) if body["kind"] == "Job")
    mounts = job["spec"]["template"]["spec"]["containers"][0]["volumeMounts"]
    assert [mount["mountPath"] for mount in mounts if mount != SCRATCH] == ["/x/b", "/mlspec/t.py"]


def test_a_file_above_one_mebibyte_is_refused(tmp_path: Path) -> None:
    root = _root(tmp_path, files={**_FILES, "src/train.py": b"#" * (_MEBIBYTE + 1)})
    result = mlspec(root, "check")
    assert result.code == 1
    assert "error[MLS246]: `src/train.py` has more than 1 MiB; a run ships at most that" in result.stdout
    assert "mlproject.yaml:7:46" in result.stdout
    assert "put it into the image, or on a volume" in result.stdout


def test_files_that_are_too_large_together_are_refused_with_the_sum(tmp_path: Path) -> None:
    half = b"#" * (_MEBIBYTE // 2)
    files: dict[str, str | bytes] = {"src/train.py": half, "conf/a.json": half}
    assert mlspec(_root(tmp_path / "fits", files=files), "generate").code == 0
    files["conf/a.json"] = half + b"#"
    result = mlspec(_root(tmp_path / "not", files=files), "check")
    assert result.code == 1
    assert "524289 (conf/a.json) + 524288 (src/train.py) = 1048577 > 1048576 bytes" in result.stdout


def test_a_link_on_the_way_is_refused_even_inside_the_root(tmp_path: Path) -> None:
    root = _root(tmp_path, files={"real/train.py": "print()\n", "conf/a.json": "{}\n"})
    (root / "src").symlink_to("real")
    result = mlspec(root, "check")
    assert "error[MLS246]: `src` is a symbolic link" in result.stdout


def test_a_pipe_and_a_file_that_cannot_be_read_end_in_a_finding(tmp_path: Path) -> None:
    root = _root(tmp_path, files={"conf/a.json": "{}\n"})
    (root / "src").mkdir()
    os.mkfifo(root / "src/train.py")
    assert "error[MLS246]: `src/train.py` is not a regular file" in mlspec(root, "check").stdout


def test_a_script_of_a_role_is_shipped_with_the_job(tmp_path: Path) -> None:
    project = """\
steps:
  train:
    kind: tensorflow
    image: "tensorflow/tensorflow:2.19.0"
    script: src/train.py
    roles: {worker: {}, evaluator: {script: src/evaluate.py}, ps: {command: [serve]}}
"""
    root = _written(_root(tmp_path, project, {"src/train.py": "1\n", "src/evaluate.py": "2\n"}))
    found = objects(root)
    assert len(_contents(next(body for body in found if body["kind"] == "ConfigMap"))) == 2
    specs = next(body for body in found if body["kind"] == "TFJob")["spec"]["tfReplicaSpecs"]
    commands = {role: spec["template"]["spec"]["containers"][0]["command"] for role, spec in specs.items()}
    assert commands["Worker"] == ["python", "/mlspec/src/train.py"]
    assert commands["Evaluator"] == ["python", "/mlspec/src/evaluate.py"]
    assert commands["PS"] == ["serve"]


def test_a_missing_file_is_said_once_for_all_environments(tmp_path: Path) -> None:
    root = make_root(tmp_path, _PROJECT, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    result = mlspec(write_tree(root, {"conf/a.json": "{}\n"}), "check")
    assert result.stdout.count("there is no file `src/train.py`") == 1
