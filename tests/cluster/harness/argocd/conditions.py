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


def runs(step: str, count: int, word: str = "") -> Test:
    """Return a test whether a step has so many runs, and the newest one a status ("": any)."""
    return lambda state: len(state.runs(step)) == count and word in {"", state.status(step)}


def programs(of: str, *statuses: str) -> Test:
    """Return a test whether the programs of a step or gate were started so often, each with its status now."""
    return lambda state: [run.status for run in state.programs(of)] == list(statuses)


def serves(service: str, step: str, number: int = -1) -> Test:
    """Return a test whether a service's object names a run of a step (default: the newest), by its number."""

    def test(state: State) -> bool:
        found = state.objects.get(("InferenceService", service))
        return found is not None and f"/{state.runs(step)[number].name}/" in found.model

    return test


def refused(place: str = "serving", words: str = "") -> Test:
    """Return a test whether an Application could not be synced with the newest commit, and says so in some words."""

    def test(state: State) -> bool:
        found = state.applications.get(place)
        if found is None or found.at(state.commit) or words not in found.message:
            return False
        return found.operation == state.commit and (found.retries > 0 or found.phase in {"Failed", "Error"})

    return test
