"""What was observed over time: dated states of one project in one environment, to assert on and to read.

In: what watches saw, one change after another. Out: a state after each change, whole, so that an assertion can be
about every moment ("never was there a train run while preprocess had not ended") and not only about the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Final

from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes.programs import ProgramRun

Key = tuple[str, str]
"""Kind and name."""
_NO_COMMIT: Final = "-"


@dataclass(frozen=True)
class Managed:
    """One object of Git, as its Application sees it."""

    kind: str
    name: str
    sync: str
    requires_pruning: bool = False
    hook: bool = False


@dataclass(frozen=True)
class Application:
    """What an Application's status says."""

    sync: str = ""
    health: str = ""
    revision: str = ""
    phase: str = ""
    """Of the newest operation: Running, Succeeded, Failed, Error."""
    operation: str = ""
    """The revision of that operation."""
    retries: int = 0
    message: str = ""
    conditions: tuple[str, ...] = ()
    objects: tuple[Managed, ...] = ()

    def at(self, commit: str) -> bool:
        """Say whether it is Synced with a commit: compared with it, without an error, and nothing is being applied.

        Where everything was there already, no operation is ever started.
        """
        compared = self.revision == commit and self.sync == "Synced"
        quiet = self.phase in {"Succeeded", ""}
        return compared and quiet and not any("Error" in condition for condition in self.conditions)

    def __str__(self) -> str:
        words = [self.sync or "-", self.health or "-"]
        words += [f"at {self.revision[:7]}"] if self.revision else []
        words += [f"| operation {self.phase} {self.operation[:7]}".rstrip()] if self.phase else []
        words += [f"retry {self.retries}"] if self.retries else []
        words += [f"({', '.join(self.conditions)})"] if self.conditions else []
        return " ".join(words)


@dataclass(frozen=True)
class Object:
    """An object in the cluster."""

    kind: str
    name: str
    uid: str
    status: str
    """One word: a phase, or the newest condition that is true."""
    wave: int
    step: str = ""
    application: str = ""
    """The place of the Application that applied it; "" where Argo CD did not make it."""
    model: str = ""
    """Of an InferenceService: the URI of the model that it serves."""

    @property
    def key(self) -> Key:
        """Kind and name."""
        return self.kind, self.name


Seen = Application | Object | ProgramRun | None


@dataclass(frozen=True)
class Change:
    """One thing that changed. `version` is the server's own count, by which changes of all kinds are in order."""

    seconds: float
    version: int
    key: Key
    seen: Seen
    note: str = ""
    commit: str = ""


@dataclass(frozen=True)
class State:
    """Everything there was at one moment."""

    seconds: float = 0.0
    commit: str = _NO_COMMIT
    applications: Mapping[str, Application] = field(default_factory=dict)
    """By place: foundation, pipeline, serving."""
    objects: Mapping[Key, Object] = field(default_factory=dict)
    note: str = ""
    started: Mapping[Key, ProgramRun] = field(default_factory=dict)
    """The programs of played pods, those that have ended, too."""

    def of(self, kind: str) -> list[Object]:
        """Return the objects of a kind."""
        return [found for found in self.objects.values() if found.kind == kind]

    def runs(self, step: str) -> list[Object]:
        """Return the runs of a step, the oldest first."""
        return [found for found in self.objects.values() if found.step == step and found.kind in RUNS]

    def programs(self, of: str) -> list[ProgramRun]:
        """Return the programs of a step, or of a service's gate, that were started so far, the oldest first."""
        return [run for run in self.started.values() if run.of == of]

    def status(self, step: str) -> str:
        """Return the status of the newest run of a step, "" where there is none."""
        found = self.runs(step)
        return found[-1].status if found else ""


RUNS: Final = ("Job", "PyTorchJob", "TFJob")


