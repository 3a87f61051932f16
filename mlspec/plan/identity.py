"""What a run computes, as eight hexadecimal digits (law 4): the fields that were written, canonically.

Fields at their default are left out, so that a field which arrives with a later version renames no run.
`tests/identity/` records inputs and digests; that table may only grow.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from mlspec import names
from mlspec.kind_base import Kind
from mlspec.kind_specs import UNHASHED, StepSpec


def inputs(
    environment: str,
    kind: Kind,
    spec: StepSpec,
    upstream: Mapping[str, str],
    claims: Mapping[str, str] | None = None,
    files: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return what a run's name is made of.

    `upstream` maps the steps that it needs to their digests, `claims` its volumes that are existing claims to
    those claims (another claim is other data, whatever the volume is called), `files` the paths of the files that it
    ships to the SHA-256 of their bytes.
    """
    fields = spec.model_dump(mode="json", by_alias=True, exclude_defaults=True, exclude=set(UNHASHED | kind.UNHASHED))
    content: dict[str, Any] = {"environment": environment, "needs": dict(upstream), "spec": fields}
    content |= {"claims": dict(claims)} if claims else {}
    content |= {"files": dict(files)} if files else {}
    return content


def digest(content: Mapping[str, Any]) -> str:
    """Return the digest of a run's inputs."""
    text = json.dumps(content, sort_keys=True, separators=(",", ":"))
    return hashlib.sha256(text.encode()).hexdigest()[: names.HASH_LENGTH]
