"""What was read from a root: every environment and project, merged, with the trees that findings point into."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from mlspec import source
from mlspec.diagnostics import Diagnostic
from mlspec.spec.environment import CommonEnvironment, CommonFields, EnvironmentFields
from mlspec.spec.project import Project
from mlspec.spec.repair import Repaired


@dataclass(frozen=True, slots=True)
class LoadedEnvironment:
    """One environment, common.yaml merged under it, with the tree that its findings point into."""

    name: str
    tree: source.Mapping
    model: EnvironmentFields
    damaged: bool = False
    """True where fields that do not fit were taken out, to find what else is wrong."""


@dataclass(frozen=True, slots=True)
class Variant:
    """A project as one environment sees it: overrides merged, values and positions."""

    tree: source.Mapping
    model: Project
    repaired: Repaired | None = None
    """Set where fields that do not fit were taken out, to find what else is wrong."""
    contents: Mapping[str, bytes] = field(default_factory=dict)
    """Files of the repository that steps ship, by path from the project's folder."""


@dataclass(frozen=True, slots=True)
class LoadedProject:
    """One project: as written, and merged for every environment that is enabled."""

    name: str
    file: str
    base: Variant
    variants: Mapping[str, Variant]
    shipped: Mapping[str, str] = field(default_factory=dict)
    """Digests of the files that steps ship, by path from the root."""


@dataclass(slots=True)
class Workspace:
    """Everything that was read: models, the text for error frames, and the digest of every input."""

    root: Path
    environments: dict[str, LoadedEnvironment] = field(default_factory=dict)
    common: CommonFields = field(default_factory=CommonEnvironment)
    projects: list[LoadedProject] = field(default_factory=list)
    diagnostics: list[Diagnostic] = field(default_factory=list)
    texts: dict[str, str] = field(default_factory=dict)
    digests: dict[str, str] = field(default_factory=dict)
    files: list[str] = field(default_factory=list)
    complete: bool = True
    """False where only some of the root's projects were asked for."""
