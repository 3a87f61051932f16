"""Claims as they were generated before, against the plan: what Kubernetes would refuse to change.

A claim may grow; its class and access mode are for ever, and it never shrinks. The claims of the last complete run
are read from generated/, patches applied.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import yaml

from mlspec import yamltext
from mlspec.files import disk
from mlspec.files.lock import State
from mlspec.ir import Place
from mlspec.k8s.resource import Body, Resource
from mlspec.layout import KUSTOMIZATION, RESOURCES
from mlspec.model.quantity import amount

_KIND = "PersistentVolumeClaim"


def check_claims(
    generated: Path, state: State, project: str, environment: str, resources: list[Resource]
) -> Iterator[tuple[Resource, str, str, str]]:
    """Yield (claim, field of the volume, what is wrong, help) for every change that a claim cannot make."""
    before = _before(generated, state, project, environment)
    for resource in resources:
        old = before.get(resource.key.name)
        if resource.body["kind"] != _KIND or old is None:
            continue
        new = resource.body["spec"]
        for field, was, now in (
            ("class", old.get("storageClassName"), new.get("storageClassName")),
            ("access", *(spec["accessModes"][0] for spec in (old, new))),
        ):
            if was != now:
                message = f"the {field} of a claim cannot change, from {was} to {now}"
                yield resource, field, message, "use a new volume, and copy the data"
        was, now = (spec["resources"]["requests"]["storage"] for spec in (old, new))
        if amount(now) < amount(was):
            yield resource, "size", f"a claim cannot shrink, from {was} to {now}", f"write `{was}` or more"


def _before(generated: Path, state: State, project: str, environment: str) -> dict[str, Body]:
    """Return the specs of the claims that the last run wrote, by name; what cannot be read was not ours."""
    base = f"{project}/base/{Place.FOUNDATION}/{RESOURCES}"
    overlay = f"{project}/overlays/{environment}/{Place.FOUNDATION}"
    found: dict[str, Body] = {}
    try:
        inherits = False
        patches: list[Mapping[str, Any]] = []
        for body in _documents(generated, state, f"{overlay}/{KUSTOMIZATION}"):
            inherits = any("base" in resource for resource in body["resources"])
            patches = body.get("patches", [])
        for path in ([base] if inherits else []) + [f"{overlay}/{RESOURCES}"]:
            found |= {
                b["metadata"]["name"]: b["spec"] for b in _documents(generated, state, path) if b["kind"] == _KIND
            }
        for patch in patches:
            if patch["target"]["kind"] == _KIND:
                _apply(found[patch["target"]["name"]], patch["patch"])
    except (KeyError, TypeError, AttributeError, yaml.YAMLError):
        return {}
    return found


def _documents(generated: Path, state: State, path: str) -> list[Any]:
    content = disk.read(generated, path) if path in state.owned else None
    return yamltext.load_all(content.decode("utf-8", "replace")) if content is not None else []


def _apply(spec: Body, text: str) -> None:
    """Apply our own kind of patch to a claim's spec: operations on fields of maps, and on whole lists."""
    for operation in (item for document in yamltext.load_all(text) for item in document):
        parts = operation["path"].split("/")[1:]
        if parts[0] != "spec" or operation["op"] == "test":
            continue
        node: Any = spec
        for part in parts[1:-1]:
            node = node[int(part)] if isinstance(node, list) else node[part]
        last = int(parts[-1]) if isinstance(node, list) else parts[-1]
        if operation["op"] == "remove":
            del node[last]
        else:
            node[last] = operation["value"]
