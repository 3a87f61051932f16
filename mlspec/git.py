"""Git, read only: what a revision holds, what differs from it, and whether a file has changes that no commit has.

Git runs as a process of its own, never by a shell; it sees none of the caller's `GIT_*` variables, takes no locks, runs
no hook, pager or monitor, and reaches no network: what a clone does not hold is an error that says how to get it.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

_SECONDS: Final = 120
_AT_ONCE: Final = 500
"""Files that are in memory together."""
# A file system monitor is a program of the repository's configuration; hooks are, too.
_SETTINGS: Final = ("core.fsmonitor=false", f"core.hooksPath={os.devnull}", "core.quotePath=false")
_IN_CI: Final = "; in CI check out with `fetch-depth: 0` (GitLab: `GIT_DEPTH: 0`)"
_PARTIAL: Final = "it is a partial clone; fetch the rest: `git fetch --refetch --no-filter`"
_REGULAR: Final = frozenset({"100644", "100755"})
_LINK: Final = "120000"


class GitError(Exception):
    """Git cannot answer; `help` says what to do about it."""

    def __init__(self, message: str, help: str) -> None:
        super().__init__(message)
        self.message = message
        self.help = help


@dataclass(frozen=True, slots=True)
class Repository:
    """A root and where it lies: `prefix` is its path from the top of the repository, with a `/` behind, or empty."""

    root: Path
    prefix: str


@dataclass(frozen=True, slots=True)
class Changed:
    """What differs from a revision; paths are relative to the top of the repository, none ends in `/`."""

    commits: tuple[str, ...]
    """The commits at which HEAD and the revision parted: one, or a few where branches were merged both ways."""
    paths: frozenset[str]
    """What differs in the work tree: committed, staged, not staged; a submodule or a link stands for what is in it."""
    known: frozenset[str]
    """What Git tracks. Every other file is as new as an untracked one, ignored ones included."""


def repository(root: Path) -> Repository:
    """Return the repository that holds a root; raises GitError where there is none, or no Git."""
    result = _git(root, "rev-parse", "--is-inside-work-tree", "--is-bare-repository", "--show-prefix")
    lines = os.fsdecode(result.stdout).split("\n")
    if not result.returncode and lines[0] == "false":
        bare = "this repository is bare: it has no work tree"
        inside = "this root lies in the folder that holds a repository's objects, outside of its work tree"
        raise GitError(bare if lines[1:2] == ["true"] else inside, "check in a clone with a work tree")
    if result.returncode or lines[0] != "true":
        raise _no_repository(root, _words(result))
    # A name may hold a line break; what is printed ends with one.
    return Repository(root, "\n".join(lines[2:]).removesuffix("\n"))


def commit(found: Repository, revision: str, *, history: bool = False) -> str:
    """Return the name of the commit that a revision means; raises GitError where there is none.

    With `history` a shallow clone is told to fetch what led there, too.
    """
    if not revision or revision.startswith("-") or "\0" in revision:
        raise GitError(f"`{revision}` is not a revision", "write a branch, tag or commit: `origin/main`")
    words = ("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}^{{commit}}")
    result = _git(found.root, *words)
    name = result.stdout.decode("ascii", "replace").strip()
    # A commit that is named in full is believed by rev-parse, whether this clone holds it or not.
    if not result.returncode and not _git(found.root, "cat-file", "-e", f"{name}^{{tree}}").returncode:
        return name
    if not result.returncode and not _git(found.root, "cat-file", "-e", name).returncode:
        raise GitError(f"this clone holds `{revision}`, but not its files", _PARTIAL)
    raise _no_revision(found, revision, history=history)


def listing(found: Repository, name: str) -> list[str]:
    """Return the paths of the files of a commit below the root, relative to it; symbolic links included."""
    # `--full-tree` and a path from the top: what is listed does not depend on the folder that git starts in.
    below = [found.prefix] if found.prefix else []
    result = _git(found.root, "ls-tree", "-r", "-z", "--full-tree", name, "--", *below)
    if result.returncode:
        raise GitError(f"git cannot list {name[:12]}: {_words(result)}", "run `git fsck`")
    paths = []
    for row in result.stdout.split(b"\0"):
        head, _, path = row.partition(b"\t")
        if head.split(b" ")[0].decode() in {*_REGULAR, _LINK}:
            paths.append(os.fsdecode(path).removeprefix(found.prefix))
    return paths


def contents(found: Repository, name: str, paths: Iterable[str], most: int) -> Iterator[tuple[str, bytes]]:
    """Yield each path with its bytes in a commit; links are followed inside the commit.

    Left out are links that lead out of it or nowhere, and files of more than `most` bytes. Raises GitError where this
    clone does not hold them: a partial clone asks the network only when it checks out.
    """
    wanted = [path for path in paths if "\n" not in path]
    sizes = {}
    for path, (kind, size), _ in _batch(found, name, wanted, "--batch-check"):
        sizes[path] = size if kind == "blob" else most + 1
    fitting = [path for path in wanted if sizes[path] <= most]
    for start in range(0, len(fitting), _AT_ONCE):
        for path, _, content in _batch(found, name, fitting[start : start + _AT_ONCE], "--batch"):
            yield path, content


def _batch(found: Repository, name: str, paths: list[str], how: str) -> Iterator[tuple[str, tuple[str, int], bytes]]:
    """Yield what `git cat-file` says about each path: kind, size and content.

    Its answer is a line, `<object> <kind> <size>`, or `<what is wrong with a link> <size>` with the target behind it.
    """
    request = b"".join(os.fsencode(f"{name}:{found.prefix}{path}\n") for path in paths)
    answer, at = _git(found.root, "cat-file", how, "--follow-symlinks", stdin=request).stdout, 0
    for path in paths:
        end = answer.find(b"\n", at)
        line = answer[at:end] if end >= 0 else b" missing"
        if line.endswith(b" missing"):
            message = f"this clone does not hold {path} of {name[:12]}"
            raise GitError(message, _PARTIAL)
        words = line.split(b" ")
        kind, size, at = (words[1] if len(words) == 3 else words[0]).decode(), int(words[-1]), end + 1
        content = b""
        if how == "--batch" or len(words) == 2:  # a broken link is shown in any case
            content, at = answer[at : at + size], at + size + 1
        yield path, (kind, size), content


def changed_since(found: Repository, revision: str) -> Changed:
    """Return what differs from the commit at which HEAD and a revision parted; raises GitError where Git cannot say.

    Renames are a file that went and one that came. Files that are not tracked are not in `paths`, nor in `known`.
    """
    bases = _merge_bases(found, commit(found, revision, history=True), revision)
    # The work tree is compared, so that HEAD, the index and what was not added are one question. The options undo what
    # a user's configuration may say; a file is compared by content where its times differ.
    plain = ("--no-renames", "--no-relative", "--no-ext-diff", "--no-textconv", f"-O{os.devnull}")
    paths: set[str] = set()
    for base in bases:
        result = _git(found.root, "diff", "--name-only", "-z", *plain, "--ignore-submodules=none", base, "--")
        if result.returncode:
            raise GitError(f"git cannot compare with {base[:12]}: {_words(result)}", f"run `git fsck`; or {_PARTIAL}")
        paths |= _names(result.stdout)
    result = _git(found.root, "ls-files", "-z", "--full-name", ":/")
    if result.returncode:
        raise GitError(f"git cannot list the files: {_words(result)}", "run `git fsck`")
    return Changed(bases, frozenset(paths), frozenset(_names(result.stdout)))


def untracked(found: Repository, folder: str, *, ignored: bool = False) -> frozenset[str]:
    """Return the files below a folder of the root that Git does not track, relative to the root."""
    without = () if ignored else ("--exclude-standard",)
    result = _git(found.root, "ls-files", "-z", "--others", *without, "--", f":(literal){folder}")
    return frozenset(_names(result.stdout))


def exists(found: Repository, name: str, path: str) -> bool:
    """Say whether a commit has something at a path below the root."""
    return bool(_git(found.root, "ls-tree", "-z", "--full-tree", name, "--", f"{found.prefix}{path}").stdout)


def _names(output: bytes) -> set[str]:
    return {os.fsdecode(name).rstrip("/") for name in output.split(b"\0") if name}


def _merge_bases(found: Repository, name: str, revision: str) -> tuple[str, ...]:
    """Return the commits at which HEAD and a commit parted; raises GitError where there is none."""
    if _git(found.root, "rev-parse", "--verify", "--quiet", "HEAD^{commit}").returncode:
        raise GitError("there is no commit on this branch yet", "commit once")
    result = _git(found.root, "merge-base", "--all", name, "HEAD")
    bases = tuple(result.stdout.decode("ascii", "replace").split())
    if bases:
        return bases
    if _is_shallow(found):
        message = f"this clone is shallow: it does not hold the commit at which HEAD and `{revision}` parted"
        raise GitError(message, f"fetch the history: `git fetch --unshallow`{_IN_CI}")
    raise GitError(f"HEAD and `{revision}` have no commit in common", "name the commit at which this branch began")


def _is_shallow(found: Repository) -> bool:
    return _git(found.root, "rev-parse", "--is-shallow-repository").stdout.strip() == b"true"


def is_dirty(path: Path) -> bool:
    """Say whether a file has content that no commit has: changed, staged, in conflict, or not tracked.

    Outside of a repository, or where there is no Git to ask, there is nothing that a commit could lose: False.
    """
    try:
        words = ("status", "--porcelain", "-z", "--untracked-files=all", "--ignored=no", "--", f":(literal){path.name}")
        result = _git(path.parent, *words)
    except GitError:
        return False
    return result.returncode == 0 and bool(result.stdout)


def _git(folder: Path, *words: str, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
    """Run git in a folder; raises GitError where there is none, or it does not end."""
    program = shutil.which("git")
    if program is None:
        raise GitError("there is no git on PATH", "install git")
    settings = [word for setting in _SETTINGS for word in ("-c", setting)]
    command = [program, "--no-pager", "--no-replace-objects", *settings, *words]
    try:
        return subprocess.run(  # noqa: S603  # our own words; a revision is never an option
            command, cwd=folder, input=stdin, capture_output=True, check=False, env=_environment(), timeout=_SECONDS
        )
    except subprocess.TimeoutExpired:
        raise GitError(f"git took more than {_SECONDS} seconds", "try `git gc`") from None
    except (OSError, ValueError) as error:
        raise GitError(f"git cannot be run: {error}", "install git") from None


def _environment() -> dict[str, str]:
    """Return the caller's variables without those that would lead git elsewhere, as a hook's do."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    more = {
        "LC_ALL": "C",
        "GIT_OPTIONAL_LOCKS": "0",
        "GIT_TERMINAL_PROMPT": "0",
        # A partial clone would fetch what is missing; the second is for git before 2.44.
        "GIT_NO_LAZY_FETCH": "1",
        "GIT_ALLOW_PROTOCOL": "none",
    }
    return own | more


