"""KServe's manager on a control plane: its definitions, configuration, runtimes, webhooks and controller.

Standard mode needs nothing beside KServe's own definitions and the ConfigMap: no Istio, Knative, Gateway API or
cert-manager. Knative mode needs the definition of Knative's Service before the manager starts (it looks once) and the
ConfigMap config-autoscaler in namespace knative-serving (it reads it at every reconciliation).
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

from mlspec.check.tools import find_kustomize
from tests.cluster.harness import build, crds
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.process import Process, poll

NAME: Final = "kserve"
NAMESPACE: Final = "kserve"
API_VERSION: Final = "serving.kserve.io/v1beta1"
_CONFIGURATION: Final = "inferenceservice-config"
_KNATIVE: Final = "knative-serving"
_SECONDS: Final = 180.0


@dataclass
class KServe:
    """A running manager; `stop` takes its webhooks and its controller down, `start` brings them back."""

    plane: ControlPlane
    component: build.Component
    folder: Path
    port: int
    _process: Process | None = field(default=None, repr=False)

    def start(self) -> None:
        """Start the manager and wait until it listens.

        Raises:
            HarnessError: it ends, or does not listen in time.
        """
        cell = self.plane.cell
        self._process = cell.start(
            "kserve-manager",
            [
                self.component.program("kserve-manager"),
                f"-webhook-port={self.port}",
                f"-metrics-addr=127.0.0.1:{cell.port()}",
                f"-health-probe-addr=127.0.0.1:{cell.port()}",
            ],
            environment={
                "KUBECONFIG": str(self.plane.kubeconfig),
                "POD_NAMESPACE": NAMESPACE,
                # controller-runtime reads its certificate from a fixed folder below the temporary one.
                "TMPDIR": str(self.folder),
            },
            ready=cell.listening(self.port),
        )

    def stop(self) -> None:
        """End the manager: every write of an InferenceService, and of its pods, is refused until `start`."""
        if self._process is not None:
            self._process.stop()

    def wait(self) -> None:
        """Wait until both webhooks answer.

        Raises:
            HarnessError: they do not in time.
        """
        poll("kserve webhooks", lambda: _defaults(self.plane.api) and _validates(self.plane.api), _SECONDS)

    def allow_knative(self) -> None:
        """Make what the controller needs for Knative mode, and start the manager again: it looks for it only then.

        Raises:
            HarnessError: the server refuses it, or the manager does not come back.
        """
        crds.establish(self.plane.api, [_loaded(self.component.file("test/crds/knative_service.yaml"))[0]])
        autoscaler = {"namespace": _KNATIVE, "name": "config-autoscaler"}
        _applied(self.plane.api, namespace(_KNATIVE))
        _applied(self.plane.api, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": autoscaler})
        self.stop()
        self.start()
        self.wait()


@contextmanager
def kserve(plane: ControlPlane) -> Iterator[KServe]:
    """Start KServe 0.16 in Standard mode; it is ready when its webhooks have defaulted and refused something.

    Raises:
        HarnessError: it cannot be built or does not start.
    """
    component = build.ensure([NAME])[NAME]
    folder = plane.cell.folder / NAME
    plane.certificate(folder / "k8s-webhook-server" / "serving-certs", "127.0.0.1")
    manager = KServe(plane, component, folder, plane.cell.port())
    crds.establish(plane.api, _definitions(component))
    _applied(plane.api, namespace(NAMESPACE))
    _applied(plane.api, _configuration(component))
    webhooks = _webhooks(component, plane, manager.port)
    try:
        manager.start()  # after the definitions and the configuration: it exits where one is missing
        for body in webhooks:
            _applied(plane.api, body)
        manager.wait()
        for name in ("runtimes", "storagecontainers"):
            for body in _kustomized(component.file(f"config/{name}")):
                _applied(plane.api, body)
        yield manager
    finally:
        if plane.api.ready():  # nothing that they guard could be written once nobody answers
            for body in webhooks:
                plane.api.delete(body)


def _definitions(component: build.Component) -> list[Body]:
    paths = sorted(component.file("config/crd/full").glob("serving.kserve.io_*.yaml"))
    return [body for path in paths for body in _loaded(path)]


def _configuration(component: build.Component) -> Body:
    """Return the configuration as shipped, with our mode as the default one.

    Keys that start with `_` are examples, too large for the annotation that `kubectl apply` would write.
    """
    (body,) = _loaded(component.file("config/configmap/inferenceservice.yaml"))
    kept = {key: value for key, value in body["data"].items() if not key.startswith("_")}
    deploy = json.dumps({"defaultDeploymentMode": "Standard"})
    return {**body, "data": {**kept, "deploy": deploy}}


def _webhooks(component: build.Component, plane: ControlPlane, port: int) -> list[Body]:
    bodies = _loaded(component.file("config/webhook/manifests.yaml"))
    for body in bodies:
        body["metadata"] = {"name": body["metadata"]["name"]}
        for webhook in body["webhooks"]:
            url = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
            webhook["clientConfig"] = {"url": url, "caBundle": plane.authority_base64}
    return bodies


def _kustomized(folder: Path) -> list[Body]:
    """Build a folder with kustomize, which fills in the images."""
    tool = find_kustomize()
    if tool is None:
        raise HarnessError(NAME, "its runtimes need kustomize: install the extra `kustomize`")
    done = subprocess.run([*tool.prefix, str(folder)], capture_output=True, text=True, check=False)  # our own words
    if done.returncode:
        raise HarnessError(NAME, f"{folder.name}: {done.stderr.strip()[-400:]}")
    return _parsed(done.stdout)


@cache
def _text(path: Path) -> str:
    return path.read_text()


def _loaded(path: Path) -> list[Body]:
    return _parsed(_text(path))


def _parsed(text: str) -> list[Body]:
    loaded: list[Any] = list(yaml.load_all(text, Loader=yaml.CSafeLoader))  # a safe loader, in C
    return [body for body in loaded if body]


def _applied(api: Api, body: Body) -> None:
    answer = api.apply(body)
    if not answer.accepted:
        name = f"{body['kind']} {body['metadata']['name']}"
        raise HarnessError(NAME, f"the server refuses {name}: {answer.message[:400]}")


def _probe(name: str) -> Body:
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceService",
        "metadata": {"name": name, "namespace": "default"},
        "spec": {"predictor": {"sklearn": {"storageUri": "gs://probe"}}},
    }


def _defaults(api: Api) -> bool:
    """Say whether the defaulter turns a framework of old into a model."""
    answer = api.create(_probe("probe"), dry_run=True)
    return answer.accepted and "model" in answer.body["spec"]["predictor"]


def _validates(api: Api) -> bool:
    """Say whether the validator refuses a name that only it refuses."""
    return "denied the request" in api.create(_probe("0-probe"), dry_run=True).message
