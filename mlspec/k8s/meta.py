"""Labels, annotations and metadata: the only place that spells their keys."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mlspec.ir import Labels
from mlspec.k8s.resource import Body, compact

MANAGED_BY: Final = "app.kubernetes.io/managed-by"
PROJECT: Final = "mlspec.dev/project"
STEP: Final = "mlspec.dev/step"
SERVICE: Final = "mlspec.dev/service"
RUN: Final = "mlspec.dev/run"
# No pod ever carries it: a rule with this peer matches nothing, and Argo CD sees when someone adds another.
NOBODY: Final = {"mlspec.dev/none": "true"}
GATE_OF: Final = "mlspec.dev/gate"
"""Label of a gate's Job and pod: the service that it is for."""
# What a run's file tells about it once the spec has moved on.
INPUTS: Final = "mlspec.dev/inputs"
OUTPUT: Final = "mlspec.dev/output"
GATE: Final = "mlspec.dev/thresholds"
POD_SECURITY: Final = "mlspec.dev/pod-security"
"""The level of the Pod Security Standards that its pods reach: the namespace must let them in while they may run."""
POD_SECURITY_ENFORCE: Final = "pod-security.kubernetes.io/enforce"
POD_SECURITY_WARN: Final = "pod-security.kubernetes.io/warn"
QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
NO_SIDECAR: Final = {"sidecar.istio.io/inject": "false"}
METRICS_OF: Final = "mlspec.dev/metrics-of"

HOOK: Final = "argocd.argoproj.io/hook"
HOOK_DELETION: Final = "argocd.argoproj.io/hook-delete-policy"
SYNC_WAVE: Final = "argocd.argoproj.io/sync-wave"
SYNC_OPTIONS: Final = "argocd.argoproj.io/sync-options"
COMPARE_OPTIONS: Final = "argocd.argoproj.io/compare-options"
IGNORE_HEALTH: Final = "argocd.argoproj.io/ignore-healthcheck"
GENERATE_PATHS: Final = "argocd.argoproj.io/manifest-generate-paths"
TRACKING_ID: Final = "argocd.argoproj.io/tracking-id"
PROJECT_FINALIZER: Final = "resources-finalizer.argocd.argoproj.io"
# The same in its qualified form, about which the API server does not warn; an AppProject knows only the short one.
APPLICATION_FINALIZER: Final = "resources-finalizer.argocd.argoproj.io/foreground"

NAMESPACE_WAVE: Final = -30
FOUNDATION_WAVE: Final = -20


def project_labels(project: str) -> dict[str, str]:
    """Return the labels of everything that belongs to a project."""
    return {MANAGED_BY: "mlspec", "app.kubernetes.io/part-of": project, PROJECT: project}


def workload_labels(project: str, section: str, name: str, object_name: str) -> dict[str, str]:
    """Return the labels of a workload's object and pods; runs also carry the name of the run."""
    kind = {STEP: name, RUN: object_name} if section == "steps" else {SERVICE: name}
    return {"app.kubernetes.io/name": name, **project_labels(project), **kind}


def workload_selector(project: str, section: str, name: str) -> dict[str, str]:
    """Return the labels that select the pods of a workload, of every run of it."""
    return {PROJECT: project, STEP if section == "steps" else SERVICE: name}


def metadata(name: str, namespace: str | None, labels: Labels, annotations: Mapping[str, Any] | None = None) -> Body:
    """Return an object's metadata."""
    return compact(
        {
            "name": name,
            "namespace": namespace,
            "labels": dict(sorted(labels.items())),
            "annotations": dict(sorted((annotations or {}).items())),
        }
    )


def wave(number: int) -> dict[str, str]:
    """Return the annotation that puts an object into an Argo CD wave; 0 is where it stands without one."""
    return {SYNC_WAVE: str(number)} if number else {}


def run_annotations(number: int, *, keep: bool) -> dict[str, str]:
    """Return what keeps a run from being pruned, counted as drift, or colouring the application's health.

    Seen on Argo CD 3.5: a retained failed run keeps an Application Degraded unless its health is ignored;
    waves wait for it all the same. A run that is not to be kept is pruned, so its absence from Git must be drift.
    """
    kept = {SYNC_OPTIONS: "Prune=false", COMPARE_OPTIONS: "IgnoreExtraneous"} if keep else {}
    return {**wave(number), **kept, IGNORE_HEALTH: "true"}
