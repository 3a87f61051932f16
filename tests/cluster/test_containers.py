"""Pods that are played: the wrapper of runs and the program of gates as they are, on claims that are folders.

The Jobs and PyTorchJobs are written here by hand, so that what is tested is the harness and not what mlspec writes.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import pytest

from mlspec.k8s import meta
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.cleanup import remove
from tests.cluster.harness.client import Body
from tests.cluster.harness.control_plane import namespace
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.nodes import fates
from tests.cluster.harness.nodes.container_spec import expand, missing_program
from tests.cluster.harness.nodes.containers import Containers
from tests.cluster.harness.nodes.fates import Pods
from tests.cluster.harness.nodes.programs import GATE, Program, ProgramRun, rank
from tests.cluster.harness.nodes.volumes import OUTSIDE
from tests.cluster.harness.operators.tier import Operators
from tests.cluster.harness.process import poll
from tests.support import REPOSITORY

pytestmark = pytest.mark.operators

_WRAPPER: Final = "".join(
    line
    for line in (REPOSITORY / "mlspec/scripts/handover.sh").read_text().splitlines(keepends=True)
    if not line.startswith("#")
)
_GATE: Final = """\
import json, pathlib, sys
wanted = json.loads(sys.argv[1])
found = json.loads(pathlib.Path(wanted["folder"], "metrics.json").read_text())
print("accuracy is", found["accuracy"])
sys.exit(0 if found["accuracy"] >= wanted["atLeast"] else 3)
"""
_MOUNT: Final = "/models"


@dataclass
class World:
    """A namespace with a claim, in which pods are played."""

    operators: Operators
    name: str
    made: list[Body] = field(default_factory=list)

    def apply(self, *bodies: Body) -> None:
        """Make objects."""
        for body in bodies:
            self.made.append(body)
            answer = self.operators.api.apply(body)
            assert answer.accepted, answer.message

    def give(self, program: Program, **pods: Any) -> None:
        """Say what programs do."""
        self.containers.programs.give(program, Pods(namespace=self.name, **pods))

    @property
    def containers(self) -> Containers:
        """The played pods."""
        return self.operators.nodes.containers

    @property
    def claim(self) -> Path:
        """The folder of its claim."""
        return self.containers.claim(self.name, "models")

    def programs(self, of: str) -> list[ProgramRun]:
        """Return the programs of a step that were started."""
        return self.containers.programs.runs(self.name, of)

    def pods(self, of: str) -> list[Body]:
        """Return the pods of a step or gate."""
        found = self.operators.api.list("v1", "Pod", self.name)
        return [pod for pod in found if of in pod["metadata"]["labels"].values()]

    def status(self, kind: str, name: str) -> str:
        """Return the condition that says how a run has ended, "" before."""
        version = {"Job": "batch/v1"}.get(kind, "kubeflow.org/v1")
        body = self.operators.api.get(version, kind, self.name, name) or {}
        conditions = body.get("status", {}).get("conditions", [])
        ends = {"Complete", "Failed", "Succeeded"}
        return next((row["type"] for row in conditions if row["status"] == "True" and row["type"] in ends), "")

    def until(self, what: str, *wanted: tuple[str, str, str]) -> None:
        """Wait until runs have ended as they should."""

        def there() -> bool:
            self.containers.check(self.name)
            return all(self.status(kind, name) == end for kind, name, end in wanted)

        try:
            poll(what, there, 120)
        except HarnessError as error:
            raise AssertionError(f"{error}\n{self.containers.logs(self.name)}") from None


@pytest.fixture
def world(operators_plane: Operators, request: pytest.FixtureRequest) -> Iterator[World]:
    """Make a namespace of its own, all of whose runs are played."""
    yield from _world(operators_plane, re.sub("[^a-z0-9]+", "-", request.node.name).strip("-"))


@pytest.fixture
def neighbour(operators_plane: Operators) -> Iterator[World]:
    """Make another one."""
    yield from _world(operators_plane, "neighbour")


def _world(operators: Operators, name: str) -> Iterator[World]:
    found = World(operators, name)
    operators.nodes.fate(fates.play(), Pods(namespace=name))
    found.apply(namespace(name), _claim(name))
    yield found
    # The garbage collector looks for kinds that are new every half a minute only: the pods of a PyTorchJob would stay.
    runs = [body for body in found.made if body["kind"] in fates.RUNS]
    remove(operators.api, [*runs, *operators.api.list("v1", "Pod", name)])
    poll("the removal of all pods", lambda: not operators.api.list("v1", "Pod", name), 20)
    found.containers.check(name)


def _claim(where: str) -> Body:
    spec = {
        "accessModes": ["ReadWriteMany"],
        "storageClassName": OUTSIDE,
        "resources": {"requests": {"storage": "1Gi"}},
    }
    head = {"name": "models", "namespace": where}
    return {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": head, "spec": spec}


def _folder(run: str) -> str:
    return f"{_MOUNT}/demo/{run}"


def _pod(run: str, name: str, command: list[str], variables: Mapping[str, str] | None = None, **spec: Any) -> Body:
    """Return a pod template; its one container mounts the claim."""
    container = {
        "name": name,
        "image": "example/x:1",
        "command": command,
        "env": [{"name": key, "value": value} for key, value in (variables or {}).items()],
        "volumeMounts": [{"name": "models", "mountPath": _MOUNT}, *spec.pop("mounts", [])],
    }
    models = {"name": "models", "persistentVolumeClaim": {"claimName": "models"}}
    volumes = [models, *spec.pop("volumes", [])]
    labels = {meta.STEP: run.rpartition("-")[0], meta.RUN: run}
    rest = {"terminationGracePeriodSeconds": 30, **spec}
    return {"metadata": {"labels": labels}, "spec": {"containers": [container], "volumes": volumes, **rest}}


def _wrapped(run: str, *program: str, needs: tuple[str, ...] = (), name: str = "main", **spec: Any) -> Body:
    """Return the pod template of a run with the wrapper, as mlspec writes it."""
    variables = {"MLSPEC_RUN": run, "MLSPEC_RUN_DIR": _folder(run)}
    variables |= {f"MLSPEC_INPUT_{need.rpartition('-')[0].upper()}": _folder(need) for need in needs}
    command = ["/bin/sh", "-c", _WRAPPER, "mlspec", *map(_folder, needs), "--", *program]
    return _pod(run, name, command, variables, **spec)


def _job(where: str, template: Body, *, name: str = "", retries: int = 0, **spec: Any) -> Body:
    template["spec"].setdefault("restartPolicy", "Never")
    head = {"name": name or template["metadata"]["labels"][meta.RUN], "namespace": where}
    rest = {"backoffLimit": retries, "template": template, **spec}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": head, "spec": rest}


def _training(where: str, template: Body, workers: int) -> Body:
    run = template["metadata"]["labels"][meta.RUN]
    replicas = {"restartPolicy": "OnFailure", "template": template}
    roles = {"Master": {"replicas": 1, **replicas}, "Worker": {"replicas": workers, **replicas}}
    spec = {"pytorchReplicaSpecs": roles, "runPolicy": {"backoffLimit": 3, "cleanPodPolicy": "None"}}
    head = {"name": run, "namespace": where}
    return {"apiVersion": "kubeflow.org/v1", "kind": "PyTorchJob", "metadata": head, "spec": spec}


def test_the_second_waits_for_the_first(world: World) -> None:
    """Both are there at once; the second's program starts when the first has left its marker, and finds its files."""
    world.give(Program(seconds=1, metrics={"accuracy": 0.9}, files={"export/model.onnx": "x"}), step="first")
    world.apply(
        _job(world.name, _wrapped("second-1", "evaluate", "--in", "$(MLSPEC_INPUT_FIRST)", needs=("first-0",))),
        _job(world.name, _wrapped("first-0", "python", "/opt/x.py")),
    )
    world.until("both", ("Job", "first-0", "Complete"), ("Job", "second-1", "Complete"))
    (first,), (second,) = world.programs("first"), world.programs("second")
    assert first.ended is not None
    assert 0.9 < first.ended - first.started < 3
    assert second.started > first.ended
    assert second.inputs == {"MLSPEC_INPUT_FIRST"}
    assert second.argv[1:] == ("--in", _folder("first-0")), "Kubernetes expands what it knows"
    assert "waiting for /models/demo/first-0/_SUCCESS" in world.containers.logs(world.name, "second")
    assert "waiting" not in world.containers.logs(world.name, "first")
    assert (world.claim / "demo/first-0/export/model.onnx").read_text() == "x"
    assert json.loads((world.claim / "demo/first-0/metrics.json").read_text()) == {"accuracy": 0.9}


