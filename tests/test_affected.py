"""`check --changed-since`: what a change does to a root is found without judging the rest of it.

The law, for any change: with W the findings of a whole `check`, before and after, and S those of `--changed-since`,
every finding that the change brings is in S, and S says nothing that W does not: W(after) - W(before) <= S <= W(after).
While specs have errors a whole check does not get as far as drift; then the law is about what both can say.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec.spec.heads import Head, read_heads
from tests.changes import EDITS, commit, generate, make, project, replace, stage
from tests.support import Result, mlspec, write_tree
from tests.test_diff import git

_LATER = re.compile("MLS(5..|229|236|248|249|250|30[3-7])$")
"""Codes of what is only looked for where no spec has an error."""
Finding = tuple[str, str, int, str]


def _findings(result: Result) -> set[Finding]:
    return {
        (item["code"], item["file"], item["range"]["start"]["line"], item["message"])
        for item in result.json()["diagnostics"]
    }


def _check(root: Path, *words: str) -> Result:
    result = mlspec(root, "check", "--kustomize", "none", "--output-format", "json", *words)
    assert result.code in (0, 1), result.stderr
    return result


_EDITINGS = st.lists(st.tuples(st.sampled_from(sorted(EDITS)), st.integers(0, 9), st.integers(0, 29)), max_size=4)


@settings(max_examples=int(os.environ.get("MLSPEC_AFFECTED_EXAMPLES", "40")))
@given(before=_EDITINGS, after=_EDITINGS, shared=st.booleans())
def test_what_a_change_brings_is_found_and_nothing_else_is_said(
    before: list[tuple[str, int, int]], after: list[tuple[str, int, int]], shared: bool
) -> None:
    with TemporaryDirectory() as name:
        root = make(Path(name) / "root", shared=shared)
        generate(root)
        git(root, "init", "--quiet")
        for edit, first, second in before:
            EDITS[edit](root, first, second)
        commit(root)
        base = git(root, "rev-parse", "HEAD")
        was = _check(root)
        for edit, first, second in after:
            EDITS[edit](root, first, second)
        now, since = _check(root), _check(root, "--changed-since", base)
        old, new, said = _findings(was), _findings(now), _findings(since)
        if not all(result.stderr.count("checked ") for result in (was, now)):
            old, new, said = ({found for found in some if not _LATER.match(found[0])} for some in (old, new, said))
        assert new - old <= said
        assert said <= new


# --- what each kind of change concerns ---


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a root with four projects in three environments, generated and committed."""
    made = make(tmp_path / "root")
    generate(made)
    git(made, "init", "--quiet")
    commit(made)
    return made


def _judged(root: Path, *words: str) -> str:
    result = _check(root, "--changed-since", "HEAD", *words)
    (line,) = [line for line in result.stderr.splitlines() if line.startswith(("checked ", "looked at "))]
    return line.removeprefix("checked ").removeprefix("looked at ").split(" in ")[0].split(":")[0]


def test_every_overlay_is_built_where_that_is_asked_for(root: Path) -> None:
    """What is judged is what changed; what is built is everything, as long as everything can be compiled."""
    everything = mlspec(root, "check", "--kustomize", "all").stderr
    (built,) = [line for line in everything.splitlines() if "built as planned" in line]
    found = mlspec(root, "check", "--changed-since", "HEAD", "--kustomize", "all")
    assert found.code == 0
    assert "checked 0 of 4 projects" in found.stderr
    assert built in found.stderr.splitlines()
    assert " 0 of " not in built
    (root / "rec/mlproject.yaml").write_text((root / "rec/mlproject.yaml").read_text() + "unknown: 1\n")
    commit(root)
    found = mlspec(root, "check", "--changed-since", "HEAD", "--kustomize", "all")
    assert "kustomize: of other projects nothing is built, since some have errors" in found.stderr


def test_nothing_changed_judges_nothing(root: Path) -> None:
    assert _judged(root) == "0 of 4 projects (changed since HEAD)"


