"""What a training is started with: the words of its command, the variables and seconds that it gets, elastic jobs."""

from __future__ import annotations

import itertools
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec import yamltext
from mlspec.model import launch
from tests.support import ENVIRONMENT, make_root, mlspec

Body = dict[str, Any]


@pytest.mark.parametrize(
    ("words", "program", "flags", "shell"),
    [
        (("torchrun", "train.py"), "torchrun", {}, None),
        (("/opt/venv/bin/torchrun", "--nnodes=2", "train.py", "--nnodes", "3"), "torchrun", {"nnodes": "2"}, None),
        (
            ("torchrun", "--nproc_per_node", "gpu", "-m", "train"),
            "torchrun",
            {"nproc-per-node": "gpu", "m": None},
            None,
        ),
        (("torchrun", "--standalone", "train.py", "--rdzv-endpoint=x"), "torchrun", {"standalone": None}, None),
        (("torchrun", "--max-restarts", "3", "--", "train.py"), "torchrun", {"max-restarts": "3"}, None),
        (("torchrun", "--nnodes"), "torchrun", {"nnodes": None}, None),
        (
            ("python3.12", "-u", "-X", "dev", "-m", "torch.distributed.run", "--nnodes=2"),
            "torchrun",
            {"nnodes": "2"},
            None,
        ),
        (("python", "-m", "torch.distributed.launch", "train.py"), "torchrun", {}, None),
        (("python", "-m", "accelerate.commands.launch", "train.py"), "accelerate.commands.launch", {}, None),
        (("/usr/bin/python", "-m", "train"), "python", {}, None),
        (("python", "train.py", "-m", "torch.distributed.run"), "python", {}, None),
        (("pythonista", "train.py"), "pythonista", {}, None),
        (("accelerate", "launch", "train.py"), "accelerate", {}, None),
        (("bash", "-c", "python train.py"), "python", {}, None),
        (("bash", "-ec", "cd /opt\nA=1 B=2 exec python train.py"), "python", {}, None),
        (("bash", "-c", "pip install . && torchrun train.py"), "torchrun", {}, None),
        (("sh", "-c", "pip install . && torchrun --nnodes 2 train.py | tee log"), "torchrun", {"nnodes": "2"}, "sh"),
        (("sh", "-c", "pip install . && torchrun --nnodes 2 train.py"), "torchrun", {"nnodes": "2"}, "sh"),
        (("sh", "-c", "trap 'kill %1' TERM; python train.py"), "python", {}, None),
        (("/bin/dash", "-c", "pip install .; exec python train.py"), "python", {}, None),
        (("sh", "-c", "echo 'a quote that never ends"), "sh", {}, None),
        (("bash", "-c", "torchrun train.py 2>&1 | tee log"), "torchrun", {}, "bash"),
        (("sh", "-c", "torchrun train.py >log 2>&1"), "torchrun", {}, None),
        (("sh", "-c", "torchrun train.py &>> log; "), "torchrun", {}, None),
        (("sh", "-c", "torchrun train.py || exit 3"), "exit", {}, "sh"),
        (("sh", "-c", "| ; &&"), "sh", {}, None),
        (("sh", "/opt/start.sh"), "sh", {}, None),
        (("sh", "-c", ""), "sh", {}, None),
        ((), "", {}, None),
    ],
)
def test_what_a_command_starts(
    words: tuple[str, ...], program: str, flags: dict[str, str | None], shell: str | None
) -> None:
    found = launch.read(words)
    assert (found.program, dict(found.flags), found.shell) == (program, flags, shell)


@given(
    st.lists(
        st.sampled_from(["torchrun", "python", "sh", "-c", "-m", "--", "-", "--x", "a=b", "'", "", ";"]) | st.text()
    )
)
def test_any_words_can_be_read(words: list[str]) -> None:
    found = launch.read(words)
    assert found.flags == {} or found.program == launch.TORCHRUN


_STEP = """\
apiVersion: mlspec.dev/v1alpha1
kind: Project
name: demo
owner: team
steps:
  train:
    kind: pytorch
    image: ghcr.io/acme/train:1.0
    script: /opt/train.py
"""


