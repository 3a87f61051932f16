"""Eighteen public reports of training under GitOps gone wrong, as tests: a spec in, built objects or a finding out.

`CASES` lists them, and where else each is proven: on the real Argo CD, operators or API server where a report is about
them. What is claimed of every object is looked for in every golden project, and its objects are what all four versions
of kustomize build from their files (case 15). What `patch:` may not smuggle in (TTL, `suspend`, Replace, Force, hooks)
is in `tests/errors/MLS308-*`, rule by rule in `tests/test_quiet.py`.
"""

from __future__ import annotations

import ast
import os
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any, Final

import pytest

from mlspec import yamltext
from mlspec.check import kustomize, quiet, tools
from mlspec.diagnostics import has_errors
from mlspec.ir import Place
from mlspec.k8s.resource import CLUSTER_SCOPED, Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.cluster.harness.goldens import goldens, roots
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.served import OPERATOR
from tests.support import ENVIRONMENT, IDENTITY, REPOSITORY, make_root, mlspec, snapshot, write_tree
from tests.test_diff import commit
from tests.tools.build import KUSTOMIZES


@dataclass(frozen=True)
class Case:
    """A report, how the names of its tests here go on, and the tests elsewhere, below `tests/`."""

    number: int
    name: str
    report: str
    elsewhere: tuple[str, ...] = ()


_RUNS: Final = "cluster/test_argocd_runs.py::"
_HANDOVER: Final = "cluster/test_argocd_handover.py::"
_HANDS: Final = "cluster/test_argocd_hands.py::"
_KUEUE: Final = "cluster/test_argocd_kueue.py::"
_QUIET: Final = "cluster/test_argocd_goldens.py::test_becomes_synced_and_healthy_and_stays_so"
_STORED: Final = "cluster/test_accepted.py::test_accepted"
CASES: Final = (
    Case(1, "kust_1027", "kustomize 1027: an overlay that changes one field of a TFJob's container loses the others"),
    Case(
        2,
        "kust_2825",
        "kustomize 2825: so does one of any other kind that has a pod template",
        ("cluster/test_training_operator.py::test_templates_are_kept",),
    ),
    Case(3, "kust_641", "kustomize 641 and 4224: an object without a name cannot be built", (_STORED,)),
    Case(4, "kust_5690", "kustomize 5690: with namespaces here and there references are not followed"),
    Case(
        5,
        "argo_12840",
        "argo-cd 12840: a claim that waits for its first pod, which is in a later wave",
        (_HANDOVER + "test_claims_wait_for_their_runs", _HANDS + "test_claims_that_wait"),
    ),
    Case(
        6,
        "argo_8586",
        "argo-cd 8586, airbyte 15202: a Job that deletes itself is made again by each sync",
        (_QUIET, _HANDOVER + "test_self_heal_never_restarts_a_run"),
    ),
    Case(
        7,
        "argo_5882",
        "argo-cd 5882, aicr 2408: a Job's template is immutable, and with Replace or Force it starts again",
        (_RUNS + "test_a_second_commit_runs_what_changed", _RUNS + "test_an_edited_job_is_refused"),
    ),
    Case(
        8,
        "kserve_2232",
        "kserve 2232: the field of a framework is rewritten to `model`",
        ("cluster/test_kserve.py::test_admitted",),
    ),
    Case(
        9,
        "argo_12463",
        "argo-cd 12463 and 17682, monorepo 1620: quantities are stored in another spelling",
        (_STORED, _QUIET),
    ),
    Case(
        10,
        "cilium_38051",
        "cilium 38051, kube-prometheus 2041, redpanda-operator 1085: defaults inside lists, and empty maps",
        (_STORED, _QUIET, "cluster/test_external_secrets.py::test_lists_are_stored_as_they_are_written"),
    ),
    Case(
        11,
        "argo_27480",
        "argo-cd 27480: with an ignored path inside a list, edits of its other items are not applied",
        (_HANDS + "test_hands_are_healed",),
    ),
    Case(
        12,
        "argo_9830",
        "argo-cd 9830: a changed hook alone is not OutOfSync",
        (
            _RUNS + "test_a_second_commit_runs_what_changed",
            _HANDOVER + "test_an_edit_starts_a_step_and_its_dependants_once",
        ),
    ),
    Case(
        13,
        "argo_10600",
        "argo-cd 10600: `suspend` in Git and Kueue fight",
        (
            _KUEUE + "test_suspend_absent_is_no_drift",
            _KUEUE + "test_a_queued_run_blocks_nothing",
            "cluster/test_kueue.py::test_generated_runs_are_placed_by_their_flavor",
        ),
    ),
    Case(
        14,
        "argo_22869",
        "argo-cd 22869: a Namespace that the AppProject does not permit",
        (
            "cluster/test_argocd_goldens.py::test_applies_everything_once_in_the_order_of_the_waves",
            "cluster/test_argocd_unmanaged.py::test_it_is_synced_and_nothing_of_the_platform_is_touched",
        ),
    ),
    Case(15, "kust_6031", "kustomize 6031: 5.8.0 builds something else from the same files"),
    Case(
        16,
        "ilab_256",
        "ilab-on-ocp 256: no Workers are asked for, and one is made",
        ("cluster/test_training_operator.py::test_promised_pods",),
    ),
    Case(
        17,
        "argo_28564",
        "argo-cd 28564: kinds that the AppProject does not list are hidden",
        (_HANDS + "test_the_last_service_is_pruned",),
    ),
    Case(
        18,
        "kserve_3710",
        "kserve 3710: a label or annotation that changes with each commit restarts the pods of a model",
    ),
)
"""Where a report is about what is built alone, there is nothing to ask a cluster."""

