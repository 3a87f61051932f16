"""Where the servers that KServe ships write, beside /tmp, HOME and /dev/shm, which every pod of ours can write to.

The other stock runtimes need nothing. KServe's own servers (python/ of kserve 0.16 and 0.20) open no file to write;
huggingfaceserver and vLLM cache below HOME or HF_HOME, which their images and runtimes set below /tmp; autogluonserver
tries /tmp first (runtime_paths.py, 0.20). Nothing is known of what Triton and tensorflow_model_server, which are not
Python and whose images were not looked into, write elsewhere. A model for MLServer that brings its own Python
environment (environment.tar.gz) is unpacked into the image's folder, which no variable moves: it needs a writable root.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

VARIABLES: Final[Mapping[str, Mapping[str, str]]] = {
    # mlserver 1.5.0 and 1.7.1: settings.py makes both folders in the working directory, /opt/mlserver, at start; the
    # image's Dockerfile points both caches there, without which numba fails as it is imported.
    "kserve-mlserver": {
        "MLSERVER_ENVIRONMENTS_DIR": "/tmp/environments",  # noqa: S108  # in the container
        "MLSERVER_METRICS_DIR": "/tmp/metrics",  # noqa: S108
        "NUMBA_CACHE_DIR": "/tmp/numba",  # noqa: S108
        "TRANSFORMERS_CACHE": "/tmp/transformers",  # noqa: S108
    },
    # torchserve 0.9.0: log4j2.xml and FSSnapshotSerializer write logs and snapshots below the first two, `logs` of the
    # working directory by default; the image sets TEMP, where archives are unpacked, to a folder of its own.
    "kserve-torchserve": {
        "LOG_LOCATION": "/tmp/logs",  # noqa: S108
        "METRICS_LOCATION": "/tmp/logs",  # noqa: S108
        "TEMP": "/tmp",  # noqa: S108
    },
}
"""Variables by stock runtime."""
