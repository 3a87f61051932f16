"""The cluster for a person: `python -m tests.cluster [api|operators|argocd]` starts a tier and leaves it up.

`python -m tests.cluster build` only builds what the tiers need. Exit: 0 fine, 2 something cannot be built or started
(named, with its log), 130 after Ctrl-C before the cluster was up.
"""

from __future__ import annotations

import signal
import sys
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, ExitStack
from typing import Any, Final

from mlspec.check import tools
from tests.cluster.harness import build
from tests.cluster.harness.argocd.tier import cluster
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.control_plane import KUBERNETES, control_plane
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.operators.tier import operators

_TIERS: Final[dict[str, tuple[tuple[str, ...], Callable[[Cell], AbstractContextManager[Any]]]]] = {
    "api": (("etcd", f"kubernetes-{KUBERNETES}"), control_plane),
    "operators": (("kwok", "training-operator", "kserve", "kueue"), operators),
    "argocd": (("redis", "argo-cd"), cluster),
}
"""By tier: the components that it adds to the tier before, and what starts it."""


def main(arguments: list[str]) -> int:
    """Do what was asked; returns the exit code."""
    wanted = arguments[0] if arguments else "api"
    if wanted not in {*_TIERS, "build"} or len(arguments) > 1:
        sys.stderr.write(f"usage: python -m tests.cluster [{'|'.join(_TIERS)}|build]\n")
        return 2
    try:
        build.ensure([name for components, _ in _TIERS.values() for name in components])
        return _up(wanted) if wanted != "build" else 0
    except HarnessError as error:
        sys.stderr.write(f"{error}\n")
        return 2
    except KeyboardInterrupt:
        return 130


def _up(tier: str) -> int:
    _, start = _TIERS[tier]
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    with ExitStack() as stack:
        cell = stack.enter_context(Cell())
        build.say(f"starting the {tier} tier ...")
        started = stack.enter_context(start(cell))
        plane = getattr(started, "plane", started)
        kubectl = tools.find_kustomize()
        command = kubectl.path if kubectl is not None and kubectl.name == "kubectl" else "kubectl"
        lines = [
            f"Kubernetes {KUBERNETES} is up until Ctrl-C; logs are in {cell.logs}",
            "",
            f"  export KUBECONFIG={plane.outside}",
            "",
            "Try:",
            f"  {command} get --raw /version",
            f"  {command} apply --server-side --dry-run=server -k generated/image-classifier/overlays/dev",
            f"  {command} get namespaces,pods --all-namespaces",
        ]
        sys.stdout.write("\n".join(lines) + "\n")
        sys.stdout.flush()
        try:
            while True:
                time.sleep(1)
                cell.check()
        except KeyboardInterrupt:
            build.say("ending ...")
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
