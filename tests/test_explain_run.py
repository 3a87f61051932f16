"""`mlspec explain run`: every input of a run's name, what is not part of it, and what has changed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ENVIRONMENT, PROJECT, mlspec, write_tree
from tests.test_diff import commit, edit, make

_STEPS = """\
volumes: {data: {size: 1Gi}, outside: {claim: shared}}
steps:
  prepare: {kind: job, image: 'i:1', command: [prepare], mounts: {data: /data}}
  train:
    kind: pytorch
    needs: [prepare]
    image: ghcr.io/acme/train:1.0
    script: train.py
    args: {epochs: 10, note: a b}
    env: {LR: 1e-4, TOKEN: {secret: hub, key: token}}
    mounts: {data: /data, outside: {path: /outside, readOnly: true}}
    resources: {cpu: 4}
    deadline: 2h
secrets: {hub: {keys: [token]}}
"""


_EVERY_INPUT = """\
train-<hash> in dev, of project demo

part of its name
  environment              dev
  needs prepare            prepare-<hash>
  args                     --epochs 10 --note 'a b'
  env.LR                   1e-4
  env.TOKEN.key            token
  env.TOKEN.secret         hub
  image                    ghcr.io/acme/train:1.0
  kind                     pytorch
  mounts.data.path         /data
  mounts.outside.path      /outside
  mounts.outside.readOnly  true
  resources.cpu            4
  script                   train.py
  claim of volume outside  shared
  file train.py            <sha256>

