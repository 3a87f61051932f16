"""etcd, kube-apiserver, kube-controller-manager and kube-scheduler, from nothing to ready in a few seconds."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import trustme
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

from tests.cluster.harness import build
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.client import Api, Body

DEFAULT_MINOR: Final = "1.34"
KUBERNETES: Final = os.environ.get("KUBERNETES") or DEFAULT_MINOR
"""The Kubernetes minor that the harness starts."""
_ADVERTISED: Final = "192.0.2.2"  # documentation address, RFC 5737: the server wants one that is not loopback
_SERVICES: Final = "10.0.0.0/16"
_TOKEN: Final = "harness"  # noqa: S105  # of a server on loopback that lives for minutes


@dataclass
class ControlPlane:
    """A running API server: from this process by `api`, from the cell's processes by `kubeconfig`."""

    cell: Cell
    api: Api
    url: str
    kubeconfig: Path
    outside: Path
    authority: trustme.CA
    component: build.Component

    def certificate(self, folder: Path, *names: str) -> Path:
        """Write tls.crt, tls.key and ca.crt for some host names into a folder; returns the folder."""
        folder.mkdir(parents=True, exist_ok=True)
        issued = self.authority.issue_cert(*names)
        (folder / "tls.crt").write_bytes(b"".join(part.bytes() for part in issued.cert_chain_pems))
        (folder / "tls.key").write_bytes(issued.private_key_pem.bytes())
        (folder / "ca.crt").write_bytes(self.authority.cert_pem.bytes())
        return folder

    @property
    def authority_base64(self) -> str:
        """The certificate authority as webhook configurations want it."""
        return base64.b64encode(self.authority.cert_pem.bytes()).decode()


@contextmanager
def control_plane(cell: Cell, *, minor: str = KUBERNETES, scheduler: bool = False) -> Iterator[ControlPlane]:
    """Start a control plane.

    Raises:
        HarnessError: a component cannot be built or does not start.
    """
    component = f"kubernetes-{minor}"
    built = build.ensure(["etcd", component])
    state = cell.folder / "control-plane"
    state.mkdir()
    etcd = _start_etcd(cell, built["etcd"], state)
    authority = trustme.CA(key_type=trustme.KeyType.ECDSA)
    (state / "ca.crt").write_bytes(authority.cert_pem.bytes())
    port = cell.port()
    plane = ControlPlane(
        cell,
        Api(f"https://127.0.0.1:{cell.forward(port)}", _TOKEN, state / "ca.crt"),
        f"https://127.0.0.1:{port}",
        state / "kubeconfig",
        state / "kubeconfig-outside",
        authority,
        built[component],
    )
    with plane.api:
        _start_api_server(plane, state, etcd, port)
        _write_kubeconfig(plane, plane.kubeconfig, plane.url)
        _write_kubeconfig(plane, plane.outside, plane.api.url)
        _start_controllers(plane, state)
        if scheduler:
            _start_scheduler(plane)
        yield plane


def _start_etcd(cell: Cell, component: build.Component, state: Path) -> str:
    clients, peers = (f"http://127.0.0.1:{port}" for port in (cell.port(), cell.port()))
    cell.start(
        "etcd",
        [
            component.program("etcd"),
            f"--data-dir={state / 'etcd'}",
            "--unsafe-no-fsync",
            f"--listen-client-urls={clients}",
            f"--advertise-client-urls={clients}",
            f"--listen-peer-urls={peers}",
            f"--initial-advertise-peer-urls={peers}",
            f"--initial-cluster=default={peers}",
        ],
        ready=cell.listening(int(clients.rpartition(":")[2])),
    )
    return clients


def _start_api_server(plane: ControlPlane, state: Path, etcd: str, port: int) -> None:
    serving = plane.certificate(state / "serving", "127.0.0.1", "localhost", "kubernetes.default.svc")
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    formats = serialization.PrivateFormat.TraditionalOpenSSL, serialization.NoEncryption()
    (state / "accounts.key").write_bytes(key.private_bytes(serialization.Encoding.PEM, *formats))
    (state / "tokens.csv").write_text(f"{_TOKEN},admin,admin,system:masters\n")
    plane.cell.start(
        "kube-apiserver",
        [
            plane.component.program("kube-apiserver"),
            f"--etcd-servers={etcd}",
            "--bind-address=127.0.0.1",
            f"--advertise-address={_ADVERTISED}",
            f"--secure-port={port}",
            f"--tls-cert-file={serving / 'tls.crt'}",
            f"--tls-private-key-file={serving / 'tls.key'}",
            f"--token-auth-file={state / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            f"--service-account-key-file={state / 'accounts.key'}",
            f"--service-account-signing-key-file={state / 'accounts.key'}",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-cluster-ip-range={_SERVICES}",
            "--allow-privileged=true",
            "--v=1",
        ],
        ready=plane.api.ready,
    )


def _start_controllers(plane: ControlPlane, state: Path) -> None:
    port = plane.cell.port()
    plane.cell.start(
        "kube-controller-manager",
        [
            plane.component.program("kube-controller-manager"),
            f"--kubeconfig={plane.kubeconfig}",
            f"--service-account-private-key-file={state / 'accounts.key'}",
            f"--root-ca-file={state / 'ca.crt'}",
            "--leader-elect=false",
            "--node-monitor-grace-period=1000h",  # the nodes are kwok's, which renews no leases here
            "--horizontal-pod-autoscaler-sync-period=2s",  # 15 s as shipped: the wait for a service's second pod
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={state / 'controller-manager'}",
        ],
        ready=lambda: plane.api.get("v1", "ServiceAccount", "default", "default") is not None,
    )


def _start_scheduler(plane: ControlPlane) -> None:
    port = plane.cell.port()
    plane.cell.start(
        "kube-scheduler",
        [
            plane.component.program("kube-scheduler"),
            f"--kubeconfig={plane.kubeconfig}",
            "--leader-elect=false",
            "--bind-address=127.0.0.1",
            f"--secure-port={port}",
            f"--cert-dir={plane.cell.folder / 'control-plane' / 'scheduler'}",
        ],
        ready=plane.cell.listening(port),
    )


def _write_kubeconfig(plane: ControlPlane, path: Path, url: str) -> None:
    authority = base64.b64encode(plane.authority.cert_pem.bytes()).decode()
    context = {"cluster": "harness", "user": "admin"}
    path.write_text(
        json.dumps(
            {
                "apiVersion": "v1",
                "kind": "Config",
                "clusters": [{"name": "harness", "cluster": {"server": url, "certificate-authority-data": authority}}],
                "users": [{"name": "admin", "user": {"token": _TOKEN}}],
                "contexts": [{"name": "harness", "context": context}],
                "current-context": "harness",
            }
        )
    )


def namespace(name: str, labels: dict[str, str] | None = None) -> Body:
    """Return a Namespace."""
    meta = {"name": name} | ({"labels": labels} if labels else {})
    return {"apiVersion": "v1", "kind": "Namespace", "metadata": meta}
