"""Kind `job`: one pod that runs to completion, as a batch/v1 Job."""

from __future__ import annotations

from typing import Final, Literal

from mlspec import kind_base
from mlspec.ir import Facts, Gvk, Labels, Place, PlannedWorkload, Target
from mlspec.k8s import pod
from mlspec.k8s.projected import Projection
from mlspec.k8s.resource import Body, compact
from mlspec.kind_base import spec_of
from mlspec.kind_specs import StepSpec
from mlspec.model.base import field
from mlspec.names import Derived
from mlspec.projection import kubernetes


class JobSpec(StepSpec):
    """A step of one pod."""

    kind: Literal["job"] = field(..., "One pod that runs to completion.", "a batch/v1 Job", "job")


TAG: Final = "job"
SPEC: Final = JobSpec
OPERATOR: Final = None
GVK: Final = Gvk("batch", "v1", "Job")
UNHASHED: Final[frozenset[str]] = frozenset()
shared_memory = kind_base.no_shared_memory
check = kind_base.no_findings


def facts(workload: PlannedWorkload, target: Target) -> Facts:  # the contract's signature
    """Return what holds for the Job's pod."""
    return Facts(
        gvk=GVK,
        place=Place.PIPELINE,
        pods=1,
        pod_labels={
            **workload.labels,
            "batch.kubernetes.io/job-name": workload.object_name,
            "job-name": workload.object_name,
        },
        derived=(Derived("the pod", (workload.object_name, "-xxxxx")),),
        children=(("", "Pod"),),
    )


def project(body: Body, target: Target, secrets: Labels) -> Projection:  # the contract's signature
    """Return the pods that will run."""
    return kubernetes.job(body)


def emit(workload: PlannedWorkload, target: Target) -> Body:
    """Return the Job: each retry is a new pod, so that the failed one keeps its logs."""
    spec = spec_of(workload, JobSpec)
    main = kind_base.program(workload, "python", "main")
    return {
        "apiVersion": GVK.api_version,
        "kind": GVK.kind,
        "metadata": kind_base.run_metadata(workload, target),
        "spec": compact(
            {
                "backoffLimit": spec.retries,
                "activeDeadlineSeconds": kind_base.deadline_seconds(spec),
                "template": pod.template(workload, main, "Never"),
            }
        ),
    }
