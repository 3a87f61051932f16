"""Law 6: the longest name that fits is taken, one character more is refused with the sum, for every kind."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec import names
from mlspec.check import fits
from mlspec.check.objects import Fault
from mlspec.ir import Place
from mlspec.k8s import meta
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Resource
from mlspec.names import Derived
from mlspec.projection import training_operator
from tests import jobs
from tests.cluster.harness.goldens import Golden, goldens
from tests.cluster.harness.operators import observe
from tests.support import ENVIRONMENT, make_root, mlspec

Body = dict[str, Any]

_JOBS: Final[tuple[tuple[str, Mapping[str, int], int, str], ...]] = (
    ("Job", {}, 63, ""),
    ("PyTorchJob", {"Master": 1}, 54, "-master-0"),
    ("PyTorchJob", {"Master": 1, "Worker": 10}, 54, "-master-0"),  # as long as -worker-9
    ("PyTorchJob", {"Master": 1, "Worker": 11}, 53, "-worker-10"),
    ("PyTorchJob", {"Master": 1, "Worker": 100}, 53, "-worker-99"),
    ("PyTorchJob", {"Master": 1, "Worker": 101}, 52, "-worker-100"),
    ("TFJob", {"Worker": 10}, 54, "-worker-9"),
    ("TFJob", {"Worker": 100}, 53, "-worker-99"),
    ("TFJob", {"Chief": 1}, 55, "-chief-0"),
    ("TFJob", {"Chief": 1, "PS": 2}, 55, "-chief-0"),
    ("TFJob", {"Chief": 1, "PS": 10, "Evaluator": 1}, 51, "-evaluator-0"),
    ("TFJob", {"Chief": 1, "Evaluator": 11}, 50, "-evaluator-10"),
)
"""Kind, pods by role, the longest name that the job may have, and the ending that decides."""


def _messages(resource: Resource) -> list[str]:
    return [fault.message for fault in jobs.faults(resource)]


@pytest.mark.parametrize(("kind", "roles", "longest", "ending"), _JOBS)
def test_names_of_jobs(kind: str, roles: Mapping[str, int], longest: int, ending: str) -> None:
    assert _messages(jobs.resource(jobs.job(kind, "x" * longest, roles))) == []
    (fault,) = jobs.faults(jobs.resource(jobs.job(kind, "x" * (longest + 1), roles)))
    own = f"{'x' * (longest + 1)} ({longest + 1})"
    total = f"{own} + {ending} ({len(ending)})" if ending else own
    assert fault.code == "MLS210"
    assert f"{total} = 64 > 63" in fault.message
    assert fault.help == "shorten the name by 1"


def test_the_longest_of_the_names_is_the_one_told() -> None:
    """What is too long for several reasons is said once, by the sum that has to be mended."""
    (fault,) = jobs.faults(jobs.resource(jobs.job("PyTorchJob", "x" * 64, {"Master": 1, "Worker": 100})))
    assert fault.message.startswith(f"the pod and Service of worker 99 would be `{'x' * 64}-worker-99`")
    assert fault.help == "shorten the name by 11"


def test_a_pod_of_a_job_is_never_too_long() -> None:
    """The API server cuts what stands in front of the random characters, so that 63 are not passed."""
    for length in (57, 58, 63):
        (group,) = jobs.resource(jobs.job("Job", "x" * length, {})).projection.pods  # type: ignore[union-attr]
        name = group.first["metadata"]["name"]
        assert len(name) == min(length + 6, 63)
        assert name.startswith("x" * min(length, 58))


def _service(name: str) -> Resource:
    body = {"apiVersion": "v1", "kind": "Service", "metadata": {"name": name}, "spec": {"ports": [{"port": 80}]}}
    return Resource(body, Place.SERVING, ("services", "x"))


@pytest.mark.parametrize(
    ("derived", "limit", "judged"),
    [
        (names.gate, 58, lambda name: jobs.resource(jobs.job("Job", name, {}))),
        (names.metrics, 55, _service),
    ],
)
def test_names_of_our_own(derived: Callable[[str], str], limit: int, judged: Callable[[str], Resource]) -> None:
    """The gate of a service, and its metrics Service."""
    assert _messages(judged(derived("x" * limit))) == []
    assert "= 64 > 63" in _messages(judged(derived("x" * (limit + 1))))[0]


def test_other_names_that_operators_make() -> None:
    resource = replace(_service("x"), projection=Projection(names=("x" * 63, f"x-default-{'y' * 54}")))
    (message,) = _messages(resource)
    assert message.endswith(f"x (1) + -default-{'y' * 54} (63) = 64 > 63")


_KSERVE: Final = "services:\n  {}:\n    kind: kserve\n    model: {{format: onnx, uri: 'oci://ghcr.io/acme/chat:1'}}\n"
_SELDON: Final = (
    "services:\n  {}:\n    kind: seldon\n    model: {{implementation: SKLEARN_SERVER, uri: 's3://models/iris'}}\n"
)
_STEP: Final = "steps:\n  {}: {{kind: job, image: 'ghcr.io/acme/train:1', command: [train]}}\n"
_SELDON_ENVIRONMENT: Final = ENVIRONMENT.replace("kserve:", "seldon: {version: 1.16}\nkserve:")
_SPECS: Final = {
    # len(name) + len(namespace) is at most 52; the namespace is demo-dev.
    "kserve host": (_KSERVE, ENVIRONMENT, 44, "-predictor (10) + - (1) + demo-dev (8) = 64 > 63"),
    "seldon deployment": (_SELDON, _SELDON_ENVIRONMENT, 47, "-default (8) + -0-model (8) = 64 > 63"),
}


@pytest.mark.parametrize("case", _SPECS)
def test_names_of_services(case: str, tmp_path: Path) -> None:
    """Through the whole of check: nothing is said of the longest that fits, and the sum of one more."""
    spec, environment, longest, total = _SPECS[case]
    for length in (longest, longest + 1):
        root = make_root(tmp_path / str(length), spec.format("x" * length), {"dev": environment})
        output = mlspec(root, "check").stdout
        assert re.findall(r"error\[(MLS[2-4]..)\]", output) == (["MLS210"] if length > longest else []), output
        assert (f"{'x' * length} ({length}) + {total}" in output) == (length > longest), output


def test_the_name_of_a_step(tmp_path: Path) -> None:
    """So short that no operator can make it too long: 24, and 9 of the digest, leave 30 for roles and numbers."""
    for length in (names.STEP_LIMIT, names.STEP_LIMIT + 1):
        output = mlspec(make_root(tmp_path / str(length), _STEP.format("x" * length)), "check").stdout
        assert ("[MLS105]" in output) == (length > names.STEP_LIMIT), output
    last = f"-evaluator-{training_operator.MOST_PODS}"
    assert names.STEP_LIMIT + 1 + names.HASH_LENGTH + len(last) <= names.LABEL_LIMIT


def test_names_of_argo_cd_and_the_namespace(tmp_path: Path) -> None:
    """The longest Application is `<project>-<environment>-foundation`; a namespace has the form that is declared."""
    pattern = f"{ENVIRONMENT}namespace: {{pattern: '{{project}}-{{environment}}-of-the-platform-team'}}\n"
    cases = ((ENVIRONMENT, 48, "foundation (11) = 64 > 63"), (pattern, 38, "-of-the-platform-team (21) = 64 > 63"))
    for environment, longest, total in cases:
        for length in (longest, longest + 1):
            project = f"apiVersion: mlspec.dev/v1alpha1\nkind: Project\nname: {'x' * length}\nowner: team\n"
            root = make_root(tmp_path / f"{longest}-{length}", project, {"dev": environment})
            output = mlspec(root, "check").stdout
            assert output.count("[MLS210]") == (length > longest), output
            assert (total in output) == (length > longest), output


def _pod(change: Callable[[Body], None]) -> list[Fault]:
    """Return what is said of a Job whose pod template was changed."""
    body = jobs.job("Job", "train", {})
    change(jobs.template(body))
    return list(jobs.faults(jobs.resource(body)))


def _main(template: Body) -> Body:
    container: Body = template["spec"]["containers"][0]
    return container


def _port(name: str) -> Callable[[Body], None]:
    return lambda template: _main(template).update(ports=[{"name": name, "containerPort": 80}])


def _variable(name: str, value: str = "") -> Callable[[Body], None]:
    return lambda template: _main(template).update(env=[{"name": name, "value": value}])


def _label(key: str, value: str) -> Callable[[Body], None]:
    return lambda template: template.update(metadata={"labels": {key: value}})


def _annotation(key: str, value: str) -> Callable[[Body], None]:
    return lambda template: template.update(metadata={"annotations": {key: value}})


def _container(name: str) -> Callable[[Body], None]:
    return lambda template: template["spec"]["containers"].append({"name": name, "image": "busybox:1"})


def _volume(name: str) -> Callable[[Body], None]:
    return lambda template: template["spec"].update(volumes=[{"name": name, "emptyDir": {}}])


BUDGETS: Final = {
    "label": (_label("team", "x" * 63), _label("team", "x" * 64), "MLS320"),
    "label form": (_label("team", "a_b.c-d"), _label("team", "a b"), "MLS320"),
    "label end": (_label("team", ""), _label("team", "a-"), "MLS320"),
    "label key": (_label("a.b/" + "x" * 63, "x"), _label("a.b/" + "x" * 64, "x"), "MLS320"),
    "label domain": (_label("x" * 253 + "/a", "x"), _label("x" * 254 + "/a", "x"), "MLS320"),
    "label key form": (_label("a/B_c", "x"), _label("A/b", "x"), "MLS320"),
    "annotation key": (_annotation("a.b/c", " "), _annotation("a/b/c", " "), "MLS320"),
    "annotation key form": (_annotation("A.B/C_d", "x"), _annotation("A_B/c", "x"), "MLS320"),
    "annotations": (_annotation("k", "x" * 262143), _annotation("k", "x" * 262144), "MLS320"),
    "annotations in bytes": (_annotation("k", "ü" * 131071), _annotation("k", "ü" * 131072), "MLS320"),
    "port": (_port("x" * 15), _port("x" * 16), "MLS322"),
    "port form": (_port("grpc-1"), _port("grpc--1"), "MLS322"),
    "port letter": (_port("1a"), _port("11"), "MLS322"),
    "variable": (_variable("1 A"), _variable("A=b"), "MLS322"),
    "variable length": (_variable("A", "x" * 131069), _variable("A", "x" * 131070), "MLS210"),
    "argument length": (
        lambda template: _main(template).update(args=["x" * 131071]),
        lambda template: _main(template).update(args=["x" * 131072]),
        "MLS210",
    ),
    "container": (_container("x" * 63), _container("x" * 64), "MLS322"),
    "container form": (_container("1-a"), _container("a.b"), "MLS322"),
    "volume": (_volume("x" * 63), _volume("x" * 64), "MLS324"),
}
"""What fits, what is one too many, and the code of that."""


@pytest.mark.parametrize("case", BUDGETS)
def test_budgets_of_a_pod(case: str) -> None:
    fitting, beyond, code = BUDGETS[case]
    assert _pod(fitting) == []
    assert [fault.code for fault in _pod(beyond)] == [code]


@pytest.mark.skipif(sys.platform != "linux", reason="the limit is that of Linux, which the pods run")
def test_the_longest_string_of_a_process() -> None:
    """What a kernel with pages of 4 KiB, the smallest, gives to a process: 32 of them, with the zero at the end."""
    limit = 32 * os.sysconf("SC_PAGE_SIZE")
    assert limit >= fits.STRING
    subprocess.run(["/bin/true", "x" * (limit - 1)], check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(["/bin/true", "x" * limit], check=True)
    subprocess.run(["/bin/true"], env={"A": "x" * (limit - 3)}, check=True)
    with pytest.raises(OSError, match="Argument list too long"):
        subprocess.run(["/bin/true"], env={"A": "x" * (limit - 2)}, check=True)


def test_a_cluster_that_no_variable_can_name() -> None:
    """TF_CONFIG names every pod to every pod."""
    few, many = (jobs.resource(jobs.job("TFJob", "train-2c5da2e3", {"Worker": count})) for count in (2500, 3000))
    assert list(jobs.faults(few)) == []
    (fault,) = jobs.faults(many)
    assert fault.code == "MLS210"
    assert "container `tensorflow`: variable TF_CONFIG has " in fault.message


def test_labels_of_every_object_are_judged() -> None:
    """As `kueue.x-k8s.io/queue-name`, which is written on the run itself."""
    body = jobs.job("Job", "train", {})
    body["metadata"]["labels"] = {meta.QUEUE_NAME: "q" * 64}
    (fault,) = jobs.faults(jobs.resource(body))
    assert fault.message == f"metadata.labels.{meta.QUEUE_NAME}: `{'q' * 64}` has 64 characters, and may have 63"


def test_a_message_is_short() -> None:
    (fault,) = _pod(_label("team", "x" * 2**20))
    assert fault.message.endswith(f"`{'x' * 80}` has 1048576 characters, and may have 63")
    assert len(fault.message) < 200


def test_selectors_are_judged() -> None:
    service = _service("x")
    service.body["spec"]["selector"] = {"app": "x" * 64}
    assert _messages(service) == [f"spec.selector.app: `{'x' * 64}` has 64 characters, and may have 63"]
    made = replace(jobs.resource(jobs.job("PyTorchJob", "x", {})), projection=Projection(services=(service.body,)))
    assert _messages(made) == [
        f"Service `x`: the selector: the value of `app` would be `{'x' * 64}`: {'x' * 64} (64) = 64 > 63"
    ]


def test_the_longest_of_several_services_is_judged() -> None:
    services = tuple(_service(name).body for name in ("z", "a" * 64, "b"))
    made = replace(jobs.resource(jobs.job("PyTorchJob", "x", {})), projection=Projection(services=services))
    (message,) = _messages(made)
    assert message == f"a Service would be `{'a' * 64}`: {'a' * 64} (64) = 64 > 63"


def test_services_of_one_name() -> None:
    """Whether written by us or made by an operator; two Services of one object are its own affair."""
    run = jobs.resource(jobs.job("PyTorchJob", "train", {"Master": 1, "Worker": 1}))
    assert list(fits.judge_services([run, _service("train"), _service("other")])) == []
    ((resource, fault),) = fits.judge_services([run, _service("train-worker-0")])
    assert resource.key.name == "train-worker-0"
    assert fault.code == "MLS213"
    assert fault.message == "its Service `train-worker-0` would also be the one of PyTorchJob train"


@pytest.mark.parametrize("golden", goldens(), ids=lambda golden: golden.name)
def test_goldens_fit(golden: Golden) -> None:
    for resource in golden.resources:
        assert jobs.faults(resource) == [], resource.key
    assert list(fits.judge_services(golden.resources)) == []


def _recorded(golden: Golden) -> list[Body]:
    """Return everything that controllers made of a golden, as recorded."""
    folders = [*dict.fromkeys(observe.CONTROLLERS.values()), *(path.name for path in observe.FOLDER.glob("kserve-*"))]
    paths = [observe.fixture(folder, golden.name) for folder in folders]
    return [body for path in paths if path.exists() for body in observe.recorded(path)]


@pytest.mark.parametrize("golden", [one for one in goldens() if _recorded(one)], ids=lambda golden: golden.name)
def test_every_name_that_was_made_is_one_that_is_judged(golden: Golden) -> None:
    """Of whatever kind it is: Deployments, autoscalers and Ingresses as well as pods and Services."""
    judged = {resource.key.name for resource in golden.resources}
    for resource in golden.resources:
        if resource.projection is not None:
            judged |= {name for _, name in jobs.names(resource.projection)} | set(resource.projection.names)
    for body in _recorded(golden):
        name = re.escape(body["metadata"]["name"])
        pattern = name.replace(r"\(hash\)", "[a-z0-9]+").replace(r"\(random\)", "[a-z0-9]{5}")
        assert any(re.fullmatch(pattern, one) for one in judged), (body["kind"], body["metadata"]["name"])


def test_summands() -> None:
    """Known names are parts of their own where they stand as words, the longest first."""
    assert names.summands("a-b-predictor-a", ("a", "a-b")) == ("a-b", "-predictor-", "a")
    assert names.summands("retrain-0", ("train",)) == ("retrain-0",)
    assert names.summands("x", ("",)) == ("x",)
    assert Derived("", names.summands("a-b", ("a",))).name == "a-b"
