"""What every job of the Kubeflow training operator has in common: its run policy, and the labels of its pods."""

from __future__ import annotations

from typing import Final

from mlspec.ir import Labels
from mlspec.k8s.resource import Body, compact

_LATER: Final = 5
"""Seconds; a job's start is written some moments after its pods are made (up to one second was seen)."""


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
