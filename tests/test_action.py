"""The action for users' CI, run in clones as actions/checkout leaves them, against a GitHub on loopback."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from tests import actions
from tests.actions import Run
from tests.support import mlspec
from tests.test_diff import commit, git, make

_PROJECT = """\
steps:
  train:
    {kind: job, image: "a:1", command: [train], args: {lr: 0.1}, handoff: none, resources: {cpu: 1, memory: 1Gi}}
"""
_GOOD, _BAD = ("lr: 0.1", "lr: 0.2"), ("lr: 0.1", "lr: 0.1}, needs: [trian], env: {A: b")


class GitHub(ThreadingHTTPServer):
    """Comments of one pull request, and what was asked for."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.comments: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.refuses: int | None = None
        self.who: dict[str, str] = {"type": "Bot", "login": "github-actions[bot]"}
        self.tokens: set[str] = set()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}"


class _Handler(BaseHTTPRequestHandler):
    server: GitHub

    def _answer(self) -> None:
        server, parts = self.server, urlsplit(self.path)
        server.asked.append(f"{self.command} {parts.path}")
        server.tokens.add(self.headers["Authorization"])
        length = int(self.headers.get("Content-Length") or 0)
        content = json.loads(self.rfile.read(length)) if length else {}
        code: int = 200
        answer: Any = None
        if server.refuses is not None and self.command != "GET":
            code, answer = server.refuses, {"message": "Resource not accessible by integration"}
        elif parts.path == "/user":
            human = server.who["type"] != "Bot"
            code, answer = (200, server.who) if human else (403, {"message": "Resource not accessible by integration"})
        elif len(content.get("body", "")) > 65_536:
            code, answer = 422, {"message": "body is too long (maximum is 65536 characters)"}
        elif self.command == "POST":
            answer = {"id": len(server.comments) + 1, "user": server.who, "html_url": "a link", **content}
            server.comments.append(answer)
            code = 201
        elif self.command == "PATCH":
            answer = server.comments[int(parts.path.rpartition("/")[2]) - 1]
            answer.update(content)
        else:
            page, size = (int(parse_qs(parts.query)[name][0]) for name in ("page", "per_page"))
            answer = server.comments[(page - 1) * size : page * size]
        data = json.dumps(answer).encode()
        self.send_response(code)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = _answer  # noqa: N815  # the library's names

    def log_message(self, *arguments: Any) -> None:
        """Stay silent."""


@pytest.fixture
def github() -> Iterator[GitHub]:
    with GitHub() as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        yield server
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Install mlspec once, by the action's own step, as the default says: the repository that the action is part of."""
    temporary = tmp_path_factory.mktemp("runner")
    folder = tmp_path_factory.mktemp("nothing")
    found = actions.run(folder, temporary / "steps", {}, {}, RUNNER_TEMP=str(temporary))
    step = found.steps["Install mlspec"]
    assert step.code == 0, step.output
    assert Path(step.outputs["mlspec"]).is_file()
    assert step.outputs["version"].count("-") == 1
    assert list((temporary / "mlspec").rglob("mlspec/__pycache__/*.pyc")), "bytecode is compiled"
    return temporary


class PullRequest:
    """A repository with a pull request whose root is a folder of it, and a clone of what is checked out."""

    def __init__(self, folder: Path, edit: tuple[str, str], *, generate: bool = True) -> None:
        self.origin, self.clone, self._folder = folder / "origin", folder / "clone", folder
        root = make(self.origin / "ml", _PROJECT)
        git(root, "rm", "--quiet", "-r", "--cached", ".")
        (root / ".git").rename(self.origin / ".git")
        assert mlspec(root, "generate").code == 0
        self.base = commit(self.origin)
        git(self.origin, "checkout", "--quiet", "-b", "change")
        self.root = root
        self.edit(*edit, generate=generate)

    def edit(self, before: str, after: str, *, generate: bool = True) -> None:
        """Add a commit to the branch, and merge it as GitHub does for the checks."""
        git(self.origin, "checkout", "--quiet", "change")
        path = self.root / "mlproject.yaml"
        assert before in path.read_text()
        path.write_text(path.read_text().replace(before, after))
        if generate:
            assert mlspec(self.root, "generate").code == 0
        self.head = commit(self.origin)
        git(self.origin, "checkout", "--quiet", "--detach", "main")
        git(self.origin, "merge", "--quiet", "--no-ff", "--message", "a merge", "change")
        self.merge = git(self.origin, "rev-parse", "HEAD")
        git(self.origin, "update-ref", "refs/pull/7/merge", self.merge)

    def checkout(self, *, depth: int = 1, what: str = "") -> None:
        """Clone as actions/checkout does: one commit, without branches."""
        git(self._folder, "init", "--quiet", str(self.clone))
        git(self.clone, "remote", "add", "origin", self.origin.as_uri())
        more = [f"--depth={depth}"] if depth else []
        git(self.clone, "fetch", "--quiet", "--no-tags", *more, "origin", what or self.merge)
        git(self.clone, "checkout", "--quiet", "--detach", "FETCH_HEAD")

    def check(self, home: Path, github: GitHub | None, **inputs: str) -> Run:
        """Run the action, mlspec being installed."""
        number = len(list(self._folder.glob("steps*")))
        temporary = self._folder / f"steps{number}"
        context = {
            "github.event_name": "pull_request",
            "github.event.pull_request.number": "7",
            "github.token": "the-token",
        }
        variables = {
            "RUNNER_TEMP": str(home),
            "GITHUB_EVENT_NAME": "pull_request",
            "GITHUB_SHA": self.merge,
            "GITHUB_BASE_REF": "main",
            "GITHUB_REPOSITORY": "acme/models",
            "GITHUB_API_URL": github.url if github else "http://127.0.0.1:9",
        }
        given = {"root": "ml", "kustomize": "none", **inputs}
        event = given.pop("event", None)
        if event:
            context["github.event_name"] = variables["GITHUB_EVENT_NAME"] = event
        return actions.run(self.clone, temporary, given, context, **variables)


