"""Law 1, deterministic: the same inputs give the same bytes, wherever, whenever and in whatever order they lie."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings

import mlspec as package
from mlspec import admin
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.samples import sample
from tests.strategies import Root, roots
from tests.support import ENVIRONMENT, REPOSITORY, make_root, mlspec, snapshot, write_tree

_PROJECT = """\
volumes: {data: {size: 10Gi, access: ReadWriteMany}, scratch: {size: 1Gi}}
secrets: {hub: {keys: [token]}}
steps:
  prepare: {kind: job, image: "python:3.12-slim", mounts: {scratch: /s, data: /d}, env: {B: b}}
  clean: {kind: job, image: "python:3.12-slim", args: {z: 1, a: 2}, egress: [s3], env: {A: {secret: hub, key: token}}}
  train: {kind: pytorch, image: "i:1", needs: [prepare, clean], nodes: 4, gpu: 1, resources: {rdma/ib: 1, a.com/x: 2}}
services:
  serve: {kind: kserve, model: {format: onnx, uri: "s3://b/m"}}
  also: {kind: kserve, model: {format: sklearn, uri: "pvc://data/m"}, replicas: {min: 1, max: 2}}
environments: {prod: {services: {serve: {replicas: 3}}}}
"""
_ENVIRONMENTS = {"dev": ENVIRONMENT, "prod": ENVIRONMENT, "prod-eu": ENVIRONMENT}


def _subprocess(root: Path, seed: str, zone: str) -> dict[str, bytes]:
    environment = {**os.environ, "PYTHONHASHSEED": seed, "TZ": zone, "PYTHONPATH": str(REPOSITORY), "LC_ALL": "C"}
    command = [sys.executable, "-m", "mlspec", "generate"]
    result = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    return snapshot(root / "generated")


def test_neither_hash_seed_nor_place_nor_zone_shows(tmp_path: Path) -> None:
    places = [tmp_path / "a", tmp_path / "elsewhere" / "deep er" / "b", tmp_path / "ü"]
    found = [
        _subprocess(make_root(place, _PROJECT, _ENVIRONMENTS), seed, zone)
        for place, seed, zone in zip(places, ("0", "1", "4242"), ("UTC", "Asia/Tokyo", "America/Lima"), strict=True)
    ]
    assert len(found[0]) > 20
    assert found[0] == found[1] == found[2]


def _times(root: Path) -> dict[Path, tuple[int, int, int]]:
    found = {path: path.stat() for path in (root / "generated").rglob("*")}
    return {path: (stat.st_ino, stat.st_mtime_ns, stat.st_ctime_ns) for path, stat in found.items()}


def test_a_second_generate_writes_nothing(tmp_path: Path) -> None:
    root = make_root(tmp_path, _PROJECT, _ENVIRONMENTS)
    assert mlspec(root, "generate").code == 0
    before = _times(root)
    again = mlspec(root, "generate")
    assert again.code == 0
    assert "0 of" in again.stderr
    assert _times(root) == before
    assert mlspec(root, "generate", "--check").code == 0


def test_no_path_no_date_no_version(tmp_path: Path) -> None:
    root = make_root(tmp_path, _PROJECT, _ENVIRONMENTS)
    assert mlspec(root, "generate").code == 0
    for name, content in snapshot(root / "generated").items():
        text = re.sub(r"^ +(value|- ?mountPath|mountPath): /tmp$", "", content.decode(), flags=re.MULTILINE)
        for word in (str(root), str(REPOSITORY), "/tmp", str(Path.home() / "x").removesuffix("x")):  # noqa: S108
            assert word not in text, name
        assert not re.search(r"\d{4}-\d{2}-\d{2}|\d{2}:\d{2}:\d{2}", text), name
        assert package.__version__ not in re.sub(r"sha256:[0-9a-f]+|v?\d+\.\d+\.\d+\.\d+(/\d+)?", "", text), name


@contextmanager
def listed_backwards(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """List every folder backwards."""
    real_list, real_scan = os.listdir, os.scandir

    class Backwards:
        def __init__(self, path: Any = ".") -> None:
            with real_scan(path) as found:
                self._entries: Iterator[os.DirEntry[str]] = iter(sorted(found, key=lambda e: e.name, reverse=True))

        def __iter__(self) -> Iterator[os.DirEntry[str]]:
            return self._entries

        def __next__(self) -> os.DirEntry[str]:
            return next(self._entries)

        def __enter__(self) -> Backwards:
            return self

        def __exit__(self, *args: object) -> None: ...

        def close(self) -> None: ...

    def listed(path: Any = ".") -> list[str]:
        return sorted(real_list(path), reverse=True)

    with monkeypatch.context() as patched:
        patched.setattr(os, "listdir", listed)
        patched.setattr(os, "scandir", Backwards)
        yield


def test_the_order_of_listings_does_not_show(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Several files: projects in folders, and runs that were superseded before."""
    head = "apiVersion: mlspec.dev/v1alpha1\nkind: Project\nowner: t\nname: "
    texts = {name: f"{head}{name}\n{_PROJECT}" for name in "cab"}
    root = make_root(tmp_path, None, _ENVIRONMENTS)

    def generate(tag: str) -> None:
        for name, text in texts.items():
            write_tree(root, {f"{name}/mlproject.yaml": text.replace("slim", tag)})
        assert mlspec(root, "generate").code == 0

    with listed_backwards(monkeypatch):
        generate("slim")
        generate("alpine")
    backwards = snapshot(root / "generated")
    assert mlspec(root, "generate", "--check").code == 0
    (root / "generated").rename(root / "before")
    generate("slim")
    generate("alpine")
    assert snapshot(root / "generated") == backwards


@settings(max_examples=15)
@given(root=roots())
def test_random_roots_are_stable_on_disk(root: Root, tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = root.write(tmp_path_factory.mktemp("root"))
    first = mlspec(folder, "generate")
    assert first.code == 0, first.output
    before = snapshot(folder / "generated")
    assert mlspec(folder, "generate", "--check").code == 0
    assert mlspec(folder, "generate").code == 0
    assert snapshot(folder / "generated") == before
    copy = compile_workspace(load(root.write(tmp_path_factory.mktemp("copy"))))
    files = {path: content for item in copy.projects for path, content in item.layout.files.items()}
    files |= admin.files(environment.model for environment in copy.workspace.environments.values())
    assert files == {path: content for path, content in before.items() if not path.endswith("mlspec.lock")}


def test_every_file_ends_in_one_newline() -> None:
    for compilation in sample():
        for item in compilation.projects:
            assert all(
                content.endswith(b"\n") and not content.endswith(b"\n\n") for content in item.layout.files.values()
            )
