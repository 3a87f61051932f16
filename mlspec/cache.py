"""A memory of verdicts by content, in the user's cache folder: losing it costs time and nothing else."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

import platformdirs


def folder() -> Path:
    """Return the folder for everything that can be made again."""
    return Path(os.environ.get("MLSPEC_CACHE_DIR") or platformdirs.user_cache_dir("mlspec"))


def key(parts: Iterable[str | bytes]) -> str:
    """Return one key for contents in order; where one ends and the next begins counts."""
    hasher = hashlib.blake2b(digest_size=20)
    for part in parts:
        encoded = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        hasher.update(len(encoded).to_bytes(8, "big") + encoded)
    return hasher.hexdigest()


def recall(kind: str, name: str) -> str | None:
    """Return what was remembered, or None."""
    try:
        return (folder() / kind / name).read_text()
    except (OSError, UnicodeDecodeError):
        return None


def remember(kind: str, name: str, value: str) -> None:
    """Remember a verdict; a cache that cannot be written is no fault of the user's."""
    target = folder() / kind
    try:
        target.mkdir(parents=True, exist_ok=True)
        temporary = target / f"{name}.{os.getpid()}"
        temporary.write_text(value)
        os.rename(temporary, target / name)  # noqa: PTH104  # tests fail the nth Path.replace of users' files
    except OSError:
        return
