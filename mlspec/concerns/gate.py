"""Concern gate: the Job that lets a service be synced only with a model that is whole and has passed.

It is a PreSync hook: where it fails, nothing of the serving Application is applied, and what serves goes on serving.
Its name never changes, so that Argo CD deletes the one before (seen on 3.5: Jobs of other names stay for ever).
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any, Final

from mlspec import names, scripts
from mlspec.ir import Place, Placement, Plan, Stated
from mlspec.ir_runs import SUCCESS, PlannedGate
from mlspec.ir_safety import SAFE
from mlspec.k8s import meta, pod
from mlspec.k8s.resource import Body, Resource, compact
from mlspec.projection import kubernetes

KINDS: Final = (("batch", "Job"),)
"""(group, kind) of everything that this concern may emit."""
_CLAIMS: Final = "/mlspec"
_SECONDS: Final = 600
_AMOUNTS: Final = {"cpu": "100m", "memory": "128Mi"}


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield a gate for every service that follows a run or a pin."""
    for stated in plan.services:
        if stated.workload.gate is not None:
            origin = ("services", stated.workload.name)
            body = _job(plan, stated, stated.workload.gate)
            yield Resource(body, Place.SERVING, origin, projection=kubernetes.job(body))


def _job(plan: Plan, stated: Stated, gate: PlannedGate) -> Body:
    service = stated.workload.name
    labels = {**meta.project_labels(plan.project), meta.GATE_OF: service}
    annotations = {meta.HOOK: "PreSync", meta.HOOK_DELETION: "BeforeHookCreation"}
    spec = {
        "restartPolicy": "Never",
        "serviceAccountName": service,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        "securityContext": pod.pod_security(SAFE),
        **pod.placement_fields(Placement(gate.node_selector, gate.tolerations)),
        "containers": [_container(plan, service, gate)],
        # Named by number: a claim that exists may have dots in its name, which a volume may not.
        "volumes": [
            {"name": f"claim-{index}", "persistentVolumeClaim": {"claimName": claim, "readOnly": True}}
            for index, claim in enumerate(gate.claims)
        ],
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta.metadata(names.gate(service), plan.target.namespace, labels, annotations),
        # It decides at once, so a second try would see the same; and if it cannot even start, for want of its image or
        # a claim, it must fail for Argo CD to take the next commit.
        "spec": {
            "activeDeadlineSeconds": _SECONDS,
            "backoffLimit": 0,
            "template": {"metadata": pod.template_metadata(labels), "spec": compact(spec)},
        },
    }


def _container(plan: Plan, service: str, gate: PlannedGate) -> Body:
    return {
        "name": "gate",
        "image": gate.image,
        "command": ["python", "-c", scripts.text("gate.py")],
        "args": [json.dumps(_question(plan, service, gate), indent=1, sort_keys=True)],
        "resources": {"requests": dict(_AMOUNTS), "limits": dict(_AMOUNTS)},
        "volumeMounts": [
            {"name": f"claim-{index}", "mountPath": f"{_CLAIMS}/{claim}", "readOnly": True}
            for index, claim in enumerate(gate.claims)
        ],
        "securityContext": pod.container_security(SAFE),
    }


def _question(plan: Plan, service: str, gate: PlannedGate) -> dict[str, Any]:
    """Return what the program judges (mlspec/scripts/gate.py)."""
    return {
        "service": service,
        "models": [f"{_CLAIMS}/{run.claim}/{run.path}" for run in gate.served],
        "success": [f"{_CLAIMS}/{run.claim}/{plan.project}/{run.run}/{SUCCESS}" for run in gate.served],
        "evaluations": [
            {
                "step": evaluation.step,
                "runs": [
                    {"run": run.name, "directory": f"{_CLAIMS}/{run.claim}/{plan.project}/{run.name}", "gate": run.gate}
                    for run in evaluation.runs
                ],
            }
            for evaluation in gate.evaluations
        ],
    }
