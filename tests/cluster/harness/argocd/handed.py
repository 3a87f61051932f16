"""What the scripts of `samples.HANDED` have in common: what its programs do, and when its model is served."""

from __future__ import annotations

from typing import Final

from tests.cluster.harness.argocd.conditions import Test, both, ended, healthy
from tests.cluster.harness.argocd.driver import Played
from tests.cluster.harness.argocd.story import RUNS, State, Story
from tests.cluster.harness.nodes.programs import Program

STEPS: Final = ("prepare", "train", "evaluate")
MODEL: Final = {"export/model.onnx": "x"}
TRAINS: Final = Program(seconds=None, files=MODEL, on_term=7)
"""It trains until it is told otherwise, and ends with a status of its own when it is asked to."""
HAS_TRAINED: Final = Program(seconds=0, files=MODEL)
PASSES: Final = Program(metrics={"accuracy": 0.93})
GOOD: Final = (Played(), Played(Program(files=MODEL), step="train"), Played(PASSES, step="evaluate"))
"""Every program succeeds; the training makes a model, and the evaluation finds it good."""
HAVE_PASSED: Final[Test] = both(healthy(), ended(*STEPS))
IS_SERVED: Final[Test] = both(HAVE_PASSED, lambda state: bool(state.of("InferenceService")))


def uids(state: State) -> dict[tuple[str, str], str]:
    """Return the runs that there are, by kind and name: which object each is."""
    return {key: found.uid for key, found in state.objects.items() if found.kind in RUNS and found.step}


def between(story: Story, first: str, then: str) -> Story:
    """Return what was observed from one note up to the next that begins with some words, which is left out."""
    states = story.after(first).states
    end = next((number for number, state in enumerate(states) if number and state.note.startswith(then)), None)
    return Story(story.name, states[:end])


def commit(story: Story, message: str) -> Story:
    """Return what was observed from a commit up to the next one."""
    note = next(state.note for state in story.states if state.note.endswith(f": {message}"))
    return between(story, note, "commit")


def seconds_to(part: Story, holds: Test) -> float:
    """Return how long after the first state something held."""
    return part.first(holds).seconds - part.states[0].seconds
