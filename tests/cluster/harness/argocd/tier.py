"""The cluster of the argocd tier, and how projects get onto it: goldens as committed, or projects with a script."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from tests.cluster.harness import crds
from tests.cluster.harness.argocd.driver import Rest
from tests.cluster.harness.argocd.recorder import Recorder, recorder
from tests.cluster.harness.argocd.server import ArgoCD, argocd
from tests.cluster.harness.argocd.stage import Stage, Step, Work, copied
from tests.cluster.harness.argocd.story import Story
from tests.cluster.harness.cell import Cell
from tests.cluster.harness.control_plane import ControlPlane, control_plane
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.goldens import Golden, compiled
from tests.cluster.harness.nodes.nodes import Nodes, nodes
from tests.cluster.harness.operators import observe
from tests.cluster.harness.operators.external_secrets import external_secrets
from tests.cluster.harness.operators.kserve import KServe, kserve
from tests.cluster.harness.operators.training_operator import training_operator
from tests.support import ENVIRONMENT, make_root, write_tree

_DEFINED_ONLY: Final = ("seldon-1.16", "prometheus-operator-0.85", "kueue-0.17", "external-secrets-0.16")
"""Kinds that no operator of theirs acts on: Seldon's does not build, the others add nothing here, or are played."""
_HOST: Final = "git.example.com"
_AT_ONCE: Final = 12
"""So many scripts are played at the same time; more of them keep two processors so busy that each takes minutes."""
_LOOK: Final = 20.0
"""Seconds in which Argo CD sees what has changed; a busy machine takes some."""
FOLDER: Final = "argo-cd-3.5.1"
"""Where it is recorded what was observed of it."""


@dataclass(frozen=True)
class Script:
    """A project and the steps that are played on it."""

    project: str
    """mlproject.yaml, without its four head lines."""
    steps: Sequence[Step]
    environment: str = ENVIRONMENT
    """environments/dev.yaml."""
    files: Mapping[str, str] = field(default_factory=dict)
    """Other files of the repository, by path."""


@dataclass(frozen=True)
class Stories:
    """What became of scripts; one that failed fails whoever asks for it, and nobody else."""

    found: Mapping[str, Story | AssertionError | HarnessError]

    def __getitem__(self, name: str) -> Story:
        """Return a story."""
        story = self.found[name]
        if isinstance(story, Story):
            return story
        raise story

    def compare(self, name: str, *, update: bool) -> None:
        """Compare a story's outline with the recorded one; the text beside it has times and is only to be read."""
        story = self[name]
        title = f"What Argo CD made in the script {name!r}, commit by commit and wave by wave, and how it ended."
        path = observe.fixture(FOLDER, name)
        observe.compare(path, title, story.outline(), update=update)
        if update:
            path.with_suffix(".txt").write_text(f"{story}\n")


@dataclass
class Cluster:
    """Everything that runs."""

    plane: ControlPlane
    nodes: Nodes
    kserve: KServe
    argocd: ArgoCD
    recorder: Recorder
    _works: dict[str, Work] = field(default_factory=dict)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def work(self, url: str, name: str = "") -> Work:
        """Return the repository of a URL and its folder, the same one each time for the same URL and name."""
        with self._lock:
            if url not in self._works:
                tree = self.plane.cell.folder / "trees" / urlsplit(url).path.strip("/").replace("/", "-")
                tree.mkdir(parents=True)
                self._works[url] = Work(self.argocd.git.repository(url), tree)
            return self._works[url]

    def golden(self, golden: Golden) -> Stage:
        """Return a stage with a golden project; its root is copied as it is, at the path that its Applications name."""
        assert golden.plan.target.argocd is not None
        work = self.work(golden.plan.target.argocd.repo_url)
        root = copied(golden.root, work.tree, golden.plan.target.argocd.path)
        return self._stage(golden.name, work, root, golden)

    def project(self, name: str, script: Script) -> Stage:
        """Return a stage with a project of its own, in a repository of its own, in environment dev."""
        work = self.work(f"https://{_HOST}/ml/{name}.git")
        write_tree(work.tree, script.files)
        project = f"apiVersion: mlspec.dev/v1alpha1\nkind: Project\nname: {name}\nowner: team\n{script.project}"
        made = script.environment.replace("ml/models.git", f"ml/{name}.git")
        root = make_root(work.tree, project, {"dev": made})
        return self._stage(name, work, root, compiled(root)[0])

    def play(self, scripts: Mapping[str, Script]) -> Stories:
        """Play scripts, several at the same time, each with a project and a namespace of its own."""

        stop = threading.Event()

        def one(name: str) -> Story | AssertionError | HarnessError:
            try:
                stage = self.project(name, scripts[name])
                stage.stop = stop
                stage.play(*scripts[name].steps, Rest())
                return _told(stage)
            except (AssertionError, HarnessError) as error:
                return error

        with ThreadPoolExecutor(min(len(scripts), _AT_ONCE)) as pool:
            try:
                return Stories(dict(zip(scripts, pool.map(one, scripts), strict=True)))
            except BaseException:  # Ctrl-C above all: the pool waits for its threads
                stop.set()
                raise

    def _stage(self, name: str, work: Work, root: Path, golden: Golden) -> Stage:
        return Stage(
            name,
            self.argocd,
            self.nodes,
            self.recorder,
            work,
            root,
            golden.project,
            golden.environment,
            golden.namespace,
        )


def _told(stage: Stage) -> Story:
    """Return a story as soon as Argo CD has seen how its Jobs have ended.

    The health of runs is ignored, so nothing of their Application tells when; if it never sees it, the story shows.
    """
    until = time.monotonic() + _LOOK
    while True:
        story = stage.told()
        over = {key for key, found in story.last.objects.items() if found.status in {"Complete", "Failed"}}
        waiting = [key for key in over if key[0] == "Job" and story.health.get(key) == "Progressing"]
        if not waiting or time.monotonic() > until or stage.stop.is_set():
            return story
        time.sleep(0.2)


@contextmanager
def cluster(cell: Cell) -> Iterator[Cluster]:
    """Start all of it.

    Raises:
        HarnessError: something cannot be built or does not start.
    """
    with ExitStack() as stack:
        plane = stack.enter_context(control_plane(cell, scheduler=True))
        for release in _DEFINED_ONLY:
            crds.establish(plane.api, crds.definitions(release))
        stack.enter_context(external_secrets(plane.api))
        kwok = stack.enter_context(nodes(plane))
        stack.enter_context(training_operator(plane))
        serving = stack.enter_context(kserve(plane))
        found = stack.enter_context(argocd(plane, host=_HOST))
        told = stack.enter_context(recorder(plane.api))
        kwok.containers.programs.listeners.append(told.program)
        yield Cluster(plane, kwok, serving, found, told)
