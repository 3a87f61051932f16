"""What the training operator tells the pods of an elastic PyTorchJob (pkg/controller.v1/pytorch/elastic.go)."""

from __future__ import annotations

from typing import Final

from mlspec.k8s.projected import Body
from mlspec.k8s.values import items

_COPIED: Final = (
    ("maxRestarts", "PET_MAX_RESTARTS"),
    ("nProcPerNode", "PET_NPROC_PER_NODE"),
    ("rdzvId", "PET_RDZV_ID"),
)


def variables(policy: Body, first_worker: tuple[str, str], workers: int) -> dict[str, str]:
    """Return the variables of an `elasticPolicy`; `first_worker` is host and port of the first of the workers."""
    host, port = first_worker
    bounds = {name: policy[name] for name in ("minReplicas", "maxReplicas") if name in policy}
    # One bound that is written stands for both, none for the workers that there are (pytorch_defaults.go).
    least, most = (bounds.get(name, next(iter(bounds.values()), workers)) for name in ("minReplicas", "maxReplicas"))
    found = {
        "PET_RDZV_ENDPOINT": f"{policy.get('rdzvHost', host)}:{policy.get('rdzvPort', port)}",
        "PET_RDZV_BACKEND": str(policy.get("rdzvBackend", "c10d")),
        "PET_NNODES": f"{least}:{most}",
    }
    found |= {variable: str(policy[name]) for name, variable in _COPIED if name in policy}
    if conf := items(policy.get("rdzvConf")):
        found["PET_RDZV_CONF"] = ",".join(f"{item.get('key', '')}={item.get('value', '')}" for item in conf)
    if policy.get("standalone") is True:
        found["PET_STANDALONE"] = ""
    return found