_ENVIRONMENT: Final = ENVIRONMENT + (
    "seldon: {version: 1.16}\n"
    "prometheus: {version: 0.85, namespace: monitoring, podLabels: {app.kubernetes.io/name: prometheus}}\n"
)
_SELDON: Final = "kind: seldon, protocol: v2, model: {implementation: TRITON_SERVER, uri: 's3://m/a'}"
_TRAINING: Final = """\
steps:
  prepare: {kind: job, image: "prepare:1", command: [prepare]}
  train: {kind: pytorch, image: "train:1", command: [torchrun, train.py], nodes: 2, gpu: 1, needs: [prepare]}
  tune: {kind: tensorflow, image: "tune:1", command: [tune], roles: {chief: {}, worker: {replicas: 2}, ps: {}}}
"""


# --- What the tests share ---


def generated(folder: Path, project: str, environments: Mapping[str, str] | None = None) -> Path:
    """Write a root and generate; by default there is one environment, dev."""
    root = make_root(folder, project, environments or {"dev": _ENVIRONMENT})
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    return root


def text_of(folder: Path) -> str:
    """Return what kustomize builds from a folder."""
    tool = tools.find_kustomize()
    assert tool is not None, "install the extra kustomize"
    result = tools.run([*tool.prefix, str(folder)])
    assert result.returncode == 0, result.stderr
    return result.stdout


def built(root: Path, environment: str = "dev", place: str = "") -> list[Body]:
    """Return the objects that kustomize builds of an environment, or of one of its Applications."""
    return yamltext.load_all(text_of(root / "generated/demo/overlays" / environment / place))


def argocd(root: Path, environment: str = "dev") -> list[Body]:
    """Return what tells Argo CD of an environment."""
    return yamltext.load_all((root / "generated/argocd" / environment / "demo.yaml").read_text())


def of(bodies: Iterable[Body], kind: str) -> Body:
    """Return the one object of a kind."""
    (found,) = (body for body in bodies if body["kind"] == kind)
    return found


def key(body: Body) -> tuple[str, str]:
    """Return kind and name."""
    return body["kind"], body["metadata"]["name"]


@cache
def everything() -> tuple[Body, ...]:
    """Return every object of every golden project in every environment, Argo CD's included."""
    found = tuple(body for golden in goldens() for body in golden.bodies)
    kinds = {body["kind"] for body in found}
    assert kinds >= {"Job", "PyTorchJob", "TFJob", "InferenceService", "SeldonDeployment", "ServiceMonitor"}
    assert kinds >= {"Application", "AppProject", "PersistentVolumeClaim", "Namespace", "ConfigMap"}
    return found


def fields(value: Any, path: tuple[str | int, ...] = ()) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield everything inside an object with its path."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, item in pairs:
        yield (*path, name), item
        yield from fields(item, (*path, name))


def with_field(bodies: Iterable[Body], *names: str) -> list[tuple[tuple[str, str], str]]:
    """Return where any of these fields is set."""
    found = [(body, path) for body in bodies for path, _ in fields(body) if path[-1] in names]
    return [(key(body), ".".join(map(str, path))) for body, path in found]


def templates(body: Body) -> dict[str, Body]:
    """Return the pod templates of a run by role; a Job has one, without a name."""
    spec = body["spec"]
    roles = next((roles for name, roles in spec.items() if name.endswith("ReplicaSpecs")), {"": spec})
    return {role: found["template"] for role, found in roles.items()}


def only(template: Body) -> Body:
    """Return the one container of a pod template."""
    (found,) = template["spec"]["containers"]
    assert isinstance(found, dict)
    return found


def differing(one: Body, other: Body) -> set[str]:
    """Return the fields that two containers do not have in common, but for the name of the run among the variables."""
    one, other = ({**container, "env": variables(container)} for container in (one, other))
    return {name for name in one.keys() | other.keys() if one.get(name) != other.get(name)}


def variables(container: Body) -> dict[str, str]:
    """Return the variables of a container, but its own name, that of its run, and what every training is told."""
    told = {"NCCL_DEBUG", "OMP_NUM_THREADS", "PET_SHUTDOWN_TIMEOUT", "TORCH_DISABLE_SHARE_RDZV_TCP_STORE"}
    own = {"MLSPEC_RUN", *IDENTITY, *told}
    return {row["name"]: row["value"] for row in container["env"] if row["name"] not in own}


def is_run(body: Body) -> bool:
    """Say whether it is a training or a step's Job, not a gate."""
    return "mlspec.dev/run" in body["metadata"].get("labels", {}) and body["kind"] != "ConfigMap"


_EVERYWHERE: Final = {"dev": _ENVIRONMENT, "prod": _ENVIRONMENT, "common": _ENVIRONMENT}


# --- The table ---


