"""`mlspec graph --network`: who may reach whom, as text and as a Mermaid flowchart."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.support import ENVIRONMENT, PROJECT, make_root, mlspec, snapshot, write_tree

_ENVIRONMENT = (
    ENVIRONMENT.replace(
        "    s3: {cidrs: [10.0.0.0/8]}\n",
        "    s3: {cidrs: [10.0.0.0/8], ports: [443, 9000]}\n"
        "    hub: {cidrs: [0.0.0.0/0]}\n"
        "    mirror: {cidrs: [0.0.0.0/0]}\n"
        "    the-model: {namespace: demo-dev, podLabels: {mlspec.dev/service: chat}, ports: [8080]}\n"
        "    ours: {namespace: demo-dev, podLabels: {mlspec.dev/project: demo}, ports: [7]}\n"
        "    minio: {namespace: store, podLabels: {app: minio}}\n",
    )
    + "prometheus: {version: 0.85, namespace: monitoring, podLabels: {app: prometheus}}\n"
    + "promotion: follow\n"
    + "policy: {MLS410: off, MLS421: off}\n"
)
_PROJECT = """\
volumes: {models: {size: 1Gi, access: ReadWriteMany}}
steps:
  fetch: {kind: job, image: 'i:1', egress: [hub, minio]}
  train: {kind: pytorch, nodes: 3, image: 'i:1', script: /t.py, mounts: {models: /models}, egress: [s3]}
  ask: {kind: job, image: 'i:1', egress: [the-model]}
services:
  chat: {kind: kserve, model: {format: onnx, from: train, path: export}}
"""
TEXT = """\
demo in dev
  every step and service
    to    DNS: pods k8s-app=kube-dns in kube-system                   UDP 53, TCP 53
  ask  job, 1 pod
    from  nobody
    to    chat                                                        TCP 8080
  fetch  job, 1 pod
    from  nobody
    to    hub: 0.0.0.0/0 without the metadata service                 TCP 443
          minio: pods app=minio in store                              TCP 443
  train  pytorch, 3 pods
    from  the other pods of its run                                   all ports
    to    the other pods of its run                                   all ports
          s3: 10.0.0.0/8                                              TCP 443, 9000
  chat  kserve, 1 pod
    from  the gateway: pods app=istio-ingressgateway in istio-system  TCP 8080
          Prometheus: pods app=prometheus in monitoring               TCP 8002
          ask                                                         TCP 8080
    to    nobody else
  chat-gate  the gate, 1 pod
    from  nobody
    to    nobody
"""
MERMAID = """\
flowchart LR
  subgraph p1["demo in dev"]
    p1s1["ask<br/>job, 1 pod"]
    p1s2["fetch<br/>job, 1 pod"]
    p1s3["train<br/>pytorch, 3 pods"]
    p1s4["chat<br/>kserve, 1 pod"]
    p1g1["chat-gate<br/>the gate, 1 pod, no network"]
  end
  p1d1{{"DNS<br/>pods k8s-app=kube-dns in kube-system"}}
  p1d2{{"hub<br/>0.0.0.0/0 without the metadata service"}}
  p1d3{{"minio<br/>pods app=minio in store"}}
  p1d4{{"s3<br/>10.0.0.0/8"}}
  p1d5{{"the gateway<br/>pods app=istio-ingressgateway in istio-system"}}
  p1d6{{"Prometheus<br/>pods app=prometheus in monitoring"}}
  p1 -->|"UDP 53, TCP 53"| p1d1
  p1s1 -->|"TCP 8080"| p1s4
  p1s2 -->|"TCP 443"| p1d2
  p1s2 -->|"TCP 443"| p1d3
  p1s3 -->|"all ports"| p1s3
  p1s3 -->|"TCP 443, 9000"| p1d4
  p1d5 -->|"TCP 8080"| p1s4
  p1d6 -->|"TCP 8002"| p1s4
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    environments = {"dev": _ENVIRONMENT, "prod": _ENVIRONMENT.replace("demo-dev", "demo-prod")}
    return make_root(tmp_path, _PROJECT, environments)


def test_text(root: Path) -> None:
    before = snapshot(root)
    result = mlspec(root, "graph", "--network", "-e", "dev")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == TEXT
    assert snapshot(root) == before
    assert mlspec(root, "graph", "--network", "-e", "prod").stdout == TEXT.replace("in dev", "in prod")


