"""Does a change bring another mlspec? It may judge every project otherwise, so every one is looked at then.

What runs is seen only now; what ran at the revision follows from the files that say which mlspec to install, or, where
the repository is that of mlspec itself, from its own.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath
from typing import Final

import mlspec
from mlspec import git, schemas
from mlspec.affected.view import View

# Files in which tools look up versions; a name that is missing here costs the attention of one change.
_PINS: Final = re.compile(
    r"(.*requirements.*|.*constraints.*)\.(txt|in)|pyproject\.toml|setup\.(cfg|py)|Pipfile|(.*\.)?lock|.*\.lock|"
    r"environment\.ya?ml|\.pre-commit-config\.yaml|\.gitlab-ci\.yml|Makefile|justfile|(.*\.)?Dockerfile.*|Containerfile"
)
# What judges: mlspec, and the libraries that it asks.
_JUDGES: Final = (b"mlspec", b"pydantic", b"pyyaml", b"jsonschema", b"jsonpatch", b"jsonpointer", b"cel-expr")
_MOST: Final = 4 << 20
_AFTER: Final = 3
"""Lines behind one that names mlspec which may hold its version: lock files write a table of fields."""


def changed(found: git.Repository, view: View) -> str:
    """Return the file by which the change brings another mlspec, or may; empty where none does."""
    own = [_from(view.top, folder) for folder in (Path(mlspec.__file__).parent, schemas.folder())]
    for path in sorted(view.changed.paths):
        if any(path.startswith(f"{folder}/") for folder in own if folder):
            return path
        if _is_pin(path) and _says_otherwise(found, view, path):
            return path
    return ""


def _from(top: str, folder: Path) -> str:
    """Return a folder's path from the top of the repository; empty where it lies elsewhere."""
    place = folder.resolve()
    return place.relative_to(top).as_posix() if place.is_relative_to(top) else ""


def _is_pin(path: str) -> bool:
    place = PurePosixPath(path)
    return _PINS.fullmatch(place.name) is not None or place.parts[0] in (".github", ".gitlab", ".circleci")


def _says_otherwise(found: git.Repository, view: View, path: str) -> bool:
    """Say whether the lines that name mlspec differ; where the revision's cannot be read they may."""
    target = Path(view.top) / path
    now = _lines(target.read_bytes()[:_MOST]) if target.is_file() and not target.is_symlink() else []
    # From the top: the file may lie beside the root.
    top = git.Repository(found.root, "")
    try:
        for base in view.changed.commits:
            before = dict(git.contents(top, base, [path] if git.exists(top, base, path) else [], _MOST))
            if _lines(before.get(path, b"")) != now:
                return True
    except git.GitError:
        return True
    return False


def _lines(content: bytes) -> list[bytes]:
    lines = content.splitlines()
    near = {
        at + more
        for at, line in enumerate(lines)
        if any(name in line.lower() for name in _JUDGES)
        for more in range(_AFTER + 1)
    }
    return [lines[at] for at in sorted(near) if at < len(lines)]
