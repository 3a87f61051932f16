"""What the Kubeflow training operator makes of its jobs.

Read in kubeflow/training-operator 1.8.1 and 1.9.3, which make the same of a PyTorchJob and of a TFJob: the files named
here differ between them in comments alone. `tests/cluster/observed/training-operator-1.9.3/` holds what it was seen to
make. Its flags are taken to be as shipped: no gang scheduler, no template or image of one's own for the init container
(`--pytorch-init-container-image`), no CUSTOM_CLUSTER_DOMAIN.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Final

from mlspec.k8s.projected import Body, ProjectedPods, Projection
from mlspec.k8s.values import copied, items, mapping
from mlspec.projection import elastic, templates

MOST_PODS: Final = 3000
"""Pods that a namespace can have without the cluster getting slower; of more, nothing is projected.

From Kubernetes' own thresholds (kubernetes/community sig-scalability/configs-and-limits/thresholds.md).
"""
_PREFIX: Final = "training.kubeflow.org/"
# pkg/config/config.go; the words are those of pkg/controller.v1/pytorch/initcontainer.go.
_INIT: Final = "init-pytorch"
_INIT_IMAGE: Final = "alpine:3.10"
_INIT_TRIES: Final = 100


@dataclass(frozen=True, slots=True)
class _Framework:
    """What differs between the kinds (pkg/apis/kubeflow.org/v1/*_types.go and *_defaults.go)."""

    controller: str
    replicas: str
    """The field of the replica specs."""
    container: str
    """The container that gets the port, and whose ports the Services offer."""
    port: tuple[str, int]
    restart_policy: str
    """Where none is written."""
    leaders: tuple[str, ...]
    """Roles whose pods lead; without any, the first worker does (IsMasterRole)."""


_PYTORCH: Final = _Framework(
    "pytorchjob-controller", "pytorchReplicaSpecs", "pytorch", ("pytorchjob-port", 23456), "OnFailure", ("master",)
)
_TENSORFLOW: Final = _Framework(
    "tfjob-controller", "tfReplicaSpecs", "tensorflow", ("tfjob-port", 2222), "Never", ("chief", "master")
)
_TENSORFLOW_ROLES: Final = frozenset({"chief", "evaluator", "master", "ps", "worker"})


@dataclass(frozen=True, slots=True)
class _Role:
    """Pods of one role, defaults filled in."""

    count: int
    replica: Body
    main: int
    """Where the operator's container stands; where there is none of its name, the first is taken."""
    ports: list[Body]
    """Of that container, with the one that the operator adds (pkg/apis/kubeflow.org/v1/defaulting_utils.go)."""
    port: int
    """The number of the port by which the pods are found."""


@dataclass(frozen=True, slots=True)
class _Job:
    """A job as the operator sees it: its roles in lower case, defaults filled in."""

    name: str
    namespace: str | None
    framework: _Framework
    roles: Mapping[str, _Role]

    @property
    def pods(self) -> int:
        """The pods of all roles."""
        return sum(role.count for role in self.roles.values())

    def labels(self, role: str, index: int) -> dict[str, str]:
        """Return what a pod and its Service are found by (pkg/controller.v1/common/{pod,service,job_controller}.go)."""
        return {
            f"{_PREFIX}job-name": self.name,
            f"{_PREFIX}operator-name": self.framework.controller,
            f"{_PREFIX}replica-index": str(index),
            f"{_PREFIX}replica-type": role,
        }

    def pod_name(self, role: str, index: int) -> str:
        """Return the name of a pod, and of its Service (pkg/core/utils.go, GenGeneralName)."""
        return f"{self.name}-{role}-{index}"

    def leads(self, role: str, index: int) -> bool:
        """Say whether a pod has the role of master."""
        if any(leader in self.roles for leader in self.framework.leaders):
            return role in self.framework.leaders
        return role == "worker" and index == 0


def pytorch(body: Body) -> Projection:
    """Return the pods of a PyTorchJob, and the headless Service of each.

    Every container learns of the others by environment variables, and workers wait until the master's name is known
    (pkg/controller.v1/pytorch/{envvar,master,elastic,initcontainer}.go).
    """
    job, spec = _job(body, _PYTORCH), mapping(body.get("spec"))

    def finish(pod: Body, role: str, index: int) -> None:
        variables = _pytorch_variables(job, spec, role, index)
        for container in items(pod["spec"].get("containers")):
            container["env"] = [*items(container.get("env")), *_entries(variables)]
        if _waits(job, role):
            written = items(pod["spec"].get("initContainers"))
            pod["spec"]["initContainers"] = [*written, _init_container(job.pod_name("master", 0))]

    return _projection(job, finish, lambda role: frozenset({_INIT}) if _waits(job, role) else frozenset())


def tensorflow(body: Body) -> Projection:
    """Return the pods of a TFJob, and the headless Service of each.

    Where there are several, the container `tensorflow` gets TF_CONFIG
    (pkg/controller.v1/tensorflow/{tensorflow,tfjob_controller,util}.go).
    """
    job, spec = _job(body, _TENSORFLOW), mapping(body.get("spec"))
    alone = sum(role.count for name, role in job.roles.items() if name in _TENSORFLOW_ROLES) == 1

    def finish(pod: Body, role: str, index: int) -> None:
        if alone:
            return
        sparse = spec.get("enableDynamicWorker") is True
        for container in items(pod["spec"].get("containers")):
            if container.get("name") == job.framework.container:
                variables = {"TF_CONFIG": _cluster(job, role, index, sparse=sparse)}
                container["env"] = [*items(container.get("env")), *_entries(variables)]
                break

    return _projection(job, finish, lambda role: frozenset(), {role: ("roles", role) for role in job.roles})


def _job(body: Body, framework: _Framework) -> _Job:
    written = mapping(mapping(body.get("spec")).get(framework.replicas))
    roles = {str(name).lower(): _role(mapping(replica), framework) for name, replica in written.items()}
    return _Job(body["metadata"]["name"], body["metadata"].get("namespace"), framework, roles)


def _role(replica: Body, framework: _Framework) -> _Role:
    count = replica.get("replicas", 1)
    containers = items(mapping(mapping(replica.get("template")).get("spec")).get("containers"))
    names = [container.get("name") for container in containers]
    main = names.index(framework.container) if framework.container in names else 0
    ports = items(containers[main].get("ports")) if containers else []
    name, number = framework.port
    if all(port.get("name") != name for port in ports):
        ports = [*ports, {"name": name, "containerPort": number, "protocol": "TCP"}]
    found = next(port.get("containerPort") for port in ports if port.get("name") == name)
    return _Role(
        count if isinstance(count, int) else 1, replica, main, ports, found if isinstance(found, int) else number
    )


def _projection(
    job: _Job,
    finish: Callable[[Body, str, int], None],
    added: Callable[[str], frozenset[str]],
    paths: Mapping[str, tuple[str, ...]] | None = None,
) -> Projection:
    if job.pods > MOST_PODS:
        return Projection()

    def pods(role: str) -> ProjectedPods:
        def make(number: int) -> Body:
            found = _pod(job, role, number)
            finish(found, role, number)
            return found

        path, name = (paths or {}).get(role, ()), partial(job.pod_name, role)
        return ProjectedPods(role, job.roles[role].count, make, added(role), path, name)

    services = tuple(_service(job, name, index) for name, role in job.roles.items() for index in range(role.count))
    return Projection(tuple(pods(role) for role in job.roles), services)


def _pod(job: _Job, role: str, index: int) -> Body:
    """Return a pod but for what its framework adds (pkg/controller.v1/common/pod.go, pkg/core/pod.go)."""
    own = job.roles[role]
    labels = job.labels(role, index) | ({f"{_PREFIX}job-role": "master"} if job.leads(role, index) else {})
    found = templates.pod(job.pod_name(role, index), job.namespace, mapping(own.replica.get("template")), labels)
    spec: Body = found["spec"]
    policy = own.replica.get("restartPolicy", job.framework.restart_policy)
    spec["restartPolicy"] = "Never" if policy == "ExitCode" else policy
    if containers := items(spec.get("containers")):
        containers[own.main]["ports"] = copied(own.ports)
    return found


def _service(job: _Job, role: str, index: int) -> Body:
    """Return the headless Service of a pod: it only gives it a name (pkg/controller.v1/common/service.go)."""
    labels = job.labels(role, index)
    ports = {str(port.get("name", "")): port.get("containerPort") for port in job.roles[role].ports}
    metadata: Body = {"name": job.pod_name(role, index)}
    if job.namespace is not None:
        metadata["namespace"] = job.namespace
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {**metadata, "labels": labels},
        "spec": {
            "clusterIP": "None",
            "selector": dict(labels),
            "ports": [
                {**({"name": name} if name else {}), "port": port, "protocol": "TCP", "targetPort": port}
                for name, port in ports.items()
            ],
        },
    }


def _entries(variables: Mapping[str, str]) -> list[Body]:
    return [{"name": name, **({"value": value} if value else {})} for name, value in variables.items()]


def _waits(job: _Job, role: str) -> bool:
    return role == "worker" and "master" in job.roles


def _pytorch_variables(job: _Job, spec: Body, role: str, index: int) -> dict[str, str]:
    processes = str(spec.get("nprocPerNode", "auto"))
    found = {"PYTHONUNBUFFERED": "1"}
    if "master" in job.roles:
        port, address = str(job.roles["master"].port), job.pod_name("master", 0)
        rank = str(index + 1 if role == "worker" else index)
        world = job.pods * (int(processes) if processes.isdecimal() else 1)
        found |= {"MASTER_PORT": port, "PET_MASTER_PORT": port, "MASTER_ADDR": address, "PET_MASTER_ADDR": address}
        found |= {"WORLD_SIZE": str(world), "RANK": rank, "PET_NODE_RANK": rank}
    policy = spec.get("elasticPolicy")
    if not isinstance(policy, dict):
        return {**found, "PET_NPROC_PER_NODE": processes, "PET_NNODES": str(job.pods)}
    if "nprocPerNode" in spec or "nProcPerNode" not in policy:
        found["PET_NPROC_PER_NODE"] = processes
    worker = job.roles.get("worker")
    port = str(worker.port) if worker is not None else ""
    workers = worker.count if worker is not None else 0
    return found | elastic.variables(policy, (f"{job.name}-worker-0", port), workers)


def _init_container(master: str) -> Body:
    tries = f"for i in $(seq {_INIT_TRIES})"
    return {
        "name": _INIT,
        "image": _INIT_IMAGE,
        "imagePullPolicy": "IfNotPresent",
        "resources": {
            "limits": {"cpu": "100m", "memory": "20Mi"},
            "requests": {"cpu": "50m", "memory": "10Mi"},
        },
        "command": [
            "sh",
            "-c",
            f"err=1;{tries}; do if nslookup {master}; then err=0 && break; fi;"
            "echo waiting for master; sleep 2; done; exit $err",
        ],
    }


def _cluster(job: _Job, role: str, index: int, *, sparse: bool) -> str:
    """Return TF_CONFIG as Go writes it: maps sorted by key, no spaces."""
    hosts = {
        name: [f"{job.name}-{name}-{i}.{job.namespace or ''}.svc:{found.port}" for i in range(found.count)]
        for name, found in sorted(job.roles.items())
    }
    task = {"type": role, "index": index}
    if not sparse:
        return json.dumps({"cluster": hosts, "task": task, "environment": "cloud"}, separators=(",", ":"))
    # With `enableDynamicWorker` a pod knows itself, and a worker all parameter servers.
    workers = {str(index): hosts[role][index]} if role == "worker" else {}
    servers = hosts.get("ps", []) if role == "worker" else [hosts[role][index]] if role == "ps" else []
    return json.dumps({"cluster": {"worker": workers, "ps": servers}, "task": task}, separators=(",", ":"))
