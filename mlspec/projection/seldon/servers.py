"""Model servers of the platform's: what each adds to its unit (seldondeployment_prepackaged_servers.go, mlserver.go),
and the init container that loads the model (model_initializer_injector.go)."""

from __future__ import annotations

from typing import Final

from mlspec.k8s.projected import Body
from mlspec.k8s.resource import compact
from mlspec.k8s.values import mapping
from mlspec.projection.seldon.graph import SeldonDeployment, Unit, named, tables
from mlspec.projection.seldon.images import INITIALIZER, server_image
from mlspec.projection.seldon.units import MODELS, PARAMETERS, override, parameters_json, variable

TFSERVING: Final = "tfserving"
"""Beside a proxy: TensorFlow Serving, which has no Service (constants.go, TFServingContainerName)."""
_CLAIM_VOLUME: Final = "kfserving-pvc-source"
_CLAIM_PATH: Final = "/mnt/pvc"
_NO_INITIALIZER: Final = "seldon.io/no-storage-initializer"
_RUNTIMES: Final = {
    "SKLEARN_SERVER": "mlserver_sklearn.SKLearnModel",
    "XGBOOST_SERVER": "mlserver_xgboost.XGBoostModel",
    "TEMPO_SERVER": "tempo.mlserver.InferenceRuntime",
    "MLFLOW_SERVER": "mlserver_mlflow.MLflowRuntime",
    "HUGGINGFACE_SERVER": "mlserver_huggingface.HuggingFaceRuntime",
}


def complete(found: SeldonDeployment, unit: Unit, spec: Body) -> set[str]:
    """Complete the pod of a unit that a model server serves; returns the names of containers that are new."""
    containers = tables(spec, "containers")
    container = named(containers, unit.name)
    if container is None:
        return set()
    if unit.implementation == "TENSORFLOW_SERVER":
        return _tensorflow(found, unit, spec, container)
    if unit.implementation == "TRITON_SERVER":
        return _triton(found, unit, spec, container)
    if found.protocol in ("v2", "kfserving"):
        _mlserver(found, unit, container)
    else:
        parameters = [*unit.parameters, _parameter("model_uri", MODELS)]
        override(tables(container, "env"), variable(PARAMETERS, parameters_json(parameters)))
    return _initializer(unit, spec, container)


def _parameter(name: str, value: str) -> Body:
    return {"name": name, "value": value, "type": "STRING"}


