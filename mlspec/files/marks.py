"""Names and digests of the lock, which reading and writing share."""

from __future__ import annotations

import hashlib
from typing import Final

FORMAT: Final = 2
"""Number of the output format: raised when an upgrade writes other bytes for the same inputs."""
LOCK: Final = "mlspec.lock"
PENDING: Final = "mlspec.lock.pending"
ROOT: Final = ""
"""Stands in place of a project's name for the root's own files, in `argocd/admin/`, and its lock."""


def lock_path(project: str, name: str = LOCK) -> str:
    """Return the path from generated/ of a project's lock, or of the root's."""
    return f"{project}/{name}" if project != ROOT else name


def digest(content: bytes) -> str:
    """Return a content's digest as the lock records it."""
    return "sha256:" + hashlib.sha256(content).hexdigest()
