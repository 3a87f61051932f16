"""What mlspec states about the pods of a service is what KServe made, as `tests/cluster/observed/` recorded it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

import pytest

from mlspec import pod_security
from mlspec.ir import Stated
from mlspec.k8s import meta
from mlspec.kind_base import spec_of
from mlspec.kinds.kserve import KServeSpec
from mlspec.model.uris import location
from tests.cluster.harness.client import Body
from tests.cluster.harness.goldens import Golden
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.served import OPERATOR, cases, inference_services, stated

_LEVELS: Final = "pod-security"
_MAIN: Final = "kserve-container"
ADDED: Final[Mapping[str, tuple[str, ...]]] = {"pvc": (), "oci": ("modelcar", "modelcar-init"), "": ()}
"""Containers that KServe adds, by the scheme of the model's URI; for every other scheme the storage initializer."""


def _each(mode: str | None = None) -> list[Any]:
    return [
        pytest.param(golden, stated(golden, body["metadata"]["name"]), id=golden.name)
        for golden in cases(mode=mode)
        for body in inference_services(golden)
    ]


every = pytest.mark.parametrize(("golden", "service"), _each())
standard = pytest.mark.parametrize(("golden", "service"), _each("Standard"))
knative = pytest.mark.parametrize(("golden", "service"), _each("Knative"))


def _made(golden: Golden, kind: str, version: str = "") -> list[Body]:
    found = observe.recorded(observe.fixture(OPERATOR, golden.name))
    return [body for body in found if body["kind"] == kind and body["apiVersion"].startswith(version)]


def _pods(golden: Golden) -> list[Body]:
    """Return the pods of a golden's service; in Knative mode the template that Knative makes them of."""
    pods = _made(golden, "Pod") or [
        body["spec"]["template"] for body in _made(golden, "Service", "serving.knative.dev")
    ]
    assert pods
    return pods


def _scheme(service: Stated) -> str:
    spec = spec_of(service.workload, KServeSpec)
    place = location(spec.model.uri) if spec.model and spec.model.uri else None
    return place.scheme if place else ""


def _containers(pod: Body) -> dict[str, Body]:
    spec = pod["spec"]
    return {each["name"]: each for each in (*spec.get("initContainers", []), *spec["containers"])}


def test_every_golden_is_recorded() -> None:
    """A new golden must be recorded, and a record without a golden is none."""
    wanted = {observe.fixture(OPERATOR, golden.name).name for golden in cases()}
    found = {path.name for path in (observe.FOLDER / OPERATOR).iterdir()}
    assert found == wanted | {f"{_LEVELS}.yaml"}


@every
def test_labels(golden: Golden, service: Stated) -> None:
    """Every pod carries the labels that are stated."""
    for pod in _pods(golden):
        assert service.facts.pod_labels.items() <= pod["metadata"]["labels"].items()


@every
def test_network_policies_select_what_was_made(golden: Golden, service: Stated) -> None:
    """Each policy selects the pods that were made if, and only if, it selects pods as they were stated."""
    policies = [body for body in golden.bodies if body["kind"] == "NetworkPolicy"]
    labels = [pod["metadata"]["labels"] for pod in _pods(golden)]
    selecting = [policy for policy in policies if _selects(policy, service.facts.pod_labels)]
    assert len(selecting) > 1  # the default one, and the service's own
    for policy in policies:
        assert {_selects(policy, found) for found in labels} == {policy in selecting}, policy["metadata"]["name"]


def _selects(policy: Body, labels: Mapping[str, str]) -> bool:
    selector = policy["spec"]["podSelector"]
    assert set(selector) <= {"matchLabels"}
    return bool(selector.get("matchLabels", {}).items() <= labels.items())


@every
def test_account(golden: Golden, service: Stated) -> None:
    """Pods run under the service's own account, and no token is mounted."""
    for pod in _pods(golden):
        assert pod["spec"]["serviceAccountName"] == service.workload.name
        assert pod["spec"]["automountServiceAccountToken"] is False


@every
def test_placement(golden: Golden, service: Stated) -> None:
    """Pods ask for the nodes and devices that were planned."""
    planned = service.workload
    for pod in _pods(golden):
        assert pod["spec"].get("nodeSelector", {}) == dict(planned.placement.node_selector)
        assert pod["spec"].get("tolerations", []) == [dict(each) for each in planned.placement.tolerations]
        limits = _containers(pod)[_MAIN]["resources"]["limits"]
        devices = {name: str(number) for name, number in planned.resources.devices}
        assert limits == {"cpu": planned.resources.cpu, "memory": planned.resources.memory, **devices}


@every
def test_services(golden: Golden, service: Stated) -> None:
    """No Service has a name that is not stated."""
    names = {body["metadata"]["name"] for body in _made(golden, "Service")}
    assert names
    assert names <= set(service.facts.services)


@every
def test_children(golden: Golden, service: Stated) -> None:
    """Every kind of object that KServe made itself is stated."""
    made = observe.recorded(observe.fixture(OPERATOR, golden.name))
    kinds = {(body["apiVersion"].rpartition("/")[0], body["kind"]) for body in made}
    assert kinds <= set(service.facts.children)


