"""What Git says differs, as questions about files of a root: a link or a submodule stands for what lies behind it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Final

from mlspec import git

_STEPS: Final = 4000
"""Names on the way to a file, those in links included: links that lead in a circle end there."""


@dataclass(slots=True)
class View:
    """What differs from a revision, seen from a root."""

    root: Path
    prefix: str
    """Where the root lies below the top of the repository, with a `/` behind, or empty."""
    changed: git.Changed
    untracked: frozenset[str]
    """Paths from the root."""
    top: str = field(init=False)
    """The top of the repository, links resolved."""

    def __post_init__(self) -> None:
        self.top = os.path.realpath(self.root).removesuffix(self.prefix.rstrip("/")).rstrip("/")

    def differs(self, path: str) -> bool:
        """Say whether the file at a path from the root differs; so does all that lies in a submodule that does."""
        return self._differs(self.prefix + path)

    def _differs(self, path: str) -> bool:
        ways = [path, *(parent.as_posix() for parent in PurePosixPath(path).parents)]
        return any(way in self.changed.paths for way in ways) or not any(way in self.changed.known for way in ways)

    def differs_on_the_way(self, path: str) -> bool:
        """Say whether a file differs, or a link that leads to it."""
        return self.differs(path) or any(
            self._differs(way.removeprefix(f"{self.top}/"))
            for way in _way(os.path.realpath(self.root), path)
            if way.startswith(f"{self.top}/")
        )

    def below(self, folder: str) -> Iterator[str]:
        """Yield the paths that differ below a folder of the root, from there; the empty one is the folder itself."""
        start = f"{self.prefix}{folder}/" if folder else self.prefix
        for path in self.changed.paths | {self.prefix + path for path in self.untracked}:
            if path.startswith(start):
                yield path[len(start) :]
            elif start.startswith(f"{path}/"):
                yield ""


def _way(root: str, path: str) -> Iterator[str]:
    """Yield every link on the way to a file, and the file at its end."""
    here, left = root, path.split("/")
    for _ in range(_STEPS):
        if not left:
            yield here
            return
        part = left.pop(0)
        here = os.path.normpath(f"{here}/{part}")
        if os.path.islink(here):  # noqa: PTH114  # plain text paths, as Git's are
            yield here
            target = os.readlink(here)  # noqa: PTH115  # as above
            left = [*target.split("/"), *left]
            here = "/" if target.startswith("/") else os.path.dirname(here)  # noqa: PTH120  # as above
