"""Two values in, the fields that differ out, each as short as it can be said."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mlspec.changes.values import Field

_ABSENT = object()


def differences(before: Any, after: Any, path: str = "") -> tuple[Field, ...]:
    """Return what differs; maps by key, lists of named items by name, other lists by the stretch that differs."""
    return tuple(_values(before, after, path))


def same(before: Any, after: Any) -> bool:
    """Say whether two values are the same in YAML: to Python `True` equals 1, and order in a map means nothing."""
    return before is after or json.dumps(before, sort_keys=True) == json.dumps(after, sort_keys=True)


def shown(value: Any) -> str | None:
    """Return a value as text of one line: words as a shell would take them, maps as JSON; None for what is absent."""
    if value is _ABSENT or value is None:
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, list | tuple) and value and all(isinstance(item, str | int | float) for item in value):
        return shlex.join(map(_scalar, value))
    return _scalar(value)


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, sort_keys=True)


def _values(before: Any, after: Any, path: str) -> Iterator[Field]:
    if before is not _ABSENT and after is not _ABSENT and same(before, after):
        return
    if _both(Mapping, before, after):
        yield from _maps(before, after, path)
        return
    if _both(list | tuple, before, after):
        named = _by_name(before), _by_name(after)
        if named[0] is not None and named[1] is not None and (before or after):
            found = list(_maps(named[0], named[1], path))
            yield from found or [Field(path, shown(list(named[0])), shown(list(named[1])))]
        elif any(isinstance(item, Mapping) for item in (*before, *after)):
            yield from _items(before, after, path)
        else:
            yield _stretch(before, after, path)
        return
    yield Field(_short(path), shown(before), shown(after))


def _both(kinds: Any, before: Any, after: Any) -> bool:
    """Say whether both are of a kind; what is absent is taken for an empty one beside it, so that it is split, too."""
    return isinstance(before, kinds) and isinstance(after, kinds)


def _maps(before: Mapping[str, Any], after: Mapping[str, Any], path: str) -> Iterator[Field]:
    for key in sorted(before.keys() | after.keys()):
        here = f"{path}.{key}" if path else key
        yield from _values(before.get(key, _ABSENT), after.get(key, _ABSENT), here)


def _by_name(items: Sequence[Any]) -> dict[str, Any] | None:
    """Return items by their names; None where one has none, or two share one."""
    found = {item["name"]: item for item in items if isinstance(item, Mapping) and isinstance(item.get("name"), str)}
    return found if len(found) == len(items) else None


def _items(before: Sequence[Any], after: Sequence[Any], path: str) -> Iterator[Field]:
    """Yield what differs in two lists of maps without names: inside the only one that differs, else whole ones."""
    places = [index for index, pair in enumerate(zip(before, after, strict=False)) if not same(*pair)]
    if len(before) == len(after) and len(places) == 1:
        yield from _values(before[places[0]], after[places[0]], f"{path}[{places[0]}]")
        return
    old, new = list(map(_scalar, before)), list(map(_scalar, after))
    gone, come = [item for item in old if item not in new], [item for item in new if item not in old]
    yield from (Field(path, item, None) for item in gone)
    yield from (Field(path, None, item) for item in come)
    if not gone and not come:
        yield Field(path, ", ".join(old), ", ".join(new))


def _stretch(before: Sequence[Any], after: Sequence[Any], path: str) -> Field:
    """Return the stretch of two lists that differs; a value keeps the flag before it: `--epochs 10`."""
    start, most = 0, min(len(before), len(after))
    while start < most and same(before[start], after[start]):
        start += 1
    end = 0
    while end < most - start and same(before[-1 - end], after[-1 - end]):
        end += 1
    if start and isinstance(before[start - 1], str) and before[start - 1].startswith("--"):
        values = [word for word in (*before[start : start + 1], *after[start : start + 1]) if isinstance(word, str)]
        start -= 1 if any(not word.startswith("-") for word in values) else 0
    cut = before[start : len(before) - end], after[start : len(after) - end]
    return Field(path, *(shown(list(part)) if part else None for part in cut))


def _short(path: str) -> str:
    """Return a path without the `value` that text in `env` has only in the model."""
    return path.removesuffix(".value") if path.startswith("env.") or ".env." in path else path