def _words(result: subprocess.CompletedProcess[bytes]) -> str:
    text = result.stderr.decode("utf-8", "replace").strip()
    return text.splitlines()[0].removeprefix("fatal: ") if text else "it says nothing"


def _no_repository(root: Path, words: str) -> GitError:
    if "dubious ownership" in words:
        help = f"if you trust it: `git config --global --add safe.directory {root}`"
        return GitError("git does not read this repository: it belongs to somebody else", help)
    return GitError("this root is not in a Git repository", "compare inside a clone, or run `git init` and commit")


def _no_revision(found: Repository, revision: str, *, history: bool) -> GitError:
    shallow = _is_shallow(found)
    if revision == "HEAD" and not shallow:
        return GitError("there is no commit yet", "commit once, or name another revision")
    message = f"this clone holds no revision `{revision}`"
    if not shallow:
        return GitError(message, "`git branch --all` and `git tag` list what there is; `git fetch` brings more")
    help = f"{_fetch_history(revision)}{_IN_CI}" if history else _fetch(revision)
    return GitError(f"{message}: it is shallow", help)


def _fetch_history(revision: str) -> str:
    """Return how a shallow clone gets a branch together with where it parted from HEAD."""
    remote, _, branch = revision.partition("/")
    if remote == "origin" and branch and not any(sign in revision for sign in "~^@"):
        return f"fetch it: `git fetch --unshallow origin +refs/heads/{branch}:refs/remotes/origin/{branch}`"
    return "fetch the history: `git fetch --unshallow`"


def _fetch(revision: str) -> str:
    """Return how a shallow clone gets a revision; one of a single branch must be told where to put another."""
    if any(sign in revision for sign in "~^@"):
        return "fetch the history: `git fetch --unshallow`"
    remote, _, branch = revision.partition("/")
    if remote == "origin" and branch:
        return f"fetch it: `git fetch --depth=1 origin +refs/heads/{branch}:refs/remotes/origin/{branch}`"
    return f"fetch it: `git fetch --depth=1 origin {revision}`, and compare with FETCH_HEAD"
