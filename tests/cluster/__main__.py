"""The cluster for a person: `python -m tests.cluster [api|operators|argocd]` starts a tier and leaves it up.

`python -m tests.cluster build` only builds what the tiers need. Exit: 0 fine (Ctrl-C ends it), 2 something cannot be
built or started, or ended by itself (named, with its log), 130 after Ctrl-C before the cluster was up.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

from mlspec.check import tools
from tests.cluster.harness import build, crds
from tests.cluster.harness.argocd.tier import cluster
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.control_plane import KUBERNETES, ControlPlane, control_plane
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import Golden, compiled
from tests.cluster.harness.operators.kserve import kserve
from tests.cluster.harness.operators.tier import operators
from tests.support import REPOSITORY

_OVERLAY: Final = "generated/image-classifier/overlays/dev"
_NAMESPACE: Final = "--namespace image-classifier-dev"


@dataclass(frozen=True)
class Tier:
    """What a tier is made of, what starts it, and what a person may try there."""

    components: Sequence[str]
    start: Callable[[Cell, Golden], AbstractContextManager[ControlPlane]]
    commands: Sequence[str]


@contextmanager
def _api(cell: Cell, example: Golden) -> Iterator[ControlPlane]:
    with control_plane(cell) as plane:
        _define(plane, example)
        yield plane


@contextmanager
def _operators(cell: Cell, example: Golden) -> Iterator[ControlPlane]:
    with operators(cell) as found, kserve(found.plane):
        _define(found.plane, example)
        yield found.plane


@contextmanager
def _argocd(cell: Cell, example: Golden) -> Iterator[ControlPlane]:
    with cluster(cell) as found:
        work = found.golden(example).work
        work.repository.commit(work.tree, "the living example")
        build.say(f"{work.repository.url} is {work.repository.folder}: push there, and Argo CD sees it at a refresh")
        yield found.plane


def _define(plane: ControlPlane, example: Golden) -> None:
    for release in example.releases:
        crds.establish(plane.api, crds.definitions(release))


TIERS: Final = {
    "api": Tier(
        ("etcd", f"kubernetes-{KUBERNETES}"),
        _api,
        (
            "kubectl get --raw /version",
            f"kubectl apply --server-side --kustomize {_OVERLAY}",
            f"kubectl get jobs,pytorchjobs,inferenceservices,networkpolicies {_NAMESPACE}",
        ),
    ),
    "operators": Tier(
        ("kwok", "training-operator", "kserve", "kueue"),
        _operators,
        (
            f"kubectl apply --server-side --kustomize {_OVERLAY}",
            f"kubectl get pods {_NAMESPACE} --watch",
            f"kubectl get jobs,pytorchjobs,inferenceservices {_NAMESPACE}",
        ),
    ),
    "argocd": Tier(
        ("redis", "argo-cd", "jobset", "trainer"),
        _argocd,
        (
            "kubectl apply --filename generated/argocd/dev/",
            "kubectl get applications --namespace argocd --watch",
            f"kubectl get pods {_NAMESPACE}",
        ),
    ),
}
"""By name; each needs the components of those before it, too."""


def main(arguments: list[str]) -> int:
    """Do what was asked; returns the exit code."""
    wanted = arguments[0] if arguments else "api"
    if wanted not in {*TIERS, "build"} or len(arguments) > 1:
        sys.stderr.write(f"usage: python -m tests.cluster [{'|'.join(TIERS)}|build]\n")
        return 2
    last = list(TIERS).index(wanted) if wanted in TIERS else len(TIERS)
    try:
        build.ensure([name for tier in list(TIERS.values())[: last + 1] for name in tier.components])
        return _up(TIERS[wanted]) if wanted in TIERS else 0
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _up(tier: Tier) -> int:
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    example = next(golden for golden in compiled(REPOSITORY) if golden.environment == "dev")
    with ExitStack() as stack:
        cell = stack.enter_context(Cell())
        build.say("starting ...")
        plane = stack.enter_context(tier.start(cell, example))
        sys.stdout.write("\n".join(_words(tier, cell, plane)) + "\n")
        sys.stdout.flush()
        try:
            while True:
                time.sleep(1)
                cell.check()
        except KeyboardInterrupt:
            build.say("ending ...")
    return 0


def _words(tier: Tier, cell: Cell, plane: ControlPlane) -> list[str]:
    """Return what a person needs to know; kubectl is the one that mlspec's extra brings, if it is there."""
    found = tools.find_kustomize()
    kubectl = str(found.path) if found is not None and found.name == "kubectl" else "kubectl"
    return [
        f"Kubernetes {KUBERNETES} is up until Ctrl-C; logs are in {cell.logs}",
        "",
        f"  export KUBECONFIG={plane.outside}",
        *(f"  {command.replace('kubectl', kubectl, 1)}" for command in tier.commands),
    ]


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
