"""The JSON Schemas for editors: what they accept is what mlspec reads, and unknown keys are refused everywhere."""

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from mlspec.diagnostics import has_errors
from mlspec.spec.json_schema import environment_schema, project_schema
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, PROJECT, REPOSITORY, make_root, mlspec, write_tree

Tree = dict[str, Any]

# Every field of the first version, each in its long form.
EVERYTHING = """\
apiVersion: mlspec.dev/v1alpha1
kind: Project
name: demo
owner: team
volumes:
  data: {size: 10Gi, access: ReadWriteMany, class: nfs}
  shared: {claim: theirs}
secrets:
  hub: {keys: [token], external: ml/hub}
allow: {MLS407: "it unpacks plugins"}
monitoring: {interval: 30s}
runs: {onSupersede: delete}
steps:
  prepare:
    kind: job
    image: python:3.12-slim
    command: [python, /opt/prepare.py]
    args: {rows: 1e6, dry: false}
    files: {src/config.json: /etc/config.json}
    mounts: {data: /data, shared: /shared}
    output: data
    queue: research
    gate: {accuracy: {atLeast: 0.9}, loss: {atMost: 3}}
    rerun: 2
    handoff: auto
    patch:
    - {op: add, path: /metadata/annotations/example.com~1a, value: [1, true, x, {a: b}]}
    - {op: remove, path: /spec/x}
  train:
    kind: pytorch
    needs: [prepare]
    image: python:3.12-slim
    script: /opt/train.py
    args: [--epochs, 10]
    env: {LEVEL: 1, TOKEN: {secret: hub, key: token}}
    mounts: {data: {path: /data, readOnly: true}, shared: /shared}
    resources: {cpu: 4, memory: 8Gi, sharedMemory: 1Gi, rdma/ib: 1}
    gpu: {type: t4, count: 2}
    retries: 0
    deadline: 12h
    egress: [s3]
    nodes: 2
    security: {user: 70000, writableRoot: true, capabilities: [NET_BIND_SERVICE]}
    allow: {MLS408: "it listens on 443"}
    processes: 2
    cleanPodPolicy: None
  changing: {kind: pytorch, image: i, elastic: {min: 2, max: 4}}
  roles:
    kind: tensorflow
    image: tensorflow/tensorflow:2.19.0
    cleanPodPolicy: All
    roles:
      chief: {}
      worker:
        replicas: 2
        image: tensorflow/tensorflow:2.19.0-gpu
        script: /opt/train.py
        args: {epochs: 10}
        env: {LEVEL: 1, TOKEN: {secret: hub, key: token}}
        gpu: t4:1
        resources: {cpu: 1, rdma/ib: 1}
      ps: {command: [python, -m, serve]}
      evaluator: {replicas: 1}
services:
  chat:
    kind: kserve
    model: {format: onnx, version: 1, runtime: own, protocol: v2, uri: "s3://models/chat"}
    replicas: {min: 1, max: 2, target: {cpu: 70}}
    gpu: t4:1
    resources: {cpu: 1}
    env: {LEVEL: 1}
    egress: [s3]
  follower: {kind: kserve, model: {format: onnx, from: prepare, path: export, run: 0123abcd}}
  own: {kind: kserve, image: ghcr.io/acme/serve:1.0, port: 9000}
  iris:
    kind: seldon
    protocol: v2
    predictors:
      main:
        replicas: 2
        traffic: 90
        gpu: 1
        resources: {memory: 8Gi}
        env: {LEVEL: 1}
        model: {implementation: SKLEARN_SERVER, uri: "s3://models/iris", parameters: {method: predict}}
      canary: {traffic: 10, model: {implementation: HUGGINGFACE_SERVER}}
      next: {shadow: true, traffic: 5, model: {implementation: OWN_SERVER, uri: "pvc://shared/iris"}}
    egress: [s3]
  short:
    kind: seldon
    model: {implementation: SKLEARN_SERVER, uri: "s3://models/iris"}
    replicas: 2
environments:
  dev:
    enabled: true
    steps: {train: {nodes: 1}}
"""

