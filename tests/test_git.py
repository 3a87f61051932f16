"""`mlspec.git`: what is read of a repository, and that reading does nothing else."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from mlspec import git
from tests.support import write_tree
from tests.test_diff import commit
from tests.test_diff import git as run

_MOST = 1 << 20


def _repository(folder: Path, files: dict[str, str | bytes]) -> tuple[git.Repository, str]:
    name = commit(write_tree(folder, files))
    return git.repository(folder), name


def test_paths_and_contents_below_the_root(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {
        "a/text": "one\n",
        "a/empty": "",
        "a/binary": bytes(range(256)) * 400,
        "a/with space and ü": "three",
        "a/blob 3": "a name like an answer",
        "a/deep/er/file": "four",
        "b/other": "five",
    }
    _, name = _repository(tmp_path, files)
    found = git.repository(tmp_path / "a")
    assert found.prefix == "a/"
    assert sorted(git.listing(found, name)) == sorted(path[2:] for path in files if path.startswith("a/"))
    wanted = [path for path in git.listing(found, name) for _ in range(2)]
    read = list(git.contents(found, name, wanted, _MOST))
    assert [path for path, _ in read] == wanted
    for path, content in read:
        assert content == (tmp_path / "a" / path).read_bytes()
    assert git.repository(tmp_path).prefix == ""
    assert "a/text" in git.listing(git.repository(tmp_path), name)


def test_more_files_than_are_in_memory_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(git, "_AT_ONCE", 7)
    files: dict[str, str | bytes] = {f"f{number}": str(number) for number in range(50)}
    found, name = _repository(tmp_path, files)
    assert dict(git.contents(found, name, files, _MOST)) == {path: str(text).encode() for path, text in files.items()}


def test_a_file_that_is_too_large_is_left_out(tmp_path: Path) -> None:
    found, name = _repository(tmp_path, {"small": b"x" * 10, "large": b"x" * 11})
    assert dict(git.contents(found, name, ["small", "large"], 10)) == {"small": b"x" * 10}


def test_a_name_with_a_line_break_is_left_out(tmp_path: Path) -> None:
    found, name = _repository(tmp_path, {"a\nb": "x", "c": "y"})
    assert sorted(git.listing(found, name)) == ["a\nb", "c"]
    assert dict(git.contents(found, name, ["a\nb", "c"], _MOST)) == {"c": b"y"}


def test_links(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    for link, target in {
        "inside": "file",
        "twice": "inside",
        "folder/up": "../file",
        "outside": "/etc/passwd",
        "above": "../../x",
        "nothing": "nowhere",
        "loop": "loop",
        "through": "file/x",
        "to-folder": "folder",
    }.items():
        (tmp_path / link).symlink_to(target)
    found, name = _repository(tmp_path, {"file": "content"})
    read = dict(git.contents(found, name, git.listing(found, name), _MOST))
    assert read == dict.fromkeys(("file", "inside", "twice", "folder/up"), b"content")


def test_a_submodule_is_no_file(tmp_path: Path) -> None:
    commit(write_tree(tmp_path / "module", {"mlproject.yaml": "x"}))
    commit(write_tree(tmp_path / "main", {"file": "x"}))
    run(tmp_path / "main", "submodule", "--quiet", "add", str(tmp_path / "module"), "module")
    name = commit(tmp_path / "main")
    assert sorted(git.listing(git.repository(tmp_path / "main"), name)) == [".gitmodules", "file"]


def test_a_worktree_and_a_detached_head(tmp_path: Path) -> None:
    root = write_tree(tmp_path / "main", {"file": "x"})
    name = commit(root)
    run(root, "worktree", "add", "--quiet", "--detach", str(tmp_path / "beside"))
    found = git.repository(tmp_path / "beside")
    assert git.commit(found, "HEAD") == name
    assert git.listing(found, name) == ["file"]


def test_a_tag_means_its_commit(tmp_path: Path) -> None:
    found, name = _repository(tmp_path, {"file": "x"})
    run(tmp_path, "tag", "--annotate", "--message=x", "v1")
    assert git.commit(found, "v1") == name


def test_a_revision_and_a_file_of_one_name(tmp_path: Path) -> None:
    found, name = _repository(tmp_path, {"main": "a file called like the branch"})
    assert git.commit(found, "main") == name


def test_variables_of_a_hook_lead_nowhere_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _, other = _repository(tmp_path / "other", {"theirs": "x"})
    found, name = _repository(tmp_path / "own", {"ours": "x"})
    for variable, value in {
        "GIT_DIR": str(tmp_path / "other/.git"),
        "GIT_WORK_TREE": str(tmp_path / "other"),
        "GIT_INDEX_FILE": str(tmp_path / "nothing"),
        "GIT_OBJECT_DIRECTORY": str(tmp_path / "other/.git/objects"),
        "GIT_CONFIG_COUNT": "broken",
        "GIT_TRACE": str(tmp_path / "trace"),
    }.items():
        monkeypatch.setenv(variable, value)
    assert git.commit(found, "HEAD") == name != other
    assert git.listing(git.repository(tmp_path / "own"), name) == ["ours"]
    assert git.is_dirty(tmp_path / "own/ours") is False
    assert not (tmp_path / "trace").exists()


def test_no_program_of_the_repository_is_run_and_nothing_is_written(tmp_path: Path) -> None:
    found, _ = _repository(tmp_path, {"file": "x", ".gitattributes": "* diff=loud filter=loud\n"})
    loud = tmp_path / "loud.sh"
    loud.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\ncat\n")
    loud.chmod(0o755)
    for setting in ("core.fsmonitor", "core.pager", "diff.external", "diff.loud.textconv", "core.askPass"):
        run(tmp_path, "config", setting, str(loud))
    hooks = tmp_path / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for hook in ("post-index-change", "post-checkout", "reference-transaction"):
        (hooks / hook).write_bytes(loud.read_bytes())
        (hooks / hook).chmod(0o755)
    os.utime(tmp_path / "file", (1, 1))  # git would refresh its index
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / ".git").rglob("*")}
    name = git.commit(found, "HEAD")
    assert dict(git.contents(found, name, git.listing(found, name), _MOST))["file"] == b"x"
    assert git.is_dirty(tmp_path / "file") is False
    assert not (tmp_path / "ran").exists()
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / ".git").rglob("*")} == before


def test_somebody_elses_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Git reads no repository of another user, since its configuration names programs."""
    _repository(tmp_path, {"file": "x"})
    monkeypatch.setattr(git, "_environment", _as_another_owner(git._environment()))
    with pytest.raises(git.GitError) as error:
        git.repository(tmp_path)
    assert "belongs to somebody else" in error.value.message
    assert "safe.directory" in error.value.help


