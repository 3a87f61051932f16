"""The hand-over without signals: inputs, statuses, markers, and the program's arguments, input and variables."""

from __future__ import annotations

import json
import re
import shutil
import sys
from pathlib import Path

import pytest

from mlspec import yamltext
from tests.scripts.shells import SHIPPED, Shell
from tests.support import REPOSITORY

_OBSERVED = REPOSITORY / "tests/cluster/observed/training-operator-1.9.3"


def _exit(status: int) -> tuple[str, ...]:
    return ("sh", "-c", f"exit {status}")


def test_a_run_that_succeeds_is_marked(shell: Shell, variables: dict[str, str], run_folder: Path) -> None:
    program = ("sh", "-c", 'echo made > "$MLSPEC_RUN_DIR/model"; echo out; echo err >&2')
    status, output, errors = shell.run(*program, env=variables)
    assert (status, output, errors) == (0, "out\n", "err\n")
    assert {path.name: path.read_text() for path in run_folder.iterdir()} == {
        "_SUCCESS": "train-0123abcd\n",
        "model": "made\n",
    }


def test_a_run_without_a_directory_leaves_nothing(shell: Shell, tmp_path: Path) -> None:
    assert shell.run("pwd", env={"MLSPEC_RUN": "a-0123abcd"})[0] == 0
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("status", [1, 2, 3, 126, 127, 128, 255])
def test_a_run_that_fails_returns_its_status(
    status: int, shell: Shell, variables: dict[str, str], run_folder: Path
) -> None:
    assert shell.run(*_exit(status), env=variables)[0] == status
    assert list(run_folder.iterdir()) == []


@pytest.mark.parametrize(("name", "status"), [("KILL", 137), ("TERM", 143), ("SEGV", 139), ("INT", 130)])
def test_a_program_that_a_signal_ends_says_which(
    name: str, status: int, shell: Shell, variables: dict[str, str], run_folder: Path
) -> None:
    program = f"import os, signal; signal.signal(2, signal.SIG_DFL); os.kill(os.getpid(), signal.SIG{name})"
    assert shell.run(sys.executable, "-I", "-S", "-c", program, env=variables)[0] == status
    assert list(run_folder.iterdir()) == []


def test_a_program_that_cannot_be_started(
    shell: Shell, variables: dict[str, str], run_folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "plain").write_text("no program\n")
    # `take` and `wait` are words of the shell, and no programs.
    for program, status in (("/nowhere", 127), ("take", 127), ("wait", 127)):
        assert shell.run(program, env=variables)[0] == status, program
    assert shell.run(str(tmp_path / "plain"), env=variables)[0] == 126
    assert shell.run("", env=variables)[0] in (126, 127)  # shells differ over a name that is empty
    assert list(run_folder.iterdir()) == []


def test_no_program_is_no_success(shell: Shell, variables: dict[str, str], run_folder: Path) -> None:
    status, _, errors = shell.run(env=variables)
    assert (status, errors) == (1, "mlspec: no program is given after --\n")
    assert not run_folder.exists()


def test_inputs_may_appear_later(shell: Shell, variables: dict[str, str], run_folder: Path, tmp_path: Path) -> None:
    first, second, third = (tmp_path / name for name in ("an input", "b*", "c"))
    third.mkdir()
    (third / "_SUCCESS").touch()
    started = shell.start("echo", "begun", inputs=[first, second, third], env=variables)
    started.until(f"waiting for {first}/_SUCCESS\n")
    first.mkdir()
    (first / "_SUCCESS").touch()
    started.until(f"waiting for {second}/_SUCCESS\n")
    assert started.process.poll() is None
    assert (started.output, run_folder.exists()) == (b"", False)
    second.mkdir()
    (second / "_SUCCESS").touch()
    assert started.status() == 0
    assert started.output == b"begun\n"
    assert started.errors == "".join(f"mlspec: waiting for {path}/_SUCCESS\n" for path in (first, second))
    assert (run_folder / "_SUCCESS").is_file()


@pytest.mark.parametrize("rank", ["0", "3"])
def test_a_run_that_has_succeeded_ends_at_once(
    rank: str, shell: Shell, variables: dict[str, str], run_folder: Path, tmp_path: Path
) -> None:
    run_folder.mkdir(parents=True)
    (run_folder / "_SUCCESS").write_text("as it was\n")
    never = tmp_path / "never"
    status, output, errors = shell.run("echo", "begun", inputs=[never], env={**variables, "RANK": rank})
    assert (status, output) == (0, "")
    assert errors == f"mlspec: nothing to do, this run has already succeeded: {run_folder}/_SUCCESS\n"
    assert (run_folder / "_SUCCESS").read_text() == "as it was\n"


@pytest.mark.parametrize(("rank", "marked"), [("0", True), ("", True), ("1", False), ("10", False)])
def test_only_rank_0_marks(rank: str, marked: bool, shell: Shell, variables: dict[str, str], run_folder: Path) -> None:
    assert shell.run(*_exit(0), env={**variables, "RANK": rank})[0] == 0
    assert (run_folder / "_SUCCESS").exists() is marked
    assert shell.run(*_exit(5), env={**variables, "RANK": "1"})[0] == (0 if marked else 5)


def _configurations(case: str) -> dict[str, str]:
    """Return what the training operator gave each pod of a TFJob as TF_CONFIG, by the pod's name."""
    found = {}
    for pod in yamltext.load_all((_OBSERVED / case).read_text()):
        assert isinstance(pod, dict)
        for container in pod.get("spec", {}).get("containers", ()):
            for variable in container.get("env", ()):
                if variable["name"] == "TF_CONFIG":
                    found[pod["metadata"]["name"]] = variable["value"]
    return found