@pytest.fixture(autouse=True)
def _installed(monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest) -> None:
    """Where mlspec is installed already, the action's step has nothing to do but say so."""
    if "home" not in request.fixturenames:
        return
    original = actions._step

    def step(script: str, workspace: Path, folder: Path, variables: dict[str, str]) -> actions.Step:
        home = Path(variables["RUNNER_TEMP"])
        if "install.sh" in script and (home / "mlspec").exists():
            outputs = {"mlspec": str(home / "mlspec/bin/mlspec"), "version": "1-3", "cache": str(home / "mlspec-cache")}
            return actions.Step(0, "", "", outputs)
        return original(script, workspace, folder, variables)

    monkeypatch.setattr(actions, "_step", step)


def test_a_good_pull_request(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=2)
    found = change.check(home, github)
    assert not found.failed, found
    assert found.outputs == {"base": change.base, "exit-code": "0"}
    assert "changed since" in found.steps["Check"].output
    assert "mlspec check: 1 warning in 1 file" in found.steps["Check"].summary, "argocd.path is not where this root is"
    (comment,) = github.comments
    assert comment["body"].startswith("<!-- mlspec diff: ml -->\n**Since ")
    assert "starts 1 run" in comment["body"]
    assert "starts 1 run" in found.steps["Comment"].summary
    assert github.tokens == {"Bearer the-token"}
    assert "the-token" not in "".join(step.output for step in found.steps.values())


def test_the_comment_is_one_and_is_edited(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=0)
    # Many comments stand before ours, and one that a person wrote in our name.
    person = {"user": {"type": "User", "login": "mallory"}, "body": "<!-- mlspec diff: ml -->\nall is well"}
    github.comments += [{"id": number + 1, **person} for number in range(130)]
    assert "made a link" in change.check(home, github).steps["Comment"].output
    assert len(github.comments) == 131
    first = github.comments[130]["body"]
    assert "the comment says so already" in change.check(home, github).steps["Comment"].output
    change.edit("lr: 0.2", "lr: 0.3")
    git(change.clone, "fetch", "--quiet", "origin", change.merge)
    git(change.clone, "checkout", "--quiet", "--detach", "FETCH_HEAD")
    assert "edited a link" in change.check(home, github).steps["Comment"].output
    assert len(github.comments) == 131
    assert github.comments[130]["body"] != first
    assert all(item["body"] == person["body"] for item in github.comments[:130])


def test_a_token_of_a_person_edits_its_own_comment(tmp_path: Path, home: Path, github: GitHub) -> None:
    github.who = {"type": "User", "login": "ci"}
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=2)
    change.check(home, github)
    change.check(home, github)
    assert len(github.comments) == 1


def test_a_bad_pull_request(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _BAD, generate=False)
    change.checkout(depth=2)
    found = change.check(home, github)
    assert found.failed
    assert found.outputs["exit-code"] == "1"
    (error,) = [command for command in actions.commands(found.steps["Check"].output) if command[0] == "error"]
    assert error[1]["file"] == "ml/mlproject.yaml"
    assert error[1]["line"] == "7"
    assert error[1]["title"].startswith("MLS201 ")
    assert "there is no step `trian`" in error[2]
    assert "there is no step `trian`" in found.steps["Check"].summary
    assert found.steps["Comment"].code == 0
    assert "does not compile" in github.comments[0]["body"]


def test_drift_fails_and_the_comment_is_made(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD, generate=False)
    change.checkout(depth=2)
    found = change.check(home, github)
    assert found.outputs["exit-code"] == "1"
    assert {command[1]["title"][:6] for command in actions.commands(found.steps["Check"].output)} >= {"MLS501"}
    assert "starts 1 run" in github.comments[0]["body"]


@pytest.mark.parametrize("code", [401, 403, 404, 500])
def test_a_refused_comment_is_said_and_fails_nothing(tmp_path: Path, home: Path, github: GitHub, code: int) -> None:
    github.refuses = code
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=2)
    found = change.check(home, github)
    assert not found.failed
    (notice,) = actions.commands(found.steps["Comment"].output)
    assert notice[0] == "notice"
    assert str(code) in notice[2]
    assert "starts 1 run" in found.steps["Comment"].summary


