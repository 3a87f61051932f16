"""Does Argo CD look where the files are? Compares `argocd.path` with the root's place in its Git repository."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from mlspec.codes import severity
from mlspec.diagnostics import Diagnostic
from mlspec.spec.problems import locate
from mlspec.spec.workspace import LoadedEnvironment


def place_in_repository(root: Path) -> str | None:
    """Return the root's path inside its Git repository, empty at the top; None outside of any."""
    top = next((folder for folder in (root, *root.parents) if (folder / ".git").exists()), None)
    return None if top is None else root.relative_to(top).as_posix().removeprefix(".")


def check_repository(root: Path, environments: Iterator[LoadedEnvironment]) -> Iterator[Diagnostic]:
    """Yield a warning for every environment that would send Argo CD to the wrong folder."""
    place = place_in_repository(root)
    if place is None:
        return
    for environment in environments:
        written = environment.model.argocd.path
        if written == place:
            continue
        found = locate(environment.tree, ("argocd", "path"))
        span = found.value_span if len(found.path) == 2 else found.key_span
        message = f"this root is {f'`{place}` in' if place else 'the top of'} its repository, but Argo CD reads "
        message += f"`{written}`" if written else "from the top"
        help = f"write `path: {place}` under `argocd`" if place else "remove `path`"
        yield Diagnostic("MLS229", message, span, "argocd.path", help, severity("MLS229"))
