"""JobSet and Kubeflow Trainer 2 on a control plane: their definitions, webhooks and controllers.

Trainer makes a JobSet of a TrainJob, and JobSet makes Jobs of that. Both get a certificate of ours, so that neither
needs a rotator, a Secret or a Service.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import yaml

from tests.cluster.harness import build, crds
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.process import Process

API_VERSION: Final = "trainer.kubeflow.org/v1alpha1"
JOBSET: Final = "jobset.x-k8s.io/v1alpha2"
FRAMEWORKS: Final = {"trainjobs": "trainer.kubeflow.org/trainjob", "jobsets": "jobset.x-k8s.io/jobset"}
"""The kinds, and Kueue's names of its integrations."""
RUNTIME: Final = "torch-distributed"
"""A ClusterTrainingRuntime as shipped: one replicated job with one container, both called `node`."""
_SECONDS: Final = 180.0


@dataclass(frozen=True)
class _Manager:
    """One of the two programs, and what the server must know of it."""

    component: build.Component
    port: int
    configuration: Body
    webhooks: list[Body]

    def start(self, plane: ControlPlane) -> Process:
        """Start it, without waiting: the two do so at the same time."""
        home = plane.cell.folder / self.component.name
        (home / "configuration.json").write_text(json.dumps(self.configuration))
        return plane.cell.start(
            self.component.name,
            [self.component.program(self.component.name), "--config", home / "configuration.json"],
            # Trainer reads its certificate from controller-runtime's fixed folder below the temporary one.
            environment={"KUBECONFIG": str(plane.kubeconfig), "TMPDIR": str(home)},
        )


@contextmanager
def trainer(plane: ControlPlane) -> Iterator[None]:
    """Start JobSet 0.11 and Trainer 2.2 until the end of the block, with one runtime; their webhooks judge by then.

    Raises:
        HarnessError: one cannot be built or does not start.
    """
    built = build.ensure(["jobset", "trainer"])
    runtimes = built["trainer"].file("manifests/base/runtimes")
    folders = (built["jobset"].file("config/components/crd/bases"), built["trainer"].file("manifests/base/crds"))
    crds.establish(plane.api, [body for folder in folders for body in _loaded(folder, "*.*.yaml")])
    managers = [_jobset(plane, built["jobset"]), _trainer(plane, built["trainer"])]
    webhooks = [body for manager in managers for body in manager.webhooks]
    processes: list[Process] = []
    try:
        processes += [manager.start(plane) for manager in managers]
        for body in webhooks:
            _applied(plane.api, body)
        for process, judges in zip(processes, (_judges_job_sets, _judges_train_jobs), strict=True):
            process.wait_until(lambda judges=judges: judges(plane.api), _SECONDS)  # type: ignore[misc]
        for runtime in _loaded(runtimes, "torch_distributed.yaml"):
            _applied(plane.api, runtime)
        yield
    finally:
        if plane.api.ready():  # nothing that they guard could be written once nobody answers
            for body in webhooks:
                plane.api.delete(body)
        for process in processes:
            process.stop(grace=0)  # it keeps nothing, and would wait for its idle connections


def _jobset(plane: ControlPlane, component: build.Component) -> _Manager:
    port = plane.cell.port()
    certificates = plane.certificate(plane.cell.folder / component.name / "certificates", "127.0.0.1")
    configuration = {
        "apiVersion": "config.jobset.x-k8s.io/v1alpha1",
        **_common(plane, {"host": "127.0.0.1", "port": port, "certDir": str(certificates)}),
        "internalCertManagement": {"enable": False},
    }
    webhooks = _webhooks(component.file("config/components/webhook/manifests.yaml"), plane, port)
    for body in webhooks:
        body["metadata"]["name"] = f"jobset-{body['metadata']['name']}"
        for webhook in body["webhooks"]:
            if webhook["rules"][0]["resources"] == ["pods"]:  # config/components/webhook/patches: of JobSets only
                label = {"key": "jobset.sigs.k8s.io/jobset-name", "operator": "Exists"}
                webhook["objectSelector"] = {"matchExpressions": [label]}
    return _Manager(component, port, configuration, webhooks)


def _trainer(plane: ControlPlane, component: build.Component) -> _Manager:
    port = plane.cell.port()
    home = plane.cell.folder / component.name
    plane.certificate(home / "k8s-webhook-server" / "serving-certs", "127.0.0.1")
    configuration = {
        "apiVersion": "config.trainer.kubeflow.org/v1alpha1",
        **_common(plane, {"host": "127.0.0.1", "port": port}),
        "certManagement": {"enable": False},
    }
    webhooks = _webhooks(component.file("manifests/base/webhook/manifests.yaml"), plane, port)
    for body in webhooks:  # the names of manifests/base/webhook/patch_*.yaml: by name, it mutates before Kueue does
        kind = "defaulter" if body["kind"].startswith("Mutating") else "validator"
        body["metadata"]["name"] = f"{kind}.trainer.kubeflow.org"
    return _Manager(component, port, configuration, webhooks)


def _common(plane: ControlPlane, webhook: Body) -> dict[str, Any]:
    return {
        "kind": "Configuration",
        "health": {"healthProbeBindAddress": f"127.0.0.1:{plane.cell.port()}"},
        "metrics": {"bindAddress": f"127.0.0.1:{plane.cell.port()}"},
        "webhook": webhook,
        "leaderElection": {"leaderElect": False},
    }


def _loaded(folder: Path, pattern: str) -> list[Body]:
    paths = sorted(folder.glob(pattern))
    return [yaml.load(path.read_text(), Loader=yaml.CSafeLoader) for path in paths]  # a safe loader, in C


def _webhooks(path: Path, plane: ControlPlane, port: int) -> list[Body]:
    bodies: list[Body] = list(yaml.safe_load_all(path.read_text()))
    for body in bodies:
        body["metadata"] = {"name": body["metadata"]["name"]}
        for webhook in body["webhooks"]:
            url = f"https://127.0.0.1:{port}{webhook['clientConfig']['service']['path']}"
            webhook["clientConfig"] = {"url": url, "caBundle": plane.authority_base64}
    return bodies


def _applied(api: Api, body: Body) -> None:
    answer = api.apply(body)
    if not answer.accepted:
        name = f"{body['kind']} {body['metadata']['name']}"
        raise HarnessError("trainer", f"the server refuses {name}: {answer.message[:400]}")


def _judges_job_sets(api: Api) -> bool:
    """Say whether JobSet's webhooks default a JobSet, and refuse one whose pods' names would be too long."""

    def made(name: str) -> Body:
        pod = {"containers": [{"name": "probe", "image": "probe"}]}
        job = {"name": "node", "template": {"spec": {"template": {"spec": pod}}}}
        about = {"name": name, "namespace": "default"}
        return {"apiVersion": JOBSET, "kind": "JobSet", "metadata": about, "spec": {"replicatedJobs": [job]}}

    defaulted = api.create(made("probe"), dry_run=True)
    if not defaulted.accepted:
        return False
    (job,) = defaulted.body["spec"]["replicatedJobs"]
    indexed = job["template"]["spec"].get("completionMode") == "Indexed"
    return indexed and "denied the request" in api.create(made("probe" * 12), dry_run=True).message


def _judges_train_jobs(api: Api) -> bool:
    """Say whether Trainer's webhook refuses a TrainJob of a runtime that is not there."""
    body = {
        "apiVersion": API_VERSION,
        "kind": "TrainJob",
        "metadata": {"name": "probe", "namespace": "default"},
        "spec": {"runtimeRef": {"name": "none"}},
    }
    return "denied the request" in api.create(body, dry_run=True).message
