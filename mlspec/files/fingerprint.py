"""A root in, one digest of everything that a generate reads, finds and is made of.

Output is a function of the inputs, of what is already there, and of mlspec itself (law 1). So if all three are as
they were when a run found nothing to say and nothing to do, it need not run again. No lock is trusted for that but to
name the files that steps ship: its bytes are part of the digest, and were right when the digest was remembered.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import mlspec
from mlspec import cache
from mlspec.files.marks import LOCK
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED, PROJECT_FILE, find_projects, relative


def fingerprint(root: Path) -> str | None:
    """Return the digest, or None where something stands there that only a full run can speak about."""
    try:
        return cache.key(part for name, content in _everything(root) for part in (name, content))
    except (OSError, ValueError, RecursionError):
        return None


def _everything(root: Path) -> Iterator[tuple[str, bytes | str]]:
    package = os.path.dirname(mlspec.__file__)  # noqa: PTH120  # plain text paths: a thousand of them are walked
    for path, name in _files(package, "mlspec/"):
        if name.endswith((".py", ".json", ".toml", ".lua", ".sh")):
            found = os.stat(path)  # noqa: PTH116  # as above
            yield name, f"{found.st_size} {found.st_mtime_ns}"
    for source in sorted([*(root / ENVIRONMENT_FOLDER).iterdir(), *find_projects(root, root, _refuse)]):
        yield relative(source, root), read_file(os.fspath(source.resolve()))
    generated = os.fspath(root / GENERATED)
    if os.path.islink(generated):  # noqa: PTH114  # as above
        raise ValueError(generated)
    if os.path.isdir(generated):  # noqa: PTH112  # as above
        for path, name in _files(generated, f"{GENERATED}/"):
            content = read_file(path)
            yield name, content
            if name.endswith(f"/{LOCK}"):
                yield from shipped(root, content)


def shipped(root: Path, lock: bytes) -> Iterator[tuple[str, bytes]]:
    """Yield the files beside environments that a lock lists as read; raises ValueError for a link to one."""
    try:
        listed = [name.removeprefix("../") for name in json.loads(lock)["inputs"]]
    except (KeyError, TypeError, AttributeError, RecursionError) as error:
        raise ValueError(lock) from error
    folder = os.path.realpath(root)
    for name in listed:
        above, _, file = name.rpartition("/")
        if above == ENVIRONMENT_FOLDER and file.endswith((".yaml", ".yml")):
            continue
        path = f"{folder}/{name}"
        real = os.path.realpath(path)
        if real != path and file != PROJECT_FILE:  # a link is refused, wherever it leads
            raise ValueError(path)
        yield name, read_file(real)


def contents(folder: str, prefix: str, endings: tuple[str, ...] = ("",)) -> Iterator[tuple[str, bytes]]:
    """Yield the files below a folder that end in one of `endings`, and their bytes, in order; raises as `read_file`."""
    if os.path.islink(folder):  # noqa: PTH114  # plain text paths, as above
        raise ValueError(folder)
    for path, name in _files(folder, prefix):
        if name.endswith(endings):
            yield name, read_file(path)


def _refuse(error: OSError) -> None:
    raise error


def _files(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield every file below a folder, in order; raises ValueError at anything else than files and folders."""
    with os.scandir(folder) as found:
        entries = sorted(found, key=lambda entry: entry.name)
    for entry in entries:
        name = prefix + entry.name
        if entry.is_dir(follow_symlinks=False):
            yield from _files(entry.path, name + "/")
        elif entry.is_file(follow_symlinks=False):
            yield entry.path, name
        else:
            raise ValueError(name)


def read_file(path: str) -> bytes:
    """Return the bytes of a regular file; raises OSError, and ValueError for anything else, a link included."""
    # Without blocking: a pipe in place of a file would wait for ever.
    handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise ValueError(path)
        chunks = []
        while chunk := os.read(handle, 1 << 20):
            chunks.append(chunk)
        return b"".join(chunks)
    finally:
        os.close(handle)
