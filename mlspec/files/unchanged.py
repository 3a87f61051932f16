"""A root in, whether a generate would find everything as it left it: inputs and outputs by their digests alone.

It trusts the locks, so only `generate` asks it, to do nothing; `check` and `generate --check` compile and compare.
"""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

from mlspec.files.marks import FORMAT, LOCK, PENDING, digest
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED, find_projects, relative


def count_unchanged(root: Path) -> dict[str, int] | None:
    """Return the projects with the number of their files if nothing differs; None if anything does, or may."""
    try:
        outputs, inputs, projects = _locks(root / GENERATED)
        if inputs != _inputs(root) or not projects:
            return None
        found = set()
        for path, name in _files(os.fspath(root / GENERATED), ""):
            if name.rsplit("/", 1)[-1] == LOCK and name.count("/") == 1:
                continue
            if outputs.get(name) != digest(_read(path)):
                return None
            found.add(name)
        return projects if found == outputs.keys() else None
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None  # whatever it is, the full run says it properly


def _locks(generated: Path) -> tuple[dict[str, str], dict[str, str], dict[str, int]]:
    """Return what all locks together list; raises ValueError where they cannot all be current."""
    outputs: dict[str, str] = {}
    inputs: dict[str, str] = {}
    projects: dict[str, int] = {}
    for path in sorted(generated.glob(f"*/{LOCK}")):
        lock = json.loads(_read(os.fspath(path)))
        if lock["format"] != FORMAT or (path.parent / PENDING).exists():
            raise ValueError(path)
        for name, value in lock["inputs"].items():
            if inputs.setdefault(name.removeprefix("../"), value) != value:
                raise ValueError(path)
        if outputs.keys() & lock["outputs"].keys():
            raise ValueError(path)
        outputs |= lock["outputs"]
        projects[path.parent.name] = len(lock["outputs"])
    return outputs, inputs, projects


def _inputs(root: Path) -> dict[str, str]:
    """Return the digest of every file that a generate reads."""
    paths = [path for path in (root / ENVIRONMENT_FOLDER).iterdir() if path.suffix in (".yaml", ".yml")]
    paths += find_projects(root, root, _refuse)
    return {relative(path, root): digest(_read(os.fspath(path.resolve()))) for path in paths}


def _refuse(error: OSError) -> None:
    raise error


def _files(folder: str, prefix: str) -> Iterator[tuple[str, str]]:
    """Yield every file below a folder; raises ValueError at anything else than files and folders."""
    with os.scandir(folder) as entries:
        for entry in entries:
            name = prefix + entry.name
            if entry.is_dir(follow_symlinks=False):
                yield from _files(entry.path, name + "/")
            elif entry.is_file(follow_symlinks=False):
                yield entry.path, name
            else:
                raise ValueError(name)


def _read(path: str) -> bytes:
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
