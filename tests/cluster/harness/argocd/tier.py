"""The cluster of the argocd tier, and how projects get onto it: goldens as committed, or projects with a script."""

from __future__ import annotations

import threading
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
from tests.cluster.harness.operators.kserve import KServe, kserve
from tests.cluster.harness.operators.training_operator import training_operator
from tests.support import ENVIRONMENT, make_root

_DEFINED_ONLY: Final = ("seldon-1.16", "prometheus-operator-0.85")
"""Kinds that the cluster knows and no operator acts on: Seldon's does not build, Prometheus' adds nothing here."""
_HOST: Final = "git.example.com"
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

    def project(self, name: str, text: str, environment: str = ENVIRONMENT) -> Stage:
        """Return a stage with a project of its own, in a repository of its own, in environment dev."""
        work = self.work(f"https://{_HOST}/ml/{name}.git")
        project = f"apiVersion: mlspec.dev/v1alpha1\nkind: Project\nname: {name}\nowner: team\n{text}"
        made = environment.replace("ml/models.git", f"ml/{name}.git")
        root = make_root(work.tree, project, {"dev": made})
        return self._stage(name, work, root, compiled(root)[0])

    def play(self, scripts: Mapping[str, Script]) -> Stories:
        """Play scripts at the same time, each with a project and a namespace of its own."""

        stop = threading.Event()

        def one(name: str) -> Story | AssertionError | HarnessError:
            try:
                stage = self.project(name, scripts[name].project, scripts[name].environment)
                stage.stop = stop
                stage.play(*scripts[name].steps, Rest())
                return stage.told()
            except (AssertionError, HarnessError) as error:
                return error

        with ThreadPoolExecutor(len(scripts)) as pool:
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
        kwok = stack.enter_context(nodes(plane))
        stack.enter_context(training_operator(plane))
        serving = stack.enter_context(kserve(plane))
        found = stack.enter_context(argocd(plane, host=_HOST))
        yield Cluster(plane, kwok, serving, found, stack.enter_context(recorder(plane.api)))
