"""Findings 4xx: policy."""

from __future__ import annotations

from typing import Final

from mlspec.codes.code import Code
from mlspec.diagnostics import Severity

POLICY: Final[dict[str, Code]] = {
    "MLS401": Code(
        "floating image tag",
        "The tag may stand for another image tomorrow: a restarted pod would run something else than its run is named "
        "after, and the same inputs would not give the same result. Name a version, or a digest.",
        Severity.WARNING,
    ),
}