def test_what_has_succeeded_is_not_run_again(world: World) -> None:
    """A run that was deleted comes back and ends at once, by its marker, on a claim that is the same."""
    job = _job(world.name, _wrapped("train-0", "torchrun", "x.py"))
    world.apply(job)
    world.until("the run", ("Job", "train-0", "Complete"))
    remove(world.operators.api, [job])
    world.apply(job)
    world.until("the run once more", ("Job", "train-0", "Complete"))
    assert len(world.programs("train")) == 1
    assert "already succeeded" in world.containers.logs(world.name, "train")


def test_only_rank_0_marks(world: World) -> None:
    """Of the three pods of a training, each has its program, and one says that the run has succeeded."""
    world.give(Program(seconds=2), step="train", role="master")
    world.apply(_training(world.name, _wrapped("train-0", "torchrun", name="pytorch"), workers=2))
    world.until("the training", ("PyTorchJob", "train-0", "Succeeded"))
    runs = world.programs("train")
    assert sorted(run.rank for run in runs) == [0, 1, 2]
    marker = world.claim / "demo/train-0/_SUCCESS"
    master = next(run for run in runs if run.rank == 0)
    assert marker.read_text() == "train-0\n"
    assert all(run.status == "Ended 0" for run in runs)
    assert all(run.ended < master.ended for run in runs if run is not master)  # type: ignore[operator]
    poll("the workers' end", lambda: {pod["status"]["phase"] for pod in world.pods("train")} == {"Succeeded"}, 10)


