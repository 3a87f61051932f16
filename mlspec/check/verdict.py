"""What a judge says about one thing: fine, bad, or could not judge; a skip is a result with a reason."""

from __future__ import annotations

from dataclasses import dataclass, field

from mlspec.diagnostics import Diagnostic


@dataclass(slots=True)
class Tally:
    """What one judge looked at."""

    judge: str
    judged: int = 0
    valid: int = 0
    skipped: str = ""
    """Why it judged nothing, or less than it could."""
    diagnostics: list[Diagnostic] = field(default_factory=list)

    def summary(self) -> str:
        """Return one line for a person."""
        if self.skipped:
            return f"{self.judge}: skipped, {self.skipped}"
        return f"{self.judge}: {self.valid} of {self.judged} valid"