@standard
def test_ports(golden: Golden, service: Stated) -> None:
    """The Service leads to the port that the gateway may reach, and metrics are where the runtime says."""
    (found,) = _made(golden, "Service")
    targets = [row["targetPort"] for row in found["spec"]["ports"]]
    assert targets == [port.number for port in service.facts.served_from_gateway]
    assert service.facts.metrics is not None
    own = spec_of(service.workload, KServeSpec).image is not None
    for pod in _pods(golden):
        said = pod["metadata"]["annotations"].get("prometheus.kserve.io/port")
        assert said == (None if own else str(service.facts.metrics.number))


@standard
def test_number(golden: Golden, service: Stated) -> None:
    """As many pods at most as stated: by the autoscaler, or where there is none by the Deployment."""
    scalers = _made(golden, "HorizontalPodAutoscaler")
    (deployment,) = _made(golden, "Deployment")
    most = [scaler["spec"]["maxReplicas"] for scaler in scalers] or [deployment["spec"]["replicas"]]
    assert most == [service.facts.pods]
    assert deployment["spec"]["replicas"] == len(_pods(golden))


@standard
def test_derived_names(golden: Golden, service: Stated) -> None:
    """The host whose length is checked is a host that KServe makes."""
    hosts = {rule["host"].partition(".")[0] for body in _made(golden, "Ingress") for rule in body["spec"]["rules"]}
    assert {derived.name for derived in service.facts.derived} <= hosts


@standard
def test_claims(golden: Golden, service: Stated) -> None:
    """Pods mount the claims that are stated, at the path of the model, read only."""
    for pod in _pods(golden):
        volumes = {each["name"]: each for each in pod["spec"].get("volumes", []) if "persistentVolumeClaim" in each}
        claims = [each["persistentVolumeClaim"]["claimName"] for each in volumes.values()]
        assert claims == [claim.name for claim in service.facts.claims]
        mounts = [each for each in _containers(pod)[_MAIN].get("volumeMounts", []) if each["name"] in volumes]
        assert [(mount["mountPath"], mount["readOnly"]) for mount in mounts] == [("/mnt/models", True)] * len(claims)


@standard
def test_what_is_added(golden: Golden, service: Stated) -> None:
    """KServe adds the containers that belong to the scheme of the model, the storage initializer without a context."""
    wanted = ADDED.get(_scheme(service), ("storage-initializer",))
    for pod in _pods(golden):
        containers = _containers(pod)
        assert sorted(containers) == sorted((_MAIN, *wanted))
        assert "securityContext" not in containers.get("storage-initializer", {})


@standard
def test_security_context(golden: Golden, service: Stated) -> None:
    """The server runs with the context that mlspec wrote, but beside a modelcar, where KServe replaces it."""
    (written,) = inference_services(golden)
    predictor = written["spec"]["predictor"]
    (ours,) = predictor.get("containers", [predictor.get("model")])
    for pod in _pods(golden):
        found = _containers(pod)[_MAIN]["securityContext"]
        if _scheme(service) == "oci":
            assert found == {"runAsUser": 1010}
        else:
            assert ours["securityContext"].items() <= found.items()


def _levels() -> Iterator[Body]:
    yield from observe.recorded(observe.fixture(OPERATOR, _LEVELS))


def test_no_pod_is_refused() -> None:
    """At the level that each namespace enforces, every pod is admitted."""
    assert {level["case"]: level["refused"] for level in _levels()} == {
        golden.name: [] for golden in cases(mode="Standard")
    }
    assert {level["case"]: level["enforced"] for level in _levels()} == {
        golden.name: golden.enforced for golden in cases(mode="Standard")
    }


@standard
def test_who_falls_short_of_restricted(golden: Golden, service: Stated) -> None:
    """Pods are refused at the restricted level where the projected ones fall short of it, and nowhere else."""
    (level,) = (level for level in _levels() if level["case"] == golden.name)
    (resource,) = (each for each in golden.resources if each.body["kind"] == "InferenceService")
    assert resource.projection is not None
    levels = {pod_security.reached(pods, 34) for pods in resource.projection.pods}
    assert (levels != {"restricted"}) == bool(level["restricted"])


@knative
def test_knative_service(golden: Golden, service: Stated) -> None:
    """The Knative Service scales between the bounds that were written, at the target that was written."""
    (found,) = _made(golden, "Service", "serving.knative.dev")
    (written,) = inference_services(golden)
    predictor, annotations = written["spec"]["predictor"], found["spec"]["template"]["metadata"]["annotations"]
    scaling = {key.partition("/")[2]: annotations[key] for key in annotations if key.startswith("autoscaling.")}
    assert scaling["min-scale"] == str(predictor["minReplicas"])
    assert scaling["max-scale"] == str(service.facts.pods)
    assert scaling["class"] == "kpa.autoscaling.knative.dev"
    assert (scaling.get("metric"), scaling.get("target")) == _target(predictor)


def _target(predictor: Body) -> tuple[str | None, str | None]:
    wanted = predictor.get("scaleTarget")
    return predictor.get("scaleMetric"), None if wanted is None else str(wanted)


@pytest.mark.parametrize(("golden", "service"), _each("Standard"))
def test_metrics_service(golden: Golden, service: Stated) -> None:
    """The Service that Prometheus scrapes through selects the pods that were made."""
    labels = {**meta.project_labels(golden.plan.project), meta.METRICS_OF: service.workload.name}
    services = [body for body in golden.bodies if body["kind"] == "Service" and body["metadata"]["labels"] == labels]
    assert len(services) == (golden.plan.target.prometheus is not None)
    for body in services:
        for pod in _pods(golden):
            assert body["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