@pytest.mark.parametrize(
    ("path", "count"),
    [
        ("rec/mlproject.yaml", 1),
        ("rec/train.py", 1),
        ("rec/notes.md", 0),
        ("train.py", 0),
        ("generated/rec/base/foundation/kustomization.yaml", 1),
        ("generated/argocd/prod/rec.yaml", 1),
        ("generated/rec/stray.yaml", 1),
        ("generated/mlspec.lock", 0),
        ("environments/README.md", 0),
    ],
)
def test_a_file_concerns_the_projects_that_are_made_of_it(root: Path, path: str, count: int) -> None:
    target = root / path
    target.write_text((target.read_text() if target.exists() else "") + "# more\n")
    assert _judged(root) == f"{count} of 4 projects (changed since HEAD)"


def test_an_environment_concerns_every_project_and_builds_its_own_overlays(root: Path) -> None:
    path = root / "environments/prod.yaml"
    path.write_text(path.read_text() + "defaults: {cpu: 2}\n")
    assert mlspec(root, "generate").code == 0
    # What was generated is committed, so that the environment alone differs.
    text = path.read_text()
    commit(root)
    path.write_text(text + "# a comment\n")
    result = mlspec(root, "check", "--changed-since", "HEAD")
    assert "4 of 4 projects (changed since HEAD: environments/prod.yaml)" in result.stderr
    assert "4 of 4 overlays built as planned" in result.stderr
    common = root / "environments/common.yaml"
    common.write_text(common.read_text() + "# a comment\n")
    result = mlspec(root, "check", "--changed-since", "HEAD")
    assert "4 of 4 projects (changed since HEAD: environments/common.yaml)" in result.stderr
    assert "12 of 12 overlays built as planned" in result.stderr


def test_a_linked_environment_is_what_it_leads_to(tmp_path: Path) -> None:
    root = make(tmp_path / "root")
    (root / "environments/prod.yaml").rename(root / "shared.yaml")
    (root / "environments/prod.yaml").symlink_to("../shared.yaml")
    assert mlspec(root, "generate").code == 0
    git(root, "init", "--quiet")
    commit(root)
    assert _judged(root) == "0 of 4 projects (changed since HEAD)"
    (root / "shared.yaml").write_text((root / "shared.yaml").read_text() + "# more\n")
    assert _judged(root) == "4 of 4 projects (changed since HEAD"


def test_another_format_of_the_output_concerns_everyproject(root: Path) -> None:
    lock = root / "generated/tags/mlspec.lock"
    lock.write_text(lock.read_text().replace('"format": 2', '"format": 1'))
    commit(root)
    assert (
        "(changed since HEAD: another version of mlspec wrote generated/)"
        in _check(root, "--changed-since", "HEAD").stderr
    )


@pytest.mark.parametrize(
    ("path", "before", "after", "count"),
    [
        ("requirements.txt", "mlspec-gitops==0.1\n", "mlspec-gitops==0.2\n", 4),
        ("requirements.txt", "mlspec-gitops==0.1\nx==1\n\n\n\ny==1\n", "mlspec-gitops==0.1\nx==1\n\n\n\ny==2\n", 0),
        ("uv.lock", 'name = "mlspec-gitops"\nversion = "0.1"\n', 'name = "mlspec-gitops"\nversion = "0.2"\n', 4),
        (".github/workflows/ci.yml", "run: pip install mlspec-gitops\n", "run: pip install mlspec-gitops==1\n", 4),
        ("pyproject.toml", "name = 'x'\n", "name = 'y'\n", 0),
        ("notes.md", "mlspec 0.1\n", "mlspec 0.2\n", 0),
    ],
)
def test_another_mlspec_concerns_everyproject(root: Path, path: str, before: str, after: str, count: int) -> None:
    write_tree(root, {path: before})
    commit(root)
    (root / path).write_text(after)
    assert _judged(root).startswith(f"{count} of 4 projects")


def test_what_is_committed_staged_or_not_and_not_tracked_counts_alike(root: Path) -> None:
    git(root, "branch", "target")
    for name, number in (("rec", 2), ("ads", 3), ("tags", 4)):
        path = root / name / "mlproject.yaml"
        path.write_text(path.read_text().replace("train:1", f"train:{number}"))
        if name == "rec":
            commit(root)
        if name == "ads":
            stage(root)
    write_tree(root, {"new/mlproject.yaml": project("new"), "new/train.py": "print(1)\n"})
    assert _check(root, "--changed-since", "target").stderr.count("checked 4 of 5 projects (changed since target)") == 1
    git(root, "checkout", "--quiet", "--detach")
    assert _check(root, "--changed-since", "target").stderr.count("checked 4 of 5 projects") == 1


