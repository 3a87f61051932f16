"""Kueue on a control plane: its definitions, webhooks and controllers, for the kinds of runs that a test names.

The definitions are applied without their conversion webhook: whoever speaks v1beta2, the version that is stored, does
not need it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Final

import yaml

from tests.cluster.harness import build, crds
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane, namespace
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.process import poll

NAME: Final = "kueue"
NAMESPACE: Final = "kueue-system"
API_VERSION: Final = "kueue.x-k8s.io/v1beta2"
QUEUE: Final = "kueue.x-k8s.io/queue-name"
"""The label that puts a run into a LocalQueue."""
FRAMEWORKS: Final = {"jobs": "batch/job", "pytorchjobs": "kubeflow.org/pytorchjob", "tfjobs": "kubeflow.org/tfjob"}
"""What it queues unless a test says otherwise: the plural of each kind, and Kueue's name of its integration."""
_CERTIFICATES: Final = "/etc/kueue/metrics/certs"  # fixed in cmd/kueue/main.go where its own rotator is off
_START: Final = (
    f'mount -t tmpfs tmpfs /etc && mkdir -p {_CERTIFICATES} && cp "$1"/tls.* {_CERTIFICATES} && shift && exec "$@"'
)
"""Kueue needs nothing of /etc but that folder, so it gets an /etc of its own, in a mount table of its own."""
_SECONDS: Final = 180.0


@contextmanager
def kueue(plane: ControlPlane, frameworks: Mapping[str, str] = FRAMEWORKS) -> Iterator[None]:
    """Start Kueue 0.17; it is ready when its webhooks have suspended a Job and refused another.

    The definitions of what is to be queued must be served already: Kueue looks for them when it starts, and then only
    now and again. It ends with the block: two of them on one control plane, without leader election, would fight.

    Raises:
        HarnessError: it cannot be built or does not start.
    """
    component = build.ensure([NAME])[NAME]
    home = plane.cell.folder / NAME
    certificates = plane.certificate(home / "certificates", "127.0.0.1", "localhost")
    port = plane.cell.port()
    (home / "configuration.json").write_text(json.dumps(_configuration(plane, port, str(certificates), frameworks)))
    crds.establish(plane.api, _definitions(component))
    _applied(plane.api, namespace(NAMESPACE))
    private = ["unshare", "--mount", "--", "sh", "-c", _START, "sh", str(certificates)]
    process = plane.cell.start(
        NAME,
        [*private, component.program(NAME), "--config", home / "configuration.json"],
        environment={"KUBECONFIG": str(plane.kubeconfig)},
        ready=plane.cell.listening(port),
    )
    webhooks = _webhooks(component, plane, port, frameworks)
    try:
        for body in webhooks:
            _applied(plane.api, body)
        poll("kueue webhooks", lambda: _defaults(plane.api) and _validates(plane.api), _SECONDS)
        yield
    finally:
        if plane.api.ready():  # nothing that they guard could be written once nobody answers
            for body in webhooks:
                plane.api.delete(body)
        process.stop(grace=0)  # it keeps nothing


def _configuration(plane: ControlPlane, port: int, certificates: str, frameworks: Mapping[str, str]) -> Body:
    return {
        "apiVersion": "config.kueue.x-k8s.io/v1beta2",
        "kind": "Configuration",
        "namespace": NAMESPACE,
        "health": {"healthProbeBindAddress": f"127.0.0.1:{plane.cell.port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{plane.cell.port()}"},
        "webhook": {"host": "127.0.0.1", "port": port, "certDir": certificates},
        "leaderElection": {"leaderElect": False},
        "internalCertManagement": {"enable": False},
        "integrations": {"frameworks": list(frameworks.values())},
        "featureGates": {"VisibilityOnDemand": False},  # an aggregated API server, which would need a Service's address
    }


def _definitions(component: build.Component) -> list[Body]:
    paths = sorted(component.file("config/components/crd/bases").glob("*.yaml"))
    return [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in paths]  # a safe loader, in C


def _webhooks(component: build.Component, plane: ControlPlane, port: int, frameworks: Mapping[str, str]) -> list[Body]:
    """Return the webhooks of Kueue's own kinds and of the frameworks that are on."""
    text = component.file("config/components/webhook/manifests.yaml").read_text()
    bodies: list[Body] = list(yaml.safe_load_all(text))
    for body in bodies:
        body["metadata"] = {"name": f"kueue-{body['metadata']['name']}"}
        body["webhooks"] = [webhook for webhook in body["webhooks"] if _wanted(webhook, frameworks)]
        for webhook in body["webhooks"]:
            url = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
            webhook["clientConfig"] = {"url": url, "caBundle": plane.authority_base64}
    return bodies


def _wanted(webhook: Body, frameworks: Mapping[str, str]) -> bool:
    (rule,) = webhook["rules"]
    return rule["apiGroups"] == ["kueue.x-k8s.io"] or rule["resources"][0] in frameworks


def _applied(api: Api, body: Body) -> None:
    answer = api.apply(body)
    if not answer.accepted:
        name = f"{body['kind']} {body['metadata']['name']}"
        raise HarnessError(NAME, f"the server refuses {name}: {answer.message[:400]}")


def _probe(queue: str) -> Body:
    pod = {"containers": [{"name": "probe", "image": "probe"}], "restartPolicy": "Never"}
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "probe", "namespace": "default", "labels": {QUEUE: queue}},
        "spec": {"template": {"spec": pod}},
    }


def _defaults(api: Api) -> bool:
    """Say whether a Job with a queue is suspended at its creation."""
    answer = api.create(_probe("probe"), dry_run=True)
    return answer.accepted and answer.body["spec"].get("suspend") is True


def _validates(api: Api) -> bool:
    """Say whether a queue's name is refused that the API server takes for a label's value."""
    return "denied the request" in api.create(_probe("No_Name"), dry_run=True).message
