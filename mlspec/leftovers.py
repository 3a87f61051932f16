"""What is left under generated/: projects that are gone, and files that no lock accounts for."""

from __future__ import annotations

from collections.abc import Iterator, Set
from pathlib import Path, PurePosixPath

from mlspec.compiled import Compilation, Part
from mlspec.files import compare, lock
from mlspec.files.marks import ROOT
from mlspec.files.owners import owner


def leftovers(compilation: Compilation, generated: Path) -> None:
    """Find them; where only a part of the root is compiled, those that the change has to do with."""
    part = compilation.part
    part = None if part is None or part.whole else part
    names = {compiled.project.name for compiled in compilation.projects}
    present = names | (part.others if part is not None else set())
    gone = [name for name in lock.locked_projects(generated) if name not in present and _concerned(part, name)]
    owned = set(lock.read_state(generated, ROOT).owned)
    owned |= compilation.admin.lock.outputs.keys() if compilation.admin and compilation.admin.lock else set()
    for item in compilation.projects:
        owned |= item.layout.files.keys()
        owned |= lock.read_state(generated, item.project.name).owned.keys()
    for name in gone:
        state = lock.read_state(generated, name)
        owned |= state.owned.keys()
        compilation.gone.append(compare.compare(generated, name, {}, None, state))
    found = compare.foreign(generated, owned) if part is None else _near(generated, owned, part, {*names, *gone})
    for path in found:
        (compilation.temporaries if compare.is_temporary(path) else compilation.strays).append(path)


def _concerned(part: Part | None, name: str) -> bool:
    """Say whether the end of a project belongs to a change; where that cannot be known it does."""
    return part is None or part.gone is None or name in part.gone or any(owner(path) == name for path in part.touched)


def _near(generated: Path, owned: set[str], part: Part, names: Set[str]) -> Iterator[str]:
    """Yield the files that no lock lists among those that differ, and among those of projects that do.

    A file becomes a stranger, too, when the lock that listed it changes.
    """
    touched = {name for path in part.touched if (name := owner(path)) is not None}
    for name in touched - names:
        owned |= lock.read_state(generated, name).owned.keys()
    concerned = names | touched
    applications = (f"argocd/{folder.name}/{name}.yaml" for folder in generated.glob("argocd/*") for name in concerned)
    places = {*part.touched, *concerned, *applications}
    # What is in a folder that is walked is found there.
    outermost = [
        path for path in places if not any(parent.as_posix() in places for parent in PurePosixPath(path).parents)
    ]
    yield from sorted(path for place in outermost for path in compare.foreign(generated, owned, place))
