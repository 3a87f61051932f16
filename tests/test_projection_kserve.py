"""The pods and Services that mlspec projects for an InferenceService are those that KServe made on a cluster.

`tests/cluster/observed/` holds what KServe 0.16 made of every golden; what mlspec projects of the same object is
compared with it field by field, as both are normal.
"""

from __future__ import annotations

import hashlib
import itertools
import re
import tomllib
from collections.abc import Mapping
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec import schemas
from mlspec.k8s.projected import Body, Projection
from mlspec.k8s.values import copied
from mlspec.model.operators import KSERVE
from mlspec.projection import kserve, templates
from mlspec.projection.kserve import knative, merge, runtimes, stock
from tests.cluster.harness.goldens import Golden
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.served import OPERATOR, cases, inference_services, stated
from tests.tools import kserve_stock

_RELEASE: Final = (0, 16)
_LEFT_OUT: Final[Mapping[str, str]] = {
    "generateName": "a name stands for it",
    "ownerReferences": "they hold the uid of what does not exist yet",
    "serviceAccount": "the API server's old name of serviceAccountName",
}
"""Fields of the record that are not projected, and why."""
_OF_ADMISSION: Final[Mapping[str, str]] = {
    "imagePullSecrets": "the admission plugin for ServiceAccounts copies those of the account",
}
"""Fields of a pod's spec that the API server's own admission writes."""
_DEFAULT_MODE: Final = 0o644
"""What the API server gives the files of a Secret that is mounted without saying."""


def _each(mode: str | None = None) -> list[Any]:
    return [
        pytest.param(golden, body, id=golden.name) for golden in cases(mode=mode) for body in inference_services(golden)
    ]


def _projected(golden: Golden, body: Body) -> Projection:
    secrets = stated(golden, body["metadata"]["name"]).workload.storage_secrets
    return kserve.inference_service(body, _RELEASE, secrets)


def _recorded(golden: Golden, kind: str, version: str = "") -> list[Body]:
    """Return what was recorded, with the images of the release instead of those of its source tree.

    The harness installs `config/`; the release's manifests are made of it by a script that replaces this tag.
    """
    found = observe.recorded(observe.fixture(OPERATOR, golden.name))
    wanted = [body for body in found if body["kind"] == kind and body["apiVersion"].startswith(version)]
    return [_released(_without(body, _LEFT_OUT)) for body in wanted]


def _without(value: Any, fields: Mapping[str, str]) -> Any:
    if isinstance(value, dict):
        return {key: _without(item, fields) for key, item in value.items() if key not in fields}
    return [_without(item, fields) for item in value] if isinstance(value, list) else value


def _released(value: Any) -> Any:
    if isinstance(value, dict):
        kept = {key: item for key, item in value.items() if (key, item) != ("defaultMode", _DEFAULT_MODE)}
        return {key: _released(item) for key, item in kept.items()}
    if isinstance(value, list):
        return [_released(item) for item in value]
    return re.sub(r"^(kserve/[a-z-]+:)latest", r"\1v0.16.0", value) if isinstance(value, str) else value


def _normal(bodies: list[Body]) -> list[Body]:
    """Return projected objects as the record has them: zeros for what is random, no defaults of the API server."""
    words = {body["metadata"]["name"]: _name(body) for body in bodies if body["kind"] == "Pod"}
    stored = [{**body, "metadata": {**body["metadata"], "uid": "(none yet)"}} for body in bodies]
    return observe.normal(stored, words=words)


def _name(pod: Body) -> str:
    return f"{pod['metadata']['name'].removesuffix(f'{kserve.HASH}-{templates.RANDOM}')}(hash)-(random)"


def _without_pull_policy(pod: Body) -> Body:
    """Return a pod without the pull policies of init containers and sidecars: the API server's, by the image's tag."""
    spec = {key: item for key, item in pod["spec"].items() if key not in _OF_ADMISSION}
    for field in ("initContainers", "containers"):
        if field in spec:
            spec[field] = [
                {key: item for key, item in each.items() if key != "imagePullPolicy" or each["name"] == stock.CONTAINER}
                for each in spec[field]
            ]
    return {**pod, "spec": spec}


