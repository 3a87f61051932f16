"""Concern argocd: one AppProject and up to three Applications for a project in an environment.

What the options do was observed on Argo CD 3.5: server-side apply with client-side diff, no finalizer where
data or runs would go with the Application, retries that end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

from mlspec import names
from mlspec.ir import Place, Plan
from mlspec.ir_environment import PlannedArgoCD
from mlspec.k8s import meta
from mlspec.k8s.resource import CLUSTER_SCOPED, Body, Resource, compact

Kinds = frozenset[tuple[str, str]]

_API: Final = "argoproj.io/v1alpha1"
_RETRIES: Final[dict[Place, dict[str, Any]]] = {
    Place.FOUNDATION: {"limit": 10, "refresh": True, "backoff": {"duration": "10s", "factor": 2, "maxDuration": "5m"}},
    Place.PIPELINE: {"limit": 5, "refresh": True, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "1m"}},
    # In a new cluster the gate of a pinned service fails until its run has trained again; after retries that end, Argo
    # CD tries the same commit no more (seen on 3.5). A commit that mends a pin is taken by the next retry, so they are
    # short.
    Place.SERVING: {"limit": -1, "refresh": True, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "20s"}},
}
# Where services follow their steps, the gate fails as a rule until the newest run has passed, which may take days.
_FOLLOWS: Final = {"limit": -1, "refresh": True, "backoff": {"duration": "5s", "factor": 2, "maxDuration": "1m"}}
# Self-heal would sync runs one by one, past the waves that order them.
_SELF_HEALS: Final = frozenset({Place.FOUNDATION, Place.SERVING})


def emit(plan: Plan, emitted: Iterable[Resource], kinds: Kinds) -> Iterator[Body]:
    """Yield the AppProject first, then an Application for every folder that holds objects.

    `kinds` is all that a plan may ever emit, by group and kind.
    """
    argocd, environment, namespace = plan.target.argocd, plan.target.environment, plan.target.namespace
    if argocd is None or environment is None or namespace is None:
        return
    resources = list(emitted)
    yield _project(plan, argocd, resources, kinds)
    places = {resource.place for resource in resources}
    for place in Place:
        if place in places:
            yield _application(plan, argocd, environment, namespace, place)


def _metadata(plan: Plan, argocd: PlannedArgoCD, name: str, annotations: dict[str, str], finalizers: list[str]) -> Body:
    metadata = meta.metadata(name, argocd.namespace, meta.project_labels(plan.project), annotations)
    return compact({**metadata, "finalizers": finalizers})


def _project(plan: Plan, argocd: PlannedArgoCD, resources: list[Resource], emitted: Kinds) -> Body:
    environment, namespace = plan.target.environment or "", plan.target.namespace
    windows = [
        {**window, "applications": [names.application(plan.project, environment, Place.SERVING)]}
        for window in argocd.windows
    ]
    return {
        "apiVersion": _API,
        "kind": "AppProject",
        "metadata": _metadata(plan, argocd, names.app_project(plan.project, environment), {}, [meta.PROJECT_FINALIZER]),
        "spec": compact(
            {
                "description": f"Project {plan.project} of {plan.owner} in {environment}",
                "sourceRepos": [argocd.repo_url],
                "destinations": [{"server": plan.target.server, "namespace": namespace}],
                "clusterResourceWhitelist": _cluster_kinds(argocd, resources),
                "namespaceResourceWhitelist": _namespaced_kinds(plan, emitted),
                # Objects that nobody committed are invisible otherwise.
                "orphanedResources": compact({"warn": True, "ignore": _of_the_platform(plan)}),
                "syncWindows": windows,
            }
        ),
    }


def _of_the_platform(plan: Plan) -> list[Body]:
    """Return what stands in a namespace of others without being anybody's mistake: its limits, and its queues."""
    if plan.target.manage_namespace:
        return []
    kinds = [("", "LimitRange"), ("", "ResourceQuota"), ("kueue.x-k8s.io", "LocalQueue")]
    return [{"group": group, "kind": kind} for group, kind in kinds]


def _cluster_kinds(argocd: PlannedArgoCD, resources: list[Resource]) -> list[Body]:
    found = [resource.body for resource in resources if resource.body["kind"] in CLUSTER_SCOPED]
    # Before 3.3 a whitelist entry has no name.
    named = tuple(map(int, argocd.version.split(".")[:2])) >= (3, 3)
    return [
        {"group": _group(body), "kind": body["kind"], **({"name": body["metadata"]["name"]} if named else {})}
        for body in found
    ]


def _namespaced_kinds(plan: Plan, emitted: Kinds) -> list[Body]:
    """Return every kind that mlspec may emit, and those that operators make of these workloads.

    What is not listed is hidden from people, and from Argo CD, too: with the kinds of this plan alone, the last object
    of a kind that leaves Git would stay in the cluster, and the application be called Synced (seen on Argo CD 3.5.1).
    """
    kinds = {kind for kind in emitted if kind[1] not in CLUSTER_SCOPED}
    kinds |= {child for stated in plan.workloads for child in stated.facts.children}
    # Kueue makes a Workload for every run that it admits, those that are kept included.
    kinds |= {("kueue.x-k8s.io", "Workload")} if plan.target.kueue is not None else set()
    return [{"group": group, "kind": kind} for group, kind in sorted(kinds)]


def _follows(plan: Plan) -> bool:
    """Say whether a service waits for the newest run of a step."""
    gated = any(stated.workload.gate is not None for stated in plan.services)
    return gated and plan.target.promotion == "follow"


def _group(body: Body) -> str:
    api_version = str(body["apiVersion"])
    return api_version.split("/")[0] if "/" in api_version else ""


def _application(plan: Plan, argocd: PlannedArgoCD, environment: str, namespace: str, place: Place) -> Body:
    prefix = f"{argocd.path}/" if argocd.path else ""
    generated = f"{prefix}generated/{plan.project}"
    # A change of the base alone must refresh the application too.
    annotations = {meta.GENERATE_PATHS: f".;/{generated}/base/{place}" if place is not Place.PIPELINE else "."}
    finalizers = [meta.APPLICATION_FINALIZER] if place is Place.SERVING else []
    # With something to prune, PruneLast waits for the last wave, too: in the pipeline for the training itself.
    options = ["PruneLast=true", "ServerSideApply=true"] if place is Place.SERVING else ["ServerSideApply=true"]
    return {
        "apiVersion": _API,
        "kind": "Application",
        "metadata": _metadata(
            plan, argocd, names.application(plan.project, environment, place), annotations, finalizers
        ),
        "spec": {
            "project": names.app_project(plan.project, environment),
            "source": {
                "repoURL": argocd.repo_url,
                "targetRevision": argocd.revision,
                "path": f"{generated}/overlays/{environment}/{place}",
            },
            "destination": {"server": plan.target.server, "namespace": namespace},
            "syncPolicy": {
                "automated": {"prune": True, **({"selfHeal": True} if place in _SELF_HEALS else {})},
                "syncOptions": options,
                "retry": _FOLLOWS if place is Place.SERVING and _follows(plan) else _RETRIES[place],
            },
        },
    }
