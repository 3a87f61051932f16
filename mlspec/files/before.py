"""Objects as the last complete run wrote them: read from generated/, patches applied; what is not ours is not read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from mlspec import yamltext
from mlspec.files import disk
from mlspec.files.lock import State
from mlspec.ir import Place
from mlspec.k8s.resource import Body
from mlspec.layout import KUSTOMIZATION, RESOURCES


@dataclass(frozen=True, slots=True)
class Before:
    """What a folder of an overlay built to."""

    namespace: str | None = None
    objects: Mapping[tuple[str, str], Body] = field(default_factory=dict)
    """By kind and name."""

    def named(self, kind: str) -> dict[str, Body]:
        """Return the objects of a kind by name."""
        return {name: body for (found, name), body in self.objects.items() if found == kind}


def mentions(generated: Path, state: State, project: str, environment: str, place: Place, word: str) -> bool:
    """Say whether a word stands anywhere in what a folder of an overlay is made of."""
    paths = [path for path in state.owned if path.startswith(_folders(project, environment, place))]
    return any(word.encode() in (disk.read(generated, path) or b"") for path in paths)


def _folders(project: str, environment: str, place: Place) -> tuple[str, str]:
    return f"{project}/overlays/{environment}/{place}/", f"{project}/base/{place}/"


def read(generated: Path, state: State, project: str, environment: str, place: Place) -> Before:
    """Return what a folder of an overlay built to; nothing, where it cannot be read."""
    overlay, base = _folders(project, environment, place)
    found: dict[tuple[str, str], Body] = {}
    namespace = None
    patches: list[Mapping[str, Any]] = []
    try:
        inherits = False
        for body in _documents(generated, state, overlay + KUSTOMIZATION):
            inherits = any("base" in resource for resource in body["resources"])
            patches, namespace = body.get("patches", []), body.get("namespace")
        for path in ([base + RESOURCES] if inherits else []) + [overlay + RESOURCES]:
            for body in _documents(generated, state, path):
                found[body["kind"], body["metadata"]["name"]] = body
        for patch in patches:
            key = (patch["target"]["kind"], patch["target"]["name"])
            found[key] = _patched(found[key], yamltext.load_all(patch["patch"]))
    except (KeyError, IndexError, TypeError, AttributeError, ValueError, yaml.YAMLError):
        return Before()
    return Before(namespace, found)


def _patched(body: Body, documents: list[Any]) -> Body:
    """Apply our own kind of patch: operations on fields of maps, and on whole lists."""
    for operation in (item for document in documents for item in document):
        if operation["op"] == "test":
            continue
        *parents, last = [part.replace("~1", "/").replace("~0", "~") for part in operation["path"].split("/")[1:]]
        node: Any = body
        for part in parents:
            node = node[int(part)] if isinstance(node, list) else node[part]
        key: Any = int(last) if isinstance(node, list) else last
        if operation["op"] == "remove":
            del node[key]
        else:
            node[key] = operation["value"]
    return body


def _documents(generated: Path, state: State, path: str) -> list[Any]:
    content = disk.read(generated, path) if path in state.owned else None
    return yamltext.load_all(content.decode("utf-8", "replace")) if content is not None else []