def test_nobody_answers(tmp_path: Path, home: Path) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=2)
    found = change.check(home, None)
    assert not found.failed
    assert "no answer" in found.steps["Comment"].output


def test_nothing_differs_and_nothing_is_said(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, ("steps:", "# a remark\nsteps:"))
    change.checkout(depth=2)
    assert not change.check(home, github).failed
    assert github.comments == []


def test_without_the_comment_nobody_is_asked(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=2)
    found = change.check(home, github, comment="false")
    assert "Comment" not in found.steps
    assert github.asked == []


def test_a_shallow_clone_fetches_what_it_needs(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=1)
    found = change.check(home, github)
    assert found.outputs["base"] == change.base
    assert "starts 1 run" in github.comments[0]["body"]


def test_a_shallow_clone_that_can_fetch_nothing_checks_everything(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=1)
    git(change.clone, "remote", "set-url", "origin", (tmp_path / "nowhere").as_uri())
    found = change.check(home, github)
    assert found.outputs == {"base": "", "exit-code": "0"}
    assert "fetch-depth: 2" in found.steps["Find the base"].output
    assert "checked 1 project" in found.steps["Check"].output
    assert github.asked == []


@pytest.mark.parametrize("depth", [0, 1])
def test_a_checkout_of_the_branch_itself(tmp_path: Path, home: Path, github: GitHub, depth: int) -> None:
    change = PullRequest(tmp_path, _GOOD)
    git(change.origin, "checkout", "--quiet", "main")
    (change.origin / "beside.txt").write_text("later, on main")
    commit(change.origin)
    change.checkout(depth=depth, what=change.head)
    found = change.check(home, github)
    assert found.outputs["base"] == change.base, "where the two parted"


def test_a_push_checks_everything(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=1)
    found = change.check(home, github, event="push")
    assert found.outputs == {"base": "", "exit-code": "0"}
    assert "Comment" not in found.steps
    assert github.asked == []


def test_a_revision_that_is_not_there(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=1)
    for revision in ("origin/nothing", "--upload-pack=touch x", "$(touch x)"):
        found = change.check(home, github, **{"changed-since": revision})
        assert found.failed
        assert found.steps["Find the base"].code == 2
        assert "fetch-depth: 0" in found.steps["Find the base"].output
    assert not list(tmp_path.rglob("x"))


def test_a_root_that_is_not_there(tmp_path: Path, home: Path, github: GitHub) -> None:
    change = PullRequest(tmp_path, _GOOD)
    change.checkout(depth=2)
    found = change.check(home, github, root="ml/generated")
    assert found.outputs["exit-code"] == "2"
    assert "no folder environments/" in found.steps["Check"].output


def test_no_word_of_a_user_is_a_command(tmp_path: Path, home: Path, github: GitHub) -> None:
    hostile = "lr: 0.1}, env: {A: '::add-mask::x ##[add-matcher]y @team <b>', B: ['::stop-commands::x'"
    change = PullRequest(tmp_path, ("lr: 0.1", f"{hostile}]"), generate=False)
    change.checkout(depth=2)
    found = change.check(home, github)
    assert found.outputs["exit-code"] == "1"
    for step in found.steps.values():
        assert {command[0] for command in actions.commands(step.output)} <= {"error", "warning", "notice"}


def test_what_can_be_installed(tmp_path: Path) -> None:
    for version in ("not a version", "1; touch x", "$(touch x)"):
        found = actions.run(tmp_path, tmp_path / version[:1], {"version": version}, {}, RUNNER_TEMP=str(tmp_path))
        assert found.steps["Install mlspec"].code == 2
        assert "neither a version nor a path" in found.steps["Install mlspec"].output
    assert not (tmp_path / "x").exists()


def test_modules_of_the_checkout_are_not_what_installs(tmp_path: Path) -> None:
    """`python -m venv` in a checkout would run a `venv.py` of the pull request's, with everything the job may do."""
    checkout = tmp_path / "checkout"
    for module in ("venv", "pip/__main__", "pip/__init__", "platform", "sitecustomize"):
        path = checkout / f"{module}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"open({str(tmp_path / 'ran')!r}, 'a').write({module!r})\nraise SystemExit(7)\n")
    (checkout / "empty").mkdir()
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    found = actions.run(checkout, tmp_path / "steps", {"version": "./empty"}, {}, RUNNER_TEMP=str(temporary))
    assert found.steps["Install mlspec"].code != 0
    assert not (tmp_path / "ran").exists(), (tmp_path / "ran").read_text()


def test_every_input_and_output_is_used_and_described() -> None:
    action = actions.definition()
    text = (actions.ACTION / "action.yml").read_text()
    for name, value in action["inputs"].items():
        assert value["description"], name
        assert f"inputs.{name}" in text, name
    scripts = {path.name for path in actions.ACTION.glob("*.sh")}
    assert {step["run"] for step in action["runs"]["steps"] if "run" in step} == {
        f'bash "$GITHUB_ACTION_PATH/{name}"' for name in scripts
    }