def test_a_failure_has_its_status(world: World) -> None:
    """The status of a program is its container's and its pod's, and the wrapper leaves no marker."""
    world.give(Program(exit_code=42), step="train")
    world.apply(_job(world.name, _wrapped("train-0", "train")))
    world.until("the run", ("Job", "train-0", "Failed"))
    (pod,) = world.pods("train")
    (row,) = pod["status"]["containerStatuses"]
    assert (pod["status"]["phase"], row["state"]["terminated"]["exitCode"]) == ("Failed", 42)
    assert {row["status"] for row in pod["status"]["conditions"] if row["type"] == "Ready"} == {"False"}
    assert [run.status for run in world.programs("train")] == ["Ended 42"]
    assert not (world.claim / "demo/train-0/_SUCCESS").exists()


def test_a_container_restarts_in_place(world: World) -> None:
    """With OnFailure the same pod tries again, and its restarts are counted."""
    world.give(Program(seconds=0.1, exit_code=3, times=2, files={"done": ""}), step="train")
    world.apply(_job(world.name, _wrapped("train-0", "train", restartPolicy="OnFailure"), retries=6))
    world.until("the run", ("Job", "train-0", "Complete"))
    (pod,) = world.pods("train")
    assert pod["status"]["containerStatuses"][0]["restartCount"] == 2
    assert pod["status"]["containerStatuses"][0]["lastState"]["terminated"]["exitCode"] == 3
    assert [run.code for run in world.programs("train")] == [3, 3, 0]
    assert (world.claim / "demo/train-0/done").exists()


@pytest.mark.parametrize(("on_term", "status"), [(None, "Killed"), (7, "Ended 7")], ids=["killed", "handled"])
def test_a_deleted_pod_is_asked_to_end(world: World, on_term: int | None, status: str) -> None:
    """The wrapper passes SIGTERM on; the pod goes when its container has ended, and says so before."""
    world.give(Program(seconds=None, on_term=on_term), step="train")
    job = _job(world.name, _wrapped("train-0", "train"))
    world.apply(job)
    poll("its start", lambda: bool(world.programs("train")), 20)
    seen = len(world.operators.nodes.watch.events)
    remove(world.operators.api, [job])
    poll("the end of its pod", lambda: not world.pods("train"), 10)
    assert [run.status for run in world.programs("train")] == [status]
    codes = [
        row["state"]["terminated"]["exitCode"]
        for event in world.operators.nodes.watch.events[seen:]
        if event.body["metadata"]["namespace"] == world.name
        for row in event.body["status"].get("containerStatuses", [])
        if "terminated" in row["state"]
    ]
    assert set(codes) == {on_term or 143}


def test_a_program_that_will_not_end_is_killed(world: World) -> None:
    """What is process 1 and has no handler ignores SIGTERM; the pod's deadline ends it, as a kubelet does."""
    world.give(Program(seconds=None), step="train")
    template = _pod("train-0", "main", ["train"], activeDeadlineSeconds=1, terminationGracePeriodSeconds=0)
    world.apply(_job(world.name, template))
    world.until("the run", ("Job", "train-0", "Failed"))
    poll("its end", lambda: world.programs("train")[0].status == "Killed", 10)
    (pod,) = world.pods("train")
    assert pod["status"]["reason"] == "DeadlineExceeded"


