"""What Seldon's operator makes of a SeldonDeployment, read by a person beside its source; it does not build here.

`tests/projections/seldon/` holds whole pods and Services of a few services, and for every model server with every
protocol what its operator adds. That no shape which a patch may bring ends in a traceback, is tried at every field.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec import yamltext
from mlspec.diagnostics import has_errors
from mlspec.ir import Stated
from mlspec.k8s.projected import Body, Projection
from mlspec.k8s.resource import Resource, compact
from mlspec.model.servers import PROTOCOLS
from mlspec.pipeline import compile_workspace
from mlspec.projection.seldon import seldon_deployment
from mlspec.spec.load import load
from tests.cluster.harness.goldens import Golden, goldens
from tests.support import ENVIRONMENT, check_golden, make_root

_HERE: Final = Path(__file__).parent / "projections" / "seldon"
_SELDON: Final = ENVIRONMENT.replace("kserve: {version: 0.16, mode: Standard}", "seldon: {version: 1.16}").replace(
    "s3: {cidrs: [10.0.0.0/8]}", "{s3: {cidrs: [10.0.0.0/8], secret: rclone}, gs: {cidrs: [10.0.0.0/8]}}"
)
_CLAIMS: Final = "volumes: {models: {claim: models}}\n"
_ENGINE: Final = "seldon-container-engine"
_WHOLE: Final = {
    "tensorflow": """\
  m: {kind: seldon, replicas: 2, model: {implementation: TENSORFLOW_SERVER, uri: "gs://models/m"}}
""",
    "shadow": """\
  m:
    kind: seldon
    protocol: v2
    predictors:
      main: {model: {implementation: SKLEARN_SERVER, uri: "pvc://models/m/1"}}
      next: {shadow: true, traffic: 20, model: {implementation: XGBOOST_SERVER, uri: "s3://models/m/2"}}
