"""The real kustomize builds every overlay, and what it builds must be what was planned (law 2)."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from mlspec import cache, yamltext
from mlspec.check import tools
from mlspec.check.tools import Tool
from mlspec.k8s.resource import Body


@dataclass(frozen=True, slots=True)
class Build:
    """One overlay of a project: its files, the folder to build and the objects that must come out."""

    project: str
    folder: str
    files: Mapping[str, bytes]
    expected: Sequence[Body]


def build(tool: Tool, item: Build, *, afresh: bool = False) -> list[tuple[str, str]]:
    """Return (code, message) for everything that is wrong with an overlay.

    One that is known to build costs no process, unless it is built `afresh`.
    """
    contents = [part for path, content in sorted(item.files.items()) for part in (path, content)]
    key = tools.content_key(tool, [item.folder, *contents, json.dumps(item.expected, sort_keys=True)])
    if not afresh and cache.recall("builds", key) == "equal":
        return []
    faults = _faults(tool, item)
    if not faults:
        cache.remember("builds", key, "equal")
    return faults


def _faults(tool: Tool, item: Build) -> list[tuple[str, str]]:
    with tempfile.TemporaryDirectory(prefix="mlspec-") as folder:
        for path, content in item.files.items():
            target = Path(folder) / path
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        result = tools.run([*tool.prefix, str(Path(folder) / item.folder)])
    if result.returncode != 0:
        reason = result.stderr.replace(folder, "").strip().splitlines()
        return [("MLS304", f"kustomize cannot build it: {reason[-1] if reason else 'no reason given'}")]
    try:
        return [("MLS305", words) for words in compare(item.expected, yamltext.load_all(result.stdout))]
    except yaml.YAMLError:
        return [("MLS304", "kustomize built something that is not YAML")]


def compare(expected: Sequence[Body], built: Sequence[Body]) -> Iterator[str]:
    """Yield how built objects differ from the expected ones, field by field; order does not matter."""
    wanted, found = {_identity(body): body for body in expected}, {_identity(body): body for body in built}
    if len(built) != len(expected):
        yield f"{len(built)} objects are built, {len(expected)} are planned"
    for identity in sorted(wanted.keys() | found.keys()):
        name = " ".join(part for part in identity if part)
        if identity not in found:
            yield f"{name} is planned but not built"
        elif identity not in wanted:
            yield f"{name} is built but not planned"
        else:
            yield from (f"{name}: {difference}" for difference in _differences(wanted[identity], found[identity], ""))


def _identity(body: Body) -> tuple[str, str, str, str]:
    metadata = body["metadata"]
    return body["apiVersion"], body["kind"], metadata.get("namespace", ""), metadata["name"]


def _differences(wanted: Any, found: Any, path: str) -> Iterator[str]:
    if isinstance(wanted, dict) and isinstance(found, dict):
        for key in sorted(wanted.keys() | found.keys()):
            here = f"{path}.{key}" if path else key
            if key not in found:
                yield f"{here} is absent, planned {json.dumps(wanted[key])[:80]}"
            elif key not in wanted:
                yield f"{here} is {json.dumps(found[key])[:80]}, not planned"
            else:
                yield from _differences(wanted[key], found[key], here)
    elif isinstance(wanted, list) and isinstance(found, list) and len(wanted) == len(found):
        for index, (left, right) in enumerate(zip(wanted, found, strict=True)):
            yield from _differences(left, right, f"{path}[{index}]")
    elif wanted != found or type(wanted) is not type(found):
        yield f"{path} is {json.dumps(found)[:80]}, planned {json.dumps(wanted)[:80]}"
