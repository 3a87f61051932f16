"""Where the fields of AppProject and Applications come from: nearly all of them are the environment's."""

from __future__ import annotations

from typing import Final

from mlspec.provenance.rows import Table
from mlspec.provenance.workloads import METADATA

_DESTINATION: Final = "@cluster server | @argocd"
_NAMESPACE: Final = "@namespace pattern | /name + /name + /owner"
_NAMES: Final = "/name"
_METADATA: Final = {
    **METADATA,
    "metadata name": _NAMES,
    "metadata namespace": "@argocd namespace | @argocd",
    "metadata annotations": "@argocd path | /name + /name",
}
APP_PROJECT: Final = Table(
    {
        **_METADATA,
        "spec": "@argocd",
        "spec description": "/owner + /name",
        "spec sourceRepos": "@argocd repoURL",
        "spec destinations * server": _DESTINATION,
        "spec destinations * namespace": _NAMESPACE,
        "spec clusterResourceWhitelist": "@argocd version | @namespace pattern | /name + @namespace + /name + /owner",
        "spec namespaceResourceWhitelist": "/name + @kserve mode + @kueue",
        "spec orphanedResources": "@namespace manage | /name",
        "spec syncWindows *": "@argocd windows *",
        "spec syncWindows * kind": "@argocd windows * kind",
        "spec syncWindows * schedule": "@argocd windows * schedule",
        "spec syncWindows * duration": "@argocd windows * duration",
        "spec syncWindows * timeZone": "@argocd windows * timeZone",
        "spec syncWindows * manualSync": "@argocd windows * manualSync",
        "spec syncWindows * applications": "/name",
    }
)
APPLICATION: Final = Table(
    {
        **_METADATA,
        "spec": "@argocd",
        "spec project": _NAMES,
        "spec source repoURL": "@argocd repoURL",
        "spec source targetRevision": "@argocd revision | @argocd",
        "spec source path": "@argocd path | @argocd + /name",
        "spec destination server": _DESTINATION,
        "spec destination namespace": _NAMESPACE,
        "spec syncPolicy retry": "@promotion | @argocd",
    }
)