@pytest.mark.parametrize(("golden", "body"), _each("Standard"))
def test_pods_are_those_that_were_made(golden: Golden, body: Body) -> None:
    """Each pod that KServe made is the one that is projected."""
    (pods,) = _projected(golden, body).pods
    (ours,) = _normal([pods.first])
    made = [_without_pull_policy(pod) for pod in _recorded(golden, "Pod")]
    assert made
    for pod in made:
        assert pod == _without_pull_policy(ours)


@pytest.mark.parametrize(("golden", "body"), _each("Standard"))
def test_services_are_those_that_were_made(golden: Golden, body: Body) -> None:
    """Every Service that KServe made is projected, and no other."""
    assert _recorded(golden, "Service", "v1") == _normal(list(_projected(golden, body).services))


@pytest.mark.parametrize(("golden", "body"), _each("Standard"))
def test_number_of_pods(golden: Golden, body: Body) -> None:
    """There may be as many pods as the autoscaler allows, else as the Deployment has."""
    (pods,) = _projected(golden, body).pods
    scalers, (deployment,) = _recorded(golden, "HorizontalPodAutoscaler"), _recorded(golden, "Deployment")
    most = [scaler["spec"]["maxReplicas"] for scaler in scalers] or [deployment["spec"]["replicas"]]
    assert most == [pods.count]
    assert len({pods.make(number)["metadata"]["name"] for number in range(pods.count)}) == pods.count


@pytest.mark.parametrize(("golden", "body"), _each("Standard"))
def test_names(golden: Golden, body: Body) -> None:
    """The Deployment has the name whose length is checked."""
    (deployment,) = _recorded(golden, "Deployment")
    assert _projected(golden, body).names == (deployment["metadata"]["name"],)


@pytest.mark.parametrize(("golden", "body"), _each("Standard"))
def test_added(golden: Golden, body: Body) -> None:
    """What KServe added is what is in the pod, but not in the template, and whose context is not the template's."""
    (pods,) = _projected(golden, body).pods
    (template,) = (deployment["spec"]["template"] for deployment in _recorded(golden, "Deployment"))
    before = {each["name"]: each.get("securityContext") for each in template["spec"]["containers"]}
    spec = _recorded(golden, "Pod")[0]["spec"]
    after = {
        each["name"]: each.get("securityContext") for each in (*spec.get("initContainers", ()), *spec["containers"])
    }
    assert pods.added == {name for name, context in after.items() if before.get(name) != context or name not in before}


@pytest.mark.parametrize(("golden", "body"), _each("Knative"))
def test_knative_service_is_the_one_that_was_made(golden: Golden, body: Body) -> None:
    """The Knative Service that KServe makes is the one that the pods are projected from."""
    found = kserve.knative_service(body, _RELEASE)
    assert found is not None
    assert _recorded(golden, "Service", "serving.knative.dev") == _normal([found])
    (outer,) = _recorded(golden, "Service", "v1")
    assert outer in _normal(list(_projected(golden, body).services))


