"""A path below generated/ in, the project out whose business it is, by where mlspec would have written it."""

from __future__ import annotations

from mlspec import names
from mlspec.files.marks import LOCK, PENDING


def owner(path: str) -> str | None:
    """Return the project that a path from generated/ belongs to; None for the root's own files, and for others'."""
    parts = path.split("/")
    if parts[0] != "argocd":
        return parts[0] if path not in (LOCK, PENDING) else None
    if len(parts) < 3 or parts[1] == names.ADMIN:
        return None
    return parts[2].removesuffix(".yaml")
