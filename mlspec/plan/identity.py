"""What a run computes, as eight hexadecimal digits (law 4): the fields that were written, canonically.

Fields at their default are left out, so that a field which arrives with a later version renames no run.
`tests/identity/` records inputs and digests; that table may only grow.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping

from mlspec import names
from mlspec.kind_base import UNHASHED, Kind, StepSpec


def digest(
    environment: str, kind: Kind, spec: StepSpec, upstream: Mapping[str, str], claims: Mapping[str, str] | None = None
) -> str:
    """Return the digest of a run.

    `upstream` maps the steps that it needs to their digests, `claims` its volumes that are existing claims to
    those claims: another claim is other data, whatever the volume is called.
    """
    fields = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(UNHASHED | kind.UNHASHED))
    content: dict[str, object] = {"environment": environment, "needs": dict(upstream), "spec": fields}
    if claims:
        content["claims"] = dict(claims)
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[: names.HASH_LENGTH]