def test_each_end_has_the_names_that_are_asked_for(root: Path) -> None:
    """Two destinations may open the same: one flow, of which each workload is told what it asked for."""
    path = root / "mlproject.yaml"
    path.write_text(
        path.read_text().replace("egress: [s3]", "egress: [mirror]").replace("[the-model]", "[mirror, hub]")
    )
    lines = [
        line.split("  TCP")[0].strip() for line in mlspec(root, "graph", "--network", "-e", "dev").stdout.splitlines()
    ]
    ends = [line.removeprefix("to").strip() for line in lines if "0.0.0.0/0" in line]
    assert [end.partition(":")[0] for end in ends] == ["hub and mirror", "hub", "mirror"]


def test_mermaid(root: Path) -> None:
    result = mlspec(root, "graph", "--network", "--format", "mermaid", "-e", "dev")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == MERMAID


def test_every_node_is_declared_once_and_every_arrow_joins_two(root: Path) -> None:
    write_tree(
        root, {"second/mlproject.yaml": PROJECT.replace("demo", "second") + "steps: {a: {kind: job, image: 'i:1'}}\n"}
    )
    lines = [
        line.strip()
        for line in mlspec(root, "graph", "--network", "--format", "mermaid", "-e", "dev").stdout.splitlines()
    ]
    frames = [found[1] for line in lines if (found := re.match(r'subgraph (p\d+)\["', line))]
    nodes = [found[1] for line in lines if (found := re.match(r"(p\d+[sdg]\d+)[\[{]", line))]
    assert frames == ["p1", "p2"]
    assert len(nodes) == len(set(nodes)) == 13
    arrows = [re.fullmatch(r"(p\d+\w*) -->\|\"[\w ,]+\"\| (p\d+\w\d+)", line) for line in lines]
    joined = [(found[1], found[2]) for found in arrows if found]
    assert {end for pair in joined for end in pair} <= {*nodes, *frames}
    # Every line is a frame, a node or an arrow.
    assert len(nodes) + len(joined) + 2 * len(frames) + 1 == len(lines)


def test_without_an_environment_all_are_shown(root: Path) -> None:
    """What a pod reaches is known to the environments alone: as written above them, it would be `nobody`."""
    names = sorted(path.stem for path in (root / "environments").glob("*.yaml") if path.stem != "common")
    shown = mlspec(root, "graph", "--network").stdout
    each = [mlspec(root, "graph", "--network", "-e", name).stdout for name in names]
    assert shown.split() == " ".join(each).split()
    assert "the gateway" in shown


def test_of_several_of_ours_a_destination_is_shown_as_it_is_written(root: Path) -> None:
    (root / "mlproject.yaml").write_text(PROJECT + _PROJECT.replace("egress: [s3]", "egress: [ours]"))
    shown = mlspec(root, "graph", "--network", "-e", "dev").stdout
    assert re.search(
        r"to    the other pods of its run +all ports\n +ours: pods mlspec.dev/project=demo in demo-dev +TCP 7\n", shown
    )
    assert re.search(r"  ask  job, 1 pod\n    from  train +TCP 7\n", shown)


def test_other_ends_of_knative_and_of_the_nodes_cache(tmp_path: Path) -> None:
    environment = _ENVIRONMENT.replace("mode: Standard", "mode: Knative").replace(
        "network:\n", "network:\n  dns: node-local\n"
    )
    project = "services: {chat: {kind: kserve, model: {format: sklearn, uri: 'oci://r/m:1'}}}\n"
    shown = mlspec(make_root(tmp_path, project, {"dev": environment}), "graph", "--network", "-e", "dev").stdout
    assert re.search(r"^          the node's DNS cache: 169\.254\.20\.10/32 +UDP 53, TCP 53$", shown, re.MULTILINE)
    assert re.search(r"^          pods app=activator in knative-serving +TCP 8012, 8013, 8112$", shown, re.MULTILINE)
    assert re.search(r"^          Prometheus: .* +TCP 9091$", shown, re.MULTILINE)


def test_an_empty_project_is_its_title(tmp_path: Path) -> None:
    root = make_root(tmp_path, "")
    assert mlspec(root, "graph", "--network").stdout == "demo in dev\n"
    shown = mlspec(root, "graph", "--network", "--format", "mermaid").stdout
    assert shown == 'flowchart LR\n  subgraph p1["demo in dev"]\n  end\n'


def test_findings_go_to_stderr_and_nothing_else_is_shown(tmp_path: Path) -> None:
    root = make_root(tmp_path, "steps: {a: {kind: job, image: 'i:1', egress: [gone]}}\n")
    result = mlspec(root, "graph", "--network", "-e", "dev")
    assert (result.code, result.stdout) == (1, "")
    assert "error[MLS204]" in result.stderr
