"""What every job of the Kubeflow training operator has in common: its run policy, and the labels of its pods."""

from __future__ import annotations

from mlspec.ir import Labels
from mlspec.k8s.resource import Body, compact


def run_policy(clean_pod_policy: str, retries: int, pods: int, deadline: int | None) -> Body:
    """Return `runPolicy` for so many restarts of the whole run.

    The limit counts container restarts summed over all pods. With 0 the operator deletes the pods and their logs
    (seen on 1.9.3), so no retry is `Never` without a limit.
    """
    return compact(
        {
            "cleanPodPolicy": clean_pod_policy,
            "backoffLimit": retries * pods + 1 if retries else None,
            "activeDeadlineSeconds": deadline,
        }
    )


def replica(count: int, retries: int, template: Body) -> Body:
    """Return one entry of the replica specs; `replicas` is always written: without it nothing starts."""
    return {"replicas": count, "restartPolicy": "OnFailure" if retries else "Never", "template": template}


def pod_labels(labels: Labels, job: str, controller: str) -> Labels:
    """Return the labels that the operator's pods carry beside those of their template."""
    return {
        **labels,
        "training.kubeflow.org/job-name": job,
        "training.kubeflow.org/operator-name": controller,
    }