def _functions(path: Path) -> dict[str, str]:
    """Return the tests of a file with what each says of itself."""
    found = [node for node in ast.parse(path.read_text()).body if isinstance(node, ast.FunctionDef)]
    return {node.name: ast.get_docstring(node) or "" for node in found if node.name.startswith("test_")}


def _mentions(words: str) -> set[int]:
    """Return the cases that a test says it proves: `Public reports: cases 7 and 12.`"""
    said = re.findall(r"Public reports?: cases? ([^.]*)\.", words)
    return {int(number) for numbers in said for number in re.findall(r"\d+", numbers)}


def test_the_table_has_every_case_and_every_test() -> None:
    assert [case.number for case in CASES] == list(range(1, 19))
    own = [name for name in _functions(Path(__file__)) if name.startswith("test_case_")]
    begins = [f"test_case_{case.number:02}_{case.name}_" for case in CASES]
    for begin in begins:
        assert any(name.startswith(begin) for name in own), begin
    assert [name for name in own if not name.startswith(tuple(begins))] == []
    files = {path: _functions(path) for path in sorted((REPOSITORY / "tests").rglob("test_*.py"))}
    said = {
        (f"{path.relative_to(REPOSITORY / 'tests').as_posix()}::{name}", number)
        for path, functions in files.items()
        for name, words in functions.items()
        for number in _mentions(words)
    }
    assert said == {(test, case.number) for case in CASES for test in case.elsewhere}


# --- kustomize ---


@pytest.mark.parametrize(
    ("field", "override"),
    [
        ("env", "env: {LEVEL: debug}"),
        (
            "imagePullPolicy",
            "patch: [{op: add, value: Always, "
            "path: /spec/tfReplicaSpecs/%s/template/spec/containers/0/imagePullPolicy}]",
        ),
    ],
)
@pytest.mark.parametrize("role", ["Chief", "Worker"])
def test_case_01_kust_1027_a_tfjob_overlay_keeps_image_command_and_resources(
    role: str, field: str, override: str, tmp_path: Path
) -> None:
    project = """\
steps:
  train:
    kind: tensorflow
    image: tensorflow/tensorflow:2.19.0-gpu
    command: [python, /opt/train.py]
    env: {LEVEL: info, OTHER: kept}
    gpu: 1
    resources: {cpu: 4, memory: 16Gi}
    roles: {chief: {}, worker: {replicas: 2}}
environments:
  dev: {steps: {train: {%s}}}
"""
    root = generated(tmp_path, project % (override % role if "%" in override else override), _EVERYWHERE)
    changed, plain = (only(templates(of(built(root, name), "TFJob"))[role]) for name in ("dev", "prod"))
    assert differing(changed, plain) == {field}
    assert changed["image"] == "tensorflow/tensorflow:2.19.0-gpu"
    assert changed["command"] == ["python", "/opt/train.py"]
    amounts = {"cpu": "4", "memory": "16Gi", "nvidia.com/gpu": "1"}
    assert changed["resources"] == {"limits": amounts, "requests": amounts}
    assert variables(changed) == {"LEVEL": "debug" if field == "env" else "info", "OTHER": "kept"}


_CONTAINERS: Final[dict[str, tuple[str, Callable[[Body], Body]]]] = {
    "Job": ("steps: {a: {kind: job, image: 'a:1', %s}}", lambda body: only(templates(body)[""])),
    "PyTorchJob": (
        "steps: {a: {kind: pytorch, image: 'a:1', nodes: 2, %s}}",
        lambda body: only(templates(body)["Worker"]),
    ),
    "InferenceService": (
        "services: {a: {kind: kserve, image: 'a:1', %s}}",
        lambda body: only({"spec": body["spec"]["predictor"]}),
    ),
    "SeldonDeployment": (
        "services: {a: {" + _SELDON + ", %s}}",
        lambda body: only(body["spec"]["predictors"][0]["componentSpecs"][0]),
    ),
}


@pytest.mark.parametrize("kind", _CONTAINERS)
def test_case_02_kust_2825_gpu_limits_survive_another_variable(kind: str, tmp_path: Path) -> None:
    """A service is in the base, and the overlay has a patch of it; a run is whole in each overlay."""
    spec, container = _CONTAINERS[kind]
    section, settings = spec.split(":")[0], "gpu: t4:2, resources: {cpu: 3, memory: 8Gi}, env: {LEVEL: info}"
    override = f"environments: {{dev: {{{section}: {{a: {{env: {{MORE: '1'}}}}}}}}}}"
    root = generated(tmp_path, f"{spec % settings}\n{override}\n", _EVERYWHERE)
    base = root / "generated/demo/base/serving/resources.yaml"
    assert section == "steps" or f"kind: {kind}\n" in base.read_text()
    changed, plain = (container(of(built(root, name), kind)) for name in ("dev", "prod"))
    assert differing(changed, plain) == {"env"}
    assert variables(changed) == {"LEVEL": "info", "MORE": "1"}
    assert variables(plain) == {"LEVEL": "info"}
    assert changed["resources"]["limits"] == {"cpu": "3", "memory": "8Gi", "nvidia.com/gpu": "2"}
    assert kind == "SeldonDeployment" or changed["image"].endswith("a:1")


