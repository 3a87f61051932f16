"""Objects in, files out: base, overlays and their kustomizations as a map from path to bytes; pure.

Paths are relative to generated/. No transformer but `namespace:` and guarded patches is used: names, images
and labels are written in place, since kustomize does not follow them into custom resources.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

import yaml

from mlspec import yamltext
from mlspec.ir import Place
from mlspec.k8s import patch
from mlspec.k8s.resource import CLUSTER_SCOPED, Body, Key, Resource

FileTree = dict[str, bytes]
RESOURCES: Final = "resources.yaml"
KUSTOMIZATION: Final = "kustomization.yaml"
_BASE_PLACES: Final = (Place.FOUNDATION, Place.SERVING)
_HEADER: Final = "# Written by mlspec; edit mlproject.yaml instead.\n"


@dataclass(frozen=True, slots=True)
class PlannedEnvironment:
    """What one environment of a project consists of."""

    name: str
    namespace: str
    resources: Sequence[Resource]
    argocd: Sequence[Body]


@dataclass(slots=True)
class Layout:
    """The files of a project, and what each overlay must build to."""

    files: FileTree = field(default_factory=dict)
    builds: dict[str, list[Body]] = field(default_factory=dict)
    """Folder of an overlay, relative to generated/, to the objects that it builds."""
    superseded: list[str] = field(default_factory=list)


def lay_out(
    project: str, base: Sequence[Resource], environments: Sequence[PlannedEnvironment], runs: Mapping[str, bytes]
) -> Layout:
    """Return the files of a project.

    `runs` holds the run files that exist: a run is written once, so an existing file is taken as it is, and
    one that is not current any more is kept beside the current ones.
    """
    layout = Layout()
    shared = _shared(base, environments)
    for place in _BASE_PLACES:
        bodies = [resource.body for key, resource in shared.items() if key[0] == place]
        _folder(layout.files, f"{project}/base/{place}", {}, bodies, [])
    for environment in environments:
        _overlay(layout, project, shared, environment, runs)
    layout.superseded.sort()
    return layout


def run_path(project: str, environment: str, run: str) -> str:
    """Return the path of a run's file."""
    return f"{project}/overlays/{environment}/{Place.PIPELINE}/{run}.yaml"


def is_run_path(path: str) -> bool:
    """Say whether a path is that of a run's file."""
    parts = path.split("/")
    return len(parts) == 5 and parts[1] == "overlays" and parts[3] == Place.PIPELINE and parts[4] != KUSTOMIZATION


def _shared(base: Sequence[Resource], environments: Sequence[PlannedEnvironment]) -> dict[tuple[Place, Key], Resource]:
    """Return the objects of the base that every environment has; a run belongs to one environment alone."""
    if not environments:
        return {}
    everywhere = set.intersection(*({(item.place, item.key) for item in env.resources} for env in environments))
    return {(item.place, item.key): item for item in base if not item.is_run and (item.place, item.key) in everywhere}


def _overlay(
    layout: Layout,
    project: str,
    shared: Mapping[tuple[Place, Key], Resource],
    environment: PlannedEnvironment,
    runs: Mapping[str, bytes],
) -> None:
    folder = f"{project}/overlays/{environment.name}"
    places = []
    for place in Place:
        own = [resource for resource in environment.resources if resource.place == place]
        if place is Place.PIPELINE:
            built = _pipeline(layout, project, environment, own, runs)
        else:
            built = _place(layout, project, shared, environment, own, place)
        if built:
            layout.builds[f"{folder}/{place}"] = built
            places.append(str(place))
    if places:
        layout.files[f"{folder}/{KUSTOMIZATION}"] = _kustomization({"resources": places})
        layout.builds[folder] = [body for place in places for body in layout.builds[f"{folder}/{place}"]]
    if environment.argocd:
        layout.files[f"argocd/{environment.name}/{project}.yaml"] = _text(environment.argocd)