def _job(folder: Path, *lines: str, tail: str = "", environment: str = "dev") -> Body:
    """Return the PyTorchJob of a step that says so."""
    text = _STEP + "".join(f"    {line}\n" for line in lines) + tail
    root = make_root(folder, text, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    (path,) = root.glob(f"generated/demo/overlays/{environment}/pipeline/train-*.yaml")
    (body,) = (body for body in yamltext.load_all(path.read_text()) if body["kind"] == "PyTorchJob")
    return dict(body)


def _pod(job: Body) -> Body:
    templates = [replica["template"]["spec"] for replica in job["spec"]["pytorchReplicaSpecs"].values()]
    assert all(template == templates[0] for template in templates)
    return dict(templates[0])


def _variables(job: Body) -> dict[str, str]:
    (container,) = _pod(job)["containers"]
    names = [entry["name"] for entry in container["env"]]
    assert len(set(names)) == len(names)
    return {entry["name"]: entry.get("value", "") for entry in container["env"]}


@pytest.mark.parametrize(
    ("lines", "threads"),
    [
        ((), "1"),
        (("resources: {cpu: 250m}",), "1"),
        (("resources: {cpu: 7}",), "7"),
        (("resources: {cpu: 7500m}", "processes: 2"), "3"),
        (("resources: {cpu: 8}", "gpu: 4"), "2"),
        (("resources: {cpu: 2}", "gpu: 4"), "1"),
        (("resources: {cpu: 8}", "env: {OMP_NUM_THREADS: 3}"), "3"),
    ],
)
def test_threads_are_the_share_of_a_process(lines: tuple[str, ...], threads: str, tmp_path: Path) -> None:
    """As many as the node has CPUs would be 4 times slower on a busy node (measured)."""
    assert _variables(_job(tmp_path, *lines))["OMP_NUM_THREADS"] == threads


@pytest.mark.parametrize(
    ("lines", "patience", "grace"),
    [
        ((), "105", 120),
        (("env: {PET_SHUTDOWN_TIMEOUT: 285}",), "285", 300),
        (("env: {PET_SHUTDOWN_TIMEOUT: 5}",), "5", 120),
        (('env: {PET_SHUTDOWN_TIMEOUT: "$(LONG)", LONG: 300}',), "$(LONG)", 120),
        (("env: {PET_SHUTDOWN_TIMEOUT: 12345678}",), "12345678", 120),
    ],
)
def test_torchrun_gives_up_before_the_pod_is_killed(
    lines: tuple[str, ...], patience: str, grace: int, tmp_path: Path
) -> None:
    job = _job(tmp_path, "nodes: 2", *lines)
    assert _variables(job)["PET_SHUTDOWN_TIMEOUT"] == patience
    assert _pod(job)["terminationGracePeriodSeconds"] == grace


def test_what_every_training_is_told(tmp_path: Path) -> None:
    plain, gpus = (_variables(_job(tmp_path / name, *lines)) for name, lines in (("a", ()), ("b", ("gpu: 1",))))
    assert plain["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == gpus["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] == "1"
    assert (plain.get("NCCL_DEBUG"), gpus["NCCL_DEBUG"]) == (None, "WARN")
    # The first is a file that torchrun cannot write where the kubelet reads it, the second a guess about the node.
    assert not {"TORCHELASTIC_ERROR_FILE", "NCCL_SOCKET_IFNAME"} & gpus.keys()


def test_what_failed_is_told_by_the_pod(tmp_path: Path) -> None:
    (container,) = _pod(_job(tmp_path))["containers"]
    assert container["terminationMessagePolicy"] == "FallbackToLogsOnError"


def test_an_elastic_job_has_workers_alone(tmp_path: Path) -> None:
    job = _job(tmp_path, "elastic: {min: 2, max: 4}", "retries: 2")
    assert job["spec"]["elasticPolicy"] == {
        "minReplicas": 2,
        "maxReplicas": 4,
        "maxRestarts": 2,
        "rdzvId": job["metadata"]["name"],
    }
    (role,) = job["spec"]["pytorchReplicaSpecs"]
    replica = job["spec"]["pytorchReplicaSpecs"][role]
    assert (role, replica["replicas"], replica["restartPolicy"]) == ("Worker", 4, "OnFailure")
    assert job["spec"]["runPolicy"]["backoffLimit"] == 2 * 4 + 1


def test_an_override_makes_it_a_job_of_fixed_size(tmp_path: Path) -> None:
    tail = "environments:\n  dev: {steps: {train: {elastic: null, nodes: 1}}}\n"
    small = _job(tmp_path, "elastic: {min: 2, max: 4}", tail=tail)
    (large,) = tmp_path.glob("generated/demo/overlays/prod/pipeline/train-*.yaml")
    assert list(small["spec"]["pytorchReplicaSpecs"]) == ["Master"]
    assert "elasticPolicy" not in small["spec"]
    assert "elasticPolicy" in large.read_text()


@pytest.mark.parametrize(
    ("lines", "shown"), [(("elastic: {min: 2, max: 4}",), "2 to 4 pods"), (("elastic: {min: 3, max: 3}",), "3 pods")]
)
def test_the_graph_tells_how_many_pods(lines: tuple[str, ...], shown: str, tmp_path: Path) -> None:
    _job(tmp_path, *lines)
    assert f"train  pytorch, {shown}\n" in mlspec(tmp_path, "graph", "-e", "dev").stdout


def test_elastic_pods_are_told_of_one_another(tmp_path: Path) -> None:
    """All meet at the first worker, whose Service there is, and nobody is told a rank beforehand."""
    _job(tmp_path, "elastic: {min: 2, max: 3}", "processes: 2")
    bodies = list(yamltext.load_all(mlspec(tmp_path, "render", "--projected", "-e", "dev").stdout))
    pods = [body for body in bodies if body["kind"] == "Pod"]
    services = {body["metadata"]["name"] for body in bodies if body["kind"] == "Service"}
    assert len(pods) == len(services) == 3
    for body in pods:
        told = {entry["name"]: entry.get("value", "") for entry in body["spec"]["containers"][0]["env"]}
        host, port = told["PET_RDZV_ENDPOINT"].split(":")
        assert host in services
        assert host.endswith("-worker-0")
        assert (port, told["PET_NNODES"], told["PET_NPROC_PER_NODE"]) == ("23456", "2:3", "2")
        assert not {"RANK", "WORLD_SIZE", "MASTER_ADDR"} & told.keys()
        assert "initContainers" not in body["spec"]
    names = sorted(body["metadata"]["name"] for body in pods)
    assert all(first[:-1] == second[:-1] for first, second in itertools.pairwise(names))


def test_bounds_are_part_of_the_name_and_retries_are_not(tmp_path: Path) -> None:
    names = [
        _job(tmp_path / str(number), *lines)["metadata"]["name"]
        for number, lines in enumerate(
            (
                ("elastic: {min: 2, max: 4}",),
                ("elastic: {min: 2, max: 4}", "retries: 7"),
                ("elastic: {min: 1, max: 4}",),
                ("elastic: {min: 2, max: 5}",),
                ("nodes: 4",),
            )
        )
    ]
    assert names[0] == names[1]
    assert len(set(names[1:])) == 4


def test_the_quota_is_judged_by_the_most_pods(tmp_path: Path) -> None:
    text = _STEP + "    elastic: {min: 1, max: 4}\n    resources: {cpu: 2}\n"
    root = make_root(tmp_path, text, {"dev": ENVIRONMENT + "quota: {cpu: 7}\n"})
    found = mlspec(root, "check").stdout
    assert "warning[MLS217]: its 4 pods together ask for 8 cpu, and the whole quota of environment dev is 7" in found


def test_a_volume_of_one_node_cannot_be_written_by_elastic_pods(tmp_path: Path) -> None:
    text = _STEP.replace("steps:", "volumes: {runs: {size: 1Gi}}\nsteps:")
    text += "    elastic: {min: 1, max: 2}\n    mounts: {runs: /runs}\n"
    root = make_root(tmp_path, text)
    assert "error[MLS214]" in mlspec(root, "check").stdout
