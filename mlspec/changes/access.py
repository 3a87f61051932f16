"""Who may do what: roles, who has them, and the accounts that workloads run under."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from mlspec.changes.fields import differences, same
from mlspec.changes.sides import Side
from mlspec.changes.values import Access, Change
from mlspec.k8s.resource import Body

_Right = tuple[str, str]
"""A resource and a verb; a subject as a role has no verb."""
KINDS: Final = ("Role", "RoleBinding", "ServiceAccount")


def access(before: Side | None, after: Side | None) -> Iterator[Access]:
    """Yield roles and bindings that differ, and accounts that change; those that come or go do so with workloads."""
    for kind in KINDS:
        old = before.bodies(kind) if before is not None else {}
        new = after.bodies(kind) if after is not None else {}
        for name in sorted(old.keys() | new.keys()):
            was, now = old.get(name), new.get(name)
            found = _account(name, was, now) if kind == "ServiceAccount" else _rights(kind, name, was, now)
            if found is not None:
                yield found


def _account(name: str, was: Body | None, now: Body | None) -> Access | None:
    if was is None or now is None or same(was, now):
        return None
    return Access("ServiceAccount", name, Change.CHANGED, fields=differences(was, now))


def _rights(kind: str, name: str, was: Body | None, now: Body | None) -> Access | None:
    words: Callable[[Body], Iterator[_Right]] = _rules if kind == "Role" else _subjects
    old = set(words(was)) if was is not None else set()
    new = set(words(now)) if now is not None else set()
    change = Change.CHANGED if was and now else Change.ADDED if now else Change.REMOVED
    gained, lost = _grouped(new - old), _grouped(old - new)
    if change is Change.CHANGED and not gained and not lost:
        fields = differences(was, now)
        return Access(kind, name, change, fields=fields) if fields else None
    return Access(kind, name, change, gained, lost)


def _grouped(rights: set[_Right]) -> tuple[str, ...]:
    """Return rights as text, the verbs of one resource together: `get, list pytorchjobs.kubeflow.org`."""
    verbs: dict[str, list[str]] = {}
    for what, verb in sorted(rights):
        verbs.setdefault(what, []).append(verb)
    return tuple(" ".join(word for word in (", ".join(found), what) if word) for what, found in sorted(verbs.items()))


def _rules(role: Body) -> Iterator[_Right]:
    """Yield each resource with a verb."""
    for rule in role.get("rules") or ():
        for group in rule["apiGroups"]:
            for resource in rule["resources"]:
                names = rule.get("resourceNames")
                only = f" named {', '.join(names)}" if names else ""
                yield from ((f"{resource}{f'.{group}' if group else ''}{only}", verb) for verb in rule["verbs"])


def _subjects(binding: Body) -> Iterator[_Right]:
    """Yield who gets which role: `Group team-vision as operator`."""
    role = binding["roleRef"]
    for subject in binding.get("subjects", ()):
        yield f"{subject['kind']} {subject['name']} as {role['kind']} {role['name']}", ""
