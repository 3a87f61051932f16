"""The order of steps: `needs` in, a stable order and depths out, or the circle that makes it impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the steps so that each follows what it needs, ties by name; steps in a circle are left out."""
    waiting = {step: {need for need in wanted if need in needs} for step, wanted in needs.items()}
    found: list[str] = []
    while ready := sorted(step for step, open_needs in waiting.items() if not open_needs):
        found += ready
        for step in ready:
            del waiting[step]
        for open_needs in waiting.values():
            open_needs.difference_update(ready)
    return found


def depths(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return how many steps stand before each, on its longest way."""
    found: dict[str, int] = {}
    for step in order(needs):
        found[step] = 1 + max((found[need] for need in needs[step] if need in found), default=-1)
    return found


def circle(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return one circle in the order in which its steps need each other, its first step repeated; or nothing."""
    ordered = set(order(needs))
    left = sorted(step for step in needs if step not in ordered)
    if not left:
        return []
    walked = [left[0]]
    while True:
        # What is left always needs something that is left, or it would have been ordered.
        step = next(need for need in needs[walked[-1]] if need in needs and need not in ordered)
        if step in walked:
            return [*walked[walked.index(step) :], step]
        walked.append(step)
