"""`mlspec graph`: steps, services, and what they read and write, as text and as a Mermaid flowchart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from mlspec.report.mermaid import quoted
from tests.support import ENVIRONMENT, PROJECT, make_root, mlspec, snapshot, write_tree

EVERYTHING = """\
volumes:
  data: {size: 10Gi, access: ReadWriteMany}
  models: {size: 1Gi, access: ReadWriteMany}
  base: {claim: shared-llama}
  unused: {size: 1Gi}
steps:
  fetch: {kind: job, image: 'i:1', command: [fetch], mounts: {data: /data}}
  clean: {kind: job, image: 'i:1'}
  train:
    kind: pytorch
    needs: [fetch, clean]
    image: 'i:1'
    script: /opt/train.py
    nodes: 3
    mounts: {data: {path: /data, readOnly: true}, models: /models, base: {path: /base, readOnly: true}}
  judge: {kind: job, needs: [train], image: 'i:1', command: [judge], mounts: {models: {path: /models, readOnly: true}}}
services:
  chat:
    kind: kserve
    model: {format: onnx, uri: "pvc://models/chat/export"}
    replicas: {min: 1, max: 4}
  other:
    kind: kserve
    model: {format: onnx, uri: "s3://models/other"}
environments:
  dev: {steps: {train: {nodes: 1}}, services: {other: null}}
"""
TEXT = """\
demo as written, without overrides
  steps
    1. clean  job, 1 pod
    1. fetch  job, 1 pod
         writes data at /data
    2. train  pytorch, 3 pods, after fetch, clean
         reads base (claim shared-llama) at /base, read-only
         reads data at /data, read-only
         writes models at /models
    3. judge  job, 1 pod, after train
         reads models at /models, read-only
  services
    chat      kserve, up to 4 pods
         reads pvc://models/chat/export
    other     kserve, 1 pod
         reads s3://models/other
  volumes
    data          10Gi ReadWriteMany, written by fetch, read by train
    models        1Gi ReadWriteMany, written by train, read by chat, judge
    shared-llama  exists already, read by train
    unused        1Gi ReadWriteOnce
  models
    s3://models/other, read by other
"""
MERMAID = """\
flowchart LR
  subgraph p1["demo in dev"]
    p1s1["clean<br/>job, 1 pod"]
    p1s2["fetch<br/>job, 1 pod"]
    p1s3["train<br/>pytorch, 1 pod"]
    p1s4["judge<br/>job, 1 pod"]
    p1s5(["chat<br/>kserve, up to 4 pods"])
    p1d1[("data<br/>10Gi ReadWriteMany")]
    p1d2[("models<br/>1Gi ReadWriteMany")]
    p1d3[("shared-llama<br/>exists already")]
    p1d4[("unused<br/>1Gi ReadWriteOnce")]
    p1s2 --> p1s3
    p1s1 --> p1s3
    p1s3 --> p1s4
    p1s2 -.->|"writes"| p1d1
    p1d2 -.->|"read-only"| p1s4
    p1d3 -.->|"read-only"| p1s3
    p1d1 -.->|"read-only"| p1s3
    p1s3 -.->|"writes"| p1d2
    p1d2 -.->|"read-only"| p1s5
  end
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_root(tmp_path, EVERYTHING, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})


def test_text_of_what_stands_above_environments(root: Path) -> None:
    before = snapshot(root)
    result = mlspec(root, "graph")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == TEXT
    assert snapshot(root) == before


def test_an_environment_has_its_overrides(root: Path) -> None:
    shown = mlspec(root, "graph", "-e", "dev").stdout
    assert shown.startswith("demo in dev\n")
    assert "train  pytorch, 1 pod, after fetch, clean\n" in shown
    assert "other" not in shown
    assert mlspec(root, "graph", "-e", "prod").stdout == TEXT.replace("as written, without overrides", "in prod")


