"""An environment in, the folders with the schemas of the versions that it declares out."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from mlspec.all_kinds import OPERATORS
from mlspec.model.operators import minor
from mlspec.schemas import kubernetes_folder, operator_folder
from mlspec.spec.environment import EnvironmentFields

_EXTERNAL_SECRETS: Final = "external-secrets-0.16"
"""The first release with v1, whose fields and defaults later ones keep; environments do not say which one they have."""


def schema_folders(environment: EnvironmentFields) -> tuple[Path, ...]:
    """Return where the schemas of an environment's declared versions lie."""
    operators = [
        operator_folder(op.schemas(value)) for op in OPERATORS if (value := getattr(environment, op.field)) is not None
    ]
    if environment.prometheus is not None:
        operators.append(operator_folder(f"prometheus-operator-{minor(environment.prometheus.version)}"))
    if environment.kueue is not None:
        operators.append(operator_folder(f"kueue-{minor(environment.kueue.version)}"))
    if environment.secret_store is not None:
        operators.append(operator_folder(_EXTERNAL_SECRETS))
    argocd = operator_folder(f"argo-cd-{minor(environment.argocd.version)}")
    return (kubernetes_folder(environment.kubernetes), *operators, argocd)
