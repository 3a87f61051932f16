"""A memory of verdicts by content, in the user's cache folder: losing it costs time and nothing else."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import platformdirs

MOST_BYTES: Final = 64 * 2**20
"""Bytes of the verdicts of one kind: those of 1,000 projects are about 2 MiB."""
_DAY: Final = 24 * 60 * 60
_OLDEST: Final = 30 * _DAY
"""Seconds after which a verdict is found again: what is that old is as a rule about files that are no more."""
_GROWING: Final = ("verdicts", "builds", "roots")
"""Kinds of which there is one more with each change of what they are about."""


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


def tidy() -> None:
    """Forget what is old, and the oldest of what is too much; asked for more often than once a day it does nothing."""
    now = time.time()
    mark = folder() / "tidied"
    try:
        if now - mark.stat().st_mtime < _DAY:
            return
    except OSError:
        pass  # never before
    for kind in _GROWING:
        _forget(folder() / kind, now)
    try:
        mark.touch()
    except OSError:
        return


def _forget(kept: Path, now: float) -> None:
    try:
        with os.scandir(kept) as entries:
            found = sorted(((stat := entry.stat()).st_mtime, stat.st_size, entry.path) for entry in entries)
    except OSError:  # nothing was remembered yet, or another process forgets it just now
        return
    size = sum(length for _, length, _ in found)
    for changed, length, path in found:
        half_written = "." in Path(path).name and now - changed > _DAY
        if size > MOST_BYTES or now - changed > _OLDEST or half_written:
            size -= length
            with suppress(OSError):
                os.unlink(path)  # noqa: PTH108  # as below


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