@pytest.mark.parametrize(
    ("case", "leader", "roles"),
    [
        ("kinds-tensorflow-parameter-servers.demo-dev.yaml", "chief-0", {"chief", "ps", "worker"}),
        ("kinds-tensorflow-programs.demo-dev.yaml", "worker-0", {"evaluator", "ps", "worker"}),
    ],
)
@pytest.mark.parametrize("chief", ["chief", "master"])
def test_one_pod_of_a_tfjob_marks(
    case: str, leader: str, roles: set[str], chief: str, shell: Shell, variables: dict[str, str], run_folder: Path
) -> None:
    configurations = _configurations(case)
    assert {name.split("-")[-2] for name in configurations} == roles
    for pod, configuration in configurations.items():
        # The operator takes either word for the role; records have the first.
        env = {**variables, "TF_CONFIG": configuration.replace('"chief"', f'"{chief}"')}
        assert shell.run(*_exit(0), env=env)[0] == 0
        assert (run_folder / "_SUCCESS").exists() is pod.endswith(f"-{leader}"), pod
        shutil.rmtree(run_folder)


def test_a_marker_that_cannot_be_written_is_a_failure(
    shell: Shell, variables: dict[str, str], run_folder: Path
) -> None:
    # Root writes everywhere, so something stands in the way; the second is in the way of the move.
    for name in (f"._SUCCESS.{variables['HOSTNAME']}", None):
        program = ("sh", "-c", f"mkdir '{run_folder}/{name}'") if name else ("rm", "-r", str(run_folder))
        status, _, errors = shell.run(*program, env=variables)
        assert status == 1
        assert f"mlspec: the program succeeded, but {run_folder}/_SUCCESS cannot be written\n" in errors
        assert not (run_folder / "_SUCCESS").exists()


def test_a_run_directory_that_cannot_be_made_is_a_failure(
    shell: Shell, variables: dict[str, str], run_folder: Path
) -> None:
    run_folder.parent.parent.mkdir()
    run_folder.parent.write_text("a file")
    status, output, errors = shell.run("echo", "begun", env=variables)
    assert (status, output) == (1, "")
    assert f"mlspec: cannot make the run directory {run_folder}\n" in errors


_ARGUMENTS = [
    "", " ", "a  b", "*", "?", "[a]", "~", "$HOME", "${HOME}", "$(pwd)", "`pwd`", "'", '"', "\\", "\\n", "a\nb", "\n",
    "-n", "--", "-e", "!", "é", "#", ";", "a=b", "&",
]  # fmt: skip


def test_arguments_arrive_as_they_are(shell: Shell, tmp_path: Path) -> None:
    (tmp_path / "_SUCCESS").touch()
    program = (sys.executable, "-I", "-S", "-c", "import json, sys; print(json.dumps(sys.argv[1:]))", *_ARGUMENTS)
    status, output, errors = shell.run(*program, inputs=[tmp_path])
    assert (status, errors) == (0, "")
    assert json.loads(output) == _ARGUMENTS


def test_the_program_reads_standard_input_and_inherits_no_other_file(shell: Shell) -> None:
    started = shell.start("sh", "-c", "cat; ls /proc/self/fd")
    started.feed(b"some\ninput\n")
    started.close()
    assert started.status() == 0
    # 3 is the folder that ls itself has opened.
    assert started.output == b"some\ninput\n0\n1\n2\n3\n"


def test_variables_arrive_as_they_are(shell: Shell, variables: dict[str, str]) -> None:
    ours = dict.fromkeys(re.findall(r"\b([a-z]+)=", SHIPPED.replace("_", " ")), "theirs")
    assert {"marker", "program", "timer"} < set(ours)
    given = {**variables, **ours, "A": "x\ny", "B": "", "C": "'\"$A", "TF_CONFIG": ""}
    shown = "import json, os; print(json.dumps(dict(os.environ)))"
    _, output, _ = shell.run(sys.executable, "-I", "-S", "-c", shown, env=given)
    found = json.loads(output)
    assert {name: found.get(name) for name in given} == given
    # What a shell of this name sets for everything that it starts, and Python for itself.
    assert set(found) - set(given) <= {"PWD", "OLDPWD", "SHLVL", "_", "PATH", "LC_CTYPE"}


def test_it_needs_three_utilities(shell: Shell, variables: dict[str, str], run_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("mkdir", "mv", "sleep"):
        path = shutil.which(name)
        assert path is not None
        (folder / name).symlink_to(path)
    program = shutil.which("true")
    assert program is not None
    started = shell.start(program, inputs=[tmp_path], env={**variables, "PATH": str(folder)})
    started.until("waiting for")
    (tmp_path / "_SUCCESS").touch()
    assert started.status() == 0
    assert (run_folder / "_SUCCESS").is_file()
    assert started.errors.count("\n") == 1


def test_unset_variables_are_no_error(shell: Shell, tmp_path: Path) -> None:
    started = shell.start("true", inputs=[tmp_path], text="set -u\n" + SHIPPED.replace("sleep 2", "sleep 0.01"))
    started.until("waiting for")
    (tmp_path / "_SUCCESS").touch()
    assert started.status() == 0
    assert started.errors == f"mlspec: waiting for {tmp_path}/_SUCCESS\n"