def test_another_fate_ends_what_is_played(world: World) -> None:
    """A pod that runs is given a fate of kwok's: its program is killed, and the fate says how the pod ends."""
    world.give(Program(seconds=None), step="train")
    world.apply(_job(world.name, _wrapped("train-0", "train")))
    poll("its start", lambda: bool(world.programs("train")), 20)
    world.operators.nodes.fate(fates.fail(9), Pods(namespace=world.name, step="train"))
    world.until("the run", ("Job", "train-0", "Failed"))
    poll("the end of its program", lambda: world.programs("train")[0].status == "Killed", 10)
    (pod,) = world.pods("train")
    assert pod["status"]["containerStatuses"][0]["state"]["terminated"]["exitCode"] == 9


@pytest.mark.parametrize(("least", "end"), [(0.9, "Complete"), (0.95, "Failed")], ids=["passes", "fails"])
def test_a_gate(world: World, least: float, end: str) -> None:
    """A gate's Python is real: it reads what the evaluation wrote, and decides."""
    world.give(Program(seconds=0, metrics={"accuracy": 0.93}), step="evaluate")
    world.apply(_job(world.name, _wrapped("evaluate-0", "evaluate")))
    world.until("the evaluation", ("Job", "evaluate-0", "Complete"))
    asked = json.dumps({"folder": _folder("evaluate-0"), "atLeast": least})
    template = _pod("gate-0", "gate", ["python", "-c", _GATE, asked])
    template["metadata"]["labels"] = {GATE: "classifier"}
    world.apply(_job(world.name, template, name="classifier-gate"))
    world.until("the gate", ("Job", "classifier-gate", end))
    assert "accuracy is 0.93" in world.containers.logs(world.name, "classifier")
    assert [run.code for run in world.programs("classifier")] == [0 if end == "Complete" else 3]


def test_claims_are_of_a_namespace(world: World, neighbour: World) -> None:
    """The same claim of another namespace is another folder: the same run is not done there."""
    for place in (world, neighbour):
        place.apply(_job(place.name, _wrapped("train-0", "train")))
        place.until("the run", ("Job", "train-0", "Complete"))
        assert len(place.programs("train")) == 1
    (neighbour.claim / "only-here").touch()
    assert not (world.claim / "only-here").exists()


def test_files_and_variables(world: World) -> None:
    """Files of ConfigMaps are there to be read only, variables as a kubelet makes them, and a secret's value."""
    head: dict[str, Any] = {"namespace": world.name}
    data = {"train.py": "print()", "settings": "a: b"}
    shell = (
        'cat /opt/app/train.py /etc-app/settings; echo; echo "$TOKEN $SEEN ${NONE-none} $PWD $HOSTNAME"; '
        "touch /etc-app/new || echo cannot; touch /root-file || echo read-only; touch /scratch/x; ls /dev/shm /scratch"
    )
    mounts = [
        {"name": "files", "mountPath": "/opt/app/train.py", "subPath": "train.py"},
        {"name": "files", "mountPath": "/etc-app"},
        {"name": "scratch", "mountPath": "/scratch"},
    ]
    volumes = [{"name": "files", "configMap": {"name": "train-files"}}, {"name": "scratch", "emptyDir": {}}]
    template = _pod("train-0", "main", ["/bin/sh", "-c", shell], mounts=mounts, volumes=volumes)
    container = template["spec"]["containers"][0]
    container |= {"workingDir": "/srv/here", "securityContext": {"readOnlyRootFilesystem": True}}
    secret = {"secretKeyRef": {"name": "keys", "key": "token"}}
    missing = {"secretKeyRef": {"name": "keys", "key": "none", "optional": True}}
    container["env"] = [
        {"name": "TOKEN", "valueFrom": secret},
        {"name": "NONE", "valueFrom": missing},
        {"name": "SEEN", "value": "$(TOKEN)/$(UNKNOWN)/$$(TOKEN)"},
    ]
    world.apply(
        {"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "keys", **head}, "data": {"token": "c2Vj"}},
        _job(world.name, template),
    )
    poll("its pod", lambda: bool(world.pods("train")), 10)
    files = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "train-files", **head}}
    world.apply({**files, "immutable": True, "data": data})
    world.until("the run", ("Job", "train-0", "Complete"))
    (pod,) = world.pods("train")
    lines = world.containers.logs(world.name, "train").splitlines()
    printed = [line for line in lines if not line.startswith(("==>", "touch:"))]
    variables = f"sec sec/$(UNKNOWN)/$(TOKEN) none /srv/here {pod['metadata']['name']}"
    assert printed == ["print()a: b", variables, "cannot", "read-only", "/dev/shm:", "", "/scratch:", "x"]  # noqa: S108  # in the container