def _as_another_owner(environment: dict[str, str]) -> Callable[[], dict[str, str]]:
    # Git's own way to test this.
    return lambda: environment | {"GIT_TEST_ASSUME_DIFFERENT_OWNER": "1"}


# --- is_dirty ---


def test_dirty(tmp_path: Path) -> None:
    file = tmp_path / "folder" / "file with [odd] *name"
    write_tree(tmp_path, {"folder/other": "y"})
    file.write_text("one")
    assert git.is_dirty(file) is False, "no repository"
    run(tmp_path, "init", "--quiet")
    assert git.is_dirty(file) is True, "not tracked"
    commit(tmp_path)
    assert git.is_dirty(file) is False
    write_tree(tmp_path, {"folder/other": "changed", "folder/file with o name": "new"})
    assert git.is_dirty(file) is False, "only others"
    file.write_text("two")
    assert git.is_dirty(file) is True, "changed"
    run(tmp_path, "add", "--all")
    assert git.is_dirty(file) is True, "staged"
    commit(tmp_path)
    assert git.is_dirty(file) is False
    file.unlink()
    assert git.is_dirty(file) is True, "gone"


def test_a_file_in_conflict_is_dirty(tmp_path: Path) -> None:
    file = tmp_path / "file"
    commit(write_tree(tmp_path, {"file": "one"}))
    run(tmp_path, "checkout", "--quiet", "-b", "other")
    commit(write_tree(tmp_path, {"file": "two"}))
    run(tmp_path, "checkout", "--quiet", "main")
    commit(write_tree(tmp_path, {"file": "three"}))
    assert git.is_dirty(file) is False
    with pytest.raises(subprocess.CalledProcessError):
        run(tmp_path, "merge", "--quiet", "other")
    assert git.is_dirty(file) is True
    file.write_text("three")
    assert git.is_dirty(file) is True, "as it was, but the conflict is not resolved"


def test_ignored_is_not_dirty_and_without_git_nothing_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run(tmp_path, "init", "--quiet")
    write_tree(tmp_path, {".gitignore": "file\n", "file": "x", "other": "y"})
    assert git.is_dirty(tmp_path / "file") is False
    assert git.is_dirty(tmp_path / "other") is True
    assert git.is_dirty(tmp_path / "missing" / "file") is False
    monkeypatch.setenv("PATH", str(tmp_path))
    assert git.is_dirty(tmp_path / "other") is False