@pytest.mark.parametrize(("golden", "body"), _each("Knative"))
def test_knative_pods(golden: Golden, body: Body) -> None:
    """Knative puts its proxy in front of the server, which keeps the context that mlspec wrote."""
    (pods,) = _projected(golden, body).pods
    containers = {each["name"]: each for each in pods.first["spec"]["containers"]}
    assert pods.added >= {"queue-proxy"}
    proxy = containers["queue-proxy"]
    assert [port["containerPort"] for port in proxy["ports"]] == [9090, 9091, 8012, 8112]
    assert proxy["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    }
    assert "readinessProbe" not in containers[stock.CONTAINER]
    private = [each for each in _projected(golden, body).services if "selector" in each["spec"]]
    assert [each["spec"]["selector"].items() <= pods.first["metadata"]["labels"].items() for each in private] == [True]


@pytest.mark.parametrize(("golden", "body"), _each())
def test_facts_agree(golden: Golden, body: Body) -> None:
    """What is stated about the service holds for what is projected: its labels, Services, number and metrics."""
    service = stated(golden, body["metadata"]["name"])
    projection = _projected(golden, body)
    (pods,) = projection.pods
    assert service.facts.pod_labels.items() <= pods.first["metadata"]["labels"].items()
    assert service.facts.pods == pods.count
    assert set(service.facts.services) <= {
        *projection.names,
        *(each["metadata"]["name"] for each in projection.services),
        body["metadata"]["name"],
    }


_ISVC: Final[Body] = {
    "apiVersion": "serving.kserve.io/v1beta1",
    "kind": "InferenceService",
    "metadata": {
        "name": "chat",
        "namespace": "demo",
        "annotations": {"serving.kserve.io/deploymentMode": "Standard", "serving.kserve.io/autoscalerClass": "none"},
    },
    "spec": {
        "predictor": {
            "minReplicas": 1,
            "maxReplicas": 1,
            "serviceAccountName": "chat",
            "model": {
                "modelFormat": {"name": "sklearn"},
                "storageUri": "s3://models/chat",
                "securityContext": {"readOnlyRootFilesystem": True},
            },
        }
    },
}


def _isvc(model: Body, **predictor: Any) -> Body:
    body: Body = copied(_ISVC)
    body["spec"]["predictor"]["model"] |= model
    body["spec"]["predictor"] |= predictor
    return body


def _server(body: Body, release: tuple[int, ...]) -> Body:
    (pods,) = kserve.inference_service(body, release).pods
    (found,) = (each for each in pods.first["spec"]["containers"] if each["name"] == stock.CONTAINER)
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize(
    ("model", "release", "image"),
    [
        ({"modelFormat": {"name": "sklearn"}}, (0, 16), "kserve/sklearnserver:v0.16.0"),
        ({"modelFormat": {"name": "sklearn"}, "protocolVersion": "v2"}, (0, 16), "docker.io/seldonio/mlserver:1.5.0"),
        ({"modelFormat": {"name": "sklearn"}, "protocolVersion": "v2"}, (0, 20), "docker.io/seldonio/mlserver:1.7.1"),
        ({"modelFormat": {"name": "onnx"}, "protocolVersion": "v2"}, (0, 15), "nvcr.io/nvidia/tritonserver:23.05-py3"),
        # OpenVINO's runtime is in the source tree since 0.17, but neither in the manifests nor in the charts.
        ({"modelFormat": {"name": "onnx"}, "protocolVersion": "v2"}, (0, 20), "nvcr.io/nvidia/tritonserver:23.05-py3"),
        ({"modelFormat": {"name": "pytorch"}}, (0, 16), "pytorch/torchserve-kfs:0.9.0"),
        ({"modelFormat": {"name": "sklearn", "version": "1"}}, (0, 17), "kserve/sklearnserver:v0.17.0"),
        ({"modelFormat": {"name": "vLLM"}, "protocolVersion": "v2"}, (0, 20), "vllm/vllm-openai-cpu:v0.20.0"),
        ({"modelFormat": {"name": "sklearn"}, "runtime": "kserve-xgbserver"}, (0, 19), "kserve/xgbserver:v0.19.0"),
        ({"modelFormat": {"name": "sklearn"}, "runtimeVersion": "9"}, (0, 19), "kserve/sklearnserver:9"),
    ],
)
def test_runtime(model: Body, release: tuple[int, ...], image: str) -> None:
    """The stock runtime is the one that KServe picks, of the release that is declared."""
    assert _server(_isvc(model), release)["image"] == image


@pytest.mark.parametrize(
    "model",
    [
        {"runtime": "ours"},
        {"modelFormat": {"name": "ours"}},
        {"modelFormat": {"name": "sklearn", "version": "77"}},
        {"modelFormat": {"name": "onnx"}},  # no runtime speaks v1 for it
    ],
)
def test_runtime_of_the_platform(model: Body) -> None:
    """A runtime that is not KServe's own has an image that nobody here knows; the rest of its pod is projected."""
    server = _server(_isvc(model), _RELEASE)
    assert "image" not in server
    assert server["securityContext"] == {"readOnlyRootFilesystem": True}


_RELEASES: Final = [(0, 15), (0, 16), (0, 17), (0, 19), (0, 20)]


@pytest.mark.parametrize("release", _RELEASES)
def test_stock_runtimes_do_not_tie(release: tuple[int, ...]) -> None:
    """No two of them are picked for one format by their age alone, which only the cluster knows."""
    installed = stock.release(release)
    formats = {row["name"] for spec in installed.runtimes.values() for row in spec["supportedModelFormats"]}
    for name, protocol in itertools.product(formats, ("v1", "v2", "grpc-v1", "grpc-v2")):
        rows = runtimes.fitting({"modelFormat": {"name": name}, "protocolVersion": protocol}, installed)
        ranks = [rank for rank, _ in rows]
        assert len(ranks) == len(set(ranks)), rows


@pytest.mark.parametrize("release", _RELEASES)
def test_what_changed_in_0_17(release: tuple[int, ...]) -> None:
    """Since then each container is told the service's name, and the format's annotation is not handed on."""
    body = _isvc({})
    body["metadata"]["annotations"]["modelFormat"] = "sklearn"
    (pods,) = kserve.inference_service(body, release).pods
    named = {"name": "INFERENCE_SERVICE_NAME", "value": "chat"} in _server(body, release).get("env", ())
    assert named is (release >= (0, 17))
    assert ("modelFormat" in pods.first["metadata"]["annotations"]) is not named


@pytest.mark.parametrize("release", _RELEASES)
def test_modelcar_by_release(release: tuple[int, ...]) -> None:
    """Up to 0.17 KServe replaces the server's context, which it then counts as having added; later only the user."""
    (pods,) = kserve.inference_service(_isvc({"storageUri": "oci://ghcr.io/acme/chat:1"}), release).pods
    server = _server(_isvc({"storageUri": "oci://ghcr.io/acme/chat:1"}), release)
    replaced = release < (0, 19)
    assert pods.added == {"modelcar", "modelcar-init", *((stock.CONTAINER,) if replaced else ())}
    assert server["securityContext"]["runAsUser"] == 1010
    assert ("readOnlyRootFilesystem" in server["securityContext"]) is not replaced
    assert pods.first["spec"]["shareProcessNamespace"] is True


def test_image_volume() -> None:
    """Since 0.20 an image can be mounted as it is: nothing is added, and nothing replaced."""
    (pods,) = kserve.inference_service(_isvc({"storageUri": "oci+native://ghcr.io/acme/chat:1"}), (0, 20)).pods
    assert pods.added == frozenset()
    assert pods.first["spec"]["volumes"] == [
        {"name": "mnt-models", "image": {"reference": "ghcr.io/acme/chat:1", "pullPolicy": "IfNotPresent"}}
    ]


def test_agent() -> None:
    """A logger that is patched in brings the agent, with the server's context, and the Service leads to it."""
    projection = kserve.inference_service(_isvc({}, logger={"mode": "all", "url": "http://sink"}), _RELEASE)
    (pods,), (service,) = projection.pods, projection.services
    (agent,) = (each for each in pods.first["spec"]["containers"] if each["name"] == "agent")
    assert pods.added == {"agent", "storage-initializer"}
    assert agent["image"] == "kserve/agent:v0.16.0"
    assert agent["args"][:4] == ["--log-url", "http://sink", "--source-uri", ""]
    assert agent["securityContext"] == _server(_isvc({}), _RELEASE)["securityContext"]
    assert [row["targetPort"] for row in service["spec"]["ports"]] == [9081]


def test_long_names() -> None:
    """Where names would be too long, they are cut as Knative cuts them, and a pod's as the API server cuts it."""
    body: Body = copied(_ISVC)
    body["metadata"] |= {"name": "a" * 50, "annotations": {}}
    projection = kserve.inference_service(body, _RELEASE)
    assert all(len(name) <= 63 for name in projection.names[1:])
    assert len(projection.pods[0].first["metadata"]["name"]) == 63
    assert knative.child_name("f" * 63, "-private") == "fffffffffffffffffffffff105d7597f637e83cc711605ac3ea4957-private"


_VALUES: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3) | st.sampled_from(["oci://x", "pvc://", "v2"]),
    lambda inner: (
        st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3) | st.just("name"), inner, max_size=2)
    ),
    max_leaves=4,
)


