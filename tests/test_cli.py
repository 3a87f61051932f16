"""The command line: exit codes, what goes to which stream, where mlspec looks, and what hostile files end in."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from mlspec import __version__, cli
from mlspec.check import tools
from mlspec.codes import CODES
from mlspec.commands import check as check_command
from mlspec.diagnostics import Diagnostic, Span
from mlspec.report import text as report
from tests.support import ENVIRONMENT, PEAK, PROJECT, REPOSITORY, make_root, mlspec, snapshot, write_tree

JOB = "steps:\n  prepare:\n    kind: job\n    image: python:3.12-slim\n"
TYPO = "steps:\n  prepare:\n    kind: job\n    image: python:3.12-slim\n    retires: 1\n"


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path / "root", JOB)


@pytest.fixture
def generated(root: Path) -> Path:
    assert mlspec(root, "generate").code == 0
    return root


def _process(root: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY), **environment},
        capture_output=True,
        check=False,
        timeout=60,
    )


# --- exit codes and streams ---


def test_fine_is_0_and_says_nothing_on_stdout(generated: Path) -> None:
    result = mlspec(generated, "check")
    assert (result.code, result.stdout) == (0, "")
    assert "checked 1 project in 1 environment" in result.stderr


def test_findings_are_1_and_data(tmp_path: Path) -> None:
    result = mlspec(make_root(tmp_path, TYPO), "check")
    assert result.code == 1
    assert result.stdout.startswith("error[MLS102]: unknown key `retires`\n")
    assert result.stderr == "found 1 error in 1 file\n"


def test_generate_puts_findings_on_stderr_and_writes_nothing(tmp_path: Path) -> None:
    root = make_root(tmp_path, TYPO)
    before = snapshot(root)
    result = mlspec(root, "generate")
    assert (result.code, result.stdout) == (1, "")
    assert "error[MLS102]" in result.stderr
    assert snapshot(root) == before


def test_a_warning_is_0(tmp_path: Path) -> None:
    step = "steps:\n  train:\n    kind: pytorch\n    image: python\n    command: [python, /opt/train.py]\n"
    root = make_root(tmp_path, step)
    assert mlspec(root, "generate").code == 0
    result = mlspec(root, "check")
    assert result.code == 0
    assert "warning[MLS216]" in result.stdout


def test_several_errors_give_one_summary(tmp_path: Path) -> None:
    root = make_root(tmp_path, TYPO + "    deadline: soon\n", {"dev": ENVIRONMENT + "clusters: x\n"})
    assert mlspec(root, "check").stderr == "found 3 errors in 2 files\n"


@pytest.mark.parametrize(
    "arguments",
    [
        ("--unknown",),
        ("unknown",),
        ("check", "--unknown"),
        ("check", "--output-format", "xml"),
        ("check", "-e", "unknown"),
        ("check", "-e", "common"),
        ("check", "missing.yaml"),
        ("check", "--root", "missing"),
        ("--root", "mlproject.yaml", "check"),
        ("check", ".."),
        ("generate", "missing"),
        ("schema", "pod"),
        ("explain", "MLS999"),
        ("completion", "tcsh"),
    ],
)
def test_usage_is_2_on_stderr(root: Path, arguments: tuple[str, ...]) -> None:
    result = mlspec(root, *arguments)
    assert (result.code, result.stdout) == (2, "")
    assert "Error: " in result.stderr
    assert "Traceback" not in result.stderr


def test_no_root_is_2(tmp_path: Path) -> None:
    result = mlspec(tmp_path, "check")
    assert result.code == 2
    assert "environments/" in result.stderr


def test_nothing_at_all_shows_the_help(root: Path) -> None:
    result = mlspec(root)
    assert result.code == 2
    assert "Commands:" in result.output


@pytest.mark.parametrize("name", ["mlproject.yaml", "environments/prod.yaml", "environments/common.yaml"])
def test_a_broken_link_is_unreadable_and_2(root: Path, name: str) -> None:
    (root / name).unlink(missing_ok=True)
    (root / name).symlink_to("nowhere")
    result = mlspec(root, "check")
    assert result.code == 2
    assert f"error[MLS112]: cannot be read: no such file or directory\n  --> {name}:1:1" in result.stdout


def test_a_circle_of_links_is_unreadable(root: Path) -> None:
    (root / "mlproject.yaml").unlink()
    (root / "mlproject.yaml").symlink_to("mlproject.yaml")
    result = mlspec(root, "check")
    assert result.code == 2
    assert "MLS112" in result.stdout


def test_a_pipe_is_not_waited_for(root: Path) -> None:
    (root / "mlproject.yaml").unlink()
    os.mkfifo(root / "mlproject.yaml")
    result = mlspec(root, "check")
    assert result.code == 2
    assert "not a regular file" in result.stdout


def test_a_folder_that_cannot_be_searched_is_named(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "team").mkdir()
    real = os.scandir

    def scandir(path: str) -> object:
        if Path(path).name == "team":
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    result = mlspec(root, "check")
    assert result.code == 2
    assert "error[MLS112]: cannot be read: permission denied\n  --> team:1:1" in result.stdout


def test_no_kustomize_is_2_even_beside_findings(generated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_kustomize", lambda: None)
    result = mlspec(generated, "check")
    assert result.code == 2
    assert "error[MLS306]" in result.stdout
    assert "pip install 'mlspec-gitops[kustomize]'" in result.stdout


def test_generate_needs_no_kustomize(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools, "find_kustomize", lambda: None)
    assert mlspec(root, "generate").code == 0


def _raising(error: BaseException) -> Callable[..., object]:
    def fail(*_: object, **__: object) -> object:
        raise error

    return fail


def test_an_internal_error_is_2_without_a_traceback(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_command, "compile_root", _raising(RuntimeError("boom")))
    result = mlspec(root, "check")
    assert (result.code, result.stdout) == (2, "")
    assert result.stderr.startswith("internal error: RuntimeError: boom\n")
    assert "Traceback" not in result.stderr
    monkeypatch.setenv("MLSPEC_DEBUG", "1")
    assert "Traceback" in mlspec(root, "check").stderr


def test_an_interrupt_is_130(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(check_command, "compile_root", _raising(KeyboardInterrupt()))
    result = mlspec(root, "check")
    assert (result.code, result.stdout) == (130, "")
    assert "Traceback" not in result.stderr


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    root = make_root(tmp_path, "".join(f"unknown-{number}: 1\n" for number in range(900)))
    process = subprocess.Popen(
        [sys.executable, "-m", "mlspec", "check"],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(REPOSITORY)},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.read(10)
    process.stdout.close()
    errors = process.stderr.read().decode()
    process.stderr.close()
    process.wait(30)
    assert "Traceback" not in errors
    assert "BrokenPipe" not in errors


# --- the root and PATHS ---


@pytest.mark.parametrize("order", [("--root", "{root}", "check"), ("check", "--root", "{root}")])
def test_root_stands_before_or_after_the_command(generated: Path, tmp_path: Path, order: tuple[str, ...]) -> None:
    other = tmp_path / "elsewhere"
    other.mkdir()
    result = mlspec(other, *(word.format(root=generated) for word in order))
    assert result.code == 0, result.output


def test_root_from_the_environment(generated: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLSPEC_ROOT", str(generated))
    other = tmp_path / "elsewhere"
    other.mkdir()
    assert mlspec(other, "check").code == 0


def test_the_nearest_root_upwards(tmp_path: Path) -> None:
    root = make_root(tmp_path, TYPO)
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    assert "mlproject.yaml:9:5" in mlspec(inner, "check").stdout


def test_paths(tmp_path: Path) -> None:
    root = make_root(tmp_path, None)
    write_tree(
        root, {f"{name}/mlproject.yaml": PROJECT.replace("demo", name) + TYPO for name in ("one", "two", "two/in")}
    )
    for arguments, files in (
        ((), {"one", "two", "two/in"}),
        (("one",), {"one"}),
        (("two",), {"two", "two/in"}),
        (("two/mlproject.yaml",), {"two"}),
        (("one", "two/in/mlproject.yaml", "one/mlproject.yaml"), {"one", "two/in"}),
        ((str(root / "one"),), {"one"}),
    ):
        found = mlspec(root, "check", "--output-format", "json", *arguments).json()["diagnostics"]
        assert {entry["file"].removesuffix("/mlproject.yaml") for entry in found if entry["code"] == "MLS102"} == files


def test_a_path_names_its_own_root(tmp_path: Path) -> None:
    root = make_root(tmp_path / "root", TYPO)
    result = mlspec(tmp_path, "check", "root/mlproject.yaml", "--output-format", "concise")
    assert result.stdout == "mlproject.yaml:9:5: error[MLS102] unknown key `retires`\n"
    assert mlspec(root, "check", str(tmp_path)).code == 2


def test_what_is_not_searched(tmp_path: Path) -> None:
    root = make_root(tmp_path, JOB)
    broken = "not: a project\n"
    write_tree(
        root,
        {
            ".hidden/mlproject.yaml": broken,
            "generated/mlproject.yaml": broken,
            "fixture/environments/dev.yaml": ENVIRONMENT,
            "fixture/mlproject.yaml": broken,
            "docs/mlproject.yml": broken,
        },
    )
    assert "MLS10" not in mlspec(root, "check").stdout


def test_a_folder_named_generated_further_down_is_searched(tmp_path: Path) -> None:
    root = make_root(tmp_path, None)
    write_tree(root, {"team/generated/mlproject.yaml": PROJECT + TYPO})
    assert "team/generated/mlproject.yaml:9:5" in mlspec(root, "check").stdout


def test_one_environment(tmp_path: Path) -> None:
    root = make_root(tmp_path, JOB + "    gpu: a100:1\n", {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert "in dev" not in mlspec(root, "check", "-e", "prod").stdout
    found = mlspec(root, "check", "-e", "prod", "--output-format", "concise").stdout
    assert found == "mlproject.yaml:9:10: error[MLS205] environment prod has no GPU type `a100`\n"
    both = mlspec(root, "check", "-e", "prod", "-e", "dev", "--output-format", "concise").stdout
    assert both == "mlproject.yaml:9:10: error[MLS205] environment dev has no GPU type `a100` (and so in prod)\n"


def test_one_environment_that_is_generated(tmp_path: Path) -> None:
    root = make_root(tmp_path, JOB, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    assert mlspec(root, "generate").code == 0
    result = mlspec(root, "check", "-e", "dev")
    assert result.code == 0, result.output
    assert "in 1 environment" in result.stderr


def test_no_project_and_no_environment(tmp_path: Path) -> None:
    root = make_root(tmp_path, None)
    assert "MLS225" in mlspec(root, "check").stdout
    (root / "environments" / "dev.yaml").unlink()
    result = mlspec(root, "check")
    assert result.code == 1
    assert "MLS226" in result.stdout


def test_a_file_name_that_is_not_utf8(root: Path) -> None:
    (root / os.fsdecode(b"environments/\xff.yaml")).write_text(ENVIRONMENT)
    for output in ("full", "concise", "json"):
        result = mlspec(root, "check", "--output-format", output)
        assert result.code == 1
        result.stdout.encode()
    process = _process(root, "-m", "mlspec", "check", "--output-format", "json")
    assert b"internal error" not in process.stderr
    assert json.loads(process.stdout)["diagnostics"][0]["file"] == "environments/\\xff.yaml"


# --- output ---


def test_concise(tmp_path: Path) -> None:
    root = make_root(tmp_path, TYPO)
    result = mlspec(root, "check", "--output-format", "concise")
    assert result.stdout == "mlproject.yaml:9:5: error[MLS102] unknown key `retires`\n"


def test_json_is_all_that_stands_on_stdout(tmp_path: Path) -> None:
    found = mlspec(make_root(tmp_path, TYPO), "check", "--output-format", "json").json()
    assert found == {
        "version": 1,
        "diagnostics": [
            {
                "code": "MLS102",
                "severity": "error",
                "message": "unknown key `retires`",
                "path": "steps.prepare.retires",
                "file": "mlproject.yaml",
                "range": {"start": {"line": 9, "column": 5}, "end": {"line": 9, "column": 12}},
                "help": "did you mean `retries`?",
                "related": [],
            }
        ],
        "accepted": [],
        "judges": [],
        "summary": {"errors": 1, "warnings": 0, "notes": 0},
    }


def test_json_where_nothing_is_wrong(generated: Path) -> None:
    found = mlspec(generated, "check", "--output-format", "json").json()
    assert found["diagnostics"] == []
    assert found["summary"]["errors"] == 0


def test_json_names_second_places(tmp_path: Path) -> None:
    found = mlspec(make_root(tmp_path, "owner: again\n"), "check", "--output-format", "json").json()
    (related,) = found["diagnostics"][0]["related"]
    assert related["range"]["start"] == {"line": 4, "column": 1}


def test_output_survives_a_terminal_without_unicode(tmp_path: Path) -> None:
    root = make_root(tmp_path, "steps:\n  prepare: {kind: job, image: python, deadline: prêt→}\n")
    process = _process(root, "-m", "mlspec", "check", PYTHONIOENCODING="ascii")
    assert process.returncode == 1
    assert b"MLS105" in process.stdout


def test_colour_only_on_a_terminal_that_wants_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    def printed(stream: io.StringIO) -> str:
        monkeypatch.setattr(sys, "argv", ["mlspec", "--root", str(root), "check"])
        with contextlib.redirect_stdout(stream):
            assert cli.run() == 1
        return stream.getvalue()

    root = make_root(tmp_path, TYPO)
    assert "\x1b" not in printed(Terminal())
    monkeypatch.delenv("NO_COLOR")
    assert "\x1b" not in printed(io.StringIO())
    assert "\x1b[1;31merror[MLS102]\x1b[0m" in printed(Terminal())


def test_a_user_cannot_colour_the_terminal(tmp_path: Path) -> None:
    root = make_root(tmp_path, 'steps:\n  prepare: {kind: job, image: "a\\e[31m\\nerror: b", needs: ["\u202e"]}\n')
    for output in ("full", "concise"):
        printed = mlspec(root, "check", "--output-format", output).stdout
        assert "\x1b" not in printed
        assert "\u202e" not in printed
        assert "\nerror: b" not in printed


def test_carets_stand_below_wide_characters_and_tabs() -> None:
    for line, column, before in (("模: x", 4, "   "), ("\t\tab", 3, "\t\t"), ("e\u0301: x", 5, "   ")):
        finding = Diagnostic("MLS105", "wrong", Span("f", 1, column, 1, column + 1))
        caret = report.full([finding], {"f": line}, colour=False).splitlines()[-1]
        width = {"模: x": "    ", "\t\tab": "\t\t"}.get(line, before)
        assert caret == f"  | {width}^"


def test_a_long_line_is_cut_around_the_caret(tmp_path: Path) -> None:
    root = make_root(tmp_path, JOB + f"    env: {{A: {'x' * 500}, B-C: 1, D: {'y' * 500}}}\n")
    lines = mlspec(root, "check").stdout.splitlines()
    shown = next(line for line in lines if "B-C: 1" in line)
    assert len(shown) < 140
    assert lines[lines.index(shown) + 1].index("^") == shown.index("B-C")


# --- generate ---


def test_check_names_each_file_and_writes_nothing(root: Path) -> None:
    before = snapshot(root)
    result = mlspec(root, "generate", "--check")
    assert result.code == 1
    assert "MLS502" in result.stdout
    assert snapshot(root) == before


def test_check_names_the_file_that_differs(generated: Path) -> None:
    assert mlspec(generated, "generate", "--check").code == 0
    environment = generated / "environments" / "dev.yaml"
    environment.write_text(environment.read_text() + "access: {viewers: [others]}\n")
    before = snapshot(generated)
    result = mlspec(generated, "generate", "--check")
    assert result.code == 1
    changed = "generated/demo/overlays/dev/foundation/kustomization.yaml"
    assert result.stdout == f"{changed}:1:1: error[MLS501] out of date\n"
    assert snapshot(generated) == before


def test_diff_prints_what_would_change(generated: Path) -> None:
    assert mlspec(generated, "generate", "--diff").code == 0
    environment = generated / "environments" / "dev.yaml"
    environment.write_text(environment.read_text() + "access: {viewers: [others]}\n")
    before = snapshot(generated)
    result = mlspec(generated, "generate", "--diff")
    assert result.code == 1
    assert "--- generated/demo/overlays/dev/foundation/kustomization.yaml\n" in result.stdout
    assert any(line.startswith("+") and "others" in line for line in result.stdout.splitlines())
    assert "MLS501" in result.stderr
    assert snapshot(generated) == before


def test_diff_shows_new_files_against_nothing(root: Path) -> None:
    result = mlspec(root, "generate", "--diff")
    assert result.code == 1
    assert "--- /dev/null\n+++ generated/demo/" in result.stdout


def test_generating_twice_writes_once(generated: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in generated.rglob("*") if path.is_file()}
    assert mlspec(generated, "generate").code == 0
    assert {path: path.stat().st_mtime_ns for path in generated.rglob("*") if path.is_file()} == before


# --- small commands ---


def test_version() -> None:
    for arguments in (["-m", "mlspec", "--version"], ["-c", "from mlspec.cli import cli; cli(['--version'])"]):
        assert _process(REPOSITORY, *arguments).stdout.decode() == f"mlspec {__version__}\n"


@pytest.mark.parametrize(
    "arguments", [["--version"], ["--help"], ["-h"], ["completion", "bash"], ["explain", "MLS102"]]
)
def test_small_commands_import_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys\n"
        f"sys.argv = ['mlspec', *{arguments}]\n"
        "from mlspec.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    status = end.code\n"
        "heavy = {'pydantic', 'jsonschema_rs', 'yaml', 'jsonschema', 'asyncio', 'platformdirs'} & set(sys.modules)\n"
        "sys.exit(f'{status} {heavy}' if status or heavy else 0)\n"
    )
    result = _process(REPOSITORY, "-c", code)
    assert result.returncode == 0, result.stderr.decode()


def test_help_lists_every_command_and_the_exit_codes(root: Path) -> None:
    result = mlspec(root, "--help")
    assert result.code == 0
    for word in ("check", "completion", "explain", "generate", "graph", "init", "schema", "--root", "130"):
        assert word in result.stdout


@pytest.mark.parametrize("command", ["check", "completion", "explain", "generate", "graph", "init", "schema"])
def test_every_command_has_help(root: Path, command: str) -> None:
    result = mlspec(root, command, "--help")
    assert result.code == 0
    assert f"Usage: mlspec {command}" in result.stdout


@pytest.mark.parametrize("what", [(), ("project",), ("environment",)])
def test_schema(tmp_path: Path, what: tuple[str, ...]) -> None:
    result = mlspec(tmp_path, "schema", *what)
    assert result.code == 0
    assert result.json()["title"] == ("environments/<env>.yaml" if what == ("environment",) else "mlproject.yaml")


@pytest.mark.parametrize("code", sorted(CODES))
def test_explain(tmp_path: Path, code: str) -> None:
    result = mlspec(tmp_path, "explain", code.lower())
    assert result.code == 0
    assert result.stdout.startswith(f"{code} (")
    assert max(map(len, result.stdout.splitlines())) <= 100


def test_explain_suggests(tmp_path: Path) -> None:
    result = mlspec(tmp_path, "explain", "MSL201")
    assert result.code == 2
    assert "did you mean MLS201?" in result.stderr


@pytest.mark.parametrize(
    ("shell", "marker"), [("bash", "complete "), ("zsh", "#compdef mlspec"), ("fish", "complete ")]
)
def test_completion(tmp_path: Path, shell: str, marker: str) -> None:
    result = mlspec(tmp_path, "completion", shell)
    assert result.code == 0
    assert marker in result.stdout
    assert "_MLSPEC_COMPLETE" in result.stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_valid_shell(tmp_path: Path, shell: str) -> None:
    script = mlspec(tmp_path, "completion", shell).stdout
    found = shutil.which(shell) if shell == "bash" else None
    assert script.endswith("\n")
    if found is not None:
        assert subprocess.run([found, "-n"], input=script.encode(), check=False).returncode == 0


# --- hostile input ---

_HEAD = PROJECT + JOB
_HOSTILE: dict[str, str | bytes] = {
    "10,000 brackets": "[" * 10_000,
    "10,000 braces": "{" * 10_000,
    "10,000 dashes": "- " * 10_000,
    "1,000 levels of blocks": "".join(f"{' ' * depth}a:\n" for depth in range(1000)),
    "aliases of aliases": "a: &a [x, x, x, x, x, x, x, x, x]\n"
    + "".join(f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(20)),
    "5 MB": b"a: " + b"x" * 5_000_000,
    "a megabyte of text": _HEAD + "    deadline: " + "x" * 1_000_000,
    "100,000 keys": PROJECT + "".join(f"k{number}: 1\n" for number in range(100_000)),
    "one key 100,000 times": PROJECT + "a: 1\n" * 100_000,
    "100,000 documents": "---\n" * 100_000,
    "1,000 projects of one name": (PROJECT + "---\n") * 1_000,
    "100,000 broken documents": "---\n[\n" * 100_000,
    "900,000 digits": _HEAD + "    retries: " + "9" * 900_000,
    "900,000 digits of CPU": _HEAD + "    resources: {cpu: " + "9" * 900_000 + "}",
    "a large exponent": _HEAD + "    resources: {cpu: 1e999999999}",
    "a million tabs": "\t" * 1_000_000,
    "a million quotes": '"' * 1_000_000,
    "an escaped surrogate": PROJECT.replace("team", '"\\ud800"'),
    "a surrogate": PROJECT.encode().replace(b"team", b"\xed\xa0\x80"),
    "an image for a slow pattern": PROJECT + JOB.replace("python:3.12-slim", "a.-" * 160 + "!"),
    "random bytes": random.Random(1).randbytes(100_000),  # noqa: S311  # the same on every run
    "random text": "".join(random.Random(2).choices("[]{}:,-#&*!|>'\"%@` \nab", k=100_000)),  # noqa: S311
}


@pytest.mark.parametrize("name", _HOSTILE)
def test_hostile_files_end_in_a_diagnostic(tmp_path: Path, name: str) -> None:
    content = _HOSTILE[name]
    root = write_tree(make_root(tmp_path), {"mlproject.yaml": content})
    began = time.process_time()
    result = mlspec(root, "check")
    assert time.process_time() - began < 5
    assert result.code == 1, result.stderr
    assert "error[MLS" in result.stdout
    assert "internal error" not in result.stderr
    assert "Traceback" not in result.output


@pytest.mark.parametrize("name", ["10,000 brackets", "5 MB", "random bytes", "100,000 documents"])
def test_hostile_environments_end_in_a_diagnostic(tmp_path: Path, name: str) -> None:
    root = write_tree(make_root(tmp_path, JOB), {"environments/dev.yaml": _HOSTILE[name]})
    result = mlspec(root, "check")
    assert result.code == 1
    assert "environments/dev.yaml:" in result.stdout


def test_hostile_files_need_little_memory(tmp_path: Path) -> None:
    names = ["100,000 keys", "100,000 broken documents", "aliases of aliases", "a megabyte of text"]
    write_tree(tmp_path, {"environments/dev.yaml": ENVIRONMENT})
    write_tree(tmp_path, {f"p{number}/mlproject.yaml": _HOSTILE[name] for number, name in enumerate(names)})
    code = (
        f"{PEAK}import sys\n"
        "sys.argv = ['mlspec', 'check', '--output-format', 'concise']\n"
        "from mlspec.cli import run\n"
        "status = run()\n"
        "sys.exit(0 if status == 1 and megabytes() < 200 else f'{status} {megabytes()} MiB')\n"
    )
    result = _process(tmp_path, "-c", code)
    assert result.returncode == 0, result.stderr.decode()[-300:]