""",
}


def _compiled(folder: Path, services: str) -> tuple[list[Resource], tuple[Stated, ...]]:
    root = make_root(folder, f"{_CLAIMS}services:\n{services}", {"dev": _SELDON})
    compilation = compile_workspace(load(root))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    compiled = compilation.projects[0]
    found = [item for item in compiled.resources["dev"] if item.body["kind"] == "SeldonDeployment"]
    return found, compiled.plans["dev"].services


def _projection(resource: Resource) -> Projection:
    assert resource.projection is not None
    return resource.projection


@pytest.mark.parametrize("case", _WHOLE)
def test_whole(case: str, tmp_path: Path, update_golden: bool) -> None:
    (resource,), _ = _compiled(tmp_path, _WHOLE[case])
    found = _projection(resource)
    bodies = [*found.services, *(pods.first for pods in found.pods)]
    check_golden(_HERE / f"{case}.yaml", yamltext.dump_all(bodies), update=update_golden)


def _servers() -> Iterator[tuple[str, str]]:
    """Yield a name and a service for every model server, protocol and way to its model."""
    for server, protocols in {**PROTOCOLS, "OWN_SERVER": ("seldon", "tensorflow", "v2")}.items():
        for protocol in protocols:
            yield f"{server}, {protocol}, from a claim", _service(server, protocol, "pvc://models/m/1")
            yield f"{server}, {protocol}", _service(server, protocol, "gs://models/m")
    hub = _service("HUGGINGFACE_SERVER", "v2", None, "{task: text-generation, pretrained_model: 'a<b'}")
    yield "HUGGINGFACE_SERVER, v2, from the Hub", hub
    yield (
        "SKLEARN_SERVER, seldon, method",
        _service("SKLEARN_SERVER", "seldon", "gs://m", "{method: decision_function}"),
    )


def _service(server: str, protocol: str, uri: str | None, parameters: str = "{}") -> str:
    where = f"uri: '{uri}', " if uri else ""
    model = f"{{implementation: {server}, {where}parameters: {parameters}}}"
    return f"{{kind: seldon, protocol: {protocol}, egress: [gs], model: {model}}}"


def test_servers(tmp_path: Path, update_golden: bool) -> None:
    """Every container but the executor, in short, and without what each of them has (see the whole pods)."""
    cases = dict(_servers())
    services = "".join(f"  s{number}: {service}\n" for number, service in enumerate(cases.values()))
    found, _ = _compiled(tmp_path, services)
    by_name = {item.body["metadata"]["name"]: item for item in found}
    table = {name: _containers_in_short(by_name[f"s{number}"]) for number, name in enumerate(cases)}
    check_golden(_HERE / "servers.yaml", yamltext.dump(table), update=update_golden)


_EVERYWHERE: Final = ("PREDICTIVE_UNIT_ID", "PREDICTIVE_UNIT_IMAGE", "PREDICTOR_", "SELDON_", "HOME", "LOGNAME", "USER")


def _containers_in_short(resource: Resource) -> Body:
    (pods,) = _projection(resource).pods
    return {item["name"]: _in_short(item) for item in _containers(pods.first) if item["name"] != _ENGINE}


def _in_short(container: Body) -> Body:
    env = [f"{item['name']}={item.get('value', '')}" for item in container.get("env", ())]
    handlers = ("livenessProbe", "readinessProbe")
    return compact(
        {
            "image": container.get("image", "the platform's"),
            "command": " ".join(container.get("command", ())) or None,
            "args": " ".join(container.get("args", ())) or None,
            "env": [line for line in env if not line.startswith(_EVERYWHERE) and "SERVICE_PORT" not in line],
            "ports": [f"{port.get('name', '-')} {port['containerPort']}" for port in container.get("ports", ())],
            "mounts": [
                f"{mount['mountPath']} {mount['name']}{' read-only' if mount.get('readOnly') else ''}"
                for mount in container["volumeMounts"]
            ],
            "probed": [_probed(container[key]) for key in handlers if key in container],
        }
    )


def _probed(probe: Body) -> str:
    return f"TCP {probe['tcpSocket']['port']}" if "tcpSocket" in probe else f"GET {probe['httpGet']['path']}"


_GOLDENS: Final = [
    (golden, resource)
    for golden in goldens()
    for resource in golden.resources
    if resource.body["kind"] == "SeldonDeployment"
]
_each = pytest.mark.parametrize(
    ("golden", "resource"), _GOLDENS, ids=[f"{golden.name}-{resource.key.name}" for golden, resource in _GOLDENS]
)


def _stated(golden: Golden, resource: Resource) -> Stated:
    return next(stated for stated in golden.plan.services if stated.workload.object_name == resource.key.name)


@_each
def test_pods_are_what_the_facts_say(golden: Golden, resource: Resource) -> None:
    """Names, labels, numbers and ports, by which names are measured and policies select."""
    facts, found = _stated(golden, resource).facts, _projection(resource)
    assert list(found.names) == [derived.name for derived in facts.derived]
    assert sum(pods.count for pods in found.pods) == facts.pods
    for pods in found.pods:
        pod = pods.first
        assert facts.pod_labels.items() <= pod["metadata"]["labels"].items()
        assert all(len(value) <= 63 for value in pod["metadata"]["labels"].values())
        assert {item["name"] for item in _containers(pod)} > pods.added >= {_ENGINE}
        (engine,) = (item for item in pod["spec"]["containers"] if item["name"] == _ENGINE)
        ports = {port["containerPort"] for port in engine["ports"]}
        assert ports == {port.number for port in facts.served_from_gateway}
        assert facts.metrics is not None
        assert facts.metrics.number in ports


def _containers(pod: Body) -> list[Body]:
    return [*pod["spec"].get("initContainers", ()), *pod["spec"]["containers"]]


@_each
def test_services_lead_to_ports_of_one_predictor(golden: Golden, resource: Resource) -> None:
    found = _projection(resource)
    for service in found.services:
        selector = service["spec"]["selector"]
        chosen = [p.first for p in found.pods if selector.items() <= p.first["metadata"]["labels"].items()]
        assert len(chosen) == 1, selector
        open_ports = {p["containerPort"] for item in chosen[0]["spec"]["containers"] for p in item.get("ports", ())}
        assert {port["targetPort"] for port in service["spec"]["ports"]} <= open_ports
    gateway = {port.number for port in _stated(golden, resource).facts.served_from_gateway}
    fronts = [item for item in found.services if {port["port"] for port in item["spec"]["ports"]} == gateway]
    assert len(fronts) == len(found.pods)


@_each
def test_mounts_have_volumes(golden: Golden, resource: Resource) -> None:
    for pods in _projection(resource).pods:
        spec = pods.first["spec"]
        volumes = [volume["name"] for volume in spec["volumes"]]
        assert len(volumes) == len(set(volumes))
        for container in _containers(pods.first):
            mounts = container.get("volumeMounts", ())
            assert {mount["name"] for mount in mounts} <= set(volumes)
            # A root that cannot be written needs a place that can: web servers and loaders keep files in /tmp.
            if container.get("securityContext", {}).get("readOnlyRootFilesystem"):
                assert "/tmp" in {mount["mountPath"] for mount in mounts}, container["name"]  # noqa: S108


def test_where_predictors_are_written(tmp_path: Path) -> None:
    """In the short form nobody wrote the predictor `default`."""
    found, _ = _compiled(tmp_path, _WHOLE["tensorflow"] + _WHOLE["shadow"].replace("  m:", "  n:"))
    assert [pods.path for resource in found for pods in _projection(resource).pods] == [
        (),
        ("predictors", "main"),
        ("predictors", "next"),
    ]


def test_the_object_is_left_as_it_is(tmp_path: Path) -> None:
    (resource,), _ = _compiled(tmp_path, _WHOLE["shadow"])
    before = copy.deepcopy(resource.body)
    first = seldon_deployment(resource.body).pods[0]
    first.make(0)["spec"]["containers"].clear()
    assert resource.body == before
    assert first.make(0)["spec"]["containers"]


def _changed(tmp_path: Path, case: str, **predictor: Any) -> Projection:
    (resource,), _ = _compiled(tmp_path, _WHOLE[case])
    body = copy.deepcopy(resource.body)
    body["spec"]["predictors"][0] |= predictor
    return seldon_deployment(body)


def test_without_an_executor(tmp_path: Path) -> None:
    """A patch may take it away; requests then go to the one unit."""
    found = _changed(tmp_path, "tensorflow", annotations={"seldon.io/no-engine": "true"})
    (pods,) = found.pods
    assert _ENGINE not in {item["name"] for item in _containers(pods.first)} | pods.added
    assert pods.first["metadata"]["labels"]["seldon-app"] == "m-default"
    ports = {item["metadata"]["name"]: [port["port"] for port in item["spec"]["ports"]] for item in found.services}
    assert ports == {"m-default-model": [9000, 9500], "m-default": [9000, 9500]}


def test_an_executor_apart(tmp_path: Path) -> None:
    """A patch may give it pods of its own, which carry none of the project's labels."""
    (resource,), _ = _compiled(tmp_path, _WHOLE["tensorflow"])
    body = copy.deepcopy(resource.body)
    body["spec"]["annotations"] = {"seldon.io/engine-separate-pod": "true"}
    apart, own = seldon_deployment(body).pods
    assert apart.count == own.count == 2
    assert apart.first["metadata"]["name"] == "m-default-svc-orch-0000000000-00000"
    assert [item["name"] for item in apart.first["spec"]["containers"]] == [_ENGINE]
    assert not any(key.startswith("mlspec.dev/") for key in apart.first["metadata"]["labels"])
    assert _ENGINE not in {item["name"] for item in _containers(own.first)}


