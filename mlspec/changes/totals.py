"""Sums over all projects and environments."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal

from mlspec.changes.values import Differences, Gpus, Load


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums; what has no deadline or no price is counted apart, so that no sum looks complete that is not."""

    starts: int = 0
    pods: int = 0
    gpus: tuple[Gpus, ...] = ()
    """By type, of the runs that start."""
    gpu_hours: Decimal | None = None
    """At most, of the runs with GPUs and a deadline; None where there is none."""
    cost: Decimal | None = None
    """At most, of those of them whose GPUs have a price; None where there is none."""
    endless: int = 0
    """Runs with GPUs that start and have no deadline."""
    unpriced: int = 0
    """Runs with GPUs and a deadline that start, and whose GPUs have no price."""
    returns: int = 0
    superseded: int = 0
    kept: int = 0
    """Superseded runs that are left as they are, and may be running."""
    kept_gpus: int = 0
    services: int = 0
    opened: int = 0
    closed: int = 0
    deletions: int = 0
    """Objects that leave the cluster."""
    data: int = 0
    """Claims that come, go or change."""
    access: int = 0
    """Roles, bindings and accounts that differ."""
    security: int = 0
    """What pods may do otherwise, levels of namespaces, and keys that are asked of a secret store."""
    policy: int = 0
    """Reasons that accept findings, and weights of rules, that differ."""
    accepted: int = 0
    """Of those: findings that are accepted and were not before."""
    lowered: int = 0
    """Of those: rules that weigh less than was said of them before."""
    refused: int = 0
    """Changes of claims that the API server will refuse."""


def totals(found: Iterable[Differences]) -> Totals:
    """Return the sums."""
    all_of_them = list(found)
    loads = [start.load for item in all_of_them for start in item.starts]
    ends = [end for item in all_of_them for end in item.superseded]
    timed = [load for load in loads if load.gpus and load.hours is not None]
    costs = [load.cost for load in timed if load.cost is not None]
    hours = [load.gpu_hours for load in timed if load.gpu_hours is not None]
    openings = [opening.opened for item in all_of_them for opening in item.exposure]
    return Totals(
        starts=len(loads),
        pods=sum(load.pods for load in loads),
        gpus=by_type(loads),
        gpu_hours=sum(hours, Decimal()) if hours else None,
        cost=sum(costs, Decimal()) if costs else None,
        endless=sum(1 for load in loads if load.gpus and load.hours is None),
        unpriced=len(timed) - len(costs),
        returns=sum(len(item.returns) for item in all_of_them),
        superseded=len(ends),
        kept=sum(end.kept for end in ends),
        kept_gpus=sum(end.load.gpu_count for end in ends if end.kept),
        services=sum(len(item.services) for item in all_of_them),
        opened=sum(openings),
        closed=len(openings) - sum(openings),
        deletions=sum(not deletion.stays for item in all_of_them for deletion in item.deletions),
        data=sum(len(item.data) for item in all_of_them),
        access=sum(len(item.access) for item in all_of_them),
        security=sum(len(item.security) for item in all_of_them),
        policy=sum(len(item.policy) for item in all_of_them),
        accepted=sum(opinion.accepts for item in all_of_them for opinion in item.policy),
        lowered=sum(opinion.lowered for item in all_of_them for opinion in item.policy),
        refused=sum(bool(data.refused) for item in all_of_them for data in item.data),
    )


def by_type(loads: Iterable[Load]) -> tuple[Gpus, ...]:
    """Return the GPUs of some workloads together, by type and price."""
    sums: dict[tuple[str, Decimal | None], int] = {}
    for load in loads:
        for gpus in load.gpus:
            sums[gpus.type, gpus.price] = sums.get((gpus.type, gpus.price), 0) + gpus.count
    counted: dict[str, Gpus] = {}
    for (name, price), count in sorted(sums.items(), key=lambda item: item[0][0]):
        known = counted.get(name)
        same = known is None or known.price == price
        counted[name] = Gpus(name, count + (known.count if known else 0), price if same else None)
    return tuple(counted.values())