def test_case_03_kust_641_every_object_has_a_name(tmp_path: Path) -> None:
    found = built(generated(tmp_path, _TRAINING + "services: {a: {" + _SELDON + "}}\n"))
    assert {"Job", "PyTorchJob", "TFJob", "SeldonDeployment"} <= {body["kind"] for body in found}
    for body in (*found, *everything()):
        name = body["metadata"].get("name")
        assert isinstance(name, str), body["kind"]
        assert name, body["kind"]
        assert "generateName" not in body["metadata"], key(body)


_NAMED: Final = {"claimName": "PersistentVolumeClaim", "serviceAccountName": "ServiceAccount"}
_KEYED: Final = {"configMap": "ConfigMap", "configMapRef": "ConfigMap", "secretKeyRef": "Secret", "roleRef": "Role"}


def _references(bodies: Iterable[Body]) -> set[tuple[str, str]]:
    """Return kind and name of everything that objects refer to by its name."""
    found: set[tuple[str, str]] = set()
    for path, value in (row for body in bodies for row in fields(body)):
        name = str(path[-1])
        if name in _NAMED:
            found.add((_NAMED[name], value))
        elif name in _KEYED and isinstance(value, dict):
            found.add((_KEYED[name], value["name"]))
        elif isinstance(value, str) and value.startswith("pvc://"):
            found.add(("PersistentVolumeClaim", value.split("/")[2]))
    return found


@pytest.mark.parametrize(("environment", "namespace"), [("managed", "demo-managed"), ("shared", "team-ml")])
def test_case_04_kust_5690_references_have_full_names_and_one_namespace(
    environment: str, namespace: str, tmp_path: Path
) -> None:
    project = """\
volumes: {data: {size: 10Gi, access: ReadWriteMany}, base: {claim: models-of-others}}
secrets: {hub: {keys: [token]}}
steps:
  prepare: {kind: job, image: "i:1", script: prepare.py, mounts: {data: /data}}
  train:
    kind: pytorch
    image: "i:1"
    command: [torchrun, train.py]
    nodes: 2
    needs: [prepare]
    env: {TOKEN: {secret: hub, key: token}}
    mounts: {data: /data, base: {path: /base, readOnly: true}}
services:
  model: {kind: kserve, model: {format: onnx, from: train, path: export}}
  other: {kind: seldon, model: {implementation: SKLEARN_SERVER, uri: "pvc://data/other"}}
"""
    write_tree(tmp_path, {"prepare.py": "print('prepared')\n"})
    follow = _ENVIRONMENT + "promotion: follow\n"
    shared = follow + "namespace: {pattern: team-ml, manage: false}\n"
    root = generated(tmp_path, project, {"managed": follow, "shared": shared})
    bodies = built(root, environment)
    for body in bodies:
        assert body["metadata"].get("namespace") == (None if body["kind"] in CLUSTER_SCOPED else namespace), key(body)
        for path, value in fields(body):
            assert path[-1] != "namespace" or value == namespace, (key(body), path)
    referred = _references(bodies)
    assert {kind for kind, _ in referred} == {*_NAMED.values(), *_KEYED.values()}
    outside = {("PersistentVolumeClaim", "models-of-others"), ("Secret", "hub")}
    assert referred - {key(body) for body in bodies} == outside
    (claim,) = (body for body in bodies if body["kind"] == "PersistentVolumeClaim")
    volumes = templates(of((body for body in bodies if is_run(body) and body["kind"] == "Job"), "Job"))[""]["spec"]
    assert {"name": "data", "persistentVolumeClaim": {"claimName": claim["metadata"]["name"]}} in volumes["volumes"]


# --- Waves, claims and runs ---


def _wave(body: Body) -> int:
    return int(body["metadata"].get("annotations", {}).get("argocd.argoproj.io/sync-wave", "0"))


def test_case_05_argo_12840_no_pod_waits_behind_a_claim_that_waits_for_it(tmp_path: Path) -> None:
    """A claim is in the last wave of the foundation, which nothing waits for; its pods are in other Applications."""
    project = """\
volumes: {late: {size: 1Gi, class: standard}, early: {size: 1Gi, access: ReadWriteMany}}
steps: {train: {kind: job, image: "i:1", mounts: {late: /late, early: {path: /early, readOnly: true}}}}
"""
    root = generated(tmp_path, project)
    foundation = built(root, place="foundation")
    claims = {body["metadata"]["name"]: body for body in foundation if body["kind"] == "PersistentVolumeClaim"}
    assert claims.keys() == {"late", "early"}
    ignored = {
        name: "argocd.argoproj.io/ignore-healthcheck" in claims[name]["metadata"]["annotations"] for name in claims
    }
    assert ignored == {"late": True, "early": False}, "only a claim that binds at once is at fault while it is Pending"
    assert ("PersistentVolumeClaim", "late") in _references(built(root, place="pipeline"))
    _assert_claims_last(foundation)
    for golden in goldens():
        places = {resource.place for resource in golden.resources if resource.body["kind"] == "PersistentVolumeClaim"}
        assert places <= {Place.FOUNDATION}, golden.name
        _assert_claims_last([resource.body for resource in golden.resources if resource.place is Place.FOUNDATION])


def _assert_claims_last(bodies: list[Body]) -> None:
    for body in bodies:
        if body["kind"] == "PersistentVolumeClaim":
            assert _wave(body) == max(map(_wave, bodies)), key(body)
    assert with_field(bodies, "claimName", "containers") == []


