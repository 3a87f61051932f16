"""What the tools are shown of a golden project: what will be in its namespace, or what mlspec wrote."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

from mlspec.k8s.projected import ProjectedPods, Projection
from mlspec.k8s.resource import Resource
from mlspec.report import stream
from tests.cluster.harness.goldens import Golden

Body = dict[str, Any]
BLIND: Final = ("PyTorchJob", "TFJob", "InferenceService", "SeldonDeployment")
"""Kinds whose pods no tool for pods finds."""
_RUNS: Final = {"Job": "a run", "PyTorchJob": "a run", "TFJob": "a run"}
_SERVICES: Final = {"InferenceService": "KServe", "SeldonDeployment": "Seldon"}
_BESIDE: Final = {"modelcar": " with a model image", "queue-proxy": " in Knative mode"}
"""What a container that an operator adds tells of the pod."""
_SERVER: Final = "kserve-container"
_TENSORFLOW: Final = "tfserving"
_BEHIND: Final = "TensorFlow Serving behind Seldon's proxy"
_RELEASE: Final = re.compile(r"v(\d+\.\d+)\.")


@dataclass(frozen=True, order=True)
class Subject:
    """A golden project in an environment: what the table calls its pods and containers, and what will be there."""

    name: str
    kubernetes: str = field(compare=False)
    """Such as `v1.34`."""
    bodies: tuple[Body, ...] = field(compare=False)
    """Pods in place of what makes them, their Services, and everything else that mlspec writes there."""
    pods: dict[str, str] = field(compare=False)
    """What the table calls a pod, by its name."""
    containers: dict[tuple[str, str], str] = field(compare=False)
    """What the table calls a container, by the names of its pod and itself."""

    @property
    def file(self) -> str:
        """Return the name of its file, without what is behind the dot."""
        return re.sub(r"[^a-z0-9]+", "-", self.name)

    def alone(self) -> list[Body]:
        """Return a pod for each container of those that have several, and nothing else.

        checkov names only the first container that fails, so that one which may fail would hide one which may not.
        """
        found = []
        for body in self.bodies:
            if body["kind"] == "Pod" and len(list(_containers(body))) > 1:
                found += [_with_one(body, *place) for place in _places(body)]
        return found


def subject(golden: Golden) -> Subject:
    """Return what the tools are shown of a golden project.

    Of pods that are alike they are shown all, as `mlspec render --projected` prints them, so that every Service has
    the one that it selects.
    """
    bodies: list[Body] = []
    pods: dict[str, str] = {}
    containers: dict[tuple[str, str], str] = {}
    for resource in golden.resources:
        if resource.projection is None:
            bodies.append(resource.body)
            continue
        bodies += resource.projection.services
        for group in resource.projection.pods:
            for document in stream.projected("", Projection((group,))):
                pod, name = document.body, _name(document.body)
                assert name not in pods, f"two pods {name} in {golden.name}"
                bodies.append(pod)
                pods[name], called = _called(resource, group, pod)
                containers |= {(name, container): what for container, what in called.items()}
    return Subject(golden.name, _kubernetes(golden), tuple(bodies), pods, containers)


def custom_resources(golden: Golden) -> list[Body]:
    """Return what mlspec wrote of the kinds whose pods only their operators know."""
    return [resource.body for resource in golden.resources if resource.key.kind in BLIND]


def _kubernetes(golden: Golden) -> str:
    (found,) = (_RELEASE.match(folder.name) for folder in golden.schemas if folder.parent.name == "kubernetes")
    assert found is not None
    return f"v{found[1]}"


def _called(resource: Resource, group: ProjectedPods, pod: Body) -> tuple[str, dict[str, str]]:
    """Return what the table calls a pod, and each container of it by name."""
    found = {container["name"]: container for container in _containers(pod)}
    kind = resource.key.kind
    of = _RUNS.get(kind) or _SERVICES[kind]
    if kind in _RUNS and resource.run is None:
        of = "a gate"
    of += "".join(words for name, words in _BESIDE.items() if name in found)
    what = "container" if kind in _RUNS else "model server"
    return f"pod of {of}", {
        name: _container(container, f"{what} of {of}", added=name in group.added) for name, container in found.items()
    }


def _container(container: Body, own: str, *, added: bool) -> str:
    """Return what the table calls a container; a server whose security context KServe replaces stays a server."""
    name = container["name"]
    if added and name != _SERVER:
        return f"`{_stem(name)}`"
    return (_BEHIND if name == _TENSORFLOW else own) + ("" if "image" in container else ", its image unknown")


def _stem(name: str) -> str:
    """Return the name of a container that an operator adds, without the unit's that Seldon puts in front."""
    return name[name.index("model-initializer") :] if name.endswith("-model-initializer") else name


def _name(body: Body) -> str:
    return str(body["metadata"]["name"])


def _places(pod: Body) -> Iterator[tuple[str, int]]:
    for key in ("initContainers", "containers"):
        for index in range(len(pod["spec"].get(key, ()))):
            yield key, index


def _containers(pod: Body) -> Iterator[Body]:
    return (pod["spec"][key][index] for key, index in _places(pod))


def _with_one(pod: Body, key: str, index: int) -> Body:
    found = copy.deepcopy(pod)
    chosen = found["spec"][key][index]
    found["spec"] |= {"initContainers": [], "containers": [], key: [chosen]}
    found["metadata"]["name"] = separate(_name(pod), chosen["name"])
    return found


def separate(pod: str, container: str) -> str:
    """Return the name of a pod that is left with one container; a real pod's has no such sign."""
    return f"{pod}/{container}"
