"""JSON6902 patches as the difference of two manifests, and the `patch` of a step or service, applied (RFC 6902).

A computed patch is guarded by `test` operations: the build fails, instead of changing the wrong thing, when the base
no longer is what it was.
"""

from __future__ import annotations

import json
import marshal
import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

from mlspec.diagnostics import nearest
from mlspec.k8s import guard
from mlspec.k8s.guard import Objection
from mlspec.k8s.resource import Body, Refusal
from mlspec.k8s.values import copied

MOST_OPERATIONS: Final = 100
"""Operations of one patch: what needs more is a kind of its own."""
MOST_VALUES: Final = 2000
"""Values of all its operations together."""
Field = tuple[str | int, ...]
"""The path of a field of an object."""
_DEEPEST: Final = 64
_INDEX: Final = re.compile("0|[1-9][0-9]{0,5}")


def apply(body: Body, operations: Sequence[Body]) -> tuple[Body, Refusal | None]:
    """Return an object after a patch; or as it was, and why an operation cannot or must not be done.

    Each operation is judged by itself, so what one takes away the next cannot put back.
    """
    found = copied(body)
    for index, operation in enumerate(operations):
        objection = _too_much(operations, index) or _missing(found, operation)
        refused = None if objection is not None else _done(found, operation)
        if refused is not None:
            return body, Refusal(index, *refused, tuple(_parts(operation["path"])))
        objection = objection or guard.objection(body, found)
        if objection is not None:
            return body, Refusal(index, *objection)
    return found, None


def stages(body: Body, operations: Sequence[Body]) -> Iterator[Body]:
    """Yield an object before a patch, which applies, and after each of its operations."""
    found = copied(body)
    yield body
    for operation in operations:
        _done(found, operation)
        yield copied(found)


def _done(found: Body, operation: Body) -> Objection | None:
    """Do an operation in place."""
    import jsonpatch  # late: only where a patch is written

    try:
        jsonpatch.apply_patch(found, [copied(operation)], in_place=True)
    except jsonpatch.JsonPatchTestFailed:
        expected, there = _shown(operation["value"]), _shown(_at(found, operation["path"]))
        message = f"`{_short(operation['path'])}` is {there}, not {expected}"
        return Objection(message, "the object is another than the patch was written for: look at it, then at the patch")
    except (jsonpatch.JsonPatchException, jsonpatch.JsonPointerException) as error:
        return Objection(f"`{_short(operation['path'])}` cannot be patched: {_short(str(error))}", "")
    return None


def _too_much(operations: Sequence[Body], index: int) -> Objection | None:
    if index == MOST_OPERATIONS:
        return Objection(f"a patch has at most {MOST_OPERATIONS} operations, not {len(operations)}", "leave some out")
    if operations[index]["path"].count("/") > _DEEPEST:
        return Objection(f"no object is deeper than {_DEEPEST} levels", "shorten `path`")
    if index == 0 and sum(_size(operation) for operation in operations) > MOST_VALUES:
        return Objection(f"the operations of a patch have at most {MOST_VALUES} values together", "leave some out")
    return None


def _size(value: Any) -> int:
    if isinstance(value, dict | list):
        return 1 + sum(_size(item) for item in (value.values() if isinstance(value, dict) else value))
    return 1


def _parts(path: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in path.split("/")[1:]]


def below(pointer: str, field: Field) -> Field | None:
    """Return what of a field's path lies below a JSON pointer; None where the field does not lie there.

    `-`, the end of a list, may have become any of its items.
    """
    parts = _parts(pointer)
    return field[len(parts) :] if len(parts) <= len(field) and _meet(parts, field) else None


def around(pointer: str, field: Field) -> bool:
    """Say whether a JSON pointer leads to something inside a field."""
    parts = _parts(pointer)
    return len(field) < len(parts) and _meet(parts, field)


class Wrote(NamedTuple):
    """What an operation had to do with a field."""

    operation: int
    """Its number, from 0."""
    below: Field | None
    """Where in the operation's value the field is; None where the operation wrote in the field, not all of it."""


