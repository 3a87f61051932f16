"""One small root for each system that people know: what its built overlay says, fact by fact."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

from mlspec import yamltext
from mlspec.check import tools
from tests.support import REPOSITORY, SCRATCH, mlspec

_PROJECTS = REPOSITORY / "tests" / "projects"
ROOTS = sorted(path.name for path in _PROJECTS.iterdir())

Body = dict[str, Any]


@cache
def built(root: str, project: str, environment: str = "dev") -> tuple[Body, ...]:
    """Return what the real kustomize makes of a committed overlay."""
    tool = tools.find_kustomize()
    assert tool is not None, "install the extra kustomize"
    folder = _PROJECTS / root / "generated" / project / "overlays" / environment
    result = tools.run([*tool.prefix, str(folder)])
    assert result.returncode == 0, result.stderr
    return tuple(yamltext.load_all(result.stdout))


def one(kind: str, root: str, project: str, environment: str = "dev") -> Body:
    """Return the one object of a kind."""
    found = [body for body in built(root, project, environment) if body["kind"] == kind]
    assert len(found) == 1
    return found[0]


def container(template: Body) -> Body:
    """Return the one container of a pod template."""
    (found,) = template["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def gpus(body: Body) -> str | None:
    """Return the GPUs of a container; limits equal requests."""
    resources = body["resources"]
    assert resources["limits"] == resources["requests"]
    found = resources["limits"].get("nvidia.com/gpu")
    assert found is None or isinstance(found, str)
    return found


@pytest.mark.parametrize("root", ROOTS)
def test_every_root_is_current_and_valid(root: str) -> None:
    assert mlspec(_PROJECTS / root, "generate", "--check").output == ""
    result = mlspec(_PROJECTS / root, "check")
    assert (result.code, result.stdout) == (0, "")


def test_pytorch_one_master_three_workers_one_gpu_each() -> None:
    specs = one("PyTorchJob", "pytorch", "mnist")["spec"]["pytorchReplicaSpecs"]
    assert {role: spec["replicas"] for role, spec in specs.items()} == {"Master": 1, "Worker": 3}
    for spec in specs.values():
        main = container(spec["template"])
        assert main["image"].startswith("pytorch/pytorch:")
        assert main["command"] == ["torchrun", "/opt/train.py"]
        assert gpus(main) == "1"


def test_pytorch_that_keeps_its_pods() -> None:
    job = one("PyTorchJob", "pytorch-keeps-pods", "mnist")["spec"]
    assert job["runPolicy"]["cleanPodPolicy"] == "None"
    assert {role: spec["replicas"] for role, spec in job["pytorchReplicaSpecs"].items()} == {"Master": 1, "Worker": 2}
    for spec in job["pytorchReplicaSpecs"].values():
        assert container(spec["template"])["args"] == ["--epochs", "10"]


def test_pytorch_that_goes_on_with_fewer_pods() -> None:
    """Workers alone, as many as there may be at most; one pod of fixed size where the environment says so."""
    job = one("PyTorchJob", "pytorch-elastic", "segmentation", "prod")
    assert list(job["spec"]["pytorchReplicaSpecs"]) == ["Worker"]
    assert job["spec"]["pytorchReplicaSpecs"]["Worker"]["replicas"] == 4
    name = job["metadata"]["name"]
    assert job["spec"]["elasticPolicy"] == {"minReplicas": 2, "maxReplicas": 4, "maxRestarts": 3, "rdzvId": name}
    small = one("PyTorchJob", "pytorch-elastic", "segmentation")
    assert list(small["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    assert "elasticPolicy" not in small["spec"]


@pytest.mark.parametrize(("root", "project"), [("tensorflow", "recommender"), ("three-projects", "recommender")])
def test_tensorflow_with_parameter_servers_on_cpus(root: str, project: str) -> None:
    specs = one("TFJob", root, project)["spec"]["tfReplicaSpecs"]
    assert {role: spec["replicas"] for role, spec in specs.items()} == {"Chief": 1, "Worker": 3, "PS": 2}
    for role in ("Chief", "Worker"):
        main = container(specs[role]["template"])
        assert main["image"] == "tensorflow/tensorflow:2.19.0-gpu"
        assert gpus(main) == "1"
    server = container(specs["PS"]["template"])
    assert server["image"] == "tensorflow/tensorflow:2.19.0"
    assert server["resources"]["requests"] == {"cpu": "2", "memory": "4Gi"}
    assert gpus(server) is None


def test_kserve_tensorflow_model_on_a_gpu() -> None:
    model = one("InferenceService", "kserve", "mnist")["spec"]["predictor"]["model"]
    assert model["modelFormat"] == {"name": "tensorflow"}
    assert model["storageUri"] == "gs://kubeflow-examples/mnist"
    assert gpus(model) == "1"


def _unit(predictor: Body) -> Body:
    """Return the container of a predictor's unit: the graph has no env."""
    (component,) = predictor["componentSpecs"]
    (found,) = (item for item in component["spec"]["containers"] if item["name"] == predictor["graph"]["name"])
    assert isinstance(found, dict)
    return found