def test_several_environments(root: Path) -> None:
    shown = mlspec(root, "graph", "-e", "prod", "-e", "dev", "-e", "prod").stdout
    assert re.findall(r"^demo .*", shown, re.MULTILINE) == ["demo in prod", "demo in dev"]
    assert "\n\ndemo in dev\n" in shown


def test_mermaid(root: Path) -> None:
    result = mlspec(root, "graph", "--format", "mermaid", "-e", "dev")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == MERMAID


def test_a_model_outside_is_a_node_of_its_own(root: Path) -> None:
    shown = mlspec(root, "graph", "--format", "mermaid").stdout
    assert '    p1d5{{"s3#58;//models/other"}}\n' in shown
    assert '    p1d5 -.->|"read-only"| p1s6\n' in shown


def test_every_node_is_declared_once_and_every_arrow_joins_two(root: Path) -> None:
    write_tree(root, {"second/mlproject.yaml": PROJECT.replace("demo", "second") + EVERYTHING})
    lines = [line.strip() for line in mlspec(root, "graph", "--format", "mermaid").stdout.splitlines()]
    nodes = [found[1] for line in lines if (found := re.match(r"(p\d+[sd]\d+)[\[({]", line))]
    assert len(nodes) == len(set(nodes)) == 22
    arrows = [re.fullmatch(r"(p\d+\w\d+) (?:-->|-\.->\|\"[a-z-]+\"\|) (p\d+\w\d+)", line) for line in lines]
    joined = [(found[1], found[2]) for found in arrows if found]
    assert {end for pair in joined for end in pair} <= set(nodes)
    # Every line is a frame, a node or an arrow.
    assert len(nodes) + len(joined) + 2 * 2 + 1 == len(lines)


def test_the_order_of_the_file_changes_nothing(root: Path) -> None:
    shown = mlspec(root, "graph").stdout
    fetch = "  fetch: {kind: job, image: 'i:1', command: [fetch], mounts: {data: /data}}\n"
    head, _, tail = EVERYTHING.partition(fetch)
    tail = tail.replace("  judge:", f"{fetch}  judge:")
    (root / "mlproject.yaml").write_text(PROJECT + head + tail)
    assert mlspec(root, "graph").stdout == shown


def test_seldon_and_tensorflow_are_shown_by_the_same_facts(tmp_path: Path) -> None:
    project = (
        "volumes: {models: {size: 1Gi, access: ReadWriteMany}}\n"
        "steps: {train: {kind: tensorflow, image: 'i:1', script: /t.py, roles: {chief: {}, worker: {replicas: 2}}}}\n"
        "services:\n"
        "  iris:\n"
        "    kind: seldon\n"
        "    predictors:\n"
        '      a: {traffic: 50, model: {implementation: SKLEARN_SERVER, uri: "pvc://models/a"}}\n'
        '      b: {traffic: 50, model: {implementation: SKLEARN_SERVER, uri: "s3://models/b"}}\n'
    )
    root = make_root(tmp_path, project, {"dev": ENVIRONMENT + "seldon: {version: 1.16}\n"})
    shown = mlspec(root, "graph", "-e", "dev")
    assert shown.code == 0, shown.stderr
    assert "train  tensorflow, 3 pods\n" in shown.stdout
    assert (
        "iris      seldon, up to 2 pods\n         reads pvc://models/a\n         reads s3://models/b\n" in shown.stdout
    )
    assert "    models  1Gi ReadWriteMany, read by iris\n" in shown.stdout
    assert "    s3://models/b, read by iris\n" in shown.stdout


def test_an_empty_project_is_its_title(tmp_path: Path) -> None:
    root = make_root(tmp_path, "")
    assert mlspec(root, "graph").stdout == "demo as written, without overrides\n"
    shown = mlspec(root, "graph", "--format", "mermaid").stdout
    assert shown == 'flowchart LR\n  subgraph p1["demo as written, without overrides"]\n  end\n'