def test_only_what_this_branch_did_counts_not_what_the_other_did_meanwhile(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "feature")
    git(root, "checkout", "--quiet", "-b", "target")
    path = root / "rec/mlproject.yaml"
    path.write_text(path.read_text().replace("train:1", "train:2"))
    commit(root)
    git(root, "checkout", "--quiet", "feature")
    assert "checked 0 of 4 projects" in _check(root, "--changed-since", "target").stderr


def test_an_ignored_project_is_as_new_as_one_that_is_not_tracked(root: Path) -> None:
    write_tree(
        root, {".gitignore": "new/\n*.tmp\n", "new/mlproject.yaml": project("new"), "new/train.py": "print(1)\n"}
    )
    write_tree(root, {"generated/rec/x.tmp": "1"})
    result = _check(root, "--changed-since", "HEAD")
    assert "checked 2 of 5 projects" in result.stderr
    assert {"MLS502", "MLS504"} <= {code for code, *_ in _findings(result)}


@pytest.mark.parametrize(
    ("file", "written", "content", "setting"),
    [
        ("rec/data/it's.txt", "'data/it''s.txt'", "2\n", ""),
        ("rec/data/quiet.txt", "data/quiet.txt", "2\n", ""),  # .gitignore names it
        ("rec/data/ends.txt", "data/ends.txt", "1\r\n", "input"),
    ],
)
def test_a_shipped_file_concerns_its_project_whatever_git_says_of_it(
    file: str, written: str, content: str, setting: str, root: Path
) -> None:
    write_tree(root, {file: "1\n", ".gitignore": "quiet.txt\n"})
    replace(root / "rec/mlproject.yaml", "script:", f"files: {{{written}: /f/a}}, script:")
    assert mlspec(root, "generate").code == 0
    assert file.rpartition("/")[2] in (root / "generated/rec/mlspec.lock").read_text()
    if setting:
        git(root, "config", "core.autocrlf", setting)
    commit(root)
    assert _judged(root) == "0 of 4 projects (changed since HEAD)"
    (root / file).write_bytes(content.encode())
    assert _judged(root) == "1 of 4 projects (changed since HEAD)"


def test_a_file_shipped_from_beside_the_environments_concerns_its_project(root: Path) -> None:
    write_tree(root, {"environments/notes.txt": "1\n", "mlproject.yaml": project("top"), "train.py": "print(1)\n"})
    replace(root / "mlproject.yaml", "script:", "files: {environments/notes.txt: /f/a}, script:")
    assert mlspec(root, "generate").code == 0
    commit(root)
    assert _judged(root) == "0 of 5 projects (changed since HEAD)"
    (root / "environments/notes.txt").write_text("2\n")
    assert _judged(root) == "1 of 5 projects (changed since HEAD)"


def test_an_environment_that_is_gone_from_behind_a_linked_folder(tmp_path: Path) -> None:
    root = make(tmp_path / "root")
    (root / "environments").rename(root / "envs")
    (root / "environments").symlink_to("envs")
    assert mlspec(root, "generate").code == 0
    git(root, "init", "--quiet")
    commit(root)
    assert _judged(root) == "0 of 4 projects (changed since HEAD)"
    (root / "envs/prod.yaml").unlink()
    assert _judged(root) == "4 of 4 projects (changed since HEAD"


def test_names_that_git_would_quote(root: Path) -> None:
    folder = 'odd "name"\n\t☃'
    write_tree(root, {f"{folder}/mlproject.yaml": project("odd"), f"{folder}/train.py": "print(1)\n"})
    assert mlspec(root, "generate").code == 0
    commit(root)
    assert _judged(root) == "0 of 5 projects (changed since HEAD)"
    (root / folder / "train.py").write_text("print(2)\n")
    assert _judged(root) == "1 of 5 projects (changed since HEAD)"


def test_paths_and_a_revision_together_are_what_is_in_both(root: Path) -> None:
    for name in ("rec", "ads"):
        path = root / name / "mlproject.yaml"
        path.write_text(path.read_text().replace("train:1", "train:2"))
    assert _judged(root, "rec", "tags") == "1 of 2 projects (changed since HEAD)"


