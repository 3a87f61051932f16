"""An environment's file as one project sees it: patterns expanded, defaults that depend on it filled in."""

from __future__ import annotations

from mlspec.ir import Peer, Target
from mlspec.ir_environment import PlannedArgoCD, PlannedQuota
from mlspec.model.scalars import expand, prometheus_duration
from mlspec.spec.environment import EnvironmentFields, operators_of
from mlspec.spec.project import Project
from mlspec.spec.surroundings import ArgoCD, PeerSelector, SyncWindow


def build_target(project: Project, name: str | None, environment: EnvironmentFields) -> Target:
    """Return the target; without a name (the base) everything that needs it stays open."""

    def known(pattern: str) -> str | None:
        if name is None and "{environment}" in pattern:
            return None
        return expand(pattern, project=project.name, environment=name or "", owner=project.owner)

    def all_known(patterns: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(text for pattern in patterns if (text := known(pattern)) is not None)

    annotations = {key: known(value) for key, value in environment.service_accounts.annotations.items()}
    prometheus = environment.prometheus
    return Target(
        environment=name,
        namespace=known(environment.namespace.pattern) if name is not None else None,
        manage_namespace=environment.namespace.manage,
        pod_security=environment.namespace.pod_security,
        server=environment.cluster.server,
        operators=operators_of(environment),
        gateway=_peer(environment.network.gateway),
        prometheus=Peer(prometheus.namespace, dict(prometheus.pod_labels)) if prometheus else None,
        node_local_dns=environment.network.dns == "node-local",
        pull_secrets=environment.images.pull_secrets,
        account_annotations={key: value for key, value in annotations.items() if value is not None},
        viewers=all_known(environment.access.viewers),
        operators_groups=all_known(environment.access.operators),
        quota=_quota(environment),
        argocd=_argocd(environment.argocd) if name is not None else None,
        promotion=environment.promotion,
        secret_store=(store.kind, store.name) if (store := environment.secret_store) is not None else None,
        kueue=environment.kueue.version if environment.kueue is not None else None,
    )


def _peer(selector: PeerSelector | None) -> Peer | None:
    return Peer(selector.namespace, dict(selector.pod_labels)) if selector else None


def _quota(environment: EnvironmentFields) -> PlannedQuota | None:
    quota = environment.quota
    if quota is None:
        return None
    return PlannedQuota(
        cpu=quota.cpu,
        memory=quota.memory,
        storage=quota.storage,
        gpu=quota.gpu,
        devices=tuple(sorted({gpu.resource for gpu in environment.gpus.values()})),
        default_cpu=environment.defaults.cpu,
        default_memory=environment.defaults.memory,
    )


def _argocd(argocd: ArgoCD) -> PlannedArgoCD:
    return PlannedArgoCD(
        repo_url=argocd.repo_url,
        revision=argocd.revision,
        path=argocd.path,
        namespace=argocd.namespace,
        version=argocd.version,
        windows=tuple(_window(window) for window in argocd.windows),
    )


def _window(window: SyncWindow) -> dict[str, str | bool]:
    fields: dict[str, str | bool | None] = {
        "kind": window.kind,
        "schedule": window.schedule,
        "duration": prometheus_duration(window.duration),
        "timeZone": window.time_zone,
        "manualSync": window.manual_sync,
    }
    return {key: value for key, value in fields.items() if value is not None}