EVERY_ENVIRONMENT = """\
apiVersion: mlspec.dev/v1alpha1
kind: Environment
kubernetes: 1.34
cluster: {server: "https://cluster.example.com"}
namespace: {pattern: "{project}-{environment}", manage: true, podSecurity: baseline}
training: kubeflow.org/v1 1.9
kserve: {version: 0.16, mode: Standard}
seldon: {version: 1.16}
prometheus: {version: 0.85, namespace: monitoring, podLabels: {app: prometheus}}
storage:
  nfs: {access: [ReadWriteMany], binding: Immediate}
gpus:
  t4:
    resource: nvidia.com/gpu
    perNode: 4
    nodeSelector: {pool: gpu}
    tolerations: [{key: gpu, operator: Equal, value: x, effect: NoExecute, tolerationSeconds: 60}]
    pricePerHour: 0.35
placement: {nodeSelector: {pool: cpu}, tolerations: [{operator: Exists}]}
defaults: {cpu: 1, memory: 2Gi, gpu: t4}
images: {pullSecrets: [registry], helper: "python:3.12", registries: [docker.io, localhost:5000/a], digests: off}
secretStore: {name: vault, kind: SecretStore}
policy: {MLS403: off, MLS404: error}
kueue: {version: 0.17, queue: research, frameworks: [kubeflow.org/pytorchjob]}
promotion: follow
runs: {onSupersede: keep}
serviceAccounts: {annotations: {role: "{project}"}}
network:
  dns: node-local
  gateway: {namespace: istio-system, podLabels: {app: gateway}}
  destinations:
    s3: {cidrs: [10.0.0.0/8], ports: [443], secret: storage}
    minio: {namespace: minio, podLabels: {app: minio}}
access: {viewers: ["{owner}"], operators: [ops]}
quota: {cpu: 10, memory: 10Gi, gpu: 4, storage: 1Ti}
argocd:
  repoURL: https://git.example.com/ml/models.git
  revision: main
  path: ml
  namespace: argocd
  version: 3.5
  windows: [{kind: allow, schedule: "0 8 * * *", duration: 9h, timeZone: UTC, manualSync: true}]
overrides: ["steps.**"]
"""


def _validator(schema: Tree) -> jsonschema.Draft7Validator:
    return jsonschema.Draft7Validator(schema)


PROJECT_VALIDATOR = _validator(project_schema())
ENVIRONMENT_VALIDATOR = _validator(environment_schema())


def _errors(validator: jsonschema.Draft7Validator, text: str) -> list[str]:
    # An editor's YAML 1.2 reader makes numbers and booleans of plain scalars, as PyYAML does here.
    return [error.message for error in validator.iter_errors(yaml.safe_load(text))]


@pytest.mark.parametrize(("what", "name"), [("project", "mlproject"), ("environment", "environment")])
def test_committed_schemas_are_what_the_command_prints(what: str, name: str) -> None:
    printed = mlspec(REPOSITORY, "schema", what)
    assert printed.code == 0
    assert printed.stdout == (REPOSITORY / "schemas" / f"{name}.schema.json").read_text()
    assert json.loads(printed.stdout)["$schema"] == "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize("schema", [project_schema(), environment_schema()], ids=["project", "environment"])
def test_schemas_are_valid_draft_07_without_dangling_references(schema: Tree) -> None:
    jsonschema.Draft7Validator.check_schema(schema)
    text = json.dumps(schema)
    for reference in {part.split('"')[0] for part in text.split('"#/definitions/')[1:]}:
        assert reference in schema["definitions"]
    assert "$defs" not in text


def test_the_project_of_this_repository_is_accepted() -> None:
    assert not _errors(PROJECT_VALIDATOR, (REPOSITORY / "mlproject.yaml").read_text())


@pytest.mark.parametrize("path", sorted((REPOSITORY / "environments").glob("*.yaml")), ids=lambda path: path.stem)
def test_the_environments_of_this_repository_are_accepted(path: Path) -> None:
    assert not _errors(ENVIRONMENT_VALIDATOR, path.read_text())


