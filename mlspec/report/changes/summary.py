"""Sums in words."""

from __future__ import annotations

from mlspec.changes.totals import Totals
from mlspec.report.changes.lines import count, gpus, hours, money


def starts_words(found: Totals) -> str:
    """Return what starts: `6 runs: 9 pods, 12 a100, at most 36 GPU-hours, at most 90.00`; what no sum holds is said."""
    words = [count(found.pods, "pod")]
    words += [gpus(found.gpus)] if found.gpus else []
    if found.gpu_hours is not None:
        words.append(f"at most {hours(found.gpu_hours)}")
    if found.cost is not None:
        words.append(f"at most {money(found.cost)}")
    if found.endless:
        words.append(f"and {count(found.endless, 'run')} without a deadline")
    if found.unpriced and found.cost is not None:
        words.append(f"and {count(found.unpriced, 'run')} without a price")
    return f"{count(found.starts, 'run')}: {', '.join(words)}"


def summary(found: Totals) -> str:
    """Return one sentence about everything."""
    words = [f"starts {starts_words(found)}" if found.starts else "starts no run"]
    words += [f"{count(found.returns, 'run')} back"] if found.returns else []
    if found.superseded:
        held = f", which may keep {count(found.kept_gpus, 'GPU')}" if found.kept_gpus else ""
        words.append(f"{found.superseded} superseded{held}")
    words += [f"{count(found.services, 'service')} changed"] if found.services else []
    words += [f"{count(found.opened, 'network opening')}"] if found.opened else []
    words += [f"{found.closed} closed"] if found.closed else []
    words += [f"{count(found.deletions, 'object')} deleted"] if found.deletions else []
    words += [f"{count(found.data, 'volume')} changed"] if found.data else []
    words += [f"{count(found.access, 'change')} of who may do what"] if found.access else []
    words += [f"{count(found.security, 'change')} of security"] if found.security else []
    words += [f"{count(found.accepted, 'finding')} newly accepted"] if found.accepted else []
    words += [f"{count(found.lowered, 'rule')} weakened"] if found.lowered else []
    words += [f"{count(found.refused, 'change')} that Kubernetes refuses"] if found.refused else []
    return "; ".join(words)
