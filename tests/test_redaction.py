"""No output shows a secret that somebody wrote, whatever else is wrong with the spec, and whatever the policy is."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec import cli, yamltext
from mlspec.commands import check
from mlspec.literals.objects import redact_object
from mlspec.report.hidden import Source, mask
from tests.literals import FORMS
from tests.strategies import Root, roots
from tests.support import ENVIRONMENT, REPOSITORY, make_root, mlspec, write_tree
from tests.test_diff import commit

NAMED: Final = "correct-horse-battery"
"""A secret that only its name gives away."""
COMMANDS: Final = (
    ("check",),
    ("check", "--output-format=concise"),
    ("check", "--output-format=json"),
    ("generate", "--diff"),
    ("render", "-e", "dev"),
    ("render", "-e", "dev", "--projected", "--output-format=json"),
    ("generate", "--check"),
    ("graph",),
    ("graph", "--format=mermaid", "-e", "dev"),
    ("diff",),
    ("diff", "--format=markdown"),
    ("diff", "--format=json"),
    ("promote", "served", "--to", "dev"),
    ("generate",),
)
BREAKS: Final = ("{}", "{}: x", "\t{}", "{} [", '{} "', "{}\n{}", "&a {}", "{} # {}", "? {}", "{}x: {{", "- {}")
"""What becomes of the line with the secret in it."""


def parts(secret: str) -> set[str]:
    """Return pieces of a secret, any of which would tell too much."""
    found = set()
    for line in secret.splitlines():
        if len(line) >= 20 and "PRIVATE KEY" not in line:
            found |= {line[-12:], line[len(line) // 2 - 6 : len(line) // 2 + 6]}
            found |= {line[35:47]} if len(line) > 60 else set()
    return found or {secret}


def leaves(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the path of every scalar."""
    if isinstance(value, dict | list):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from leaves(item, (*path, key))
    else:
        yield path


def put(value: Any, path: tuple[Any, ...], new: Any) -> None:
    """Set a value by its path."""
    for key in path[:-1]:
        value = value[key]
    value[path[-1]] = new


def planted(draw: Any, root: Root) -> str:
    """Put a secret somewhere into a root; returns it."""
    tree = draw(st.sampled_from([*root.projects, *root.environments.values()]))
    if draw(st.booleans()):
        secret = FORMS[draw(st.sampled_from(sorted(FORMS)))]
        path = draw(st.sampled_from([path for path in leaves(tree) if path[-1] not in ("apiVersion", "kind")]))
        form = draw(st.sampled_from(["{}", "a {}", "https://example.com/{}", "https://u:{}@example.com", "x={}"]))
        where = draw(st.sampled_from(["value", "key", "list"]))
        text = form.format(secret)
        put(tree, path, {"value": text, "key": {text: "x"}, "list": [text]}[where])
        return secret
    step = {
        "kind": "job",
        "image": "python:3.12-slim",
        "command": ["tool", "--db-password", NAMED, f"--api-key={NAMED}"],
        "args": draw(st.sampled_from([{"db-password": NAMED, "epochs": 3}, ["-x", "--db-password", NAMED, "--y"]])),
        "env": {"DB_PASSWORD": NAMED, "A": "b", "OPTIONS": f"--api-key {NAMED}"},
        "patch": [
            {
                "op": "add",
                "path": "/spec/template/spec/containers/0/env/-",
                "value": {"name": "SMTP_PASSWORD", "value": NAMED},
            }
        ],
    }
    root.projects[0].setdefault("steps", {})["planted"] = step
    if draw(st.booleans()):
        path = draw(st.sampled_from(list(leaves(step))))
        put(step, path, draw(st.sampled_from([{"a": NAMED} if path[-1] == "DB_PASSWORD" else 7, [], "", {"b": 1}])))
    return NAMED


def broken(draw: Any, text: str, secret: str) -> str:
    """Do something to the line that holds a secret."""
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if any(part in line for part in parts(secret))]
    if not places:
        return text
    number = draw(st.sampled_from(places))
    form = draw(st.sampled_from(BREAKS))
    lines[number] = form.replace("{}", "\0").replace("{{", "{").replace("\0", lines[number])
    return "\n".join(lines)


