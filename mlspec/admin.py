"""Environments in, what the platform team applies once for all of them out: `argocd/admin/`, under the root's own lock.

That is a patch of Argo CD's ConfigMap argocd-cm with the health checks that the environments need. It depends on the
environments alone, so every run knows it whole, whichever projects it was asked for.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from mlspec import health, names, yamltext
from mlspec.files import compare, lock
from mlspec.files.compare import Changes
from mlspec.files.lock import Lock
from mlspec.files.marks import ROOT, digest
from mlspec.k8s import meta
from mlspec.layout import FileTree
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED
from mlspec.spec.environment import EnvironmentFields
from mlspec.spec.workspace import Workspace

FILE: Final = f"argocd/{names.ADMIN}/argocd-cm.yaml"
"""The patch of argocd-cm, from generated/."""
_CONFIG: Final = "argocd-cm"
_HEADER: Final = f"""\
# Written by mlspec for environments/; edit nothing here. Health checks for Argo CD, a patch of its ConfigMap:
# kubectl patch configmap {_CONFIG} --namespace argocd --patch-file {GENERATED}/{FILE}
"""


def files(environments: Iterable[EnvironmentFields]) -> FileTree:
    """Return the files of `argocd/admin/`, by their paths from generated/; none if no environment needs a check."""
    declared = list(environments)
    data = {
        check.key: check.text()
        for check in health.CHECKS
        if any(getattr(environment, check.field) is not None for environment in declared)
    }
    if not data:
        return {}
    # Argo CD reads the ConfigMap only where it carries the label (argo-cd 3.5, docs/operator-manual/argocd-cm.yaml).
    labels = {"app.kubernetes.io/part-of": "argocd"}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta.metadata(_CONFIG, None, labels), "data": data}
    return {FILE: (_HEADER + yamltext.dump_all([body])).encode()}


def changes(workspace: Workspace, *, any_project: bool) -> Changes:
    """Return what must happen to the root's own files; a root without projects needs none."""
    generated = workspace.root / GENERATED
    wanted = files(item.model for item in workspace.environments.values()) if any_project else {}
    inputs = {
        f"../{name}": value for name, value in workspace.digests.items() if name.startswith(f"{ENVIRONMENT_FOLDER}/")
    }
    outputs = {path: digest(content) for path, content in wanted.items()}
    state = lock.read_state(generated, ROOT)
    return compare.compare(generated, ROOT, wanted, Lock(inputs, outputs) if wanted else None, state)
