"""Projects of a root against one another: a name is taken once."""

from __future__ import annotations

from mlspec import names
from mlspec.diagnostics import Diagnostic, Related, Span
from mlspec.source import Scalar
from mlspec.spec.workspace import LoadedProject, Workspace


def _name_span(project: LoadedProject) -> Span:
    node = project.base.tree.get("name")
    assert isinstance(node, Scalar)  # noqa: S101  # the model was valid
    return node.span


def check_unique(workspace: Workspace) -> None:
    """Names of projects are folders under generated/ and parts of namespaces: unique in the root."""
    first: dict[str, Span] = {}
    for project in workspace.projects:
        span = _name_span(project)
        if project.name in names.RESERVED_PROJECTS:
            message = f"the name `{project.name}` is reserved"
            workspace.diagnostics.append(Diagnostic("MLS213", message, span, "name", "choose another name"))
        if project.name in first:
            message = f"another project is named `{project.name}`"
            related = (Related(first[project.name], "first used here"),)
            workspace.diagnostics.append(
                Diagnostic("MLS211", message, span, "name", "choose another name", related=related)
            )
        first.setdefault(project.name, span)