def test_case_06_argo_8586_nothing_deletes_itself(tmp_path: Path) -> None:
    """Not even where every other field about the end of a run is set."""
    ends = "deadline: 1h, retries: 1"
    project = f"""\
steps:
  prepare: {{kind: job, image: "a:1", {ends}}}
  train: {{kind: pytorch, image: "a:1", cleanPodPolicy: All, {ends}}}
  tune: {{kind: tensorflow, image: "a:1", cleanPodPolicy: All, roles: {{worker: {{}}}}, {ends}}}
"""
    runs = built(generated(tmp_path, project), place="pipeline")
    assert sorted(body["kind"] for body in runs) == ["Job", "PyTorchJob", "TFJob"]
    assert len(with_field(runs, "activeDeadlineSeconds")) >= len(runs)
    assert with_field((*runs, *everything()), "ttlSecondsAfterFinished", "ttlSecondsAfterReady") == []


def test_case_07_argo_5882_another_image_is_another_job_and_the_old_file_stays(tmp_path: Path) -> None:
    pipeline = tmp_path / "generated/demo/overlays/dev/pipeline"
    root = generated(tmp_path, _TRAINING)
    before = {key(body): body for body in built(root, place="pipeline")}
    files = snapshot(pipeline)
    generated(tmp_path, _TRAINING.replace("prepare:1", "prepare:2"))
    after = {key(body): body for body in built(root, place="pipeline")}
    files.pop("kustomization.yaml")
    assert len(files) == len(before) == 3
    assert files.items() <= snapshot(pipeline).items()
    (old,), (new,) = ([name for name in runs if name[1].startswith("prepare-")] for runs in (before, after))
    assert old != new
    assert [only(templates(runs[name])[""])["image"] for runs, name in ((before, old), (after, new))] == [
        "prepare:1",
        "prepare:2",
    ]
    (tune,) = before.keys() & after.keys()  # of the others one needs the changed step
    assert before[tune] == after[tune]
    for body in (*after.values(), *argocd(root), *everything()):
        for path, value in fields(body):
            is_option = path[-1] == "argocd.argoproj.io/sync-options" or "syncOptions" in path[-2:]
            assert not (is_option and re.search("Replace|Force", str(value))), (key(body), path)


# --- What is stored as it is written ---

_FRAMEWORKS: Final = {
    "sklearn",
    "xgboost",
    "tensorflow",
    "pytorch",
    "triton",
    "onnx",
    "huggingface",
    "pmml",
    "lightgbm",
}


@pytest.mark.parametrize(("name", "protocol"), [("triton", "v2"), ("sklearn", "v1"), ("onnx", "v2"), ("xgboost", "v1")])
def test_case_08_kserve_2232_a_format_is_rendered_as_model(name: str, protocol: str, tmp_path: Path) -> None:
    project = f"services: {{a: {{kind: kserve, model: {{format: {name}, uri: 's3://m/a'}}}}}}\n"
    predictor = of(built(generated(tmp_path, project)), "InferenceService")["spec"]["predictor"]
    assert predictor["model"]["modelFormat"] == {"name": name}
    assert predictor["model"]["protocolVersion"] == protocol
    services = [body for body in everything() if body["kind"] == "InferenceService"]
    for found in (predictor, *(body["spec"]["predictor"] for body in services)):
        assert not _FRAMEWORKS & found.keys()
        assert ("model" in found) != ("containers" in found)


_AMOUNTS: Final = {"requests", "limits", "hard", "default", "defaultRequest"}


@pytest.mark.parametrize(("cpu", "stored"), [("1500m", "1500m"), ("1000m", "1"), ("12000m", "12"), ("2", "2")])
def test_case_09_argo_12463_quantities_are_canonical_text(cpu: str, stored: str, tmp_path: Path) -> None:
    resources = f"resources: {{cpu: {cpu}, memory: 1024Mi}}"
    project = f"""\
volumes: {{data: {{size: 1024Mi}}}}
steps:
  prepare: {{kind: job, image: "a:1", {resources}}}
  train: {{kind: pytorch, image: "a:1", {resources.replace("}", ", sharedMemory: 524288Ki, rdma/ib: 8}")}}}
  tune: {{kind: tensorflow, image: "a:1", roles: {{worker: {{{resources}}}}}}}
services:
  model: {{kind: kserve, model: {{format: onnx, uri: "s3://m/a"}}, {resources}}}
  other: {{{_SELDON}, {resources}}}
"""
    root = generated(tmp_path, project, {"dev": f"{_ENVIRONMENT}quota: {{cpu: {cpu}, memory: 65536Mi, gpu: 4}}\n"})
    amounts: Counter[tuple[str, str]] = Counter()
    for body in built(root):
        for path, value in fields(body):
            if path[-2:-1] and path[-2] in _AMOUNTS and isinstance(path[-1], str):
                assert isinstance(value, str), (key(body), path)
                amounts[str(path[-1]).rpartition(".")[2], value] += 1
            assert path[-1] != "sizeLimit" or value in ("512Mi", "256Mi"), (key(body), path)
    # Limits and requests of five workloads, of the quota, and the defaults of the namespace.
    assert {value for (name, value) in amounts if name == "cpu"} - {"1"} == {stored} - {"1"}
    assert amounts["cpu", stored] >= 12
    assert amounts["memory", "1Gi"] == 10
    assert (amounts["memory", "64Gi"], amounts["rdma/ib", "8"], amounts["storage", "1Gi"]) == (2, 2, 1)
    written = "".join(content.decode() for content in snapshot(root / "generated/demo").values())
    # mlspec quotes every quantity, kustomize those that would be numbers.
    bare = stored if stored.endswith("m") else f'"{stored}"'
    for text, spelling in ((written, f'"{stored}"'), (text_of(root / "generated/demo/overlays/dev"), bare)):
        assert set(re.findall(r"^ +(?:[a-z]+\.)?cpu: (.*)$", text, re.MULTILINE)) == {spelling, '"1"'}
        assert not re.search(r": \"?(1024Mi|65536Mi|524288Ki)", text)


