"""Roots of any size for the benchmark: projects with the mix of kinds that teams have, in three environments."""

from __future__ import annotations

from pathlib import Path
from typing import Final

ENVIRONMENTS: Final = ("dev", "staging", "prod")

_COMMON = """\
apiVersion: mlspec.dev/v1alpha1
kind: Environment
kubernetes: 1.34
training: kubeflow.org/v1 1.9
kserve: {version: 0.16, mode: Standard}
seldon: {version: 1.16}
prometheus: {version: 0.85, namespace: monitoring, podLabels: {app.kubernetes.io/name: prometheus}}
storage:
  standard: {access: [ReadWriteOnce], binding: WaitForFirstConsumer}
  nfs: {access: [ReadWriteMany]}
gpus:
  a100: {perNode: 8, nodeSelector: {nvidia.com/gpu.product: NVIDIA-A100-SXM4-40GB}}
network:
  gateway: {namespace: istio-system, podLabels: {app: istio-ingressgateway}}
  destinations:
    s3: {cidrs: [10.0.0.0/8]}
    gs: {cidrs: [0.0.0.0/0]}
argocd: {repoURL: "https://git.example.com/ml/models.git"}
"""

_HEAD = """\
apiVersion: mlspec.dev/v1alpha1
kind: Project
name: project-{number}
owner: team-{team}
"""

_PYTORCH = """\
volumes:
  data: {{size: 100Gi, access: ReadWriteMany}}
  models: {{size: 20Gi, access: ReadWriteMany}}
secrets:
  hub: {{keys: [token]}}
steps:
  preprocess:
    kind: job
    image: ghcr.io/acme/prepare:1.{number}
    script: /opt/prepare.py
    args: {{out: /data/prepared, split: 0.20, seed: 1e-4}}
    mounts: {{data: /data}}
    resources: {{cpu: 4, memory: 8Gi}}
  train:
    kind: pytorch
    needs: [preprocess]
    image: ghcr.io/acme/train:1.{number}
    script: /opt/train.py
    args: {{epochs: 10, lr: 3e-4, bf16: true}}
    env: {{HF_TOKEN: {{secret: hub, key: token}}, NCCL_DEBUG: WARN}}
    nodes: 4
    gpu: 1
    mounts: {{data: {{path: /data, readOnly: true}}, models: /models}}
    resources: {{cpu: 8, memory: 32Gi, sharedMemory: 8Gi}}
    deadline: 12h
  evaluate:
    kind: job
    needs: [train]
    image: ghcr.io/acme/train:1.{number}
    script: /opt/evaluate.py
    mounts: {{data: {{path: /data, readOnly: true}}, models: /models}}
services:
  model:
    kind: kserve
    model: {{format: onnx, uri: "pvc://models/export"}}
    replicas: {{min: 1, max: 4, target: {{cpu: 70}}}}
environments:
  dev: {{steps: {{train: {{nodes: 1, args: {{epochs: 1}}}}}}}}
  prod: {{services: {{model: {{replicas: {{min: 3}}}}}}}}
"""

_TENSORFLOW = """\
steps:
  train:
    kind: tensorflow
    image: tensorflow/tensorflow:2.19.0-gpu
    script: /opt/train.py
    args: {{steps: {number}000}}
    gpu: 1
    roles:
      chief: {{}}
      worker: {{replicas: 3}}
      ps: {{replicas: 2, image: "tensorflow/tensorflow:2.19.0", gpu: 0, resources: {{cpu: 2, memory: 4Gi}}}}
services:
  model:
    kind: kserve
    model: {{format: tensorflow, uri: "gs://models/{number}"}}
"""

_SELDON = """\
services:
  model:
    kind: seldon
    predictors:
      main: {{traffic: 90, replicas: 3, model: {{implementation: TENSORFLOW_SERVER, uri: "gs://models/{number}"}}}}
      canary: {{traffic: 10, model: {{implementation: TENSORFLOW_SERVER, uri: "gs://models/{number}-next"}}}}
  second:
    kind: kserve
    model: {{format: sklearn, uri: "s3://models/{number}"}}
    replicas: 2
"""
# Of ten projects, seven train with PyTorch, two with TensorFlow, and one only serves.
_MIX = (_PYTORCH,) * 7 + (_TENSORFLOW,) * 2 + (_SELDON,)


def project(number: int) -> str:
    """Return the spec of one project."""
    return (_HEAD + _MIX[number % len(_MIX)]).format(number=number, team=number % 17)


def write(root: Path, projects: int) -> None:
    """Write a root with its environments and projects."""
    environments = root / "environments"
    environments.mkdir(parents=True)
    (environments / "common.yaml").write_text(_COMMON)
    for name in ENVIRONMENTS:
        (environments / f"{name}.yaml").write_text("apiVersion: mlspec.dev/v1alpha1\nkind: Environment\n")
    for number in range(projects):
        folder = root / "projects" / f"p{number}"
        folder.mkdir(parents=True)
        (folder / "mlproject.yaml").write_text(project(number))


def touch(root: Path, count: int) -> None:
    """Change the first projects, as a pull request does: another owner, so that every environment is written again."""
    for number in range(count):
        path = root / "projects" / f"p{number}" / "mlproject.yaml"
        path.write_text(path.read_text().replace("owner: team-", "owner: group-", 1))
