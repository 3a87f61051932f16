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


def programs() -> Path:
    """Return the folder for programs that were built here.

    It does not follow MLSPEC_CACHE_DIR: what travels between machines, or between a stranger's pull request and the
    next, is remembered, and never run.
    """
    return Path(platformdirs.user_cache_dir("mlspec")) / "tools"


def key(parts: Iterable[str | bytes]) -> str:
    """Return one key for contents in order; where one ends and the next begins counts."""
    hasher = hashlib.blake2b(digest_size=20)
    for part in parts:
        encoded = part.encode(errors="surrogatepass") if isinstance(part, str) else part
        hasher.update(len(encoded).to_bytes(8, "big") + encoded)
    return hasher.hexdigest()


def recall(kind: str, name: str) -> str | None:
    """Return what was remembered, or None; what is not whole was never written here."""
    try:
        digest, _, value = (folder() / kind / name).read_text().partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return value if digest == key((kind, name, value)) else None


def remember(kind: str, name: str, value: str) -> None:
    """Remember a verdict; a cache that cannot be written is no fault of the user's."""
    target = folder() / kind
    # Unlike those of a process, random names are not those of another container that shares the folder.
    temporary = target / f"{name}.{os.urandom(4).hex()}"
    try:
        target.mkdir(parents=True, exist_ok=True)
        temporary.write_text(f"{key((kind, name, value))}\n{value}")
        os.rename(temporary, target / name)  # noqa: PTH104  # tests fail the nth Path.replace of users' files
    except OSError:
        return
