"""The Kubeflow training operator: its controllers and its validating webhooks, as its own manifests set them up."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import yaml

from tests.cluster.harness import build, crds
from tests.cluster.harness.client import Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.errors import HarnessError

RELEASE: Final = "training-operator-1.9"
"""Its definitions, as `schemas/crds/` names them."""
KINDS: Final = {"PyTorchJob": "pytorchReplicaSpecs", "TFJob": "tfReplicaSpecs"}
"""What mlspec emits of it, and the field of the replicas."""
_NAME: Final = "training-operator"
_NAMESPACE: Final = "kubeflow"
_SECRET: Final = "training-operator-webhook-cert"  # noqa: S105  # a name
_CERTIFICATES: Final = Path("/tmp/k8s-webhook-server/serving-certs")  # noqa: S108  # fixed in pkg/cert/cert.go


@contextmanager
def training_operator(plane: ControlPlane) -> Iterator[None]:
    """Start the operator and wait until its webhooks judge.

    Raises:
        HarnessError: it cannot be built or does not start.
    """
    operator = build.ensure([_NAME])[_NAME]
    crds.establish(plane.api, crds.definitions(RELEASE))
    port = plane.cell.port()
    for body in _surroundings(operator, port):
        answer = plane.api.apply(body)
        if not answer.accepted:
            raise HarnessError(_NAME, f"its {body['kind']} is refused: {answer.message[:400]}")
    certificates = plane.cell.folder / _NAME
    certificates.mkdir()
    plane.cell.bind(certificates, _CERTIFICATES)
    process = plane.cell.start(
        _NAME,
        [
            operator.program(_NAME),
            f"--kubeconfig={plane.kubeconfig}",
            *(f"--enable-scheme={kind.lower()}" for kind in KINDS),
            f"--webhook-server-port={port}",
            f"--metrics-bind-address=127.0.0.1:{plane.cell.port()}",
            f"--health-probe-bind-address=127.0.0.1:{plane.cell.port()}",
            "--kube-api-qps=200",  # 20 as shipped: so many jobs at once would wait for one another
            "--kube-api-burst=300",
        ],
        environment={"MY_POD_NAMESPACE": _NAMESPACE},
        ready=lambda: _copied(plane, certificates),
        seconds=30,
    )
    process.wait_until(lambda: all(_judged(plane, kind) for kind in KINDS), 60)
    yield


def _surroundings(operator: build.Component, port: int) -> list[Body]:
    """Return what the operator expects: namespace, Secret, Service, webhooks.

    The API server finds a webhook by its Service: an ExternalName leads it to loopback and keeps the name that the
    operator's own certificate is for.
    """
    head = {"apiVersion": "v1", "metadata": {"name": _NAME, "namespace": _NAMESPACE}}
    secret = {"name": _SECRET, "namespace": _NAMESPACE}
    return [
        namespace(_NAMESPACE),
        {"apiVersion": "v1", "kind": "Secret", "metadata": secret},
        {**head, "kind": "Service", "spec": {"type": "ExternalName", "externalName": "localhost"}},
        _webhooks(operator, port),
    ]


def _webhooks(operator: build.Component, port: int) -> Body:
    """Return the operator's webhooks, named as its kustomization names them (the binary knows only that name)."""
    path = operator.file("manifests/base/webhook/manifests.yaml")
    body: Body = yaml.safe_load(path.read_text())
    body["metadata"]["name"] = "validator.training-operator.kubeflow.org"
    ours = {f"{kind.lower()}s" for kind in KINDS}
    body["webhooks"] = [hook for hook in body["webhooks"] if ours & set(hook["rules"][0]["resources"])]
    for hook in body["webhooks"]:
        hook["clientConfig"]["service"] |= {"name": _NAME, "namespace": _NAMESPACE, "port": port}
    return body


def _copied(plane: ControlPlane, folder: Path) -> bool:
    """Put the certificate that the operator wrote into its Secret where it reads it, as a kubelet would."""
    secret = plane.api.get("v1", "Secret", _NAMESPACE, _SECRET)
    data = (secret or {}).get("data") or {}
    for name, content in data.items():
        (folder / name).write_bytes(base64.b64decode(content))
    return "tls.crt" in data


def _judged(plane: ControlPlane, kind: str) -> bool:
    """Say whether the kind's webhook refuses a job that only it can refuse: no container has the name it must have."""
    containers = [{"name": "other", "image": "scratch"}]
    replica = {"replicas": 1, "template": {"spec": {"containers": containers}}}
    answer = plane.api.create(
        {
            "apiVersion": "kubeflow.org/v1",
            "kind": kind,
            "metadata": {"name": "probe", "namespace": "default"},
            "spec": {KINDS[kind]: {"Worker": replica}},
        },
        dry_run=True,
    )
    return f"validator.{kind.lower()}" in answer.message and "denied the request" in answer.message
