"""The order of steps: `needs` in, a stable order and depths out, or the circle that makes it impossible."""

from __future__ import annotations

from collections.abc import Mapping, Sequence


def order(needs: Mapping[str, Sequence[str]]) -> list[str]:
    """Return the steps so that each follows what it needs, level by level, ties by name; circles are left out."""
    open_needs = {step: {need for need in wanted if need in needs} for step, wanted in needs.items()}
    dependants: dict[str, list[str]] = {step: [] for step in needs}
    for step, wanted in open_needs.items():
        for need in wanted:
            dependants[need].append(step)
    found: list[str] = []
    ready = sorted(step for step, wanted in open_needs.items() if not wanted)
    while ready:
        found += ready
        following = []
        for step in ready:
            for dependant in dependants[step]:
                open_needs[dependant].discard(step)
                if not open_needs[dependant]:
                    following.append(dependant)
        ready = sorted(following)
    return found


def depths(needs: Mapping[str, Sequence[str]]) -> dict[str, int]:
    """Return how many steps stand before each, on its longest way."""
    found: dict[str, int] = {}
    for step in order(needs):
        found[step] = 1 + max((found[need] for need in needs[step] if need in found), default=-1)
    return found


def circles(needs: Mapping[str, Sequence[str]]) -> list[list[str]]:
    """Return circles in the order in which their steps need each other, the first step repeated at the end.

    Every circle shares no step with another; a step that only leads into a circle is in none.
    """
    ordered = set(order(needs))
    left = {step for step in needs if step not in ordered}
    found: list[list[str]] = []
    while left:
        walked: dict[str, int] = {}
        step = min(left)
        while step not in walked:
            walked[step] = len(walked)
            # What is left always needs something that is left, or it would have been ordered.
            step = next(need for need in needs[step] if need in left)
        steps = list(walked)
        found.append([*steps[walked[step] :], step])
        left = _without(left, needs, set(steps))
    return found


def _without(left: set[str], needs: Mapping[str, Sequence[str]], seen: set[str]) -> set[str]:
    """Return what is still in some circle once the steps of those seen are taken out."""
    rest = {step: [need for need in needs[step] if need in left and need not in seen] for step in left - seen}
    return set(rest) - set(order(rest))