@settings(max_examples=25)
@given(st.data())
def test_no_command_shows_a_secret(data: st.DataObject) -> None:
    root: Root = copy.deepcopy(data.draw(roots()))
    weighs = data.draw(st.sampled_from([None, "off", "warn"]))
    for environment in root.environments.values():
        if weighs is not None:
            environment["policy"] = {"MLS430": weighs}
    with TemporaryDirectory() as name:
        folder = root.write(Path(name))
        if data.draw(st.booleans()):
            mlspec(folder, "generate")
        commit(folder)
        secret = planted(data.draw, root)
        files = root.files()
        if data.draw(st.booleans()):
            files = {
                name: broken(data.draw, text, secret) if isinstance(text, str) and name.endswith(".yaml") else text
                for name, text in files.items()
            }
        write_tree(folder, files)
        steps = [step for project in root.projects for step in project.get("steps", {})][:2]
        runs = [("explain", "run", step, "-e", "dev", "--against", "HEAD") for step in [*steps, "planted"]]
        for command in (*COMMANDS, *runs):
            result = mlspec(folder, *command)
            assert "Traceback" not in result.output
            for part in parts(secret):
                assert part not in result.output, (command, result.output)


PROJECT: Final = f"""\
steps:
  train:
    kind: job
    image: python:3.12-slim
    script: train.py
    args: {{db-password: {NAMED}, epochs: 3}}
    env: {{DB_PASSWORD: {NAMED}, CA: "{FORMS["aws"]}"}}
services:
  served:
    kind: kserve
    model: {{format: onnx, uri: "s3://models/a"}}
"""
OFF: Final = ENVIRONMENT + "policy: {MLS430: off}\n"


def git_root(folder: Path, project: str = PROJECT) -> Path:
    """Make a root, in a repository, in which secrets are written down and the policy says nothing about it."""
    root = make_root(folder, project, {"dev": OFF})
    write_tree(root, {"train.py": f"PASSWORD = '{NAMED}'\n"})
    return root


def test_diff_shows_that_a_secret_changed_and_not_what_it_is(tmp_path: Path) -> None:
    root = git_root(tmp_path)
    commit(root)
    text = (root / "mlproject.yaml").read_text()
    (root / "mlproject.yaml").write_text(text.replace(NAMED, "another-horse").replace("epochs: 3", "epochs: 4"))
    (root / "train.py").write_text("PASSWORD = 'another-horse'\n")
    for shape in ("text", "markdown", "json"):
        result = mlspec(root, "diff", f"--format={shape}")
        assert result.code == 1, result.output
        assert "another-horse" not in result.output
        assert NAMED not in result.output
        assert "epochs 4" in result.stdout
    assert "env.DB_PASSWORD: [hidden] → [hidden]" in mlspec(root, "diff").stdout
    changed = json.loads(mlspec(root, "diff", "--format=json").stdout)
    (start,) = changed["projects"][0]["environments"][0]["differences"]["starts"]
    assert {"path": "env.DB_PASSWORD", "before": "[hidden]", "after": "[hidden]"} in start["reasons"]


def test_explain_run_and_generate_diff(tmp_path: Path) -> None:
    root = git_root(tmp_path)
    explained = mlspec(root, "explain", "run", "train", "-e", "dev")
    assert explained.code == 0, explained.output
    assert "--db-password [hidden] --epochs 3" in explained.stdout
    assert NAMED not in explained.output
    assert FORMS["aws"] not in explained.output
    shown = mlspec(root, "generate", "--diff")
    assert "+          value: [hidden]" in shown.stdout
    assert "PASSWORD = '[hidden]'" in shown.stdout
    assert NAMED not in shown.output
    assert FORMS["aws"] not in shown.output


WRONG: Final = PROJECT.replace("script: train.py", f"script: train.py\n    deadline: {FORMS['web token']}")
"""A token that was pasted into the wrong field: the message quotes its beginning, which looks like nothing."""


def test_a_message_that_quotes_the_beginning_of_a_secret(tmp_path: Path) -> None:
    root = git_root(tmp_path, WRONG)
    for shape in ("full", "concise", "json"):
        result = mlspec(root, "check", f"--output-format={shape}")
        assert result.code == 1
        assert "`[hidden]…` is not a duration" in result.stdout
        assert FORMS["web token"][:12] not in result.output


def test_what_was_wrong_at_the_revision_is_told_without_secrets(tmp_path: Path) -> None:
    root = git_root(tmp_path, WRONG)
    commit(root)
    text = (root / "mlproject.yaml").read_text()
    write_tree(root, {"mlproject.yaml": text.replace(FORMS["web token"], "3h")})
    for shape in ("text", "markdown", "json"):
        result = mlspec(root, "diff", f"--format={shape}")
        assert "there was an error" in result.stdout
        assert "is not a duration" in result.stdout
        assert FORMS["web token"][:12] not in result.output