def test_case_10_cilium_38051_nothing_is_empty_and_lists_hold_their_defaults(tmp_path: Path) -> None:
    empty = "args: [], env: {}, egress: []"
    project = f"""\
steps: {{prepare: {{kind: job, image: "a:1", needs: [], {empty}}}}}
services:
  model: {{kind: kserve, model: {{format: onnx, uri: "s3://m/a"}}, env: {{}}, egress: []}}
  own: {{kind: kserve, image: "a:1", port: 9000, {empty}}}
  other: {{{_SELDON}, env: {{}}}}
"""
    found = built(generated(tmp_path, project))
    assert Counter(body["kind"] for body in found)["ServiceMonitor"] == 3
    monitors = [body for body in (*found, *everything()) if body["kind"] == "ServiceMonitor"]
    for monitor in monitors:
        for endpoint in monitor["spec"]["endpoints"]:
            # What is added here may have defaults inside a list: `action` of a relabeling is one.
            assert endpoint.keys() <= {"interval", "port", "path", "relabelings", "metricRelabelings"}
            rules = [*endpoint.get("relabelings", ()), *endpoint.get("metricRelabelings", ())]
            assert all("action" in rule for rule in rules), key(monitor)
    ports = []
    for body in (*found, *everything()):
        for path, value in fields(body):
            assert value is not None, (key(body), path)
            assert value not in ({}, []) or path[-1] == "emptyDir", (key(body), path)
            if path[-2:-1] == ("ports",) and isinstance(value, dict):
                ports.append(value)
                assert "protocol" in value, (key(body), path)
    assert {"containerPort", "targetPort", "port"} <= {name for port in ports for name in port}


# --- Argo CD ---


def test_case_11_argo_27480_no_ignored_path_leads_into_a_list() -> None:
    applications = [body for body in everything() if body["kind"] == "Application"]
    assert applications
    for application in applications:
        assert "RespectIgnoreDifferences=true" not in application["spec"]["syncPolicy"]["syncOptions"]
        assert list(quiet.check(application)) == []
        for entry in application["spec"].get("ignoreDifferences", ()):
            assert not re.search(r"/(\d+|-)(/|$)", " ".join(entry.get("jsonPointers", ()))), key(application)
            assert "[" not in " ".join(entry.get("jqPathExpressions", ())), key(application)
    for name, path in (("jsonPointers", "/spec/containers/0/image"), ("jqPathExpressions", ".spec.containers[].image")):
        entry = {"group": "batch", "kind": "Job", name: [path]}
        wrong = {**applications[0], "spec": {**applications[0]["spec"], "ignoreDifferences": [entry]}}
        assert [finding.code for finding in quiet.check(wrong)] == ["MLS309"], "law 8 holds it, too"


_HOOK: Final = "argocd.argoproj.io/hook"


@pytest.mark.parametrize("image", ["prepare:1", "train:1", "tune:1"])
def test_case_12_argo_9830_another_image_is_a_difference_since_runs_are_no_hooks(image: str, tmp_path: Path) -> None:
    """Argo CD leaves hooks out of its comparison: what has changed must be among the objects that are none."""
    root = generated(tmp_path, _TRAINING)
    before = built(root, place="pipeline")
    generated(tmp_path, _TRAINING.replace(image, image.replace(":1", ":2")))
    after = built(root, place="pipeline")
    compared = [body for body in after if _HOOK not in body["metadata"]["annotations"]]
    new = [body for body in compared if body not in before]
    step = image.partition(":")[0]
    expected = {"prepare", "train"} if step == "prepare" else {step}
    assert {body["metadata"]["labels"]["mlspec.dev/step"] for body in new} == expected
    assert not {key(body) for body in new} & {key(body) for body in before}
    hooks = [body for body in everything() if with_field([body], _HOOK, "argocd.argoproj.io/hook-delete-policy")]
    assert hooks
    assert not [key(body) for body in hooks if is_run(body) or "mlspec.dev/gate" not in body["metadata"]["labels"]]


