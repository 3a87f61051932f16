"""Names and digests of the lock, which reading and writing share."""

from __future__ import annotations

import hashlib
from typing import Final

FORMAT: Final = 1
"""Number of the output format: raised when an upgrade writes other bytes for the same inputs."""
LOCK: Final = "mlspec.lock"
PENDING: Final = "mlspec.lock.pending"


def digest(content: bytes) -> str:
    """Return a content's digest as the lock records it."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