def test_paths_choose_projects(root: Path) -> None:
    write_tree(root, {"second/mlproject.yaml": PROJECT.replace("demo", "second")})
    assert mlspec(root, "graph", "second").stdout == "second as written, without overrides\n"
    assert mlspec(root, "graph").stdout.count("without overrides") == 2


def test_a_project_that_is_not_enabled_is_not_shown(tmp_path: Path) -> None:
    root = make_root(tmp_path, "environments: {dev: {enabled: false}}\n")
    result = mlspec(root, "graph", "-e", "dev")
    assert (result.code, result.output) == (0, "")


@pytest.mark.parametrize("arguments", [(), ("-e", "dev"), ("--format", "mermaid")])
def test_findings_go_to_stderr_and_nothing_else_is_shown(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    root = make_root(tmp_path, "steps: {a: {kind: job, image: 'i:1', needs: [b]}}\n")
    result = mlspec(root, "graph", *arguments)
    assert (result.code, result.stdout) == (1, "")
    assert "error[MLS201]: there is no step `b`" in result.stderr
    assert result.stderr.endswith("found 1 error in 1 file\n")


def test_findings_of_other_environments_are_left_out(tmp_path: Path) -> None:
    project = "steps: {a: {kind: job, image: 'i:1', gpu: 1}}\n"
    root = make_root(tmp_path, project, {"dev": ENVIRONMENT, "prod": ENVIRONMENT.replace("t4: {perNode: 4}", "{}")})
    assert mlspec(root, "graph", "-e", "dev").code == 0
    assert mlspec(root, "graph", "-e", "prod").code == 1
    assert mlspec(root, "graph").code == 1


def test_a_warning_does_not_stop_it(tmp_path: Path) -> None:
    root = make_root(tmp_path, "steps: {a: {kind: pytorch, image: 'i:1', command: [python, a.py]}}\n")
    result = mlspec(root, "graph", "-e", "dev")
    assert result.code == 0
    assert "warning[MLS216]" in result.stderr
    assert result.stdout.startswith("demo in dev\n")


@pytest.mark.parametrize(
    "arguments", [("-e", "unknown"), ("-e", "common"), ("missing",), ("--format", "svg"), ("--root", "missing")]
)
def test_usage_is_2(root: Path, arguments: tuple[str, ...]) -> None:
    result = mlspec(root, "graph", *arguments)
    assert (result.code, result.stdout) == (2, "")


def test_a_circle_is_a_finding(tmp_path: Path) -> None:
    root = make_root(
        tmp_path, "steps:\n  a: {kind: job, image: 'i:1', needs: [b]}\n  b: {kind: job, image: 'i:1', needs: [a]}\n"
    )
    result = mlspec(root, "graph")
    assert (result.code, result.stdout) == (1, "")
    assert "MLS209" in result.stderr


def test_a_user_can_neither_colour_the_terminal_nor_draw(tmp_path: Path) -> None:
    uri = 's3://a\\e[31m\\"]|`<b>;--&#1;%%{init}'
    project = f'services: {{a: {{kind: kserve, model: {{format: onnx, uri: "{uri}"}}}}}}\n'
    root = make_root(tmp_path, project)
    for output in ("text", "mermaid"):
        result = mlspec(root, "graph", "--format", output)
        assert "\x1b" not in result.output
    drawn = [line for line in mlspec(root, "graph", "--format", "mermaid").stdout.splitlines() if "s3" in line]
    assert not drawn or re.fullmatch(r'    p1d1\{\{"[\w #;./-]+"\}\}', drawn[0])


@pytest.mark.parametrize("text", ['"', "`", "<b>", "&", "#35;", "%%{init}%%", "[a](b)", "|", "style:", "\\", "\x1b"])
def test_labels_hold_only_what_is_text_to_mermaid(text: str) -> None:
    assert re.fullmatch(r"[\w ./,=+-]*(#\d+;[\w ./,=+-]*)*", quoted(text))
    assert quoted("plain-name_1, 10Gi at /data") == "plain-name_1, 10Gi at /data"