def test_case_13_argo_10600_a_queue_is_a_label_and_nothing_is_suspended(tmp_path: Path) -> None:
    label = "kueue.x-k8s.io/queue-name"
    queued = _ENVIRONMENT + "kueue: {version: 0.17, queue: research}\n"
    project = _TRAINING.replace("[prepare]}", "[prepare], queue: large}", 1)
    root = generated(tmp_path, project, {"queued": queued, "dev": _ENVIRONMENT + "kueue: {version: 0.17}\n"})
    runs = {body["metadata"]["labels"]["mlspec.dev/step"]: body for body in built(root, "queued", "pipeline")}
    labels = {step: body["metadata"]["labels"].get(label) for step, body in runs.items()}
    assert labels == {"prepare": "large", "train": "research", "tune": "research"}
    plain = {body["metadata"]["labels"]["mlspec.dev/step"]: body for body in built(root, "dev", "pipeline")}
    assert {step for step, body in plain.items() if label in body["metadata"]["labels"]} == {"prepare"}
    assert with_field((*runs.values(), *plain.values(), *everything()), "suspend") == []


@pytest.mark.parametrize("version", ["3.2", "3.3", "3.5"])
def test_case_14_argo_22869_a_managed_namespace_is_permitted_by_its_name(version: str, tmp_path: Path) -> None:
    managed = _ENVIRONMENT.replace("argocd: {", f"argocd: {{version: {version}, ")
    shared = managed + "namespace: {pattern: team-ml, manage: false}\n"
    root = generated(tmp_path, _TRAINING, {"managed": managed, "shared": shared})
    entry = {"group": "", "kind": "Namespace", "name": "demo-managed"}
    if version == "3.2":
        del entry["name"]  # 3.3 is the first to know it
    assert of(argocd(root, "managed"), "AppProject")["spec"]["clusterResourceWhitelist"] == [entry]
    assert of(built(root, "managed"), "Namespace")["metadata"]["name"] == "demo-managed"
    assert "clusterResourceWhitelist" not in of(argocd(root, "shared"), "AppProject")["spec"]
    assert not [body for body in built(root, "shared") if body["kind"] in CLUSTER_SCOPED]
    for body in (*argocd(root, "managed"), *argocd(root, "shared"), *everything()):
        assert "CreateNamespace=true" not in body.get("spec", {}).get("syncPolicy", {}).get("syncOptions", ())


# --- Every kustomize that people have ---


def _missing() -> str:
    missing = [program.label for program in KUSTOMIZES if not program.path.is_file()]
    return f"{', '.join(missing)} is not built: run `make tools`, or `python -m tests.tools.build`" if missing else ""


def _build(folder: Path) -> list[CompletedProcess[str]]:
    """Return what each version says of a folder."""
    assert not _missing(), _missing()
    return [tools.run([str(program.path), "build", str(folder)]) for program in KUSTOMIZES]


def test_case_15_kust_6031_four_versions_build_the_same_bytes(tmp_path: Path) -> None:
    """Every overlay, and every folder of one that an Application points at, of every golden project."""
    expected: dict[Path, list[Body]] = {}
    for number, root in enumerate(roots()):
        compilation = compile_workspace(load(root))
        assert not has_errors(compilation.diagnostics), compilation.diagnostics
        for item in compilation.projects:
            write_tree(tmp_path / str(number), item.layout.files)
            expected |= {tmp_path / str(number) / folder: bodies for folder, bodies in item.layout.builds.items()}
    assert len(expected) > 150
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(_build, expected))
    for (folder, bodies), versions in zip(expected.items(), results, strict=True):
        assert [result.stderr for result in versions if result.returncode] == [], folder
        assert len({result.stdout for result in versions}) == 1, folder
        assert list(kustomize.compare(bodies, yamltext.load_all(versions[0].stdout))) == [], folder


def test_case_15_kust_6031_the_versions_do_differ(tmp_path: Path) -> None:
    """A namespace reaches the folder below the one that reads it in 5.8.0 alone: equal bytes say something."""
    outer = "namespace: outer\nresources: [../reads]\n"
    reads = """\
resources: [../given]
replacements:
- source: {kind: ConfigMap, fieldPath: metadata.namespace}
  targets: [{select: {kind: ConfigMap}, fieldPaths: [data.seen], options: {create: true}}]
"""
    given = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a, namespace: inner}\n"
    texts = {"outer": outer, "reads": reads, "given": "resources: [a.yaml]\n"}
    write_tree(tmp_path, {f"{name}/kustomization.yaml": text for name, text in texts.items()})
    write_tree(tmp_path, {"given/a.yaml": given})
    seen = [yamltext.load_all(result.stdout)[0]["data"]["seen"] for result in _build(tmp_path / "outer")]
    versions = [program.version for program in KUSTOMIZES]
    assert dict(zip(versions, seen, strict=True)) == {
        "v5.5.0": "inner",
        "v5.7.1": "inner",
        "v5.8.0": "outer",
        "v5.8.1": "inner",
    }


# --- Operators ---


def test_case_16_ilab_256_no_workers_is_no_spec_of_them(tmp_path: Path) -> None:
    project = """\
steps:
  train: {kind: pytorch, image: "a:1", nodes: 1}
  tune: {kind: tensorflow, image: "a:1", roles: {chief: {}}}
"""
    runs = built(generated(tmp_path, project), place="pipeline")
    assert {body["kind"]: list(templates(body)) for body in runs} == {"PyTorchJob": ["Master"], "TFJob": ["Chief"]}
    replicas = [
        value for body in everything() if is_run(body) for path, value in fields(body) if path[-1] == "replicas"
    ]
    assert replicas
    assert min(replicas) >= 1


