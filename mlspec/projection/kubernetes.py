"""What Kubernetes itself makes of a Job (1.31 to 1.37)."""

from __future__ import annotations

from mlspec.k8s.projected import Body, ProjectedPods, Projection
from mlspec.k8s.values import mapping
from mlspec.projection import templates


def job(body: Body) -> Projection:
    """Return the one pod of a batch/v1 Job that is not indexed; a retry is one more, when the one before has ended.

    The API server labels the template (pkg/registry/batch/job/strategy.go, generateSelector), the controller names the
    pod (pkg/controller/job/job_controller.go, manageJob).
    """
    name, namespace = body["metadata"]["name"], body["metadata"].get("namespace")
    labels = {"batch.kubernetes.io/job-name": name, "job-name": name}
    template = mapping(mapping(body.get("spec")).get("template"))

    def make(number: int) -> Body:
        return templates.pod(templates.generated(f"{name}-"), namespace, template, labels)

    return Projection(pods=(ProjectedPods("", 1, make),))
