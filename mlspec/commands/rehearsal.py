"""An edit of a project file tried in a copy of what mlspec reads for it, before the file itself is touched."""

from __future__ import annotations

import shutil
from pathlib import Path
from tempfile import TemporaryDirectory

from mlspec.diagnostics import Diagnostic, Severity
from mlspec.pipeline import compile_workspace
from mlspec.spec.discover import ENVIRONMENT_FOLDER, GENERATED
from mlspec.spec.load import load
from mlspec.spec.workspace import Workspace


def errors(workspace: Workspace, file: str, content: bytes) -> tuple[list[Diagnostic], dict[str, str]]:
    """Return the errors that a root would have with other content in a project file, and the texts they stand in.

    Raises OSError where something cannot be copied.
    """
    with TemporaryDirectory(prefix="mlspec-") as folder:
        copy = Path(folder)
        for name in workspace.digests:
            if name.startswith(f"{ENVIRONMENT_FOLDER}/"):
                _put(copy / name, (workspace.root / name).read_bytes())
        _put(copy / file, content)
        for project in workspace.projects:
            if project.file == file:
                _copy_output(workspace.root, copy, project.name)
                for name in project.shipped:
                    _put(copy / name, (workspace.root / name).read_bytes())
        compilation = compile_workspace(load(copy, [copy / file]))
    found = [finding for finding in compilation.diagnostics if finding.severity is Severity.ERROR]
    return found, compilation.workspace.texts


def _put(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)


def _copy_output(root: Path, copy: Path, project: str) -> None:
    """Copy what was generated for a project: pins name its runs, and its claims must fit."""
    if (root / GENERATED / project).is_dir():
        shutil.copytree(root / GENERATED / project, copy / GENERATED / project, symlinks=True)
