"""JSON6902 patches as the difference of two manifests, never by hand; each is guarded by `test` operations.

A guard makes the build fail, instead of changing the wrong thing, when the base no longer is what it was.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mlspec.k8s.resource import Body


def diff(old: Body, new: Body) -> list[Body]:
    """Return the operations that turn `old` into `new`; none where they are equal."""
    operations = list(_maps(old, new, ""))
    if operations and all(operation["op"] != "test" for operation in operations):
        guard = {"op": "test", "path": "/metadata/name", "value": new["metadata"]["name"]}
        return [guard, *operations]
    return operations


def _escape(key: str) -> str:
    return key.replace("~", "~0").replace("/", "~1")


def _maps(old: Body, new: Body, path: str) -> Iterator[Body]:
    for key in sorted(old.keys() | new.keys()):
        here = f"{path}/{_escape(key)}"
        if key not in new:
            yield {"op": "test", "path": here, "value": old[key]}
            yield {"op": "remove", "path": here}
        elif key not in old:
            yield {"op": "add", "path": here, "value": new[key]}
        else:
            yield from _values(old[key], new[key], here)


def _values(old: Any, new: Any, path: str) -> Iterator[Body]:
    if _equal(old, new):
        return
    if isinstance(old, dict) and isinstance(new, dict) and old and new:
        yield from _maps(old, new, path)
    elif _same_items(old, new):
        for index, (before, after) in enumerate(zip(old, new, strict=True)):
            if not _equal(before, after):
                yield {"op": "test", "path": f"{path}/{index}/name", "value": before["name"]}
                yield from _maps(before, after, f"{path}/{index}")
    else:
        yield {"op": "test", "path": path, "value": old}
        yield {"op": "replace", "path": path, "value": new}


def _equal(old: Any, new: Any) -> bool:
    """Say whether two values are the same in YAML: to Python `True` equals 1."""
    if old != new:
        return False
    if repr(old) == repr(new):
        return True  # the same text is the same types; the other way round the order of keys may differ
    if isinstance(old, dict) and isinstance(new, dict):
        return old.keys() == new.keys() and all(_equal(value, new[key]) for key, value in old.items())
    if isinstance(old, list) and isinstance(new, list):
        return len(old) == len(new) and all(map(_equal, old, new))
    return type(old) is type(new) and bool(old == new)


def _same_items(old: Any, new: Any) -> bool:
    """Say whether two lists hold items of the same names in the same order, so that an index means one thing."""
    if not (isinstance(old, list) and isinstance(new, list) and len(old) == len(new)):
        return False
    pairs = zip(old, new, strict=True)
    return all(
        isinstance(a, dict) and isinstance(b, dict) and "name" in a and a.get("name") == b.get("name") for a, b in pairs
    )
