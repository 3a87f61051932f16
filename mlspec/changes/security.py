"""What loosens or tightens security, and what is said of policy rules: levels, secrets, pods, `allow` and `policy`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from mlspec import codes
from mlspec.changes.fields import differences
from mlspec.changes.sides import Side
from mlspec.changes.values import Field, Opinion, Security
from mlspec.diagnostics import Severity
from mlspec.ir import Stated
from mlspec.ir_safety import SAFE, PlannedSecurity
from mlspec.k8s import meta
from mlspec.k8s.resource import Body, Key
from mlspec.k8s.values import at, items
from mlspec.kind_specs import WorkloadSpec

_EXTERNAL: Final = "ExternalSecret"
_SAID: Final = {"off": 0, "warn": 1, "error": 2}
_LEVEL: Final = f"metadata.labels.{meta.POD_SECURITY_ENFORCE}"


def security(before: Side | None, after: Side | None) -> Iterator[Security]:
    """Yield what pods may do otherwise than before, and what is asked of a secret store; what leaves may do nothing."""
    if after is None:
        return
    was, now = _level(before) if before is not None else None, _level(after)
    if was is not None and now is not None and was != now:
        yield Security("namespace", after.plan.target.namespace or "", Field("level", was, now))
    yield from _secrets(before, after)
    for section, sort in (("steps", "step"), ("services", "service")):
        old, new = (_workloads(side, section) for side in (before, after))
        for name, stated in sorted(new.items()):
            before_it = old[name].workload.security if name in old else SAFE
            for field in _pods(before_it, stated.workload.security):
                yield Security(sort, name, field)


def policy(before: Side | None, after: Side | None) -> Iterator[Opinion]:
    """Yield what is accepted with another reason than before, or not any more, and rules that weigh otherwise.

    Of an environment that comes or goes only what the project accepts is told: the file is new itself.
    """
    for where, code in sorted({*_accepted(before), *_accepted(after)}):
        was, now = (_accepted(side).get((where, code)) for side in (before, after))
        if was != now:
            yield Opinion(code, where, was, now)
    if before is None or after is None:
        return
    old, new = before.environment.policy, after.environment.policy
    for code in sorted(old.keys() | new.keys()):
        if old.get(code) != new.get(code):
            lowered = _weight(code, new.get(code)) < _weight(code, old.get(code))
            yield Opinion(code, "environment", old.get(code), new.get(code), lowered)


def _weight(code: str, said: str | None) -> int:
    """Return how much a rule weighs, 0 for nothing: what is said of it, or else what its code says."""
    if said is not None:
        return _SAID[said]
    return _SAID["error"] if codes.severity(code) is Severity.ERROR else _SAID["warn"]


def tells(key: Key, was: Body | None, now: Body) -> bool:
    """Say whether all that differs in an object is told as security."""
    if was is None or key.kind not in ("Namespace", _EXTERNAL):
        return False
    fields = differences(was, now)
    return all(
        field.path == _LEVEL if key.kind == "Namespace" else field.path.startswith("spec.data") for field in fields
    )


def _level(side: Side) -> str | None:
    labels = (at(body, "metadata", "labels") or {} for body in side.bodies("Namespace").values())
    return next((each.get(meta.POD_SECURITY_ENFORCE) for each in labels), None)


def _secrets(before: Side | None, after: Side) -> Iterator[Security]:
    """Yield the keys that are asked of a secret store, and those that are not any more."""
    old, new = (side.bodies(_EXTERNAL) if side is not None else {} for side in (before, after))
    for name in sorted(old.keys() | new.keys()):
        was, now = _keys(old.get(name)), _keys(new.get(name))
        yield from (Security("secret", name, Field(key, None, now[key])) for key in sorted(now.keys() - was.keys()))
        yield from (Security("secret", name, Field(key, was[key], None)) for key in sorted(was.keys() - now.keys()))
        for key in sorted(key for key in was.keys() & now.keys() if was[key] != now[key]):
            yield Security("secret", name, Field(key, was[key], now[key]))


def _keys(body: Body | None) -> dict[str, str]:
    """Return where in the store each key of a Secret comes from, by a path: a key's name would hide what is none."""
    return {
        f"{entry.get('secretKey')}.remoteRef": f"{at(entry, 'remoteRef', 'key')} {at(entry, 'remoteRef', 'property')}"
        for entry in items(body, "spec", "data")
    }


def _pods(was: PlannedSecurity, now: PlannedSecurity) -> Iterator[Field]:
    """Yield what the pods of a workload may do otherwise, by the names that the spec has for it."""
    if was.user != now.user:
        yield Field("security.user", str(was.user), str(now.user))
    if was.writable_root != now.writable_root:
        yield Field("security.writableRoot", str(was.writable_root).lower(), str(now.writable_root).lower())
    if was.capabilities != now.capabilities:
        yield Field("security.capabilities", ", ".join(was.capabilities) or None, ", ".join(now.capabilities) or None)


def _workloads(side: Side | None, section: str) -> Mapping[str, Stated]:
    if side is None:
        return {}
    return side.steps if section == "steps" else side.services


def _accepted(side: Side | None) -> dict[tuple[str, str], str]:
    """Return what is accepted, by where it is and code, with its reason."""
    if side is None:
        return {}
    found = {("project", code): reason for code, reason in side.allow.items()}
    for stated in side.plan.workloads:
        spec, workload = stated.workload.spec, stated.workload
        where = f"{'step' if workload.is_run else 'service'} {workload.name}"
        found |= {(where, code): why for code, why in (spec.allow.items() if isinstance(spec, WorkloadSpec) else ())}
    return found
