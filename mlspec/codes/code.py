"""What a finding's code stands for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from mlspec.diagnostics import Severity

UNUSABLE: Final = 2
"""Exit code where the command could not do its work at all."""


@dataclass(frozen=True, slots=True)
class Code:
    """One kind of finding; `exit_code` is that of the command that reports it as an error."""

    title: str
    explanation: str = ""
    """What `mlspec explain` prints; of a policy finding it stands on the rule."""
    severity: Severity = Severity.ERROR
    exit_code: int = 1