def test_seldon_tensorflow_server_with_its_variable() -> None:
    (predictor,) = one("SeldonDeployment", "seldon", "mnist")["spec"]["predictors"]
    assert predictor["graph"]["implementation"] == "TENSORFLOW_SERVER"
    assert predictor["graph"]["modelUri"] == "gs://seldon-models/tfserving/mnist-model"
    assert _unit(predictor)["env"][-1] == {"name": "MODEL_NAME", "value": "mnist"}


@pytest.mark.parametrize(("root", "project"), [("seldon-canary", "mnist"), ("three-projects", "mnist")])
def test_seldon_canary(root: str, project: str) -> None:
    predictors = {p["name"]: p for p in one("SeldonDeployment", root, project)["spec"]["predictors"]}
    assert {name: (p["traffic"], p["replicas"]) for name, p in predictors.items()} == {
        "main": (90, 3),
        "canary": (10, 1),
    }
    assert predictors["canary"]["graph"]["modelUri"] == "gs://seldon-models/tfserving/mnist-model-2"
    for predictor in predictors.values():
        assert _unit(predictor)["env"][-1] == {"name": "MODEL_NAME", "value": "mnist"}


def test_a_claim_and_the_job_that_mounts_it() -> None:
    claim = one("PersistentVolumeClaim", "storage", "images")
    assert claim["spec"]["resources"]["requests"]["storage"] == "100Gi"
    assert claim["spec"]["accessModes"] == ["ReadWriteOnce"]
    assert claim["spec"]["storageClassName"] == "standard"
    pod = one("Job", "storage", "images")["spec"]["template"]["spec"]
    data = {"name": "data", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}}
    assert pod["volumes"] == [data, {"name": SCRATCH["name"], "emptyDir": {}}]
    assert pod["containers"][0]["volumeMounts"] == [{"name": "data", "mountPath": "/data"}, SCRATCH]


def test_a_service_monitor_on_port_metrics_every_30_seconds() -> None:
    monitor = one("ServiceMonitor", "monitoring", "classifier")
    assert monitor["spec"]["endpoints"] == [{"interval": "30s", "port": "metrics"}]
    service = one("Service", "monitoring", "classifier")
    assert [port["name"] for port in service["spec"]["ports"]] == ["metrics"]
    assert monitor["spec"]["selector"]["matchLabels"].items() <= service["metadata"]["labels"].items()


def test_a_job_that_asks_the_gpu() -> None:
    main = container(one("Job", "gpu-check", "gpu-check")["spec"]["template"])
    assert main["command"] == ["nvidia-smi"]
    assert gpus(main) == "1"


def test_the_project_of_a_language_model() -> None:
    prod = one("PyTorchJob", "three-projects", "llm-finetune", "prod")["spec"]
    main = container(prod["pytorchReplicaSpecs"]["Master"]["template"])
    assert main["args"] == ["--model", "/base/llama", "--lr", "1e-5", "--bf16"]
    assert main["resources"]["limits"] == {"cpu": "96", "memory": "1Ti", "nvidia.com/gpu": "8", "rdma/ib": "8"}
    assert prod["runPolicy"]["activeDeadlineSeconds"] == 3 * 24 * 3600
    dev = one("PyTorchJob", "three-projects", "llm-finetune")["spec"]
    assert set(dev["pytorchReplicaSpecs"]) == {"Master"}
    assert not (_PROJECTS / "three-projects/generated/llm-finetune/overlays/staging").exists()
