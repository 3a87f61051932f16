"""Services: added, removed, another model, other replicas, other fields."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mlspec.changes.fields import differences
from mlspec.changes.load import load
from mlspec.changes.sides import Side
from mlspec.changes.values import Change, Field, Service
from mlspec.ir import Stated
from mlspec.ir_runs import Thresholds
from mlspec.k8s import meta
from mlspec.k8s.resource import Key, Resource

_TOLD: Final = ("allow", "egress")
"""Fields that are told elsewhere: as openings of NetworkPolicies, and as what is said of policy rules."""


def services(before: Side | None, after: Side | None) -> Iterator[Service]:
    """Yield the services that differ."""
    old = before.services if before is not None else {}
    new = after.services if after is not None else {}
    for name in sorted(old.keys() | new.keys()):
        was, now = old.get(name), new.get(name)
        fields = _fields(before, after, was, now)
        if was is not None and now is not None and not fields:
            continue
        shown_as = now or was
        side = after if now else before
        assert shown_as is not None and side is not None  # noqa: S101, PT018  # one of both has it
        yield Service(
            name,
            shown_as.workload.kind,
            Change.CHANGED if was and now else Change.ADDED if now else Change.REMOVED,
            was.facts.models if was else (),
            now.facts.models if now else (),
            replicas(was) if was else None,
            replicas(now) if now else None,
            load(shown_as, side),
            fields,
        )


def is_service(side: Side | None, key: Key) -> bool:
    """Say whether an object is that of a service."""
    return side is not None and any(_key(stated) == key for stated in side.services.values())


def replicas(stated: Stated) -> str:
    """Return the pods of a service: `3`, or `1 to 5` where it scales."""
    least = getattr(getattr(stated.workload.spec, "replicas", None), "min", stated.facts.pods)
    most = stated.facts.pods
    return str(most) if least == most else f"{least} to {most}"


def _fields(before: Side | None, after: Side | None, was: Stated | None, now: Stated | None) -> tuple[Field, ...]:
    """Return what differs as it is written, then what differs in the object and does not follow from that."""
    if before is None or after is None or was is None or now is None:
        return ()
    written = differences(_dump(was), _dump(now))
    old, new = before.objects.get(_key(was)), after.objects.get(_key(now))
    made = [field for field in _bodies(old, new) if not any(_follows(field, said) for said in written)]
    return (*written, *made)


def _follows(made: Field, written: Field) -> bool:
    """Say whether a field of the object differs since one of the spec does; one that was not written had a default."""
    if (made.before, made.after) == (written.before, written.after):
        return True
    alike = made.path.rpartition(".")[2] == written.path.rpartition(".")[2]
    return alike and (
        (written.before is None and written.after == made.after)
        or (written.after is None and written.before == made.before)
    )


def _bodies(before: Resource | None, after: Resource | None) -> tuple[Field, ...]:
    return differences(before.body if before else {}, after.body if after else {})


def _dump(stated: Stated) -> Any:
    dumped = stated.workload.spec.model_dump(mode="json", by_alias=True, exclude_none=True)
    return {key: value for key, value in dumped.items() if key not in _TOLD} | _judges(stated)


def _judges(stated: Stated) -> dict[str, Any]:
    """Return the runs that decide whether the model is served, and by which thresholds, by step."""
    gate = stated.workload.gate
    found = {
        evaluation.step: " or ".join(f"{run.name} ({_thresholds(run.gate)})" for run in evaluation.runs)
        for evaluation in (gate.evaluations if gate is not None else ())
    }
    return {"gate": found} if found else {}


def _thresholds(gate: Thresholds) -> str:
    words = {"atLeast": "at least", "atMost": "at most"}
    return ", ".join(f"{name} {words[key]} {value:g}" for name, wanted in gate.items() for key, value in wanted.items())


def tells_gate(before: Side | None, after: Side, was: Resource | None, now: Resource) -> bool:
    """Say whether the change of a service tells that of its gate Job: other runs, and nothing else about it."""
    service = now.body["metadata"].get("labels", {}).get(meta.GATE_OF)
    new = after.services.get(service)
    old = before.services.get(service) if before is not None else None
    if new is None or old is None or was is None:
        return new is not None and was is None
    changed = differences(was.body, now.body)
    words = all(field.path == "spec.template.spec.containers.gate.args" for field in changed)
    return words and old.workload.gate != new.workload.gate


def _key(stated: Stated) -> Key:
    gvk = stated.facts.gvk
    return Key(gvk.api_version, gvk.kind, stated.workload.object_name)
