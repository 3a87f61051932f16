"""`mlspec run`: the graph on this computer, in order, once, judged; what cannot run is said before anything does."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Final

import pytest

from mlspec.local.folders import Folders
from tests import local_runs
from tests.support import ENVIRONMENT, make_root, mlspec, write_tree

_ALLOWED: Final = {
    *("CUDA_VISIBLE_DEVICES", "HOME", "HOSTNAME", "LANG", "LOGNAME", "OMP_NUM_THREADS", "PATH", "USER"),
    *("MLSPEC_RUN", "MLSPEC_RUN_DIR", "LC_CTYPE", "PWD", "OLDPWD", "SHLVL", "_", "_MLSPEC_LOCAL", "TMPDIR", "TZ"),
    *("REQUESTS_CA_BUNDLE", "SSL_CERT_DIR", "SSL_CERT_FILE", "LD_LIBRARY_PATH", "LC_ALL", "__CF_USER_TEXT_ENCODING"),
}
"""What a shell sets by itself included."""


def _directory(root: Path, claim: str, step: str) -> Path:
    (found,) = (root / ".mlspec" / "volumes" / claim / "demo").glob(f"{step}-*")
    return found


def test_whole_graph(tmp_path: Path) -> None:
    """All steps in the order of `needs`, then the artefact, the metrics and the gate; the second time nothing runs."""
    root = local_runs.root(tmp_path)
    first = local_runs.run(root, NAME_OF_MINE="x")
    assert first.code == 0, first.output
    train, evaluate = _directory(root, "models", "train"), _directory(root, "models", "evaluate")
    assert first.stdout.splitlines() == [
        f"prepare: .mlspec/volumes/data/demo/{_directory(root, 'data', 'prepare').name}",
        f"train: .mlspec/volumes/models/demo/{train.name}",
        f"evaluate: .mlspec/volumes/models/demo/{evaluate.name} (accuracy 0.95, loss 0.125)",
        f"model: .mlspec/volumes/models/demo/{train.name}/export",
        "gate: model: may be served",
    ]
    assert "project demo in dev\n" in first.stderr
    assert first.stderr.count("images are not used") == 1
    assert "prepare: prepared\n" in first.stderr
    assert "train: step 5 of 5, 1,234 samples/s, loss 0.25\n" in first.stderr
    again = local_runs.run(root)
    assert (again.code, again.stdout) == (0, first.stdout)
    for run in (_directory(root, "data", "prepare"), train, evaluate):
        assert f"{run.name.rpartition('-')[0]}: up to date ({run.name})\n" in again.stderr
    assert "prepared" not in again.stderr


def test_words_and_variables(tmp_path: Path) -> None:
    """Paths below mounts are those of this computer, and nothing of this process comes through that was not meant."""
    root = local_runs.root(tmp_path)
    result = local_runs.run(root, "prepare", NAME_OF_MINE="x", PYTHONSTARTUP="y")
    assert result.code == 0, result.output
    run = _directory(root, "data", "prepare")
    assert (run / "words").read_text().splitlines() == [f"--out={root}/.mlspec/volumes/data/raw", str(run)]
    found = set((run / "variables").read_text().splitlines())
    assert {"MLSPEC_RUN", "MLSPEC_RUN_DIR", "OMP_NUM_THREADS", "PATH", "HOME"} <= found
    assert {name for name in found if not name.lower().endswith("_proxy")} <= _ALLOWED
    assert "gate: `model` is not judged without `evaluate`" in result.stderr


def test_what_git_must_not_see(tmp_path: Path) -> None:
    root = local_runs.root(tmp_path)
    assert local_runs.run(root, "prepare").code == 0
    for folder in ("volumes", "logs"):
        assert (root / ".mlspec" / folder / ".gitignore").read_text() == "*\n"
    assert not (root / ".mlspec" / ".gitignore").exists()
    assert not (root / "generated").exists()


def test_step_with_what_it_needs(tmp_path: Path) -> None:
    root = local_runs.root(tmp_path)
    result = local_runs.run(root, "train")
    assert result.code == 0, result.output
    assert [line.partition(":")[0] for line in result.stdout.splitlines()] == ["prepare", "train"]
    assert not list((root / ".mlspec" / "volumes").rglob("metrics.json"))


def test_gate_refuses(tmp_path: Path) -> None:
    """By the program that refuses in the cluster, and with its words."""
    weak = local_runs.PROGRAMS["evaluate.py"].replace("0.95", "0.5")
    result = local_runs.run(local_runs.root(tmp_path, evaluate=weak))
    assert result.code == 1
    name = _directory(tmp_path, "models", "evaluate").name
    assert f"gate: {name}: accuracy 0.5, at least 0.9 wanted\n" in result.stdout
    assert result.stdout.endswith("gate: model: not to be served\n")


@pytest.mark.parametrize(("accuracy", "code", "words"), [("0.95", 0, "passed"), ("0.5", 1, "accuracy 0.5")])
def test_threshold_without_a_service(tmp_path: Path, accuracy: str, code: int, words: str) -> None:
    project = local_runs.PROJECT.partition("services:")[0]
    evaluate = local_runs.PROGRAMS["evaluate.py"].replace("0.95", accuracy)
    result = local_runs.run(local_runs.root(tmp_path, project, evaluate=evaluate))
    assert result.code == code, result.output
    assert next(line for line in result.stdout.splitlines() if line.startswith("gate: evaluate")).count(words) == 1


def test_pinned_service_is_judged_by_what_was_trained_here(tmp_path: Path) -> None:
    """The pin names a run of the cluster, whose model is not here."""
    root = local_runs.root(tmp_path)
    pinned = ENVIRONMENT + "promotion: pinned\n"
    write_tree(root, {"environments/dev.yaml": pinned})
    result = local_runs.run(root)
    assert result.code == 0, result.output
    assert result.stdout.endswith("gate: model: may be served\n")


def test_failure_ends_what_needs_it(tmp_path: Path) -> None:
    """Its own words are shown, its dependants are left out, and the next run begins with it."""
    root = local_runs.root(tmp_path, train="raise SystemExit('there is no data')\n")
    result = local_runs.run(root)
    assert result.code == 1
    assert "train: failed with exit code 1; the end of .mlspec/logs/train-" in result.stderr
    assert "  | there is no data\n" in result.stderr
    assert "evaluate: not run, since it needs what failed\n" in result.stderr
    assert result.stdout.splitlines() == [
        f"prepare: .mlspec/volumes/data/demo/{_directory(root, 'data', 'prepare').name}"
    ]
    assert "gate:" not in result.stdout


@pytest.mark.parametrize(
    ("step", "words"),
    [
        ("{command: [python, /opt/train.py]}", "`/opt/train.py` exists only in the image"),
        ("{command: [python3, train.py]}", "`train.py` exists only in the image"),
        ("{command: [/opt/conda/bin/train]}", "`/opt/conda/bin/train` exists only in the image"),
        ("{command: [no-such-program-here]}", "`no-such-program-here` exists only in the image"),
        ("{handoff: none}", "starts the entry point of its image"),
        ("{script: prepare.py, env: {TOKEN: {secret: hub, key: token}}}", "needs the variable TOKEN (key `token` of"),
    ],
)
def test_what_cannot_run(tmp_path: Path, step: str, words: str) -> None:
    """One line a step, with its name, before anything has run."""
    project = (
        "volumes: {data: {size: 1Gi, access: ReadWriteMany}}\nsecrets: {hub: {keys: [token]}}\n"
        "steps:\n  first: {kind: job, image: 'i:1', script: prepare.py, mounts: {data: /data}}\n"
        f"  second: {{kind: job, image: 'i:1', needs: [first], mounts: {{data: /data}}, {step[1:]}\n"
    )
    root = local_runs.root(tmp_path, project)
    result = mlspec(root, "run")
    assert result.code == 2, result.output
    (line,) = [line for line in result.stderr.splitlines() if line.startswith("error: ")]
    assert "step `second`" in line
    assert words in line
    assert not list((root / ".mlspec" / "volumes").glob("data"))


def test_secret_of_this_process(tmp_path: Path) -> None:
    project = (
        "volumes: {data: {size: 1Gi, access: ReadWriteMany}}\nsecrets: {hub: {keys: [token]}}\n"
        "steps: {first: {kind: job, image: 'i:1', script: first.py, mounts: {data: /data}, "
        "env: {TOKEN: {secret: hub, key: token}}}}\n"
    )
    first = "import os; print('it is', os.environ['TOKEN'] == 'a$(B)')\n"
    result = local_runs.run(local_runs.root(tmp_path, project, first=first), TOKEN="a$(B)")  # noqa: S106
    assert result.code == 0, result.output
    assert "first: it is True\n" in result.stderr


def test_without_a_marker_it_runs_again(tmp_path: Path) -> None:
    project = "steps: {first: {kind: job, image: 'i:1', script: first.py, handoff: none}}\n"
    root = local_runs.root(tmp_path, project, first="print('here I am')\n")
    for _ in range(2):
        result = local_runs.run(root)
        assert (result.code, result.stdout) == (0, ""), result.output
        assert "first: here I am\n" in result.stderr


def test_shipped_files_and_empty_folder(tmp_path: Path) -> None:
    """Files lie where the container has them, and a program finds nothing else of the repository."""
    project = (
        "steps: {first: {kind: job, image: 'i:1', script: code/first.py, files: {settings.json: /etc/first/s.json}, "
        "args: [/etc/first/s.json]}}\n"
    )
    root = local_runs.root(tmp_path, project)
    program = "import json, os, sys\nprint(json.load(open(sys.argv[1])), os.listdir('.'), os.listdir(sys.path[0]))\n"
    write_tree(root, {"code/first.py": program, "code/other.py": "", "settings.json": '{"depth": 2}'})
    result = local_runs.run(root)
    assert result.code == 0, result.output
    assert "first: {'depth': 2} [] ['first.py']\n" in result.stderr


def test_tfjob_is_a_process_a_pod(tmp_path: Path) -> None:
    """On ports of this computer; the servers, which never end, are stopped when the chief has succeeded."""
    project = (
        "volumes: {models: {size: 1Gi, access: ReadWriteMany}}\n"
        "steps: {train: {kind: tensorflow, image: 'i:1', script: flow.py, mounts: {models: /models}, "
        "roles: {chief: {}, worker: {replicas: 2}, ps: {replicas: 1}}}}\n"
    )
    flow = """\