def test_every_field_is_accepted_by_both_readers(tmp_path: Path) -> None:
    assert not _errors(PROJECT_VALIDATOR, EVERYTHING)
    assert not _errors(ENVIRONMENT_VALIDATOR, EVERY_ENVIRONMENT)
    root = make_root(tmp_path, EVERYTHING, {"dev": EVERY_ENVIRONMENT})
    workspace = load(write_tree(root, {"src/config.json": "{}\n"}))
    assert not has_errors(workspace.diagnostics), workspace.diagnostics


def test_the_examples_above_leave_no_field_out() -> None:
    written = {key for text in (EVERYTHING, EVERY_ENVIRONMENT) for key in _keys(yaml.safe_load(text))}
    missing = {
        name
        for schema in (project_schema(), environment_schema())
        for node in _objects(schema)
        for name in node.get("properties", {})
    } - written
    assert missing == {"memory", "concurrency", "rps"} & missing  # a target has one of them


def _keys(node: object) -> Iterator[str]:
    if isinstance(node, dict):
        for key, value in node.items():
            yield str(key)
            yield from _keys(value)
    elif isinstance(node, list):
        for value in node:
            yield from _keys(value)


def _objects(node: object) -> Iterator[Tree]:
    if isinstance(node, dict):
        yield node
        for value in node.values():
            yield from _objects(value)
    elif isinstance(node, list):
        for value in node:
            yield from _objects(value)


_STEP = "steps:\n  a:\n    kind: job\n    image: python\n"
_SERVICE = 'services:\n  a:\n    kind: kserve\n    model: {format: onnx, uri: "oci://x/y:1"}\n'


@pytest.mark.parametrize(
    "text",
    [
        _STEP + "    gpu: 2\n",
        _STEP + "    gpu: t4:8\n",
        _STEP + "    gpu: {count: 1}\n",
        _STEP + "    args: [1, true, x, 1e-4]\n",
        _STEP + "    args: {a: 1, b: true, c: x}\n",
        _STEP + "    env: {A: 1, B: no, C: x}\n",
        _STEP + "    mounts: {a: /a}\nvolumes:\n  a: {size: 1Gi}\n",
        _STEP + "    resources: {cpu: 0.5, memory: 2Gi, a.b/c: 1}\n",
        _SERVICE + "    replicas: 2\n",
        _SERVICE + "    replicas: {min: 1, max: 2, target: {memory: 70}}\n",
        _STEP + "environments:\n  dev: {enabled: false}\n",
        _STEP + "environments:\n  dev: {steps: {a: null}}\n",
        _STEP + "environments:\n  dev: {steps: {a: {deadline: null, env: {A: null}, gpu: null}}}\n",
        _STEP + "environments:\n  dev: {steps: {a: {args: {epochs: 1}}}}\n",
        _STEP + "environments:\n  dev: {steps: {b: {kind: job, image: python}}}\n",
        _SERVICE + "environments:\n  dev: {services: {a: {replicas: 2, model: {uri: 'oci://x/z:1'}}}}\n",
        "volumes:\n  a: {size: 1Gi}\nenvironments:\n  dev: {volumes: {a: {size: 2Gi, class: null}}}\n",
    ],
)
def test_accepted_by_both_readers(text: str, tmp_path: Path) -> None:
    assert not _errors(PROJECT_VALIDATOR, PROJECT + text)
    workspace = load(make_root(tmp_path, text, {"dev": ENVIRONMENT}))
    assert not has_errors(workspace.diagnostics), workspace.diagnostics


def test_an_environment_may_leave_all_to_common() -> None:
    assert not _errors(ENVIRONMENT_VALIDATOR, "gpus:\n  t4: {}\n")