def test_a_root_in_a_folder_of_its_repository(tmp_path: Path) -> None:
    root = make(tmp_path / "repository/teams/vision")
    write_tree(tmp_path / "repository", {"rec/mlproject.yaml": "not of this root", "requirements.txt": "mlspec==1\n"})
    mlspec(root, "generate")
    commit(tmp_path / "repository")
    assert _judged(root) == "0 of 4 projects (changed since HEAD)"
    (tmp_path / "repository/rec/mlproject.yaml").write_text("changed")
    assert _judged(root) == "0 of 4 projects (changed since HEAD)"
    (root / "rec/train.py").write_text("print(2)\n")
    assert _judged(root) == "1 of 4 projects (changed since HEAD)"
    (tmp_path / "repository/requirements.txt").write_text("mlspec==2\n")
    assert _judged(root).startswith("4 of 4 projects")


def test_projects_in_a_submodule(root: Path, tmp_path: Path) -> None:
    inner = write_tree(tmp_path / "inner", {"p/mlproject.yaml": project("inner"), "p/train.py": "print(1)\n"})
    commit(inner)
    git(root, "submodule", "--quiet", "add", str(inner), "sub")
    assert mlspec(root, "generate").code == 0
    commit(root)
    assert _judged(root) == "0 of 5 projects (changed since HEAD)"
    (root / "sub/p/train.py").write_text("print(2)\n")
    assert _judged(root) == "1 of 5 projects (changed since HEAD)"


# --- what projects share ---


def test_a_name_that_another_has_is_found_and_said_as_a_whole_check_says_it(root: Path) -> None:
    replace(root / "tags/mlproject.yaml", "name: tags", "name: rec")
    result = _check(root, "--changed-since", "HEAD")
    assert "2 of 4 projects (changed since HEAD; 1 of them beside the others)" in result.stderr
    assert [code for code, *_ in _findings(result)] == ["MLS211"]
    assert _findings(result) == _findings(_check(root))


def test_two_that_make_the_same_name_with_their_environments(root: Path) -> None:
    write_tree(root, {"new/mlproject.yaml": project("rec-eu"), "new/train.py": "print(1)\n"})
    result = _check(root, "--changed-since", "HEAD")
    assert {code for code, *_ in _findings(result)} >= {"MLS222"}
    assert _findings(result) == _findings(_check(root))


def test_those_that_share_a_namespace_are_judged_together(tmp_path: Path) -> None:
    root = make(tmp_path / "root", shared=True)
    mlspec(root, "generate")
    commit(root)
    replace(root / "rec/mlproject.yaml", "train:1", "train:2")
    assert (
        "2 of 4 projects (changed since HEAD; 1 of them beside the others)"
        in _check(root, "--changed-since", "HEAD").stderr
    )


def test_a_namespace_that_one_leaves_is_another_ones_to_answer_for(tmp_path: Path) -> None:
    root = make(tmp_path / "root", shared=True)
    shutil.copy(root / "environments/dev.yaml", root / "environments/test.yaml")
    commit(root)
    assert ("MLS221", "search/mlproject.yaml") not in {found[:2] for found in _findings(_check(root))}
    replace(root / "ads/mlproject.yaml", "team-1", "team-2")
    found = _findings(_check(root, "--changed-since", "HEAD"))
    assert ("MLS221", "search/mlproject.yaml") in {finding[:2] for finding in found}


@pytest.mark.parametrize("generated", [False, True])
def test_a_project_that_is_gone_must_be_pruned(root: Path, generated: bool) -> None:
    shutil.rmtree(root / "tags")
    if generated:
        assert mlspec(root, "generate").code == 0
    result = _check(root, "--changed-since", "HEAD")
    assert "checked 0 of 3 projects" in result.stderr
    assert {code for code, *_ in _findings(result)} == (set() if generated else {"MLS509"})
    assert _findings(result) == _findings(_check(root))


def test_what_was_wrong_elsewhere_before_is_not_this_changes_business(root: Path) -> None:
    shutil.rmtree(root / "tags")
    (root / "generated/ads/stray.yaml").write_text("a: 1\n")
    commit(root)
    replace(root / "rec/mlproject.yaml", "train:1", "train:2")
    assert mlspec(root, "generate", "rec").code == 0
    assert _findings(_check(root, "--changed-since", "HEAD")) == set()
    assert {code for code, *_ in _findings(_check(root))} == {"MLS504", "MLS509"}


