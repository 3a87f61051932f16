"""Git repositories that Argo CD reads: bare, on this computer, served in the cell at the URL that objects name."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.cluster.harness.control_plane import ControlPlane
from tests.cluster.harness.errors import HarnessError

BRANCH: Final = "main"
_WHO: Final = {"NAME": "mlspec tests", "EMAIL": "tests@mlspec.dev", "DATE": "2026-01-01T00:00:00Z"}
_ENVIRONMENT: Final = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    **{f"GIT_{role}_{key}": value for role in ("AUTHOR", "COMMITTER") for key, value in _WHO.items()},
}
"""Nothing of the person's own configuration, and a fixed author: the same files make the same commits."""


@dataclass(frozen=True)
class Repository:
    """A bare repository; `url` is where Argo CD finds it."""

    url: str
    folder: Path

    def commit(self, tree: Path, message: str) -> str:
        """Make the branch hold exactly the files of a folder; returns the commit."""
        self._git("--work-tree", str(tree), "add", "--all", "--force", ".", at=tree)
        self._git("--work-tree", str(tree), "commit", "--quiet", "--allow-empty", "--message", message, at=tree)
        return self.head

    def restore(self, commit: str, message: str) -> str:
        """Commit the files of an earlier commit again, as a revert of all that followed does; returns the commit."""
        made = self._git("commit-tree", f"{commit}^{{tree}}", "-p", BRANCH, "-m", message)
        self._git("update-ref", f"refs/heads/{BRANCH}", made)
        return made

    @property
    def head(self) -> str:
        """The newest commit."""
        return self._git("rev-parse", BRANCH)

    def checkout(self, tree: Path) -> None:
        """Make a folder hold exactly the files of the newest commit."""
        self._git("--work-tree", str(tree), "reset", "--quiet", "--hard", at=tree)
        self._git("--work-tree", str(tree), "clean", "--quiet", "-dfx", at=tree)

    def _git(self, *words: str, at: Path | None = None) -> str:
        argv = ["git", "--git-dir", str(self.folder), *words]
        done = subprocess.run(  # our own words
            argv, cwd=at, env={**os.environ, **_ENVIRONMENT}, capture_output=True, text=True, check=False
        )
        if done.returncode:
            raise HarnessError("git", f"{' '.join(words)[:200]}: {done.stderr.strip()[-400:]}")
        return done.stdout.strip()


@dataclass(frozen=True)
class GitHost:
    """A host of repositories, and what its clients must be told."""

    name: str
    folder: Path
    proxy: str
    certificates: Path

    def repository(self, url: str) -> Repository:
        """Return the repository of a URL of this host; it is made when it is not there."""
        parts = urlsplit(url)
        if (parts.scheme, parts.hostname) != ("https", self.name):
            raise HarnessError("git", f"{url} is not at https://{self.name}")
        folder = self.folder / parts.path.lstrip("/")
        if not folder.exists():
            folder.mkdir(parents=True)
            Repository(url, folder)._git("init", "--quiet", "--bare", "--initial-branch", BRANCH, str(folder))
        return Repository(url, folder)


@contextmanager
def git_host(plane: ControlPlane, name: str) -> Iterator[GitHost]:
    """Serve repositories in the cell as the host `name`.

    Raises:
        HarnessError: the server does not start.
    """
    state = plane.cell.folder / "git"
    folder = state / "repositories"
    folder.mkdir(parents=True)
    certificates = plane.certificate(state / "serving", name)
    port = plane.cell.port()
    server = Path(__file__).parent / "git_server.py"
    plane.cell.start(
        "git",
        [sys.executable, server, str(port), folder, certificates],
        environment=_ENVIRONMENT,
        ready=plane.cell.listening(port),
    )
    yield GitHost(name, folder, f"http://127.0.0.1:{port}", certificates)
