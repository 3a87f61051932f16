"""The health checks that Argo CD lacks for kinds that mlspec emits, in Lua: which there are, and their text.

Argo CD runs a check on gopher-lua (Lua 5.1) with its libraries `base` and `table` alone, `string` not among them, gives
it the object as `obj`, and wants a table of `status` and `message` back (argo-cd 3.5, util/lua/lua.go).
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Final

_FOLDER: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Check:
    """The health check of one kind."""

    group: str
    kind: str
    file: str
    """Its Lua, beside this module; kinds whose conditions mean the same share one."""
    field: str
    """Field of the environment that declares what the check is for: without it, the check is not needed."""

    @property
    def key(self) -> str:
        """Its key in the ConfigMap argocd-cm."""
        return f"resource.customizations.health.{self.group}_{self.kind}"

    def text(self) -> str:
        """Return its Lua: whole lines of ASCII."""
        return (_FOLDER / self.file).read_text(encoding="ascii")


CHECKS: Final = (
    Check("batch", "Job", "job.lua", "kueue"),
    Check("kubeflow.org", "PyTorchJob", "training.lua", "training"),
    Check("kubeflow.org", "TFJob", "training.lua", "training"),
    Check("machinelearning.seldon.io", "SeldonDeployment", "seldon.lua", "seldon"),
)