@pytest.mark.parametrize(
    ("step", "path"),
    [
        ("kind: pytorch, nodes: 0", "steps.train.nodes"),
        ("kind: tensorflow, roles: {chief: {}, worker: {replicas: 0}}", "steps.train.roles.worker.replicas"),
    ],
)
def test_case_16_ilab_256_zero_pods_are_refused(step: str, path: str, tmp_path: Path) -> None:
    root = make_root(tmp_path, f"steps: {{train: {{image: 'a:1', {step}}}}}\n")
    result = mlspec(root, "generate")
    assert result.code == 1
    assert "error[MLS105]" in result.output
    assert f"({path})" in result.output


_CHILDREN: Final = {
    "prepare": {("", "Pod")},
    "train": {("", "Pod"), ("", "Service")},
    "tune": {("", "Pod"), ("", "Service")},
    "model": {("", "Pod"), ("", "Service"), ("apps", "Deployment"), ("apps", "ReplicaSet")},
    "other": {("", "Pod"), ("", "Service"), ("apps", "Deployment"), ("apps", "ReplicaSet")},
}
"""What Kubernetes and the operators make of each workload."""


@pytest.mark.parametrize("workload", _CHILDREN)
def test_case_17_argo_28564_the_whitelist_has_pods_and_what_else_is_made(workload: str, tmp_path: Path) -> None:
    """Each workload alone: what another one brings in does not count."""
    specs = {"model": 'kind: kserve, model: {format: onnx, uri: "s3://m/a"}', "other": _SELDON}
    specs |= dict(re.findall(r"^  (\w+): \{(.*?)(?:, needs: \[prepare\])?\}$", _TRAINING, re.MULTILINE))
    section = "services" if workload in ("model", "other") else "steps"
    queued = _ENVIRONMENT + "kueue: {version: 0.17, queue: research}\n"
    root = generated(tmp_path, f"{section}: {{{workload}: {{{specs[workload]}}}}}\n", {"dev": queued})
    permitted = _permitted(argocd(root))
    assert permitted >= _CHILDREN[workload] | {("kueue.x-k8s.io", "Workload")}
    assert {kind for kind in map(_group_and_kind, built(root)) if kind[1] not in CLUSTER_SCOPED} <= permitted


def _permitted(bodies: Iterable[Body]) -> set[tuple[str, str]]:
    listed = of(bodies, "AppProject")["spec"]["namespaceResourceWhitelist"]
    return {(row["group"], row["kind"]) for row in listed}


def _group_and_kind(body: Body) -> tuple[str, str]:
    return body["apiVersion"].rpartition("/")[0], body["kind"]


def test_case_17_argo_28564_the_whitelist_has_whatever_real_operators_made() -> None:
    """Of every golden, as the harness recorded it."""
    seen: set[tuple[str, str]] = set()
    for golden in goldens():
        for operator in sorted({*observe.CONTROLLERS.values(), OPERATOR}):
            record = observe.fixture(operator, golden.name)
            made = {_group_and_kind(body) for body in (observe.recorded(record) if record.exists() else ())}
            assert made <= _permitted(golden.argocd), (golden.name, made - _permitted(golden.argocd))
            seen |= made
    assert seen >= {("", "Pod"), ("", "Service"), ("apps", "Deployment"), ("serving.knative.dev", "Service")}
    assert seen >= {("autoscaling", "HorizontalPodAutoscaler"), ("networking.k8s.io", "Ingress")}


_SERVED: Final = """\
volumes: {data: {size: 1Gi, access: ReadWriteMany}}
steps: {train: {kind: job, image: "a:1", mounts: {data: /data}}}
services:
  model: {kind: kserve, model: {format: onnx, uri: "s3://m/a"}}
  own: {kind: kserve, image: "a:1"}
"""


def test_case_18_kserve_3710_two_commits_give_one_inference_service(tmp_path: Path) -> None:
    """KServe copies labels and annotations to the pods: none may tell of a commit, a folder, a day or a run."""
    first, second = tmp_path / "first", tmp_path / "elsewhere" / "second"
    commits = [commit(make_root(first, _SERVED, {"dev": _ENVIRONMENT}))]
    write_tree(second, {"README.md": "another history\n"})
    commits += [commit(second), commit(make_root(second, _SERVED, {"dev": _ENVIRONMENT}))]
    for root in (first, second):
        assert mlspec(root, "generate").code == 0
    found = [_services(root) for root in (first, second)]
    assert found[0] == found[1]
    assert found[0].keys() == {"model", "own"}
    assert snapshot(first / "generated") == snapshot(second / "generated")
    everywhere = b"".join(snapshot(second / "generated").values()).decode()
    assert not [name for name in commits if name[:7] in everywhere]
    (second / "mlproject.yaml").write_text(
        "# reworded\n" + (second / "mlproject.yaml").read_text().replace('"a:1", mounts', '"a:2", mounts')
    )
    commit(second)
    assert mlspec(second, "generate").code == 0
    assert _services(second) == found[0], "nor does another run of a step"


def _services(root: Path) -> dict[str, Body]:
    return {body["metadata"]["name"]: body for body in built(root) if body["kind"] == "InferenceService"}