not part of its name
  allow           none
  cleanPodPolicy  Running
  deadline        2h
  egress          none
  retries         3
  labels, comments, the order of keys, everything in environments/, and the version of mlspec
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return a committed root whose run has inputs of every sort."""
    write_tree(tmp_path, {"train.py": "print(1)\n"})
    return make(tmp_path, _STEPS, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})


def _generated(root: Path) -> str:
    assert mlspec(root, "generate").code == 0
    (run,) = (root / "generated/demo/overlays/dev/pipeline").glob("train-*.yaml")
    return run.stem


def test_every_input(root: Path) -> None:
    result = mlspec(root, "explain", "run", "train", "-e", "dev")
    assert (result.code, result.stderr) == (0, "")
    shown = re.sub(r"\b[0-9a-f]{64}\b", "<sha256>", re.sub(r"-[0-9a-f]{8}\b", "-<hash>", result.stdout))
    assert shown == _EVERY_INPUT
    assert result.stdout.startswith(f"{_generated(root)} in dev")


@pytest.mark.parametrize(
    ("before", "after", "row"),
    [
        ("epochs: 10", "epochs: 20", "args: --epochs 10 → --epochs 20"),
        ("note: a b", "note: c", "args: --note 'a b' → --note c"),
        ("LR: 1e-4", "LR: 1e-5", "env.LR: 1e-4 → 1e-5"),
        ("cpu: 4", "cpu: 8", "resources.cpu: 4 → 8"),
        ("    resources: {cpu: 4}\n", "", 'resources: {"cpu": "4"} is removed'),
        ("{claim: shared}", "{claim: other}", "claim of volume outside: shared → other"),
        ("    needs: [prepare]\n", "", "does not need prepare any more"),
        ("[prepare], mounts", "[prepare, '2'], mounts", "needs prepare-"),
    ],
)
def test_what_has_changed_since(root: Path, before: str, after: str, row: str) -> None:
    then = _generated(root)
    edit(root, before, after)
    result = mlspec(root, "explain", "run", "train", "-e", "dev", "--against", "HEAD")
    assert result.code == 0, result.stderr
    now, _, changed = result.stdout.partition("\nsince HEAD ")
    assert not now.startswith(then)
    head, *rows = changed.splitlines()
    assert head.endswith(f": it was {then}")
    (only,) = rows
    assert only.startswith(f"  {row}")


def test_a_shipped_file_that_has_changed(root: Path) -> None:
    (root / "train.py").write_text("print(2)\n")
    result = mlspec(root, "explain", "run", "train", "-e", "dev", "--against", "HEAD")
    assert result.stdout.endswith("\n  file train.py has changed\n")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("deadline: 2h", "deadline: 3h"),
        ("deadline: 2h", "retries: 0"),
        ("steps:", "# a comment\nsteps:"),
        ("name: demo", "name: demo # the same"),
    ],
)
def test_what_is_not_part_of_the_name(root: Path, before: str, after: str) -> None:
    edit(root, before, after)
    result = mlspec(root, "explain", "run", "train", "-e", "dev", "--against", "HEAD")
    assert f"  retries         {'0' if 'retries' in after else '3'}\n" in result.stdout
    assert re.search(r"\nsince HEAD \([0-9a-f]{7}\): the same name\n$", result.stdout)


def test_nothing_has_changed_and_a_step_that_is_new(root: Path) -> None:
    shown = mlspec(root, "explain", "run", "train", "-e", "dev", "--against", "HEAD").stdout
    assert shown.endswith(": the same name\n")
    with (root / "mlproject.yaml").open("a") as file:
        file.write("environments: {prod: {steps: {more: {kind: job, image: 'i:1'}}}}\n")
    shown = mlspec(root, "explain", "run", "more", "-e", "prod", "--against", "HEAD").stdout
    assert shown.endswith(": there was no such step\n")


def test_several_projects_with_the_step(root: Path) -> None:
    write_tree(
        root, {"other/mlproject.yaml": PROJECT.replace("demo", "other") + "steps: {train: {kind: job, image: 'i:1'}}\n"}
    )
    commit(root)
    result = mlspec(root, "explain", "run", "train", "-e", "dev")
    assert (result.code, result.stdout) == (2, "")
    assert "`demo/train`, `other/train`" in result.stderr
    for words in (["other/train"], ["train", "--project", "other"], ["other/train", "--project", "other"]):
        result = mlspec(root, "explain", "run", *words, "-e", "dev", "--against", "HEAD")
        assert result.code == 0, result.stderr
        assert "of project other" in result.stdout.splitlines()[0]
    assert "of project demo" in mlspec(root, "explain", "run", "prepare", "-e", "dev").stdout


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (["trian", "-e", "dev"], "did you mean `train`?"),
        (["train", "-e", "staging"], "there is no environments/staging.yaml"),
        (["train"], "explain run STEP -e ENV"),
        (["-e", "dev"], "explain run STEP -e ENV"),
        (["train", "prepare", "-e", "dev"], "explain run STEP -e ENV"),
        (["train", "-e", "dev", "--project", "dmo"], "did you mean `demo`?"),
        (["demo/train", "-e", "dev", "--project", "other"], "a step of demo, but --project says other"),
        (["train", "-e", "dev", "--against", "--output=x"], "is not a revision"),
        (["train", "-e", "dev", "--against", "nowhere"], "holds no revision `nowhere`"),
        (["train", "-e", "dev", "--reference"], "explain run STEP -e ENV"),
    ],
)
def test_usage(root: Path, words: list[str], told: str) -> None:
    result = mlspec(root, "explain", "run", *words)
    assert (result.code, result.stdout) == (2, "")
    assert told in result.stderr


def test_errors_are_shown(root: Path) -> None:
    edit(root, "image: ghcr.io/acme/train:1.0", "imge: x")
    result = mlspec(root, "explain", "run", "train", "-e", "dev")
    assert (result.code, result.stdout) == (1, "")
    assert "error[MLS102]" in result.stderr


def test_options_of_a_run_belong_to_a_run(root: Path) -> None:
    for option in (["-e", "dev"], ["--against", "HEAD"], ["--project", "demo"], ["--root", "."]):
        result = mlspec(root, "explain", "nodes", *option)
        assert (result.code, result.stdout) == (2, "")
        assert "explain run STEP -e ENV" in result.stderr
    result = mlspec(root, "explain", "run")
    assert result.code == 0, "the field `run` of a model"
    assert result.stdout.startswith("services.<name>.model.run")
