"""Deep merge of positioned trees: maps merge, scalars and lists replace, null takes a field away.

Positions travel with the values, so a finding in a merged spec points at the line that set it.
"""

from __future__ import annotations

from collections.abc import Iterator

from mlspec.diagnostics import Diagnostic
from mlspec.source import Entry, Mapping, Node, Scalar
from mlspec.spec.globs import Globs, globs


def merge(base: Mapping, override: Mapping) -> Mapping:
    """Return `override` laid over `base`."""
    entries = dict(base.entries)
    for key, entry in override.entries.items():
        before = entries.get(key)
        if isinstance(entry.value, Scalar) and entry.value.is_null and not entry.value.refused:
            entries.pop(key, None)
        elif isinstance(entry.value, Mapping):
            under = before.value if before and isinstance(before.value, Mapping) else _empty(entry.value)
            entries[key] = Entry(entry.key, merge(under, entry.value))
        else:
            entries[key] = entry
    return Mapping(entries, base.span)


def _empty(like: Mapping) -> Mapping:
    return Mapping({}, like.span)


def without(tree: Mapping, key: str) -> Mapping:
    """Return a mapping without one key."""
    return Mapping({name: entry for name, entry in tree.entries.items() if name != key}, tree.span)


FIXED = ("apiVersion", "kind", "name", "owner", "environments")


def check_override(
    base: Mapping, override: Mapping, environment: str, allowed: tuple[str, ...]
) -> Iterator[Diagnostic]:
    """Yield what an environment may not override: identity, kinds, and paths outside the platform's globs."""
    for key in FIXED:
        entry = override.entries.get(key)
        if entry is not None:
            message = f"`{key}` cannot differ between environments"
            yield Diagnostic(
                "MLS218", message, entry.key, f"environments.{environment}.{key}", "set it once, at the top"
            )
    yield from _changed_kinds(base, override, environment)
    found = globs(allowed)
    if found is None:
        return
    shown = ", ".join(f"`{pattern}`" for pattern in allowed) or "nothing"
    for path, node in _outside(found, override):
        message = f"`{'.'.join(path)}` may not be overridden in {environment}"
        dotted = ".".join(("environments", environment, *path))
        yield Diagnostic("MLS218", message, node.span, dotted, f"environments/{environment}.yaml allows {shown}")


def _outside(allowed: Globs, override: Mapping) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield what an override sets at paths that no pattern means."""

    def walk(node: Mapping, path: tuple[str, ...], state: int) -> Iterator[tuple[tuple[str, ...], Node]]:
        for key, entry in node.entries.items():
            if not path and key in (*FIXED, "enabled"):
                continue
            here = allowed.read(state, f".{key}" if path else key)
            if isinstance(entry.value, Mapping) and entry.value.entries:
                yield from walk(entry.value, (*path, key), here)
            elif not allowed.match(here):
                yield (*path, key), entry.value

    return walk(override, (), allowed.start)


def _changed_kinds(base: Mapping, override: Mapping, environment: str) -> Iterator[Diagnostic]:
    for section in ("steps", "services"):
        before, after = base.get(section), override.get(section)
        if not isinstance(before, Mapping) or not isinstance(after, Mapping):
            continue
        for name, entry in after.entries.items():
            old = before.get(name)
            if not isinstance(old, Mapping) or not isinstance(entry.value, Mapping):
                continue
            was, now = old.get("kind"), entry.value.get("kind")
            if isinstance(was, Scalar) and isinstance(now, Scalar) and not now.is_null and was.text != now.text:
                message = f"the kind of `{name}` cannot change from {was.text} to {now.text} in {environment}"
                path = f"environments.{environment}.{section}.{name}.kind"
                yield Diagnostic("MLS219", message, now.span, path, "use two steps, each in its environments")


def leaves(node: Mapping, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Node]]:
    """Yield the path and value of everything that an override sets."""
    for key, entry in node.entries.items():
        if isinstance(entry.value, Mapping) and entry.value.entries:
            yield from leaves(entry.value, (*path, key))
        elif (*path, key) != ("enabled",):
            yield (*path, key), entry.value
