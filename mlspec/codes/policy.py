"""Findings 4xx: policy. What each means stands on its rule in `mlspec/policy/`, from where `mlspec explain` takes it.

An environment's `policy` changes how much one weighs, and `allow` accepts it with a reason.
"""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import Code
from mlspec.diagnostics import Severity

POLICY: Final[dict[str, Code]] = {
    "MLS401": Code("floating image tag", severity=Severity.WARNING),
    "MLS402": Code("image is whatever is latest"),
    "MLS403": Code("image from another registry"),
    "MLS404": Code("image without digest", severity=Severity.WARNING),
    "MLS405": Code("runs as root"),
    "MLS406": Code("user of a low number", severity=Severity.WARNING),
    "MLS407": Code("writable root file system"),
    "MLS408": Code("capabilities"),
    "MLS409": Code("pods that the namespace refuses"),
    "MLS410": Code("namespace less strict than restricted", severity=Severity.NOTE),
    "MLS411": Code("token of the Kubernetes API"),
    "MLS412": Code("memory volume beyond the memory limit"),
    "MLS413": Code("container without limits"),
    "MLS414": Code("weaker than mlspec writes"),
    "MLS420": Code("metadata service of the cloud"),
    "MLS421": Code("the whole internet", severity=Severity.WARNING),
    "MLS430": Code("secret written down"),
    "MLS440": Code("a group that is everybody"),
    "MLS441": Code("Argo CD may do more than it must"),
    "MLS442": Code("rights for a workload"),
}
