"""What the harness cannot do, in words for the person who runs it."""

from __future__ import annotations

from pathlib import Path


class HarnessError(Exception):
    """A component cannot be built, started or reached: names it, says why, and where its log is."""

    def __init__(self, component: str, reason: str, log: Path | None = None) -> None:
        """Keep the component and its log beside the message."""
        super().__init__(f"{component}: {reason}" + (f"\n  log: {log}" if log else ""))
        self.component = component
        self.log = log
