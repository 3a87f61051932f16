"""What a release of KServe installs by itself: its runtimes, its storage container and its configuration.

The files in `stock/` are made by `tests/tools/kserve_stock.py`. What a platform changed in its cluster is not known
here; a runtime of its own is met in `runtimes.py`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, Final

from mlspec.k8s.projected import Body

_FOLDER: Final = Path(__file__).parent / "stock"
MODEL_PATH: Final = "/mnt/models"
"""Where servers find the model (constants.go, DefaultModelLocalMountPath)."""
CONTAINER: Final = "kserve-container"
INITIALIZER: Final = "storage-initializer"


@dataclass(frozen=True, slots=True)
class Release:
    """One release; nothing in it may be changed, copies only."""

    number: tuple[int, ...]
    """Major and minor that were asked for."""
    runtimes: Mapping[str, Body]
    """Specs of the ClusterServingRuntimes, by name."""
    storage: Body
    """Spec of the ClusterStorageContainer `default`."""
    configuration: Mapping[str, Any]
    """Parts of the ConfigMap `inferenceservice-config`, read."""

    @property
    def initializer(self) -> Mapping[str, Any]:
        """How the storage initializer and the modelcar are configured."""
        found: Mapping[str, Any] = self.configuration["storageInitializer"]
        return found

    def supports(self, uri: str) -> bool:
        """Say whether the storage container is for a URI (storage_container_types.go, IsStorageUriSupported)."""
        return any(
            uri.startswith(row["prefix"]) if row.get("prefix") else re.match(row["regex"], uri) is not None
            for row in self.storage["supportedUriFormats"]
        )


@cache
def release(number: tuple[int, ...]) -> Release:
    """Return the newest release that is known and not newer than a number (major, minor); else the oldest."""
    known = _known()
    fitting = [minor for minor in known if minor <= number[:2]] or list(known)[:1]
    found = json.loads(known[fitting[-1]].read_text())
    return Release(number[:2], found["runtimes"], found["storage"], found["configuration"])


@cache
def _known() -> dict[tuple[int, ...], Path]:
    found = {
        tuple(map(int, path.stem.removeprefix("kserve-").split("."))): path for path in _FOLDER.glob("kserve-*.json")
    }
    return dict(sorted(found.items()))
