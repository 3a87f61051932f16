"""Roots with one value changed: every scalar that a project or an environment writes, and what comes of it."""

from __future__ import annotations

import itertools
import json
import re
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from mlspec.diagnostics import has_errors
from mlspec.emit import emit, emit_argocd
from mlspec.ir import Plan
from mlspec.plan.resolve import build_plan
from mlspec.provenance import Path as Field
from mlspec.provenance import View
from mlspec.source import Mapping as Tree
from mlspec.source import Node, Scalar, read
from mlspec.source import Sequence as Items
from mlspec.spec.load import load
from mlspec.spec.workspace import Workspace

Key = tuple[str, ...]
_PLAIN = re.compile(r"[-\w./+]+")
_WORDS = (
    ("ReadWriteOnce", "ReadWriteMany", "ReadOnlyMany"),
    ("Standard", "Knative"),
    ("keep", "delete"),
    ("pinned", "follow"),
    ("auto", "none"),
    ("restricted", "baseline", "privileged"),
    ("Immediate", "WaitForFirstConsumer"),
    ("kube-dns", "node-local"),
    ("Running", "None", "All"),
    ("allow", "deny"),
    ("Exists", "Equal"),
    ("NoSchedule", "PreferNoSchedule", "NoExecute"),
    ("v1", "v2", "grpc-v2"),
    ("seldon", "tensorflow", "v2"),
    ("SecretStore", "ClusterSecretStore"),
    ("true", "false"),
    ("1.33", "1.34", "1.35", "1.36"),
    ("0.15", "0.16"),
    ("3.3", "3.4", "3.5"),
    ("kubeflow.org/v1 1.8", "kubeflow.org/v1 1.9"),
    ("off", "warn", "error", "require"),
    ("SKLEARN_SERVER", "XGBOOST_SERVER", "MLFLOW_SERVER", "TENSORFLOW_SERVER"),
    ("sklearn", "xgboost", "onnx", "huggingface"),
)


_FIXED = (("apiVersion",), ("kind",))


class Place(NamedTuple):
    """A scalar of a root: the file, which of its documents, and the path there."""

    file: str
    document: int
    path: Key


def places(node: Node, path: Key = ()) -> Iterator[Key]:
    """Yield the path of every scalar."""
    if isinstance(node, Tree):
        for key, entry in node.entries.items():
            yield from places(entry.value, (*path, key))
    elif isinstance(node, Items):
        for index, item in enumerate(node.items):
            yield from places(item, (*path, str(index)))
    else:
        yield path


def at(node: Node, path: Key) -> Node:
    """Return the node at a path that exists."""
    for key in path:
        assert not isinstance(node, Scalar)
        node = node.entries[key].value if isinstance(node, Tree) else node.items[int(key)]
    return node


def written(node: Node) -> str:
    """Return a node as YAML on one line; scalars keep whether they stand in quotes, which decides on their type."""
    if isinstance(node, Tree):
        return (
            "{" + ", ".join(f"{json.dumps(key)}: {written(entry.value)}" for key, entry in node.entries.items()) + "}"
        )
    if isinstance(node, Items):
        return "[" + ", ".join(map(written, node.items)) + "]"
    return node.text if node.plain and _PLAIN.fullmatch(node.text) else json.dumps(node.text, ensure_ascii=False)


def changed(node: Node, path: Key, text: str | None) -> Node | None:
    """Return a node with another scalar at a path; None as text takes the scalar away."""
    if not path:
        return replace(node, text=text) if text is not None and isinstance(node, Scalar) else None
    if isinstance(node, Tree):
        entries = dict(node.entries)
        inside = changed(entries[path[0]].value, path[1:], text)
        entries = {
            key: replace(entry, value=inside) if key == path[0] and inside is not None else entry
            for key, entry in entries.items()
            if key != path[0] or inside is not None
        }
        return Tree(entries, node.span)
    assert isinstance(node, Items)
    index = int(path[0])
    inside = changed(node.items[index], path[1:], text)
    return Items((*node.items[:index], *((inside,) if inside is not None else ()), *node.items[index + 1 :]), node.span)


def others(text: str) -> Iterator[str]:
    """Yield values that may stand in the place of a text; which of them fit, the compiler says."""
    for group in _WORDS:
        if text in group:
            yield from (word for word in group if word != text)
    number = re.search(r"[0-9]+", text)
    if number is not None:
        for more in (1, -1):
            value = max(0, int(number[0]) + more)
            yield f"{text[: number.start()]}{value}{text[number.end() :]}"
    for word in (
        f"{text}x",
        f"x{text}",
        f"X{text}",
        text.replace("/", "/x", 1),
        text.replace("//", "//x", 1),
        f"{text}X",
    ):
        if word != text:
            yield word


