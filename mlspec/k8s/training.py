"""What every job of the Kubeflow training operator has in common: its run policy, and the labels of its pods; and what
torchrun is told in each pod."""

from __future__ import annotations

from typing import Final

from mlspec.ir import Labels, PlannedVariable, PlannedWorkload
from mlspec.k8s.resource import Body, compact
from mlspec.model.quantity import amount

_LATER: Final = 5
"""Seconds; a job's start is written some moments after its pods are made (up to one second was seen)."""

# Seconds that a pod has to end: for the step that it is in, a checkpoint, and torchrun's own end, which needs some.
_GRACE: Final = 120
_MARGIN: Final = 15
_PATIENCE: Final = "PET_SHUTDOWN_TIMEOUT"
_DIGITS: Final = 6


def run_policy(clean_pod_policy: str, retries: int, pods: int, deadline: int | None) -> Body:
    """Return `runPolicy` for so many restarts of the whole run.

    The limit counts restarts of containers, summed over all running pods; pods that are lost are never counted. When
    the limit or the deadline is reached, the operator deletes all pods and their logs, whatever cleanPodPolicy says
    (common/job.go; seen on 1.9.3), so no retry is `Never` without a limit, which keeps the pod that failed.
    """
    return compact(
        {
            "cleanPodPolicy": clean_pod_policy,
            "backoffLimit": retries * pods + 1 if retries else None,
            "activeDeadlineSeconds": deadline,
        }
    )


def replica(count: int, retries: int, template: Body, deadline: int | None) -> Body:
    """Return one entry of the replica specs; `replicas` is always written: without it nothing starts.

    The operator looks at a job's deadline only when something happens to its pods (common/util/fake_workqueue.go; on
    1.9.3 jobs that hang were seen to never end), so each pod has the deadline, too: its kubelet makes something happen.
    It does so a little later, or the operator could see a pod that failed before its time is up, and restart it.
    """
    spec = compact({**template["spec"], "activeDeadlineSeconds": deadline + _LATER if deadline else None})
    restart_policy = "OnFailure" if retries else "Never"
    return {"replicas": count, "restartPolicy": restart_policy, "template": {**template, "spec": spec}}


def pod_labels(labels: Labels, job: str, controller: str) -> Labels:
    """Return the labels that the operator's pods carry beside those of their template."""
    return {
        **labels,
        "training.kubeflow.org/job-name": job,
        "training.kubeflow.org/operator-name": controller,
    }


def launching(workload: PlannedWorkload, processes: int, gpus: int) -> tuple[tuple[PlannedVariable, ...], int]:
    """Return the variables that torchrun needs and the spec does not write, and the seconds that a pod has to end.

    PET_SHUTDOWN_TIMEOUT is how many seconds torchrun gives its processes to end before it kills them (30 of its own
    accord: pytorch issue 119856); the pod ends later. Where the spec writes a longer one, the pod has longer, too.
    Without OMP_NUM_THREADS a process has as many threads as the node has CPUs, whatever the pod may use. With the store
    of a c10d rendezvous shared, a restart looks for one that ended with its process (pytorch issue 135712); a static
    rendezvous does not read that variable. NCCL says nothing of what goes wrong unless it is told to.
    """
    written = {variable.name: variable.value or "" for variable in workload.env}
    wanted = written.get(_PATIENCE, "")
    seconds = int(wanted) if wanted.isascii() and wanted.isdecimal() and len(wanted) <= _DIGITS else 0
    patience = max(_GRACE - _MARGIN, seconds)
    found = {
        "OMP_NUM_THREADS": str(max(1, int(amount(workload.resources.cpu) / processes))),
        _PATIENCE: str(patience),
        "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
        **({"NCCL_DEBUG": "WARN"} if gpus else {}),
    }
    variables = (PlannedVariable(name, value) for name, value in found.items() if name not in written)
    return tuple(variables), patience + _MARGIN