def _tensorflow(found: SeldonDeployment, unit: Unit, spec: Body, container: Body) -> set[str]:
    """Serve by TensorFlow Serving, through a proxy that speaks Seldon's protocol (addTFServerContainer)."""
    containers, added = tables(spec, "containers"), set()
    direct = found.protocol == "tensorflow"
    http, grpc = (unit.http, unit.grpc) if direct else (2001, 2000)
    server: Body | None = container
    if not direct:
        container["image"] = server_image(unit.implementation, found.protocol)
        parameters = list(unit.parameters)
        if not any(item.get("name") in ("rest_endpoint", "grpc_endpoint") for item in parameters):
            parameters.append(_parameter("rest_endpoint", "http://0.0.0.0:2001"))
            parameters.append(_parameter("grpc_endpoint", "0.0.0.0:2000"))
        parameters.append(_parameter("model_name", unit.name))
        override(tables(container, "env"), variable(PARAMETERS, parameters_json(parameters)))
        server = named(containers, TFSERVING)
    if server is None:
        server = {
            "name": TFSERVING,
            "imagePullPolicy": "IfNotPresent",
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
        containers.append(server)
        added.add(TFSERVING)
    server["image"] = server.get("image") or server_image(unit.implementation, "tensorflow")
    server["args"] = server.get("args") or [
        f"--port={grpc}",
        f"--rest_api_port={http}",
        f"--model_name={unit.name}",
        f"--model_base_path={MODELS}",
    ]
    if not tables(server, "ports"):
        server["ports"] = [{"containerPort": port, "protocol": "TCP"} for port in (grpc, http)]
    return added | _initializer(unit, spec, server)


def _triton(found: SeldonDeployment, unit: Unit, spec: Body, container: Body) -> set[str]:
    """Serve by Triton, which can load models itself (addTritonServer)."""
    loads = found.annotations.get(_NO_INITIALIZER, "").lower() == "true"
    args = ["/opt/tritonserver/bin/tritonserver", f"--grpc-port={unit.grpc}", f"--http-port={unit.http}"]
    if not loads:
        args += [f"--model-repository={MODELS}", "--strict-model-config=false"]
    else:
        args.append(f"--model-repository={unit.uri}")
        options = ("model_control_mode", "load_model", "strict_model_config")
        for item in unit.parameters:
            option = str(item.get("name", "")).lower()
            if option in options:
                args.append(f"--{option.replace('_', '-')}={item.get('value', '')}")
        if unit.secret and container.get("envFrom") is None:
            container["envFrom"] = [{"secretRef": {"name": unit.secret}}]
    if container.get("args") is None:
        container["args"] = args
    container["ports"] = _ports(unit)
    return set() if loads else _initializer(unit, spec, container)


def _ports(unit: Unit) -> list[Body]:
    """Return a server's ports, which stand for all that were there, metrics included."""
    return [
        {"name": name, "containerPort": port, "protocol": "TCP"}
        for name, port in (("grpc", unit.grpc), ("http", unit.http))
    ]


def _mlserver(found: SeldonDeployment, unit: Unit, container: Body) -> None:
    """Serve by MLServer: its variables stand in front, and yield to those that are there (mergeMLServerContainer)."""
    options = f'{{"defaultRuntime": "tempo.seldon.SeldonKubernetesRuntime", "namespace": "{found.in_namespace}"}}'
    added = {
        "MLSERVER_HTTP_PORT": str(unit.http),
        "MLSERVER_GRPC_PORT": str(unit.grpc),
        "MLSERVER_MODEL_IMPLEMENTATION": _RUNTIMES.get(unit.implementation, ""),
        "MLSERVER_MODEL_NAME": unit.name,
        "MLSERVER_MODEL_VERSION": "v1",
        "MLSERVER_MODEL_URI": MODELS,
        "TEMPO_RUNTIME_OPTIONS": f'{{"k8s_options": {options}}}',
    }
    if unit.implementation == "HUGGINGFACE_SERVER":
        added |= {"MLSERVER_PARALLEL_WORKERS": "0", "XDG_CACHE_HOME": "/opt/mlserver"}
    env = [variable(name, value) for name, value in added.items()]
    for item in tables(container, "env"):
        override(env, item)
    container["env"] = env
    for key, what in (("readinessProbe", "ready"), ("livenessProbe", "live")):
        kept = {name: value for name, value in mapping(container[key]).items() if name not in _HANDLERS}
        container[key] = {"httpGet": {"path": f"/v2/health/{what}", "port": "http", "scheme": "HTTP"}, **kept}
    container["ports"] = _ports(unit)


_HANDLERS: Final = frozenset({"exec", "httpGet", "tcpSocket", "grpc"})


def _initializer(unit: Unit, spec: Body, container: Body) -> set[str]:
    """Load the model before a container starts, which then reads it; returns the name of the init container.

    Secrets of the ServiceAccount would be given to it, too; ours has none.
    """
    inits, volumes = tables(spec, "initContainers"), tables(spec, "volumes")
    volume, name = _cut(f"{container['name']}-provision-location"), _cut(f"{container['name']}-model-initializer")
    if not unit.uri:
        return set()
    if named(inits, name) is not None:
        _mount(container, volume, MODELS)
        return set()
    source, mounts = unit.uri, []
    if source.startswith("pvc://"):
        claim, _, path = source.removeprefix("pvc://").partition("/")
        volumes.append({"name": _CLAIM_VOLUME, "persistentVolumeClaim": {"claimName": claim}})
        mounts.append({"name": _CLAIM_VOLUME, "mountPath": _CLAIM_PATH, "readOnly": True})
        _mount(container, _CLAIM_VOLUME, _CLAIM_PATH)
        source = f"{_CLAIM_PATH}/{path}"
    volumes.append({"name": volume, "emptyDir": {}})
    mounts.append({"name": volume, "mountPath": MODELS})
    _mount(container, volume, MODELS)
    init = {
        "name": name,
        "image": unit.initializer or INITIALIZER,
        "imagePullPolicy": "IfNotPresent",
        "args": [source, MODELS],
        "envFrom": [{"secretRef": {"name": unit.secret}}] if unit.secret else None,
        "resources": {"limits": {"cpu": "1", "memory": "1Gi"}, "requests": {"cpu": "100m", "memory": "100Mi"}},
        "volumeMounts": mounts,
        "terminationMessagePath": "/dev/termination-log",
        "terminationMessagePolicy": "File",
    }
    inits.append(compact(init))
    return {name}


def _cut(name: str) -> str:
    return name if len(name) <= 63 else name[:63].removesuffix("-")


def _mount(container: Body, volume: str, path: str) -> None:
    mounts = tables(container, "volumeMounts")
    if named(mounts, volume) is None:
        mounts.append({"name": volume, "mountPath": path, "readOnly": True})
