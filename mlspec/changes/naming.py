"""What the name of a run is made of, and what is not part of it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from mlspec.all_kinds import KINDS
from mlspec.changes.fields import shown
from mlspec.changes.runs import changed_inputs
from mlspec.changes.values import Field
from mlspec.ir import Stated
from mlspec.kind_specs import UNHASHED


@dataclass(frozen=True, slots=True)
class Naming:
    """A run, with the inputs that its name is the digest of; each is a name and a value as text."""

    run: str
    inputs: tuple[tuple[str, str], ...]
    ignored: tuple[tuple[str, str], ...]
    """Fields of the step that are not part of the name, with their values."""


def naming(stated: Stated) -> Naming:
    """Return what the name of a run is made of."""
    workload = stated.workload
    found = workload.inputs
    rows = [("environment", str(found["environment"]))]
    rows += [(f"needs {step}", f"{step}-{digest}") for step, digest in sorted(found.get("needs", {}).items())]
    rows += _leaves(found.get("spec", {}), "")
    rows += [(f"claim of volume {name}", claim) for name, claim in sorted(found.get("claims", {}).items())]
    rows += [(f"file {path}", digest) for path, digest in sorted(found.get("files", {}).items())]
    # What is needed is part of the name, by the runs themselves.
    names = sorted((UNHASHED | KINDS[workload.kind].UNHASHED) - {"needs"})
    dumped = workload.spec.model_dump(mode="json", by_alias=True)
    fields = type(workload.spec).model_fields
    aliases = [fields[name].serialization_alias or fields[name].alias or name for name in names]
    ignored = [(alias, _shown(dumped[alias])) for alias in aliases]
    return Naming(workload.object_name, tuple(rows), tuple(ignored))


def changed(before: Stated, after: Stated) -> tuple[Field, ...]:
    """Return which inputs of a step's run are others than before."""
    return changed_inputs(before.workload.inputs, after.workload.inputs)


def _leaves(value: Any, path: str) -> Iterator[tuple[str, str]]:
    """Yield each value inside maps by its path; lists are one value."""
    if isinstance(value, Mapping) and (value or not path):
        for key in sorted(value):
            yield from _leaves(value[key], f"{path}.{key}" if path else key)
    else:
        text = path.removesuffix(".value") if path.startswith("env.") or ".env." in path else path
        yield text, _shown(value)


def _shown(value: Any) -> str:
    return "none" if value in (None, [], {}) else shown(value) or "none"
