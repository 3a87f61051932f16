"""Concern secrets: an ExternalSecret for every Secret that external-secrets makes from the environment's store.

The names of the defaults are those of the CustomResourceDefinition of external-secrets v0.16.2, which has v1 first, and
v1.3.2 (config/crds/bases/external-secrets.io_externalsecrets.yaml).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from mlspec.ir import Place, Plan
from mlspec.ir_safety import PlannedSecret
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource

GROUP: Final = "external-secrets.io"
KINDS: Final = ((GROUP, "ExternalSecret"),)
"""(group, kind) of everything that this concern may emit."""
# The server fills these in inside a list, which Argo CD compares whole: left out, they would be a difference for ever.
_FILLED_IN: Final = {"conversionStrategy": "Default", "decodingStrategy": "None", "metadataPolicy": "None"}
# The Secret is external-secrets' own, and goes with the ExternalSecret; what leaves the store does not leave the
# cluster. Both are the defaults, said because runs depend on them.
_TARGET: Final = {"creationPolicy": "Owner", "deletionPolicy": "Retain"}
# A run that has left Git may still be running, and a container that restarts reads its Secret anew: pruned with the
# spec, it would not start again. So it stays until somebody deletes the ExternalSecret, as claims do.
_KEPT: Final = {meta.SYNC_OPTIONS: "Prune=false", meta.COMPARE_OPTIONS: "IgnoreExtraneous"}


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield nothing where the store is not known.

    They are in the last wave: while the store, or the webhook of external-secrets, does not answer, nothing but the
    Secrets is missing, and the Application shows it.
    """
    store = plan.target.secret_store
    if store is None:
        return
    for secret in plan.external_secrets:
        yield Resource(_external(plan, secret, store), Place.FOUNDATION, ("secrets", secret.name, "external"))


def _external(plan: Plan, secret: PlannedSecret, store: tuple[str, str]) -> Body:
    kind, name = store
    labels = meta.project_labels(plan.project)
    return {
        "apiVersion": f"{GROUP}/v1",
        "kind": "ExternalSecret",
        "metadata": meta.metadata(secret.name, plan.target.namespace, labels, {**meta.wave(0), **_KEPT}),
        "spec": {
            "secretStoreRef": {"kind": kind, "name": name},
            "target": dict(_TARGET),
            # Its webhook refuses a key that stands twice.
            "data": [_key(secret, key) for key in dict.fromkeys(secret.keys)],
        },
    }


def _key(secret: PlannedSecret, key: str) -> Body:
    return {"secretKey": key, "remoteRef": {"key": secret.external, "property": key, **_FILLED_IN}}
