"""What a script waits for and a test asks: tests of a state.

Never Synced alone: a comparison with an older commit is Synced, too, and so is one that failed.
"""

from __future__ import annotations

from collections.abc import Callable

from tests.cluster.harness.argocd.story import State

Test = Callable[[State], bool]


def synced(*places: str) -> Test:
    """Return a test whether Applications (default: all) are Synced with the newest commit, their operation over."""

    def test(state: State) -> bool:
        chosen = [state.applications.get(place) for place in places or state.applications]
        return bool(chosen) and all(found is not None and found.at(state.commit) for found in chosen)

    return test


def healthy(*places: str) -> Test:
    """Return a test whether Applications (default: all) are Synced with the newest commit, and Healthy."""

    def test(state: State) -> bool:
        chosen = places or tuple(state.applications)
        return synced(*chosen)(state) and all(state.applications[place].health == "Healthy" for place in chosen)

    return test


def phase(place: str, word: str) -> Test:
    """Return a test for the phase of an Application's operation."""
    return lambda state: place in state.applications and state.applications[place].phase == word


def status(step: str, word: str) -> Test:
    """Return a test for the status of the newest run of a step."""
    return lambda state: state.status(step) == word


def newest(step: str) -> Callable[[State], str]:
    """Return how to find the newest run of a step."""
    return lambda state: state.runs(step)[-1].name


def ended(*steps: str) -> Test:
    """Return a test whether the newest runs of some steps have succeeded."""
    return lambda state: all(state.status(step) in {"Complete", "Succeeded"} for step in steps)


def both(*tests: Test) -> Test:
    """Return a test whether all of several tests hold."""
    return lambda state: all(test(state) for test in tests)
