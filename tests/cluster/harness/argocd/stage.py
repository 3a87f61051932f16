"""One project in one environment on a running Argo CD: its files, its Applications, and what is observed of it."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Protocol

from mlspec import yamltext
from mlspec.spec.discover import GENERATED
from tests.cluster.harness.argocd.git import Repository
from tests.cluster.harness.argocd.recorder import Recorder
from tests.cluster.harness.argocd.server import ArgoCD, Difference
from tests.cluster.harness.argocd.story import Change, State, Story, fold
from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes.nodes import Nodes


@dataclass
class Work:
    """A repository and the folder that is committed to it; several stages may share one."""

    repository: Repository
    tree: Path
    head: str = ""

    def commit(self, message: str) -> None:
        """Commit the folder as it is."""
        self.head = self.repository.commit(self.tree, message)

    def restore(self, commit: str, message: str) -> None:
        """Commit the files of an earlier commit again."""
        self.head = self.repository.restore(commit, message)
        self.repository.checkout(self.tree)


@dataclass
class Stage:
    """One project in one environment on a running Argo CD."""

    name: str
    argocd: ArgoCD
    nodes: Nodes
    recorder: Recorder
    work: Work
    root: Path
    """The folder of the project's root, below the work's tree."""
    project: str
    environment: str
    namespace: str
    commits: list[str] = field(default_factory=list)
    stop: threading.Event = field(default_factory=threading.Event)
    """Set when nobody wants to know any more: waits then end at once."""
    _before: int = -1
    """Everything up to this version belongs to another project of the same name."""
    _now: State = field(default_factory=State)
    _read: dict[str, int] = field(default_factory=dict)

    @property
    def applications(self) -> list[str]:
        """The names of the Applications that the committed files declare."""
        return [body["metadata"]["name"] for body in self.declared() if body["kind"] == "Application"]

    @property
    def places(self) -> list[str]:
        """Their places: foundation, pipeline, serving."""
        return [name.rpartition("-")[2] for name in self.applications]

    def differences(self) -> list[Difference]:
        """Return every field in which the last comparison of any of its Applications found the cluster different."""
        return [found for name in self.applications for found in self.argocd.differences(name)]

    def declared(self) -> list[Body]:
        """Return what a platform engineer applies: the AppProject and the Applications, as committed.

        Nothing, where the project has left Git.
        """
        path = self.root / GENERATED / "argocd" / self.environment / f"{self.project}.yaml"
        bodies: list[Body] = list(yamltext.load_all(path.read_text())) if path.exists() else []
        return bodies

    def play(self, *steps: Step) -> Story:
        """Take steps in order; returns everything observed so far.

        Raises:
            AssertionError: something that is waited for does not come.
            HarnessError: the cluster refuses a step.
        """
        for step in steps:
            step.play(self)
        return self.story

    def say(self, words: str, commit: str = "") -> None:
        """Write a line into the story."""
        self.recorder.note(self.namespace, words, commit)

    def logs(self, of: str = "") -> str:
        """Return what the played pods of a step, or of a service's gate (default: all), have printed."""
        return self.nodes.containers.logs(self.namespace, of)

    def claim(self, name: str) -> Path:
        """Return the folder of a claim, which a played pod has mounted."""
        return self.nodes.containers.claim(self.namespace, name)

    def check(self) -> None:
        """Raise HarnessError if something of the cluster has ended by itself, or a pod could not be played."""
        self.argocd.plane.cell.check()
        self.nodes.containers.check(self.namespace)

    @property
    def story(self) -> Story:
        """Everything observed so far."""
        return Story(self.name, tuple(fold(self._changes())))

    def told(self) -> Story:
        """Return the story with what Argo CD says now of the health of each object that it applied."""
        story = self.story
        trees = [
            self.argocd.tree(name) for name in self.applications if name.rpartition("-")[2] in story.last.applications
        ]
        health = {key: word for tree in trees for key, word in tree.items()}
        applied = {key for key, found in story.last.objects.items() if found.application}
        return replace(story, health={key: word for key, word in health.items() if key in applied})

    @property
    def now(self) -> State:
        """What there is now."""
        fresh = [change for place in self._places() for change in self._fresh(place)]
        self._now = [self._now, *fold(fresh, self._now)][-1]
        return self._now

    def _fresh(self, place: str) -> list[Change]:
        changes = self.recorder.changes(place, self._read.get(place, 0))
        self._read[place] = self._read.get(place, 0) + len(changes)
        return self._own(changes)

    def _changes(self) -> list[Change]:
        return self._own(change for place in self._places() for change in self.recorder.changes(place))

    def _places(self) -> tuple[str, str]:
        return self.namespace, f"{self.project}-{self.environment}/applications"

    def _own(self, changes: Iterable[Change]) -> list[Change]:
        return [change for change in changes if change.version + bool(change.note) > self._before]

    def __post_init__(self) -> None:
        self._before = self.recorder.version()


class Step(Protocol):
    """A line of a script."""

    def play(self, stage: Stage) -> None:
        """Do it, and say so in the story."""


def copied(root: Path, tree: Path, path: str) -> Path:
    """Copy a root into a tree that is committed, at the path that its environments name; returns the copy."""
    target = tree / path
    target.mkdir(parents=True, exist_ok=True)
    for name in ("environments", GENERATED, "mlproject.yaml"):
        if (root / name).is_dir():
            shutil.copytree(root / name, target / name, dirs_exist_ok=True)
        elif (root / name).is_file():
            shutil.copyfile(root / name, target / name)
    return target