def _paths(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    pairs: list[tuple[str | int, Any]] = []
    if isinstance(value, dict):
        pairs = list(value.items())
    elif isinstance(value, list):
        pairs = list(enumerate(value))
    return [path, *(found for key, item in pairs for found in _paths(item, (*path, key)))]


_BODIES: Final = [body for golden in cases() for body in inference_services(golden)]
_PLACES: Final = [(number, path) for number, body in enumerate(_BODIES) for path in _paths(body) if path]


@given(st.sampled_from(_PLACES), _VALUES, st.sampled_from([(0, 15), (0, 20)]))
def test_no_patch_breaks_it(place: tuple[int, tuple[Any, ...]], value: Any, release: tuple[int, ...]) -> None:
    """Whatever a patch puts anywhere, there is a projection, or none."""
    body: Body = copied(_BODIES[place[0]])
    around: Any = body
    for key in place[1][:-1]:
        around = around[key]
    around[place[1][-1]] = value
    for pods in kserve.inference_service(body, release).pods:
        assert pods.first["kind"] == "Pod"


@pytest.mark.parametrize("field", ["model", "env", "containers", "volumes", "ports", "logger", "batcher", "labels"])
@given(value=_VALUES)
def test_no_added_field_breaks_it(field: str, value: Any) -> None:
    """Neither does a field that a patch adds to the predictor or to its model."""
    for place in ("predictor", "model"):
        body: Body = copied(_ISVC)
        predictor = body["spec"]["predictor"]
        (predictor if place == "predictor" else predictor["model"])[field] = value
        assert isinstance(kserve.inference_service(body, _RELEASE), Projection)


def test_merge_keeps_the_order_of_the_server() -> None:
    """Variables of the InferenceService stand in front of the runtime's, but for those that both have."""
    base = {"env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}, {"name": "C", "value": "3"}]}
    found = merge.merged(base, {"env": [{"name": "X"}, {"name": "B", "value": "9"}, {"name": "Y"}]})
    assert [each["name"] for each in found["env"]] == ["X", "A", "B", "Y", "C"]
    assert {each["name"]: each.get("value") for each in found["env"]}["B"] == "9"
    assert [each["name"] for each in base["env"]] == ["A", "B", "C"]


def test_every_declared_release_is_known() -> None:
    """Each release that a schema exists for has its stock; 0.18, whose module cannot be had, has that of 0.17."""
    minors = [tuple(map(int, minor.split("."))) for minor in schemas.operator_versions(KSERVE.field)]
    assert stock.release((0, 18)).runtimes == stock.release((0, 17)).runtimes
    minors.remove((0, 18))
    rows = tomllib.loads((kserve_stock.STOCK / "SOURCES.toml").read_text())["source"]
    assert [f"kserve-{'.'.join(map(str, minor))}.json" for minor in minors] == [row["file"] for row in rows]
    assert [row["version"] for row in rows] == list(kserve_stock.VERSIONS)
    for minor in minors:
        assert stock.release(minor).runtimes
    for row in rows:
        assert hashlib.sha256((kserve_stock.STOCK / row["file"]).read_bytes()).hexdigest() == row["sha256"]
