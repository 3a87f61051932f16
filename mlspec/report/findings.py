"""What `mlspec check` has to say, as one value: every output format is a function of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from mlspec.diagnostics import Accepted, Diagnostic, Severity

RANK: Final = {severity: rank for rank, severity in enumerate(Severity)}
"""How grave a severity is; 0 is the gravest."""


@dataclass(frozen=True, slots=True)
class Report:
    """Findings in order and without secrets, what was accepted with a reason, and one line a judge."""

    findings: Sequence[Diagnostic] = ()
    accepted: Sequence[Accepted] = ()
    lines: Sequence[str] = ()
    """What was looked at, in words; what belongs to a line is indented below it."""


def worst(findings: Iterable[Diagnostic], most: int) -> list[Diagnostic]:
    """Return the findings that are shown where there is room for a few, in the order in which they came.

    The gravest first; then one of each file before a second of any, and what is written before what follows from it:
    a code's first digit says how far a spec came.
    """
    seen: Counter[tuple[str, Severity]] = Counter()
    ranked = []
    for index, finding in enumerate(findings):
        key = (finding.span.file, finding.severity)
        ranked.append(((RANK[finding.severity], seen[key], finding.code[:4], index), finding))
        seen[key] += 1
    chosen = sorted(ranked, key=lambda item: item[0])[:most]
    return [finding for _, finding in sorted(chosen, key=lambda item: item[0][-1])]


def counted(number: int, noun: str) -> str:
    """Return a number with its noun: `1 error`, `1,200 errors`."""
    return f"{number:,} {noun}{'' if number == 1 else 's'}"


def counts(findings: Iterable[Diagnostic]) -> str:
    """Return findings by their severity: `4 errors and 1 warning`; empty where there are none."""
    number = Counter(finding.severity for finding in findings)
    return " and ".join(counted(number[severity], str(severity)) for severity in Severity if number[severity])
