"""What projects take from one another: names, namespaces, AppProjects. Those that may take one thing go together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from pathlib import Path

from mlspec import names
from mlspec.model.scalars import expand
from mlspec.spec.heads import Head
from mlspec.spec.workspace import Workspace

Claim = tuple[str, ...]


def _claims(workspace: Workspace, head: Head) -> Iterator[Claim]:
    """Yield what a project claims for itself, if it is enabled everywhere: its name, namespaces and AppProjects."""
    if head.name is None:
        return
    yield ("name", head.name)
    for name, environment in workspace.environments.items():
        model = environment.model
        namespace = expand(model.namespace.pattern, project=head.name, environment=name, owner=head.owner or "")
        yield "namespace", model.cluster.server, namespace
        yield "AppProject", model.argocd.namespace, names.app_project(head.name, name)


def beside(
    workspace: Workspace, heads: Mapping[Path, Sequence[Head]], own: Set[Path], before: Sequence[Head]
) -> Iterator[Path]:
    """Yield the files of projects that may claim what another claims that is compiled, and so on.

    `before` are projects as they were: what they gave up, others may now be the first to claim.
    """
    claimed, claiming = _all_claims(workspace, heads)
    taken = set(own)
    left = [claim for path in own for claim in claimed[path]]
    left += [claim for head in before for claim in _claims(workspace, head)]
    while left:
        for path in claiming.pop(left.pop(), ()):
            if path not in taken:
                taken.add(path)
                left += claimed[path]
                yield path


def crowded(workspace: Workspace, heads: Mapping[Path, Sequence[Head]]) -> set[Path]:
    """Return the files of projects that may claim what one of another file claims."""
    _, claiming = _all_claims(workspace, heads)
    return {path for paths in claiming.values() if len(set(paths)) > 1 for path in paths}


def share_namespaces(workspace: Workspace) -> bool:
    """Say whether projects of different names may have one namespace, as is meant."""
    return any("{project}" not in item.model.namespace.pattern for item in workspace.environments.values())


def _all_claims(
    workspace: Workspace, heads: Mapping[Path, Sequence[Head]]
) -> tuple[dict[Path, set[Claim]], dict[Claim, list[Path]]]:
    """Return what each file's projects claim, and who claims it."""
    claimed = {path: {claim for head in found for claim in _claims(workspace, head)} for path, found in heads.items()}
    claiming: dict[Claim, list[Path]] = {}
    for path, claims in claimed.items():
        for claim in claims:
            claiming.setdefault(claim, []).append(path)
    return claimed, claiming