@dataclass(frozen=True)
class Emitted:
    """What comes of a root: by (project, environment) the plan and every object, with what was asked of it."""

    workspace: Workspace
    plans: Mapping[tuple[str, str], Plan]
    views: Mapping[tuple[str, str], list[View]]

    @cached_property
    def runs(self) -> dict[str, str]:
        """Names of runs as they are compared: by the step, since each hashes all of its inputs."""
        found = {}
        for plan in self.plans.values():
            for stated in plan.steps:
                found[stated.workload.object_name] = f"{stated.workload.name}-RUN"
        return found

    def masked(self, value: Any) -> Any:
        """Return a value with the names of runs masked."""
        if isinstance(value, dict):
            return {key: self.masked(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.masked(item) for item in value]
        if isinstance(value, str):
            for name, mask in self.runs.items():
                value = value.replace(name, mask)
        return value


def emitted(root: Path) -> Emitted | None:
    """Return what comes of a root; None where something is wrong with it."""
    workspace = load(root)
    if has_errors(workspace.diagnostics):
        return None
    plans: dict[tuple[str, str], Plan] = {}
    views: dict[tuple[str, str], list[View]] = {}
    for index, project in enumerate(workspace.projects):
        for name, variant in project.variants.items():
            environment = workspace.environments[name]
            plan, found = build_plan(variant, environment, project.base)
            if has_errors(found) or variant.repaired is not None or environment.damaged:
                return None
            resources = emit(plan, environment.model.kubernetes)
            pairs = [(resource.body, resource.origin) for resource in resources if resource.patched is None]
            pairs += [(body, ("name",)) for body in emit_argocd(plan, resources)]
            key = (str(index), name)
            plans[key] = plan
            views[key] = [View(plan, body, origin, variant, environment) for body, origin in pairs]
    return Emitted(workspace, plans, views)


class Root:
    """A root on disk whose values can be changed one at a time."""

    def __init__(self, folder: Path, copy: Path) -> None:
        self.folder = Path(shutil.copytree(folder, copy, symlinks=True))
        shutil.rmtree(self.folder / "generated", ignore_errors=True)
        files = [*self.folder.rglob("mlproject.yaml"), *(self.folder / "environments").glob("*.yaml")]
        self.trees: dict[str, list[Tree]] = {}
        for path in files:
            name = path.relative_to(self.folder).as_posix()
            self.trees[name] = read(name, path.read_bytes())[0]
            self._write(name, self.trees[name])

    def _write(self, name: str, trees: list[Tree]) -> None:
        (self.folder / name).write_text("".join(f"---\n{written(tree)}\n" for tree in trees))

    def places(self) -> Iterator[Place]:
        """Yield every scalar."""
        for file, trees in self.trees.items():
            for index, tree in enumerate(trees):
                yield from (Place(file, index, path) for path in places(tree) if path not in _FIXED)

    def changes(self, place: Place) -> Iterator[Emitted]:
        """Yield what comes of a root with another value at a place, and without it, where that fits."""
        trees = self.trees[place.file]
        node = at(trees[place.document], place.path)
        assert isinstance(node, Scalar)
        try:
            another = (found for text in others(node.text) if (found := self._with(place, text)) is not None)
            yield from itertools.islice(another, 1)
            without = self._with(place, None)
            yield from (without,) if without is not None else ()
        finally:
            self._write(place.file, trees)

    def _with(self, place: Place, text: str | None) -> Emitted | None:
        trees = self.trees[place.file]
        tree = changed(trees[place.document], place.path, text)
        assert isinstance(tree, Tree)
        self._write(place.file, [*trees[: place.document], tree, *trees[place.document + 1 :]])
        return emitted(self.folder)


Difference = tuple[Field | None, Field | None]
"""A field as it is called before and after; None where there is none."""


def differences(before: Any, after: Any, here: Field = (), there: Field = ()) -> Iterator[Difference]:
    """Yield the fields that differ: of what is new or gone the whole, of lists of words that grew the list.

    Items of lists are compared by their name, where they have one.
    """
    if isinstance(before, dict) and isinstance(after, dict):
        keys = {**before, **after}
        yield from _pairs(before, after, [(key if key in before else None, key) for key in keys], here, there)
    elif isinstance(before, list) and isinstance(after, list) and (_named(before, after) or len(before) == len(after)):
        old, new = _names(before), _names(after)
        yield from _pairs(before, after, [(old.get(name), new.get(name)) for name in {**old, **new}], here, there)
    elif before != after:
        yield here, there


def _pairs(before: Any, after: Any, keys: Any, here: Field, there: Field) -> Iterator[Difference]:
    for one, other in keys:
        gone = other is None or (isinstance(after, dict) and other not in after)
        if one is not None and not gone:
            yield from differences(before[one], after[other], (*here, one), (*there, other))
        else:
            yield ((*here, one), None) if gone else (None, (*there, other))


def _named(*lists: list[Any]) -> bool:
    return all(isinstance(item, dict) and "name" in item for items in lists for item in items)


def _told_apart(item: Any) -> Any:
    """Return the name of an item; of a mounted file, the file's."""
    if isinstance(item, dict) and "subPath" in item:
        return (item["subPath"], item["mountPath"])
    return item.get("name") if isinstance(item, dict) else None


def _names(items: list[Any]) -> dict[Any, int]:
    """Return where each item of a list stands, by what tells it from the others."""
    names = [_told_apart(item) for item in items]
    found: dict[Any, int] = {}
    for index, item in enumerate(items):
        alone = names[index] is not None and names.count(names[index]) == 1
        mounted = item.get("mountPath", index) if isinstance(item, dict) else index
        found[names[index] if alone else (names[index], mounted)] = index
    return found


def leaves(value: Any, path: Field = ()) -> Iterator[Field]:
    """Yield the path of every value that is no map or list; of an empty one its own."""
    pairs: Any = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    pairs = list(pairs)
    if not pairs:
        yield path
    for key, item in pairs:
        yield from leaves(item, (*path, key))


def matched(before: list[View], after: list[View]) -> list[tuple[View, View]]:
    """Return the objects that are there before and after, by kind and by their number among those of the kind."""

    def numbered(views: list[View]) -> dict[tuple[str, tuple[str, ...], str, int], View]:
        found: dict[Any, View] = {}
        for view in views:
            name = str(view.body["metadata"]["name"])
            base = (view.body["kind"], view.origin, name.rpartition("-")[2] if not view.stated else "")
            count = sum(1 for key in found if key[:3] == base)
            found[(*base, count)] = view
        return found

    old, new = numbered(before), numbered(after)
    return [(old[key], new[key]) for key in old if key in new]
