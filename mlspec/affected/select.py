"""Project files and a revision in, those out that a change touches, with what is known of the rest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from mlspec import git, source
from mlspec.affected import tool
from mlspec.affected.claims import beside, share_namespaces
from mlspec.affected.view import View
from mlspec.compiled import Part
from mlspec.files.lock import read_formats, read_state
from mlspec.files.marks import FORMAT, digest
from mlspec.files.owners import owner
from mlspec.spec import opening
from mlspec.spec.discover import COMMON, ENVIRONMENT_FOLDER, GENERATED, PROJECT_FILE, relative
from mlspec.spec.heads import Head, read_heads
from mlspec.spec.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Selection:
    """The project files to compile, in order, and what is known of the rest."""

    files: list[Path]
    part: Part


def select(workspace: Workspace, files: Sequence[Path], revision: str) -> Selection:
    """Return which of a root's project files must be compiled to know what a change does.

    The change is from where HEAD and `revision` parted to the work tree. Raises git.GitError where Git cannot say.
    """
    root = workspace.root
    found = git.repository(root)
    changed = git.changed_since(found, revision)
    others = git.untracked(found, ".") | git.untracked(found, GENERATED, ignored=True)
    view = View(root, found.prefix, changed, others)
    data = {path: _read(root, path) for path in files}
    heads = {path: read_heads(relative(path, root), data[path]) for path in files}
    environments = frozenset(_environments(view))
    touched = frozenset(view.below(GENERATED))
    reason, everywhere = _reason(view, found, touched, environments)
    own = set(_own(view, data, heads, touched))
    before = [] if reason else _heads_before(view, found)
    if reason or (before is None and share_namespaces(workspace)):
        sharing = set(files) - own
    else:
        sharing = set(beside(workspace, heads, own, before or ()))
    taken = own | sharing
    part = Part(
        since=revision,
        total=len(files),
        files=frozenset(relative(path, root) for path in own),
        beside=frozenset(relative(path, root) for path in sharing),
        environments=frozenset(workspace.environments) if everywhere else environments,
        reason=reason,
        others=frozenset(head.name for path in files if path not in taken for head in heads[path] if head.name),
        touched=touched,
        gone=None if before is None else frozenset(head.name for head in before if head.name),
    )
    # A project that is not compiled is known all the same: a lock that names its file is no sign of a second one.
    workspace.files += [relative(path, root) for path in files if path not in taken]
    return Selection([path for path in files if path in taken], part)


def _read(root: Path, path: Path) -> bytes:
    try:
        return opening.read_linked(root, path, source.MAX_BYTES + 1)
    except (opening.RefusedError, OSError):
        return b""


def _environments(view: View) -> Iterator[str]:
    """Yield the environments whose file differs; `common` is one."""
    folder = view.root / ENVIRONMENT_FOLDER
    there = {path.name for path in folder.iterdir()} if folder.is_dir() else set()
    there |= {path for path in view.below(ENVIRONMENT_FOLDER) if "/" not in path}
    real = folder.resolve()
    if folder.is_symlink() and real.is_relative_to(view.top):
        # What is gone from behind a link differs there.
        below = View(real, f"{real.relative_to(view.top).as_posix()}/", view.changed, frozenset()).below("")
        there |= {path for path in below if "/" not in path}
    for name in there:
        if name.endswith((".yaml", ".yml")) and view.differs_on_the_way(f"{ENVIRONMENT_FOLDER}/{name}"):
            yield PurePosixPath(name).stem
    if "" in there:
        yield COMMON


def _reason(
    view: View, found: git.Repository, touched: frozenset[str], environments: frozenset[str]
) -> tuple[str, bool]:
    """Return what differs that concerns every project, empty where nothing does, and whether in every environment."""
    if COMMON in environments:
        return f"{ENVIRONMENT_FOLDER}/{COMMON}.yaml", True
    if touched & {"", "argocd"}:
        return f"{GENERATED}/", True
    if read_formats(view.root / GENERATED) - {FORMAT}:
        return f"another version of mlspec wrote {GENERATED}/", True
    brought = tool.changed(found, view)
    if brought:
        return brought, True
    return ", ".join(f"{ENVIRONMENT_FOLDER}/{name}.yaml" for name in sorted(environments)), False


def _own(
    view: View,
    data: Mapping[Path, bytes],
    heads: Mapping[Path, Sequence[Head]],
    touched: frozenset[str],
) -> Iterator[Path]:
    """Yield the project files that differ, or of which something differs that they ship, or that they generated."""
    generated = {name for path in touched if (name := owner(path)) is not None}
    shipping = set(_shipping(view, data))
    for path in data:
        name = path.relative_to(view.root).as_posix()
        if (
            path in shipping
            or view.differs(name)
            or (path.is_symlink() and view.differs_on_the_way(name))
            or any(head.name in generated or _ships_otherwise(view, head) for head in heads[path])
        ):
            yield path


def _ships_otherwise(view: View, head: Head) -> bool:
    """Say whether a file that a project ships is not what its lock says, whatever Git knows of it.

    Git is silent about what it ignores, and about ends of lines that it converts.
    """
    state = read_state(view.root / GENERATED, head.name) if head.name is not None else None
    for name, recorded in state.lock.inputs.items() if state is not None and state.lock is not None else ():
        path = name.removeprefix("../")
        file = path.rpartition("/")[2]
        if file == PROJECT_FILE or (path.startswith(f"{ENVIRONMENT_FOLDER}/") and file.endswith((".yaml", ".yml"))):
            continue
        try:
            content = opening.read_linked(view.root, view.root / path, source.MAX_BYTES + 1)
        except (opening.RefusedError, OSError):
            return True
        if digest(content) != recorded:
            return True
    return False


def _shipping(view: View, data: Mapping[Path, bytes]) -> Iterator[Path]:
    """Yield the project files above a file that differs and whose name stands in them; no YAML is parsed for that.

    A name may be folded over lines, and what is escaped may be any name.
    """
    texts: dict[Path, str] = {}
    for path in {*view.below(""), *view.untracked}:
        if path == "" or path.startswith(f"{GENERATED}/"):
            continue
        place = view.root / path
        word = " ".join(place.name.split())
        for folder in place.parents:
            project = folder / PROJECT_FILE
            if project in data:
                text = texts.setdefault(project, " ".join(data[project].decode("utf-8", "replace").split()))
                if word in text or "\\" in text or "'" in word or not word.isprintable():
                    yield project
            if folder == view.root:
                break


def _heads_before(view: View, found: git.Repository) -> list[Head] | None:
    """Return the heads that project files had which differ now; None where this clone does not hold them."""
    paths = [path for path in view.below("") if PurePosixPath(path).name == PROJECT_FILE]
    before: list[Head] = []
    try:
        for base in view.changed.commits if paths else ():
            there = sorted(set(git.listing(found, base)).intersection(paths))
            for path, content in git.contents(found, base, there, source.MAX_BYTES):
                before += read_heads(path, content)
    except git.GitError:
        return None
    return before
