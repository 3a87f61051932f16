"""What is left of a spec when the fields that do not fit are taken out, so that one run reports everything.

A typo in one step must not hide an unknown volume in another. The rest is planned for its findings alone:
nothing is generated while there is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic import BaseModel, ValidationError

from mlspec.diagnostics import Diagnostic
from mlspec.source import Mapping, to_raw
from mlspec.spec.problems import Location, locate

Model = TypeVar("Model", bound=BaseModel)
Entry = tuple[str, ...]

_ROUNDS: Final = 6
# Findings about a name stay true in a step whose other fields were taken out; findings about sums do not.
_ABOUT_NAMES: Final = frozenset(
    {"MLS201", "MLS202", "MLS203", "MLS204", "MLS205", "MLS207", "MLS208", "MLS209", "MLS212"}
)
# These do not depend on the environment at all.
_INSIDE_PROJECT: Final = frozenset(
    {"MLS103", "MLS201", "MLS202", "MLS203", "MLS209", "MLS212", "MLS213", "MLS227", "MLS228"}
    | {"MLS232", "MLS233", "MLS234", "MLS235"}
)
_HARMLESS: Final = {"op": "add", "path": "/metadata/annotations/mended", "value": "mended"}
"""An operation that fits every object."""
_TABLES: Final = frozenset({"steps", "services", "volumes", "secrets"})
# Required fields that can stand in for missing ones, so that the rest can be looked at.
_PLACEHOLDERS: Final[dict[str, Any]] = {
    "owner": "owner",
    "kubernetes": "1.34",
    "argocd": {"repoURL": "https://git.example.com/missing.git"},
}


@dataclass(frozen=True, slots=True)
class Repaired:
    """What lost something: (table, name) of entries of a project, or nothing but the fact for an environment."""

    damaged: frozenset[Entry] = frozenset()
    operations: frozenset[Entry] = frozenset()
    """Operations of patches that are not as they were written."""
    is_plannable: bool = False
    """True where nothing but operations of patches is otherwise, so that all else is as it was written."""

    def keeps(self, finding: Diagnostic) -> bool:
        """Say whether a finding of the plan also holds for the project that the user wrote."""
        path = tuple(finding.path.split("."))
        entry = path[:2]
        if path[:4] in self.operations:
            return False
        if finding.code == "MLS214" and any(damaged[0] == "volumes" for damaged in self.damaged):
            return False
        return entry not in self.damaged or finding.code in _ABOUT_NAMES


def about_project_alone(finding: Diagnostic) -> bool:
    """Say whether a finding holds whatever the environment turns out to be."""
    return finding.code in _INSIDE_PROJECT


def repair(tree: Mapping, model: type[Model], error: ValidationError) -> tuple[Model, Repaired] | None:
    """Return the model without what the errors are about; None where too little is left."""
    raw: Any = to_raw(tree)
    damaged: set[Entry] = set()
    operations: set[Entry] = set()
    alone = True
    for _ in range(_ROUNDS):
        for detail in error.errors(include_url=False, include_input=False):
            path = locate(tree, detail["loc"]).path
            if _is_of_operation(path):
                operations.add(path[:4])
                _mend(raw, path)
            else:
                alone = False
                _take_out(raw, tree, detail["loc"], damaged, missing=detail["type"] == "missing")
        try:
            return model.model_validate(raw), Repaired(frozenset(damaged), frozenset(operations), alone)
        except ValidationError as again:
            error = again
    return None


def _is_of_operation(path: tuple[str, ...]) -> bool:
    return path[:1] in (("steps",), ("services",)) and path[2:3] == ("patch",) and len(path) > 3


def _mend(raw: Any, path: tuple[str, ...]) -> None:
    """Take a wrong part out of an operation's value; where all of the operation is wrong, let it do nothing of note.

    Operations are told by their number, so none is removed.
    """
    inner = path[5:] if path[4:5] == ("value",) else ()
    for key in path[: 3 if not inner else -1]:
        raw = _inside(raw, key)
    index = path[-1 if inner else 3]
    if isinstance(raw, list) and index.isdecimal() and int(index) < len(raw):
        raw[int(index)] = "mended" if inner else dict(_HARMLESS)
    elif isinstance(raw, dict):
        raw.pop(path[-1], None)


def _take_out(raw: Any, tree: Mapping, location: Location, damaged: set[Entry], *, missing: bool) -> None:
    """Remove the field of an error; the map around it where a field is missing; the entry of a table as a whole."""
    if location and location[0] in _PLACEHOLDERS:
        raw[location[0]] = _PLACEHOLDERS[str(location[0])]
        return
    path = locate(tree, location).path
    if path and path[0] in _TABLES and len(path) > 1:
        damaged.add(path[:2])
        if missing:
            path = path[:2]
    for key in path[:-1]:
        raw = _inside(raw, key)
    if isinstance(raw, dict) and path:
        raw.pop(path[-1], None)
    elif isinstance(raw, list) and path:
        # The items after it would move; an empty list has no wrong item.
        raw.clear()


def _inside(raw: Any, key: str) -> Any:
    """Return a value of a map or list, or None: an error before may have taken it out already."""
    if isinstance(raw, dict):
        return raw.get(key)
    if isinstance(raw, list) and key.isdecimal() and int(key) < len(raw):
        return raw[int(key)]
    return None