import json, os, pathlib, socket, time
told = json.loads(os.environ["TF_CONFIG"])
task = told["task"]
host, port = told["cluster"][task["type"]][task["index"]].split(":")
with socket.create_server((host, int(port))):
    mine = pathlib.Path(os.environ["MLSPEC_RUN_DIR"]) / f"{task['type']}-{task['index']}"
    mine.write_text(f"{host} {os.environ['HOSTNAME']}")
    while len(list(mine.parent.glob("*-*"))) < 4 or task["type"] == "ps":
        time.sleep(0.02)
"""
    root = local_runs.root(tmp_path, project, flow=flow)
    result = local_runs.run(root)
    assert result.code == 0, result.output
    run = _directory(root, "models", "train")
    assert sorted(path.name for path in run.iterdir()) == ["_SUCCESS", "chief-0", "ps-0", "worker-0", "worker-1"]
    assert (run / "worker-1").read_text() == f"127.0.0.1 {run.name}-worker-1"
    logs = {path.name for path in (root / ".mlspec" / "logs" / run.name).glob("*.log")}
    assert logs == {f"{run.name}-{pod}.log" for pod in ("chief-0", "ps-0", "worker-0", "worker-1")}


def test_errors_of_the_spec(tmp_path: Path) -> None:
    """As `check` shows them, and nothing runs; what policy has against it stops nobody on his own computer."""
    root = local_runs.root(tmp_path, local_runs.PROJECT.replace("needs: [train]", "needs: [trian]"))
    result = mlspec(root, "run")
    assert result.code == 1
    assert "MLS201" in result.stderr
    assert "did you mean `train`?" in result.stderr
    assert not (root / ".mlspec").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("trian",), "there is no step `trian`; did you mean `train`?"),
        (("-e", "nowhere"), "there is no environments/nowhere.yaml"),
        (("--project", "other"), "there is no project `other`"),
        (("--project", "./other"), "no such file or folder: "),
        (("--python", "/no/python"), "/no/python is no program"),
        (("--processes", "0"), "0 is not in the range"),
    ],
)
def test_usage(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    result = mlspec(local_runs.root(tmp_path), "run", *arguments)
    assert result.code == 2, result.output
    assert words in result.stderr


def test_environment_is_dev_or_the_only_one(tmp_path: Path) -> None:
    project = "steps: {first: {kind: job, image: 'i:1', script: first.py, handoff: none}}\n"
    write_tree(tmp_path, {"first.py": "print('ran')\n"})
    make_root(tmp_path, project, {"prod": ENVIRONMENT})
    assert "project demo in prod\n" in local_runs.run(tmp_path).stderr
    make_root(tmp_path, project, {"prod": ENVIRONMENT, "staging": ENVIRONMENT})
    several = mlspec(tmp_path, "run")
    assert several.code == 2
    assert "name one with -e: prod, staging" in several.stderr
    assert "project demo in staging\n" in local_runs.run(tmp_path, "-e", "staging").stderr
    make_root(tmp_path, project, {"prod": ENVIRONMENT, "dev": ENVIRONMENT})
    assert "project demo in dev\n" in local_runs.run(tmp_path).stderr


def test_project_is_that_of_the_folder(tmp_path: Path) -> None:
    """Or the one that is named, by name or path; among several none is guessed."""
    text = "apiVersion: mlspec.dev/v1alpha1\nkind: Project\nname: NAME\nowner: team\n"
    text += "steps: {first: {kind: job, image: 'i:1', script: first.py, handoff: none}}\n"
    make_root(tmp_path, None)
    for name in ("one", "two"):
        write_tree(
            tmp_path / name, {"mlproject.yaml": text.replace("NAME", name), "first.py": f"print('{name} ran')\n"}
        )
    several = mlspec(tmp_path, "run")
    assert several.code == 2
    assert "name one with --project: one, two" in several.stderr
    assert "one ran" in local_runs.run(tmp_path / "one").stderr
    assert "two ran" in local_runs.run(tmp_path, "--project", "two").stderr
    assert "two ran" in local_runs.run(tmp_path / "one", "--project", "../two").stderr
    (tmp_path / "one" / "mlproject.yaml").write_text(text.replace("NAME", "one").replace("kind: job", "kind: jbo"))
    assert "two ran" in local_runs.run(tmp_path, "--project", "two").stderr


def test_folders_that_cannot_be_made(tmp_path: Path) -> None:
    root = local_runs.root(tmp_path)
    (root / ".mlspec").mkdir()
    (root / ".mlspec" / "logs").write_text("")
    result = mlspec(root, "run")
    assert result.code == 2
    assert "error: .mlspec/logs cannot be made: file exists\n" in result.stderr


def test_a_bar_that_writes_over_itself(tmp_path: Path) -> None:
    project = "steps: {first: {kind: job, image: 'i:1', script: first.py, handoff: none}}\n"
    first = "print('10%\\r20%\\r100%')\nprint('no end', end='')\n"
    result = local_runs.run(local_runs.root(tmp_path, project, first=first))
    assert "first: 100%\nfirst: no end\n" in result.stderr


def test_a_claim_of_others_is_pointed_out(tmp_path: Path) -> None:
    """Once it holds something, nothing is said any more."""
    project = (
        "volumes: {photos: {claim: team-photos}}\n"
        "steps: {first: {kind: job, image: 'i:1', script: first.py, handoff: none, mounts: {photos: /photos}}}\n"
    )
    root = local_runs.root(tmp_path, project, first="print('ran')\n")
    result = local_runs.run(root)
    assert (
        "claim `team-photos` is made elsewhere in the cluster; here it is .mlspec/volumes/team-photos" in result.stderr
    )
    write_tree(root, {".mlspec/volumes/team-photos/a.png": ""})
    assert "team-photos" not in local_runs.run(root).stderr


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    """By a lock that goes with its holder, so that a file which is left behind holds nothing."""
    root = local_runs.root(tmp_path)
    folders = Folders(root)
    folders.prepare()
    with folders.held():
        second = local_runs.run(root, "prepare")
    assert second.code == 2
    assert "another `mlspec run` is at work in this root (process " in second.stderr
    assert (root / ".mlspec" / "logs" / "run.lock").exists()
    assert local_runs.run(root, "prepare").code == 0


def test_torch_is_missing(tmp_path: Path) -> None:
    project = "steps: {train: {kind: pytorch, image: 'i:1', script: train.py, nodes: 2}}\n"
    root = local_runs.root(tmp_path, project)
    python = tmp_path / "python-without-torch"
    python.write_text(f'#!/bin/sh\ncase "$*" in *torch*) exit 1 ;; esac\nexec {sys.executable} "$@"\n')
    python.chmod(0o755)
    result = mlspec(root, "run", "--python", str(python))
    assert result.code == 2
    assert f"torch is not installed beside {python}: pip install 'mlspec-gitops[train]'" in result.stderr


def test_metrics_that_are_no_json(tmp_path: Path) -> None:
    """The gate says so; nothing else stumbles over it."""
    evaluate = "import os, pathlib\npathlib.Path(os.environ['MLSPEC_RUN_DIR'], 'metrics.json').write_text('{')\n"
    result = local_runs.run(local_runs.root(tmp_path, evaluate=evaluate))
    assert result.code == 1
    assert "metrics.json is not JSON" in result.stdout