def test_a_router_in_front(tmp_path: Path) -> None:
    """Units are numbered by their names: two units have two pairs of ports, in whatever pods they are."""
    children = [{"name": "model", "implementation": "SKLEARN_SERVER", "modelUri": "gs://m"}, {"name": "other"}]
    graph = {"name": "split", "implementation": "RANDOM_ABTEST", "children": children}
    (resource,), _ = _compiled(tmp_path, _WHOLE["tensorflow"])
    predictor = {**resource.body["spec"]["predictors"][0], "graph": graph}
    predictor["componentSpecs"] = [
        {"spec": {"containers": [{"name": "model"}]}},
        {"spec": {"containers": [{"name": "other", "image": "ghcr.io/acme/other:1"}]}},
    ]
    body = {**resource.body, "spec": {"predictors": [predictor]}}
    found = seldon_deployment(body)
    assert found.names == ("m-default-0-model", "m-default-1-other")
    first, second = (pods.first for pods in found.pods)
    assert [item["name"] for item in first["spec"]["containers"]] == ["model", _ENGINE]
    (other,) = second["spec"]["containers"]
    assert [port["containerPort"] for port in other["ports"]] == [6001, 9001, 9501]
    assert "seldon.io/model" in second["metadata"]["labels"]


def test_variables_of_the_operator_take_the_others_away(tmp_path: Path) -> None:
    """Its helper returns nothing where a name is there already (utils.go, SetEnvVar), so all in front are lost."""
    service = _WHOLE["tensorflow"].replace("replicas: 2", "env: {LEVEL: info, MLSERVER_GRPC_PORT: 1}")
    (resource,), _ = _compiled(tmp_path, service)
    (unit, *_) = _projection(resource).pods[0].first["spec"]["containers"]
    assert [item["name"] for item in unit["env"]][:2] == ["MLSERVER_MODEL_URI", "PREDICTIVE_UNIT_ID"]


def test_names_that_are_too_long() -> None:
    """The operator takes the MD5 of the name; pods keep the first characters of theirs."""
    container = {"name": "a" * 40, "image": "i:1"}
    graph = {"name": "a" * 40}
    component = {"spec": {"containers": [container]}}
    predictor = {"name": "p" * 20, "graph": graph, "componentSpecs": [component]}
    body = {"metadata": {"name": "s" * 20}, "spec": {"predictors": [predictor]}}
    (pods,) = seldon_deployment(body).pods
    pod = pods.first
    # printf %s ssss…-pppp…-0-aaaa… | md5sum
    assert pod["metadata"]["labels"]["app"] == "seldon-3fb50614c064c9cf63a169b9abbeb8b4"
    assert len(pod["metadata"]["name"]) <= 63


_HOSTILE: Final[tuple[Any, ...]] = (None, 0, True, "x", "", [], {}, [None], [{}], {"a": None}, {"name": []})


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    yield path
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield from _places(item, (*path, key))


@pytest.mark.parametrize("case", _WHOLE)
def test_any_shape_is_read(case: str, tmp_path: Path) -> None:
    """A patch may put anything anywhere, which the schema refuses later."""
    (resource,), _ = _compiled(tmp_path, _WHOLE[case])
    for path in list(_places(resource.body["spec"]))[1:]:
        for value in _HOSTILE:
            body = copy.deepcopy(resource.body)
            holder = body["spec"]
            for key in path[:-1]:
                holder = holder[key]
            holder[path[-1]] = value
            for pods in seldon_deployment(body).pods:
                assert pods.first["kind"] == "Pod"