def test_a_service_with_a_signed_uri_in_the_graph(tmp_path: Path) -> None:
    """What no rule of the model refuses yet is hidden all the same."""
    root = make_root(tmp_path, PROJECT.replace("models/a", f"models/{FORMS['github']}"), {"dev": OFF})
    write_tree(root, {"train.py": ""})
    for shape in ("text", "mermaid"):
        result = mlspec(root, "graph", f"--format={shape}")
        assert "s3://models/[hidden]" in result.stdout or "hidden" in result.stdout
        assert FORMS["github"] not in result.output


@pytest.mark.parametrize("debug", [False, True])
def test_a_fault_of_ours_shows_no_secret(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, debug: bool) -> None:
    def fails(*_: object, **__: object) -> None:
        raise ValueError(f"cannot use {FORMS['gitlab']}")

    monkeypatch.setattr(check, "compile_root", fails)
    monkeypatch.setenv("MLSPEC_DEBUG", "1" if debug else "")
    root = git_root(tmp_path)
    result = mlspec(root, "check")
    assert result.code == 2
    assert "internal error: ValueError: cannot use [hidden]" in result.stderr
    assert FORMS["gitlab"] not in result.output
    assert ("Traceback" in result.stderr) is debug
    assert cli.run is not None
    assert os.environ["MLSPEC_DEBUG"] in ("", "1")


def test_carets_stand_under_what_is_shown(tmp_path: Path) -> None:
    """Places are those of the file; what is hidden may be shorter or longer than what stands there."""
    project = f"steps:\n  a: {{kind: job, image: x, env: {{DB_PASSWORD: {NAMED}}}, imag: y}}\n"
    result = mlspec(make_root(tmp_path, project), "check")
    lines = result.stdout.splitlines()
    for number, line in enumerate(lines):
        if "unknown key `imag`" in line:
            shown = next(row for row in lines[number:] if "imag: y" in row)
            carets = lines[lines.index(shown) + 1]
            assert shown[carets.index("^") :].startswith("imag: y")
            assert carets.count("^") == len("imag")
            break
    else:
        pytest.fail(result.output)
    # In the file it stands where it stands.
    found = json.loads(mlspec(tmp_path, "check", "--output-format=json").stdout)["diagnostics"]
    (unknown,) = (item for item in found if item["code"] == "MLS102")
    column = unknown["range"]["start"]["column"]
    assert project.splitlines()[1][column - 1 :].startswith("imag: y")


@given(st.text("abcde", max_size=30), st.lists(st.tuples(st.integers(0, 30), st.integers(1, 6)), max_size=3))
def test_columns_outside_of_secrets_keep_their_character(line: str, cuts: list[tuple[int, int]]) -> None:
    secrets: list[tuple[int, int]] = []
    for start, length in sorted(cuts):
        if start + length <= len(line) and (not secrets or start >= secrets[-1][1]):
            secrets.append((start, start + length))
    masked = mask(line, secrets)
    for column in range(1, len(line) + 1):
        if not any(start < column <= end for start, end in secrets):
            assert masked.text[masked.column(column) - 1] == line[column - 1]


def test_a_secret_of_several_lines_is_hidden_in_each() -> None:
    source = Source(f"a: b\nkey: |\n  {FORMS['private key'].replace(chr(10), chr(10) + '  ')}\nc: d\n")
    shown = [source.masked(number).text for number in range(1, len(source.lines) + 1)]
    assert shown == ["a: b", "key: |", *["  [hidden]"] * 6, "c: d", ""]


@pytest.mark.parametrize("shape", ["yaml", "json"])
@pytest.mark.parametrize("more", [(), ("--projected",)])
def test_render_hides_what_the_policy_would_refuse(tmp_path: Path, shape: str, more: tuple[str, ...]) -> None:
    """The rest is what it was: other programs read it."""
    root = git_root(tmp_path, PROJECT.replace(f'"{FORMS["aws"]}"', f'"{FORMS["aws"]}", TOKENIZER: bpe'))
    write_tree(root, {"train.py": f"PASSWORD = '{NAMED}'\ntoken = other\n"})
    result = mlspec(root, "render", "-e", "dev", "--output-format", shape, *more)
    assert result.code == 0, result.output
    assert NAMED not in result.output
    assert FORMS["aws"] not in result.output
    assert "[hidden]" in result.stdout
    assert "bpe" in result.stdout
    assert bool(more) or "token = other" in result.stdout


def test_manifests_without_secrets_are_left_alone() -> None:
    seen = 0
    for path in sorted((REPOSITORY / "tests").glob("*/**/expected.yaml")):
        for body in yamltext.load_all(path.read_text()):
            assert redact_object(body) is body, path
            seen += 1
    assert seen > 50