def test_nothing_is_left(world: World) -> None:
    """While a pod runs and after it, this machine has neither its folders nor its mounts; then its processes end."""
    world.give(Program(seconds=None), step="train")
    job = _job(world.name, _wrapped("train-0", "train"))
    mounts = Path("/proc/self/mounts").read_text()
    world.apply(job)
    poll("its start", lambda: bool(world.programs("train")), 20)
    (pod,) = world.pods("train")
    assert Path("/proc/self/mounts").read_text() == mounts
    assert not Path("/.mlspec-tests").exists()
    assert _processes(pod) != []
    remove(world.operators.api, [job])
    poll("the end of its processes", lambda: not _processes(pod), 10)


def _processes(pod: Body) -> list[str]:
    """Return the processes of this machine that have a pod's name among their variables."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
        except OSError:
            continue
        found += [path.parent.name] if f"HOSTNAME={pod['metadata']['name']}".encode() in variables else []
    return found


def test_claims_made_again_are_empty(world: World) -> None:
    """A claim that was deleted takes its data out of reach: what was done is done once more."""
    job, claim = _job(world.name, _wrapped("train-0", "train")), _claim(world.name)
    world.apply(job)
    world.until("the run", ("Job", "train-0", "Complete"))
    remove(world.operators.api, [job])
    poll("the removal of its pod", lambda: not world.pods("train"), 10)
    remove(world.operators.api, [claim])
    world.apply(claim, job)
    world.until("the run once more", ("Job", "train-0", "Complete"))
    assert len(world.programs("train")) == 2


@pytest.mark.parametrize("private", [True, False], ids=["private", "plain"])
def test_a_cell_ends_its_containers(private: bool) -> None:
    """The kernel ends what the runtime started when the cell goes, whatever that ignores, and no folder stays."""
    nobody: Any = None
    with Cell(private=private) as cell:
        containers = Containers(cell, nobody)
        containers.start()
        body = {"metadata": _HEAD, "spec": {"containers": [{"command": ["/bin/sh", "-c", _DEAF]}]}}
        request = containers._described(body, 0)
        assert containers._runtime is not None
        containers._runtime.ask(request, lambda _: None)
        poll("its start", lambda: "I hear nothing" in containers.logs("here"), 10)
        assert _processes(body) != []
        containers._runtime.signal(request["name"], 15)
    poll("its end", lambda: not _processes(body), 5)
    assert not cell.folder.exists()


_HEAD: Final = {"name": "a-deaf-pod", "namespace": "here", "uid": "0"}
_DEAF: Final = "trap '' TERM; echo I hear nothing; while :; do sleep 1; done"


def test_where_it_cannot_be_done(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the right to make mount tables it says so."""
    nobody: Any = None
    with Cell(private=False) as cell, closing(Containers(cell, nobody)) as containers:
        plain = cell._prefix
        monkeypatch.setattr(cell, "_prefix", lambda: (*plain()[:-1], "--bounding-set", "-sys_admin", "--"))
        with pytest.raises(HarnessError, match="no private mount and process tables can be made here"):
            containers.start()


@pytest.mark.parametrize(
    ("text", "expanded"),
    [
        ("$(A)/$(B)", "1/$(B)"),
        ("$$(A) $$$(A)", "$(A) $1"),
        ("$A ${A} $", "$A ${A} $"),
        ("$(A", "$(A"),
        ("$((1 + 2))", "$((1 + 2))"),
    ],
)
def test_expansion(text: str, expanded: str) -> None:
    """Only $(NAME) of a variable that is there is replaced, and $$ is a dollar."""
    assert expand(text, {"A": "1"}) == expanded


@pytest.mark.parametrize(
    ("words", "program"),
    [
        (["/bin/sh", "-c", "x", "mlspec", "/a", "--", "torchrun", "--", "x"], "torchrun"),
        (["/bin/sh", "-c", "x", "mlspec", "--", "sh", "-c", "y"], ""),
        (["/bin/sh", "-c", "x"], ""),
        (["python", "-c", "x"], ""),
        (["python", "x.py"], "python"),
        (["/opt/run", "--", "y"], "/opt/run"),
    ],
)
def test_which_program_is_missing(words: list[str], program: str) -> None:
    """Shells and Python with its text are real; all else is not."""
    assert missing_program(words) == program


def test_ranks() -> None:
    """PyTorch's operator says a rank, TensorFlow's a task."""
    assert rank({"RANK": "2"}) == 2
    assert rank({}) == 0
    cluster = {"worker": ["a", "b"]}
    task = {"type": "worker", "index": 0}
    assert rank({"TF_CONFIG": json.dumps({"cluster": cluster, "task": task})}) == 0
    assert rank({"TF_CONFIG": json.dumps({"cluster": {**cluster, "chief": ["c"]}, "task": task})}) == 1
