"""Images of the stock installation (config/manager/configmap.yaml and manager.yaml)."""

from __future__ import annotations

from typing import Final

EXECUTOR: Final = "seldonio/seldon-core-executor:1.16.0"
INITIALIZER: Final = "seldonio/rclone-storage-initializer:1.14.1"
_SERVERS: Final[dict[str, dict[str, str]]] = {
    "TENSORFLOW_SERVER": {
        "tensorflow": "tensorflow/serving:2.1.0",
        "seldon": "seldonio/tfserving-proxy:1.16.0",
    },
    "SKLEARN_SERVER": {
        "seldon": "seldonio/sklearnserver:1.16.0",
        "v2": "seldonio/mlserver:1.3.0-sklearn",
    },
    "XGBOOST_SERVER": {
        "seldon": "seldonio/xgboostserver:1.16.0",
        "v2": "seldonio/mlserver:1.3.0-xgboost",
    },
    "MLFLOW_SERVER": {
        "seldon": "seldonio/mlflowserver:1.16.0",
        "v2": "seldonio/mlserver:1.3.0-mlflow",
    },
    "TRITON_SERVER": {"v2": "nvcr.io/nvidia/tritonserver:21.08-py3"},
    "HUGGINGFACE_SERVER": {"v2": "seldonio/mlserver:1.3.0-huggingface"},
    "TEMPO_SERVER": {"v2": "seldonio/mlserver:1.3.0-slim"},
}


def server_image(implementation: str, protocol: str) -> str | None:
    """Return the image of a model server; None for one that the platform has added, which only it knows.

    `kfserving` is the old name of `v2` (prepack.go, PrepackImageName).
    """
    return _SERVERS.get(implementation, {}).get("v2" if protocol == "kfserving" else protocol)