def _place(
    layout: Layout,
    project: str,
    shared: Mapping[tuple[Place, Key], Resource],
    environment: PlannedEnvironment,
    own: Sequence[Resource],
    place: Place,
) -> list[Body]:
    whole, patches = [], []
    for resource in own:
        base = shared.get((place, resource.key))
        if base is None:
            whole.append(resource.body)
            continue
        operations = patch.diff(base.body, _without_namespace(resource.body))
        if operations:
            patches.append({"target": _target(resource.key), "patch": _operations(operations)})
    inherited = ["../../../base/" + place] if len(whole) < len(own) else []
    head = {"namespace": environment.namespace}
    _folder(layout.files, f"{project}/overlays/{environment.name}/{place}", head, whole, inherited, patches)
    return [resource.body for resource in own]


def _pipeline(
    layout: Layout, project: str, environment: PlannedEnvironment, own: Sequence[Resource], runs: Mapping[str, bytes]
) -> list[Body]:
    built: list[Body] = []
    current = []
    for run in sorted({resource.run or resource.key.name for resource in own}):
        path = run_path(project, environment.name, run)
        bodies = [resource.body for resource in own if resource.run == run]
        layout.files[path], bodies = _run(bodies, runs.get(path))
        built += bodies
        current.append(path)
    folder = f"{project}/overlays/{environment.name}/{Place.PIPELINE}/"
    for path, content in sorted(runs.items()):
        if path.startswith(folder) and path not in layout.files:
            layout.files[path] = content
            layout.superseded.append(path)
    if current:
        names = sorted(path.removeprefix(folder) for path in current)
        content = _kustomization({"namespace": environment.namespace, "resources": names})
        layout.files[folder + KUSTOMIZATION] = content
    return built


def _run(bodies: list[Body], existing: bytes | None) -> tuple[bytes, list[Body]]:
    """Return a run's file and the objects in it: as it exists, if what exists is this run and what it ships."""
    rendered = _text(bodies)
    if existing is None or existing == rendered:
        return rendered, bodies
    try:
        found = yamltext.load_all(existing.decode())
    except (UnicodeDecodeError, yaml.YAMLError):
        return rendered, bodies
    whole = all(isinstance(body, dict) for body in found)
    same = whole and list(map(_identity, found)) == list(map(_identity, bodies))
    return (existing, found) if same else (rendered, bodies)


def _identity(body: Body) -> list[object]:
    metadata = body.get("metadata")
    named = [metadata.get("namespace"), metadata.get("name")] if isinstance(metadata, dict) else []
    return [body.get("apiVersion"), body.get("kind"), *named]


def _folder(
    files: FileTree,
    folder: str,
    head: Body,
    bodies: Sequence[Body],
    inherited: Sequence[str],
    patches: Sequence[Body] = (),
) -> None:
    resources = [*inherited, *([RESOURCES] if bodies else [])]
    if not resources:
        return
    if bodies:
        files[f"{folder}/{RESOURCES}"] = _text(bodies)
    fields: Body = {**head, "resources": resources}
    files[f"{folder}/{KUSTOMIZATION}"] = _kustomization(fields | ({"patches": list(patches)} if patches else {}))


def _kustomization(fields: Body) -> bytes:
    return _text([{"apiVersion": "kustomize.config.k8s.io/v1beta1", "kind": "Kustomization", **fields}])


def _target(key: Key) -> Body:
    group, _, version = key.api_version.rpartition("/")
    return {**({"group": group} if group else {}), "version": version, "kind": key.kind, "name": key.name}


def _operations(operations: Sequence[Body]) -> str:
    """Return a patch as the text that kustomize wants inside its field."""
    return "".join(yamltext.dump_item(operation) for operation in operations)


def _without_namespace(body: Body) -> Body:
    if body["kind"] in CLUSTER_SCOPED:
        return body
    metadata = {key: value for key, value in body["metadata"].items() if key != "namespace"}
    return {**body, "metadata": metadata}


def _text(bodies: Sequence[Body]) -> bytes:
    return (_HEADER + yamltext.dump_all(bodies)).encode()
