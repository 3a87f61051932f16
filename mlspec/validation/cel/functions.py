"""Functions that Kubernetes adds to CEL, for lists, sets and regular expressions.

Source: apiserver 1.34, pkg/cel/library/lists.go and regex.go; cel-go, ext/lists.go and ext/sets.go. Regular
expressions of `find` are Go's there and Python's here, which differ in what no definition that we know of uses; those
of `matches` are RE2 in both.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from mlspec.validation.cel.library import cel

_T: Final = cel.Type
ANY: Final = (_T.STRING, _T.INT, _T.UINT, _T.DOUBLE, _T.BOOL, _T.MAP, _T.LIST, _T.NULL, _T.BYTES)
"""Every type of value: the library finds a function by what a value is, and knows no type for all of them."""
Row = tuple[Sequence[Any], Any, Callable[..., Any]]
"""Types of the parameters, of the result, and the function."""


def member(name: str, *rows: Row) -> Any:
    """Declare a method; the first parameter is the object that has it."""
    return _declaration(name, rows, member=True)


def function(name: str, *rows: Row) -> Any:
    """Declare a function."""
    return _declaration(name, rows, member=False)


def _declaration(name: str, rows: Sequence[Row], *, member: bool) -> Any:
    overloads = [
        cel.Overload(
            f"{name}_{member}_{number}", return_type=result, parameters=list(parameters), is_member=member, impl=made
        )
        for number, (parameters, result, made) in enumerate(rows)
    ]
    return cel.FunctionDecl(name, overloads)


def declared() -> list[Any]:
    """Return the declarations of this module."""
    return [
        member("isSorted", ((_T.LIST,), _T.BOOL, lambda items: all(a <= b for a, b in itertools.pairwise(items)))),
        member("sum", ((_T.LIST,), _T.DYN, sum)),
        member("min", ((_T.LIST,), _T.DYN, min)),
        member("max", ((_T.LIST,), _T.DYN, max)),
        member("indexOfAny", *_searching(str.find, _first)),
        member("lastIndexOfAny", *_searching(str.rfind, _last)),
        member("slice", ((_T.LIST, _T.INT, _T.INT), _T.LIST, _slice)),
        member("distinct", ((_T.LIST,), _T.LIST, _distinct)),
        member("sort", ((_T.LIST,), _T.LIST, sorted)),
        member("flatten", ((_T.LIST,), _T.LIST, _flat), ((_T.LIST, _T.INT), _T.LIST, _flat)),
        function("lists.range", ((_T.INT,), _T.LIST, lambda end: list(range(end)))),
        function("sets.contains", ((_T.LIST, _T.LIST), _T.BOOL, lambda all_, some: all(x in all_ for x in some))),
        function("sets.equivalent", ((_T.LIST, _T.LIST), _T.BOOL, _equivalent)),
        function("sets.intersects", ((_T.LIST, _T.LIST), _T.BOOL, lambda one, two: any(x in two for x in one))),
        member("find", ((_T.STRING, _T.STRING), _T.STRING, _find)),
        member(
            "findAll",
            ((_T.STRING, _T.STRING), _T.LIST, _find_all),
            ((_T.STRING, _T.STRING, _T.INT), _T.LIST, _find_all),
        ),
    ]


def _searching(in_text: Callable[..., int], in_list: Callable[[list[Any], Any], int]) -> list[Row]:
    rows: list[Row] = [((_T.LIST, kind), _T.INT, in_list) for kind in ANY]
    return [*rows, ((_T.STRING, _T.STRING), _T.INT, in_text), ((_T.STRING, _T.STRING, _T.INT), _T.INT, in_text)]


def _first(items: list[Any], wanted: Any) -> int:
    return items.index(wanted) if wanted in items else -1


def _last(items: list[Any], wanted: Any) -> int:
    return len(items) - 1 - items[::-1].index(wanted) if wanted in items else -1


def _slice(items: list[Any], start: int, end: int) -> list[Any]:
    if not 0 <= start <= end <= len(items):
        raise ValueError(f"cannot slice({start}, {end}), the list has {len(items)} items")
    return items[start:end]


def _distinct(items: list[Any]) -> list[Any]:
    return [item for index, item in enumerate(items) if item not in items[:index]]


def _flat(items: list[Any], depth: int = 1) -> list[Any]:
    if depth < 0:
        raise ValueError("level must be non-negative")
    return [
        inner for item in items for inner in (_flat(item, depth - 1) if depth and isinstance(item, list) else [item])
    ]


def _equivalent(one: list[Any], two: list[Any]) -> bool:
    return all(x in two for x in one) and all(x in one for x in two)


def _find(text: str, pattern: str) -> str:
    found = re.search(pattern, text)
    return found[0] if found else ""


def _find_all(text: str, pattern: str, limit: int = -1) -> list[str]:
    found = [match[0] for match in re.finditer(pattern, text)]
    return found if limit < 0 else found[:limit]
