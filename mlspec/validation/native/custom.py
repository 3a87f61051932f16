"""What the API server checks of custom resources beside their schemas: numbers that a scale subresource reads.

From k8s.io/apiextensions-apiserver v0.34.4 pkg/registry/customresource/validator.go (ValidateScaleSpec); the paths are
`subresources.scale.specReplicasPath` of the definitions in kubeflow/training-operator 1.8.1 and 1.9.3 (manifests/base/
crds) and SeldonIO/seldon-core 1.16.0.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mlspec.validation.native.found import Body, Found, below, number

CODE: Final = "MLS329"
_SCALED: Final[Mapping[str, tuple[str, ...]]] = {
    "PyTorchJob": ("spec", "pytorchReplicaSpecs", "Worker", "replicas"),
    "SeldonDeployment": ("spec", "replicas"),
}


def judge(found: Found, body: Body) -> None:
    """Judge the number of replicas that a scale subresource reads."""
    path = _SCALED[body["kind"]]
    for field in path[:-1]:
        body = below(body, field)
    found.between(CODE, path, number(body, path[-1]), 0)