# --- heads ---


@pytest.mark.parametrize(
    "text",
    [
        project("demo"),
        "# a comment\n\n" + project("demo"),
        project("demo").replace("name: demo", "name:   'demo'  # quoted"),
        project("demo").replace("name: demo", '"name": demo'),
        project("demo").replace("name: demo", "? name\n: demo"),
        project("demo").replace("name: demo", 'name: "de\\x6do"'),
        project("demo") + 'description: "text\nname: other"\n',
        "{name: demo, owner: team}",
        "  name: demo\n  owner: team\n",
        project("demo").replace("\n", "\r\n"),
        "\ufeff" + project("demo"),
    ],
)
def test_the_head_of_a_project_however_it_is_written(text: str) -> None:
    assert read_heads("p", text.encode()) == (Head("demo", "team"),)


def test_heads_of_several_of_none_and_of_what_cannot_be_read() -> None:
    two = project("a") + "---\n" + project("b")
    assert read_heads("p", two.encode()) == (Head("a", "team"), Head("b", "team"))
    assert read_heads("p", b"") == ()
    assert read_heads("p", b"name: [a]\nowner: team\n") == (Head(None, "team"),)
    assert read_heads("p", b"\xff\xfe\x00") == ()


# --- bad input ---


def _refused(root: Path, revision: str = "HEAD") -> str:
    result = mlspec(root, "check", "--changed-since", revision)
    assert (result.code, result.stdout) == (2, "")
    assert "\nhelp: " in result.stderr
    return result.stderr


@pytest.mark.parametrize("revision", ["nowhere", "", "-x", "HEAD~5", "a\0b", "HEAD:rec", "..", "@{upstream}"])
def test_a_revision_that_does_not_exist(root: Path, revision: str) -> None:
    assert revision.partition("\0")[0] in _refused(root, revision)


def test_no_repository(tmp_path: Path) -> None:
    assert "not in a Git repository" in _refused(make(tmp_path))