def wrote(before: Body, operations: Sequence[Body], field: Field) -> Wrote | None:
    """Return the last operation that wrote a field of the patched object, or what is around or in it; None: none did.

    The patch applies. An item of a list is followed through the operations that moved it by an item before it.
    """
    stage = list(stages(before, operations)) if field else []
    for index in reversed(range(len(stage) - 1)):
        kind, (parts, in_list) = operations[index]["op"], _real(stage[index], operations[index]["path"])
        last, common = len(parts) - 1, min(len(parts), len(field))
        if kind == "test" or field[: min(last, common)] != parts[: min(last, common)]:
            continue
        here = field[last] if in_list and len(field) > last else None
        there = parts[last]
        if kind != "replace" and isinstance(here, int) and isinstance(there, int):
            if kind == "add" and here == there:
                return Wrote(index, field[last + 1 :])
            moved = (1 if kind == "remove" else -1) if here >= there else 0
            field = (*field[:last], here + moved, *field[last + 1 :])
        elif field[:common] == parts[:common]:
            return Wrote(index, field[len(parts) :] if len(parts) <= len(field) else None)
    return None


def _real(body: Body, pointer: str) -> tuple[Field, bool]:
    """Return a JSON pointer as a path, items by their number, and whether it leads to an item of a list."""
    node: Any = body
    found: list[str | int] = []
    in_list = False
    for part in _parts(pointer):
        in_list = isinstance(node, list)
        key = (len(node) if part == "-" else int(part)) if in_list else part
        found.append(key)
        node = None if part == "-" or node is None else _inside(node, key)
    return tuple(found), in_list


def _inside(node: Any, key: Any) -> Any:
    if isinstance(node, list):
        return node[key] if key < len(node) else None
    return node.get(key) if isinstance(node, dict) else None


def _meet(parts: Sequence[str], field: Field) -> bool:
    """Say whether the shorter of two paths leads to the other."""
    pairs = zip(parts, field, strict=False)
    return all(part == str(key) or (part == "-" and isinstance(key, int)) for part, key in pairs)


def _at(body: Body, path: str) -> Any:
    node: Any = body
    for part in _parts(path):
        node = node[int(part)] if isinstance(node, list) else node[part]
    return node


def _missing(body: Body, operation: Body) -> Objection | None:
    """Say how far the path of an operation goes, where it does not go to its end."""
    node: Any = body
    way, parts = "", _parts(operation["path"])
    for position, part in enumerate(parts):
        adds = operation["op"] == "add" and position == len(parts) - 1
        if isinstance(node, dict):
            if part not in node and not adds:
                return _no_field(node, way, part)
        elif isinstance(node, list):
            if not (adds and part == "-") and not (_INDEX.fullmatch(part) and int(part) < len(node) + adds):
                return _no_item(node, way, part)
        else:
            return Objection(f"`{_short(way)}` is {_shown(node)}, with nothing inside it", "shorten `path`")
        if not adds:
            node = node[int(part)] if isinstance(node, list) else node[part]
        way += f"/{_escape(part)}"
    return None


def _no_field(node: Body, way: str, part: str) -> Objection:
    where = f"`{_short(way)}`" if way else "the object"
    there = ", ".join(f"`{key}`" for key in sorted(node)[:12]) + (", …" if len(node) > 12 else "")
    match = nearest(part, node)
    help = f"did you mean `{_short(match)}`?" if match else "add its parents first, in one value, or correct `path`"
    return Objection(f"there is no `{_short(part)}` in {where}, only {there or 'nothing'}", help)


def _no_item(node: list[Any], way: str, part: str) -> Objection:
    names = [item.get("name", "") if isinstance(item, dict) else "" for item in node]
    items = ", ".join(f"{index} (`{name}`)" if name else str(index) for index, name in list(enumerate(names))[:12])
    message = f"there is no item `{_short(part)}` in `{_short(way)}`, only {items or 'none at all'}"
    return Objection(message, "items are counted from 0; `-` at the end of an `add` appends one")


def _shown(value: Any) -> str:
    if isinstance(value, dict | list):
        return f"a {'map' if isinstance(value, dict) else 'list'} of {len(value)}"
    return f"`{_short(value if isinstance(value, str) else json.dumps(value))}`"


def _short(text: str) -> str:
    return text if len(text) <= 100 else text[:99] + "…"


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
    try:
        # Version 2 knows no references, which would tell what is one object twice from what is two that are equal.
        if marshal.dumps(old, 2) == marshal.dumps(new, 2):
            return True  # the same bytes are the same types; the other way round the order of keys may differ
    except ValueError:
        pass  # a subclass of what JSON knows
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