@dataclass(frozen=True)
class Story:
    """What was observed, from the first commit to the last step."""

    name: str
    states: tuple[State, ...]
    health: Mapping[Key, str] = field(default_factory=dict)
    """At the end, for each object that Argo CD applied; "" where it has no health check for the kind."""

    @property
    def last(self) -> State:
        """The state at the end."""
        return self.states[-1]

    def first(self, holds: Callable[[State], bool]) -> State:
        """Return the first state in which something holds.

        Raises:
            AssertionError: there is none.
        """
        for state in self.states:
            if holds(state):
                return state
        raise AssertionError(f"no such state was observed:\n{self}")

    def seconds(self, holds: Callable[[State], bool]) -> float:
        """Return how long after the first note (the first commit) something held first."""
        began = next(state.seconds for state in self.states if state.note)
        return self.first(holds).seconds - began

    def after(self, note: str) -> Story:
        """Return what was observed from a note on."""
        found = [number for number, state in enumerate(self.states) if state.note.startswith(note)]
        assert found, f"no step {note!r}:\n{self}"
        return Story(self.name, self.states[found[0] :], self.health)

    def made(self, *kinds: str) -> list[Object]:
        """Return the objects that Argo CD made, in the order in which the server stored them."""
        found = []
        for before, after in pairwise((State(), *self.states)):
            found += [new for key, new in after.objects.items() if _is_new(before, key, new) and new.application]
        return [new for new in found if not kinds or new.kind in kinds]

    def sequence(self, place: str) -> list[str]:
        """Return the words for an Application's states, each once where it was the same for a while."""
        words: list[str] = []
        for state in self.states:
            if place in state.applications:
                now = state.applications[place]
                word = f"{now.sync} {now.health} {now.phase}".strip()
                words += [word] if not words or words[-1] != word else []
        return words

    def outline(self) -> list[Body]:
        """Return what is the same each time: what was made, commit by commit and wave by wave, and how it ended."""
        groups: dict[tuple[int, str, int], list[str]] = {}
        commits: list[str] = []
        for before, after in pairwise((State(), *self.states)):
            commits += [after.commit] if after.commit not in {*commits, _NO_COMMIT} else []
            for key, new in after.objects.items():
                if new.application and _is_new(before, key, new):
                    groups.setdefault((len(commits) - 1, new.application, new.wave), []).append(" ".join(key))
        made: list[Body] = [
            {"made": sorted(names), "commit": commit, "application": application, "wave": wave}
            for (commit, application, wave), names in sorted(groups.items())
        ]
        return [*made, *(self._end(place, found) for place, found in sorted(self.last.applications.items()))]

    def _end(self, place: str, found: Application) -> Body:
        objects = [
            {"object": f"{item.kind} {item.name}", "sync": item.sync}
            | ({"health": health} if (health := self.health.get((item.kind, item.name))) else {})
            | ({"requiresPruning": True} if item.requires_pruning else {})
            for item in sorted(found.objects, key=lambda item: (item.kind, item.name))
        ]
        words = {"sync": found.sync, "health": found.health, "operation": found.phase}
        return {"end": place, **words, "conditions": list(found.conditions), "objects": objects}

    def lines(self) -> Iterator[str]:
        """Yield the story as text: the time, and what was different from the moment before."""
        began = self.states[0].seconds if self.states else 0.0
        for before, after in pairwise((State(), *self.states)):
            for words in _changes(before, after):
                yield f"{after.seconds - began:8.2f}  {words}"

    def __str__(self) -> str:
        return f"{self.name}\n" + "\n".join(self.lines())


def _is_new(before: State, key: Key, new: Object) -> bool:
    return key not in before.objects or before.objects[key].uid != new.uid


def _changes(before: State, after: State) -> Iterator[str]:
    if after.note and after.note != before.note:
        yield f"-- {after.note}"
    for place, now in after.applications.items():
        then = before.applications.get(place)
        if then is None or str(then) != str(now):
            yield f"{place}: {now}"
        if now.message and (then is None or then.message != now.message):
            yield f'{place}: "{now.message[:300]}"'
    yield from (f"{place}: is gone" for place in before.applications.keys() - after.applications.keys())
    for key, found in after.objects.items():
        old = before.objects.get(key)
        wave = f" (wave {found.wave})" if found.application else ""
        if old is None or old.uid != found.uid:
            yield f"  + {found.kind} {found.name}{wave} {found.status}".rstrip()
        elif old.status != found.status:
            yield f"    {found.kind} {found.name} {found.status or '-'}"
        if found.model and (old is None or old.model != found.model):
            yield f"    {found.kind} {found.name} serves {found.model}"
    for key in before.objects.keys() - after.objects.keys():
        yield f"  - {' '.join(key)}"
    yield from (f"  > {run}" for key, run in after.started.items() if before.started.get(key) != run)


def fold(changes: Sequence[Change], state: State | None = None) -> Iterator[State]:
    """Yield the state after each change since a state; changes that say nothing new are left out."""
    state = state or State()
    for change in sorted(changes, key=lambda change: change.version):
        seconds = max(state.seconds, change.seconds)
        after = _folded(state, change, seconds)
        if after is not None:
            state = after
            yield state


def _folded(state: State, change: Change, seconds: float) -> State | None:
    kind, name = change.key
    if change.note:
        commit = change.commit or state.commit
        return State(seconds, commit, state.applications, state.objects, change.note, state.started)
    if isinstance(change.seen, ProgramRun):
        return replace(state, seconds=seconds, note="", started={**state.started, change.key: change.seen})
    place = name.rpartition("-")[2]
    old = state.applications.get(place) if kind == "Application" else state.objects.get(change.key)
    if change.seen == old:
        return None
    if kind == "Application":
        rest = {at: value for at, value in state.applications.items() if at != place}
        more = {place: change.seen} if isinstance(change.seen, Application) else {}
        return State(seconds, state.commit, {**rest, **more}, state.objects, started=state.started)
    objects = {key: value for key, value in state.objects.items() if key != change.key or change.seen is not None}
    objects |= {change.key: change.seen} if isinstance(change.seen, Object) else {}
    return State(seconds, state.commit, state.applications, objects, started=state.started)
