"""Reading manifests of any shape: objects may have been patched into anything before their schema is judged."""

from __future__ import annotations

from typing import Any

Body = dict[str, Any]


def at(value: Any, *path: str) -> Any:
    """Return the value of a field; None where it, or one on the way to it, is missing or no map."""
    for key in path:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def mapping(value: Any) -> Body:
    """Return a value that should be a map; an empty one where it is not."""
    return value if isinstance(value, dict) else {}


def items(value: Any, *path: str) -> list[Body]:
    """Return the maps of a list, which is a field of `value` or the value itself; none where there is no list."""
    found = at(value, *path)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def numbered(value: Any, *path: str) -> list[tuple[int, Body]]:
    """Return the maps of a list, each with its number in it; none where there is no list."""
    found = at(value, *path)
    return [(n, item) for n, item in enumerate(found) if isinstance(item, dict)] if isinstance(found, list) else []


def words(value: Any, *path: str) -> list[str]:
    """Return the entries of a list as text; none where there is no list."""
    found = at(value, *path)
    return list(map(str, found)) if isinstance(found, list) else []


def copied(value: Any) -> Any:
    """Return a copy of JSON values that shares nothing, not even with itself: kinds use one list in two places.

    Several times as fast as copy.deepcopy, which looks for what it has copied already.
    """
    # Classes are compared, and leaves taken here, since a call for each leaf costs more than all the rest.
    if value.__class__ is dict:
        return {
            key: copied(item) if item.__class__ is dict or item.__class__ is list else item
            for key, item in value.items()
        }
    if value.__class__ is list:
        return [copied(item) if item.__class__ is dict or item.__class__ is list else item for item in value]
    return value
