"""The projects that the cluster judges: the living example, tests/projects, and every golden case of the suite."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Final

from mlspec.check.versions import schema_folders
from mlspec.diagnostics import Severity
from mlspec.ir import Plan
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Resource
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.support import REPOSITORY

_PLACES: Final = ("projects/*", "kinds/*/*", "concerns/*/*")


@dataclass(frozen=True)
class Golden:
    """One project in one environment."""

    root: Path
    project: str
    environment: str
    plan: Plan
    resources: tuple[Resource, ...]
    """In the order of the layout: foundation, pipeline, serving."""
    argocd: tuple[Body, ...]
    schemas: tuple[Path, ...]
    """Folders of the schemas of the versions that the environment declares."""

    @property
    def name(self) -> str:
        """How tables and tests call it, such as `projects/storage:recommender/dev`."""
        root = self.root.relative_to(REPOSITORY).as_posix().removeprefix("tests/").removeprefix(".")
        return f"{root}:{self.project}/{self.environment}" if root else f"{self.project}/{self.environment}"

    @property
    def namespace(self) -> str:
        """Where its objects are."""
        assert self.plan.target.namespace is not None
        return self.plan.target.namespace

    @property
    def bodies(self) -> list[Body]:
        """Every object, Argo CD's included."""
        return [*(resource.body for resource in self.resources), *self.argocd]

    @property
    def enforced(self) -> str:
        """The Pod Security level that its namespace is labelled with; empty where others manage it."""
        found = (body["metadata"]["labels"] for body in self.bodies if body["kind"] == "Namespace")
        return next((str(labels[meta.POD_SECURITY_ENFORCE]) for labels in found), "")

    @property
    def releases(self) -> tuple[str, ...]:
        """The operators that it declares, as `schemas/crds/` names them."""
        return tuple(sorted(folder.name for folder in self.schemas if folder.parent.name == "crds"))


def roots() -> list[Path]:
    """Return every root."""
    tests = REPOSITORY / "tests"
    cases = {path for place in _PLACES for path in tests.glob(place) if (path / "environments").is_dir()}
    return [REPOSITORY, *sorted(cases)]


@cache
def goldens() -> tuple[Golden, ...]:
    """Return every project of every root in every environment."""
    return tuple(golden for root in roots() for golden in compiled(root))


def compiled(root: Path, refused: str = "") -> list[Golden]:
    """Return every project of one root in every environment; nothing is wrong with it but one code, which is there."""
    compilation = compile_workspace(load(root))
    wrong = {finding.code for finding in compilation.diagnostics if finding.severity is Severity.ERROR}
    assert wrong == ({refused} if refused else set()), compilation.diagnostics
    return [
        Golden(
            root,
            item.project.name,
            environment,
            item.plans[environment],
            tuple(resources),
            tuple(item.argocd[environment]),
            schema_folders(compilation.workspace.environments[environment].model),
        )
        for item in compilation.projects
        for environment, resources in item.resources.items()
    ]
