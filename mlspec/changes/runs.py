"""Runs: which start and why, which come back, which are superseded, and what counts only for the next."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from mlspec.changes.fields import differences
from mlspec.changes.load import load
from mlspec.changes.sides import Side
from mlspec.changes.values import Field, Later, Return, Start, Superseded
from mlspec.ir import Stated
from mlspec.plan.graph import depths


def starts(before: Side | None, after: Side | None) -> Iterator[Start]:
    """Yield the runs whose files were not there before."""
    if after is None:
        return
    old, known = _steps(before), _known(before)
    for name, stated in _in_order(after).items():
        run = stated.workload.object_name
        if run in known:
            continue
        was = old.get(name)
        yield Start(
            name,
            run,
            was.workload.object_name if was else None,
            load(stated, after),
            changed_inputs(was.workload.inputs, stated.workload.inputs) if was else (),
        )


def returns(before: Side | None, after: Side | None) -> Iterator[Return]:
    """Yield the runs that are current again, and whose files are there."""
    if before is None or after is None:
        return
    old = _steps(before)
    current = {stated.workload.object_name for stated in old.values()}
    for name, stated in after.steps.items():
        run, was = stated.workload.object_name, old.get(name)
        if run in before.runs and run not in current:
            yield Return(name, run, was.workload.object_name if was else None, stated.workload.run.keep)


def superseded(before: Side | None, after: Side | None) -> Iterator[Superseded]:
    """Yield the runs that were current, and are not any more."""
    if before is None:
        return
    new = _steps(after)
    for name, stated in before.steps.items():
        now = new.get(name)
        by = now.workload.object_name if now else None
        if by != stated.workload.object_name:
            # What becomes of a run was written into its file when it was made.
            yield Superseded(name, stated.workload.object_name, by, stated.workload.run.keep, load(stated, before))


def later(before: Side | None, after: Side | None) -> Iterator[Later]:
    """Yield what differs in the objects of runs whose names do not: files of runs are written once."""
    if before is None or after is None:
        return
    fields: dict[str, list[Field]] = {}
    old = before.run_objects
    new = after.run_objects
    staying = {
        name
        for name, stated in after.steps.items()
        if name in before.steps and before.steps[name].workload.object_name == stated.workload.object_name
    }
    for key in sorted(old.keys() | new.keys()):
        step = (new.get(key) or old[key]).origin[-1]
        if step in staying:
            was, now = (found[key].body if key in found else {} for found in (old, new))
            fields.setdefault(step, []).extend(differences(was, now))
    for step, rows in sorted(fields.items()):
        if rows:
            yield Later(step, after.steps[step].workload.object_name, tuple(_written(before, after, step)), tuple(rows))


def _written(before: Side, after: Side, step: str) -> Iterator[Field]:
    """Yield what is written otherwise for a step; what it may reach and what it accepts are told elsewhere."""
    was, now = (
        side.steps[step].workload.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
        for side in (before, after)
    )
    yield from (field for field in differences(was, now) if field.path.partition(".")[0] not in ("allow", "egress"))


def changed_inputs(before: Mapping[str, Any], after: Mapping[str, Any]) -> tuple[Field, ...]:
    """Return what differs in the inputs of two runs: fields by their paths, then `file <path>`, `needs <step>`."""
    found = list(differences(before.get("spec", {}), after.get("spec", {})))
    for part, word in (("files", "file"), ("claims", "claim of volume"), ("needs", "needs")):
        rows = differences(before.get(part, {}), after.get(part, {}))
        found += [Field(f"{word} {row.path}", row.before, row.after) for row in rows]
    return tuple(found + list(differences(before.get("environment"), after.get("environment"), "environment")))


def _in_order(side: Side) -> dict[str, Stated]:
    """Return the steps in the order in which they can run."""
    levels = depths({name: stated.workload.needs for name, stated in side.steps.items()})
    return dict(sorted(side.steps.items(), key=lambda item: (levels.get(item[0], 0), item[0])))


def _steps(side: Side | None) -> dict[str, Stated]:
    return side.steps if side is not None else {}


def _known(side: Side | None) -> frozenset[str]:
    """Return the runs that are there, and those that the plan would have there."""
    if side is None:
        return frozenset()
    return side.runs | {stated.workload.object_name for stated in side.plan.steps}