def test_a_bare_repository(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--bare", "bare")
    assert "this repository is bare" in _refused(make(tmp_path / "bare"))
    git(tmp_path, "init", "--quiet", "full")
    inside = _refused(make(tmp_path / "full/.git/root"))
    assert "holds a repository's objects" in inside
    assert "bare" not in inside


def test_a_branch_without_acommit(root: Path) -> None:
    git(root, "branch", "target")
    git(root, "checkout", "--quiet", "--orphan", "fresh")
    assert "no commit" in _refused(root, "target")
    assert "no commit" in _refused(root, "HEAD")


def test_histories_that_have_nothing_in_common(root: Path) -> None:
    git(root, "branch", "target")
    git(root, "checkout", "--quiet", "--orphan", "fresh")
    (root / "rec/train.py").write_text("print(2)\n")
    commit(root)
    assert "HEAD and `target` have no commit in common" in _refused(root, "target")


def test_a_shallow_clone_says_how_to_get_its_history(root: Path, tmp_path: Path) -> None:
    git(root, "branch", "target")
    git(root, "checkout", "--quiet", "-b", "feature")
    for number in (2, 3):
        replace(root / "rec/mlproject.yaml", r"train:\d", f"train:{number}")
        commit(root)
    git(tmp_path, "clone", "--quiet", "--depth=1", f"file://{root}", "clone")
    clone = tmp_path / "clone"
    said = _refused(clone, "origin/target")
    assert "it is shallow" in said
    command = "git fetch --unshallow origin +refs/heads/target:refs/remotes/origin/target"
    assert f"`{command}`; in CI check out with `fetch-depth: 0`" in said
    git(clone, "fetch", "--quiet", "--depth=1", "origin", "+refs/heads/target:refs/remotes/origin/target")
    said = _refused(clone, "origin/target")
    assert "it does not hold the commit at which HEAD and `origin/target` parted" in said
    assert "fetch-depth: 0" in said
    git(clone, *command.split()[1:])  # what is told works
    assert "checked 1 of 4 projects" in _check(clone, "--changed-since", "origin/target").stderr


def test_a_partial_clone_is_enough_and_one_without_trees_says_so(root: Path, tmp_path: Path) -> None:
    replace(root / "rec/mlproject.yaml", r"train:\d", "train:2")
    shutil.rmtree(root / "tags")
    commit(root)
    git(root, "config", "uploadpack.allowFilter", "true")
    for left_out, name in (("blob:none", "blobs"), ("tree:0", "trees")):
        git(tmp_path, "clone", "--quiet", f"--filter={left_out}", f"file://{root}", name)
    result = _check(tmp_path / "blobs", "--changed-since", "HEAD~1")
    assert "checked 1 of 3 projects" in result.stderr
    assert "MLS509" in {code for code, *_ in _findings(result)}
    assert "--no-filter" in _refused(tmp_path / "trees", "HEAD~1")


def test_a_user_who_set_git_up_otherwise(tmp_path: Path) -> None:
    root = make(tmp_path / "repository/teams/vision")
    generate(root)
    commit(tmp_path / "repository")
    # To Git a rename, to a root a project that is gone and one that is new.
    replace(root / "rec/mlproject.yaml", "name: rec", "name: moved")
    (root / "rec").rename(root / "moved")
    stage(root)
    for key, value in {
        "diff.renames": "copies",
        "diff.relative": "true",
        "diff.external": "false",
        "diff.orderFile": "nowhere",
        "diff.noprefix": "true",
        "diff.ignoreSubmodules": "all",
        "status.showUntrackedFiles": "no",
        "core.quotePath": "true",
        "core.fsmonitor": "false",
    }.items():
        git(root, "config", key, value)
    assert _judged(root) == "1 of 4 projects (changed since HEAD)"
    found = _findings(_check(root, "--changed-since", "HEAD"))
    assert ("MLS509", "generated/rec/mlspec.lock") in {finding[:2] for finding in found}
    (tmp_path / "repository/requirements.txt").write_text("mlspec==2\n")
    git(tmp_path / "repository", "add", "requirements.txt")
    assert _judged(root).startswith("4 of 4 projects")


@pytest.mark.parametrize("value", ["0", "-1", "many", "1.5", "٣", "9999999999999999999999", ""])
def test_jobs_are_a_number_or_auto(root: Path, value: str) -> None:
    result = mlspec(root, "check", f"-j{value}" if value else "--jobs=")
    assert (result.code, result.stdout) == (2, "")
    assert "neither `auto` nor a number from 1 to" in result.stderr


def test_jobs_change_nothing_but_the_time(root: Path) -> None:
    replace(root / "rec/mlproject.yaml", r"train:\d", "train:2")
    assert len({mlspec(root, "check", "-j", jobs).stdout for jobs in ("1", "2", "auto", "64")}) == 1


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
@pytest.mark.parametrize("path", ["rec/mlproject.yaml", "environments/dev.yaml"])
def test_a_merge_conflict_is_said_with_its_line(root: Path, path: str, newline: str) -> None:
    text = (root / path).read_text()
    marked = text + "<<<<<<< HEAD\na: 1\n||||||| base\n=======\na: 2\n>>>>>>> feature\n"
    (root / path).write_bytes(marked.replace("\n", newline).encode())
    (found,) = [found for found in _findings(_check(root, "--changed-since", "HEAD")) if found[1] == path]
    assert found == ("MLS101", path, text.count("\n") + 1, "an unresolved merge conflict")


def test_a_merge_conflict_in_a_lock_says_what_mends_it(root: Path) -> None:
    git(root, "checkout", "--quiet", "-b", "feature")
    replace(root / "rec/mlproject.yaml", "train:1", "train:2")
    assert mlspec(root, "generate").code == 0
    commit(root)
    git(root, "checkout", "--quiet", "-b", "other", "HEAD~1")
    (root / "rec/train.py").write_text("print(2)\n")
    assert mlspec(root, "generate").code == 0
    commit(root)
    with pytest.raises(subprocess.CalledProcessError):
        git(root, "merge", "--quiet", "feature")
    found = _findings(_check(root, "--changed-since", "other"))
    assert ("MLS507", "generated/rec/mlspec.lock", 1, "an unresolved merge conflict") in found
    # What is told works.
    git(root, "checkout", "--theirs", "--", "generated/rec/mlspec.lock")
    assert mlspec(root, "generate").code == 0
    unknown = _findings(_check(root))
    assert {code for code, *_ in unknown} == {"MLS504"}
    for _, path, _, _ in unknown:
        (root / path).unlink()
    assert _findings(_check(root)) == set()