@pytest.mark.parametrize(
    "text",
    [
        "steps: [a]\n",
        "steps: {a: {kind: unheard, image: python}}\n",
        "steps: {A: {kind: job, image: python}}\n",
        "steps: {a-name-longer-than-24-characters: {kind: job, image: python}}\n",
        "steps: {a: {kind: job}}\n",
        "volumes: {a: {size: 1Gi, access: RWX}}\n",
        _STEP + "    command: python\n",
        _STEP + "    command: []\n",
        _STEP + "    retries: -1\n",
        _STEP + "    retries: '1'\n",
        _STEP + "    deadline: soon\n",
        _STEP + "    deadline: null\n",
        _STEP + "    handoff: sometimes\n",
        _STEP + "    rerun: -1\n",
        _STEP + "    gate: {accuracy: {atLeast: high}}\n",
        _STEP + "    patch: [{op: move, path: /a}]\n",
        _STEP + "    patch: [{op: remove, path: a}]\n",
        _STEP + "    gpu: {type: t4}\n",
        _STEP + "    gpu: 0.5\n",
        _STEP + "    env: {A: {secret: hub}}\n",
        _STEP + "    env: {MY-VAR: x}\n",
        _STEP + "    mounts: {a: data}\n",
        _SERVICE + "    replicas: {min: -1}\n",
        _SERVICE + "    replicas: {target: {cpu: 70, memory: 70}}\n",
        _SERVICE.replace("oci://", "ftp://"),
        _STEP + "environments: {dev: {steps: {a: {retries: x}}}}\n",
        _STEP + "environments: {dev: {enabled: 1}}\n",
        _STEP + "environments: {dev: {name: other}}\n",
    ],
)
def test_refused_by_both_readers(text: str, tmp_path: Path) -> None:
    assert _errors(PROJECT_VALIDATOR, PROJECT + text)
    workspace = load(make_root(tmp_path, text, {"dev": ENVIRONMENT}))
    assert has_errors(workspace.diagnostics)


def _with_unknown_key(tree: Tree) -> Iterator[tuple[str, Tree]]:
    """Yield copies with a key that nobody knows, one in every map at a time."""

    def walk(node: object, path: tuple[str | int, ...]) -> Iterator[tuple[str | int, ...]]:
        if isinstance(node, dict):
            yield path
            for key, value in node.items():
                yield from walk(value, (*path, key))
        elif isinstance(node, list):
            for index, value in enumerate(node):
                yield from walk(value, (*path, index))

    for path in walk(tree, ()):
        changed = copy.deepcopy(tree)
        node: Any = changed
        for part in path:
            node = node[part]
        node["zebra"] = "x"
        yield ".".join(map(str, path)), changed


def _unknown_keys(text: str) -> list[tuple[str, Tree]]:
    tree = yaml.load(text, Loader=yaml.BaseLoader)  # noqa: S506  # text stays text
    return list(_with_unknown_key(tree))


@pytest.mark.parametrize(
    ("path", "tree"), _unknown_keys(EVERYTHING), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_the_models_refuse_as_unknown_the_schema_refuses_too(path: str, tree: Tree, tmp_path: Path) -> None:
    text = yaml.safe_dump(tree, sort_keys=False).replace("'", "")
    workspace = load(make_root(tmp_path, text, {"dev": EVERY_ENVIRONMENT}))
    refused = any(finding.code == "MLS102" and "zebra" in finding.message for finding in workspace.diagnostics)
    assert not refused or _errors(PROJECT_VALIDATOR, text)
    tables = {"volumes", "secrets", "steps", "services", "environments", "args", "env", "mounts"}
    tables |= {"predictors", "parameters", "files", "gate"}
    refused = refused or any("is not the code of a policy" in finding.message for finding in workspace.diagnostics)
    assert refused or path.rpartition(".")[2] in tables or ".patch.0.value." in path


@pytest.mark.parametrize(
    ("path", "tree"), _unknown_keys(EVERY_ENVIRONMENT), ids=lambda value: value if isinstance(value, str) else ""
)
def test_what_the_environment_refuses_as_unknown_the_schema_refuses_too(path: str, tree: Tree, tmp_path: Path) -> None:
    text = yaml.safe_dump(tree, sort_keys=False)
    workspace = load(make_root(tmp_path, "", {"dev": text}))
    refused = any(finding.code == "MLS102" and "zebra" in finding.message for finding in workspace.diagnostics)
    assert not refused or _errors(ENVIRONMENT_VALIDATOR, text)
    tables = ("storage", "gpus", "destinations", "nodeSelector", "podLabels", "annotations")
    refused = refused or any("is not the code of a policy" in finding.message for finding in workspace.diagnostics)
    assert refused or path.rpartition(".")[2] in tables
