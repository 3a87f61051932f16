"""Every regular expression of mlspec, and texts that are hard for each: made of what it looks for itself."""

from __future__ import annotations

import ast
import importlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, permutations
from pathlib import Path
from types import ModuleType
from typing import Any, Final

import mlspec

# What Python itself makes of an expression; the modules are its own, and mypy knows nothing of them.
parser: Any = importlib.import_module("re._parser")
codes: Any = importlib.import_module("re._constants")
_PACKAGE: Final = Path(mlspec.__file__).parent
_METHODS: Final = ("match", "search", "fullmatch", "sub", "split", "findall", "finditer")
_AT_START: Final = ("match", "fullmatch")
_POOL: Final = 'a0:./@-_ \n!"'


@dataclass(frozen=True, slots=True)
class Use:
    """One expression, as it is used: from the start of a text, or anywhere in it."""

    where: str
    pattern: re.Pattern[str]
    anywhere: bool

    def run(self, text: str) -> None:
        """Do with a text what mlspec does."""
        if self.anywhere:
            for _ in self.pattern.finditer(text):
                pass
        else:
            self.pattern.match(text) if "match" in self.where else self.pattern.fullmatch(text)


def uses() -> Iterator[Use]:
    """Yield every expression in the package; raises ValueError for one whose text cannot be found."""
    for path in sorted(_PACKAGE.rglob("*.py")):
        name = ".".join(path.relative_to(_PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")
        tree = ast.parse(path.read_text(encoding="utf-8"))
        if name.endswith("__main__") or not any(
            isinstance(node, ast.Call) and _called(node) for node in ast.walk(tree)
        ):
            continue
        module = importlib.import_module(name)
        attributes = [node for node in ast.walk(tree) if isinstance(node, ast.Attribute)]
        for node in ast.walk(tree):
            method = _called(node) if isinstance(node, ast.Call) else ""
            if method:
                assert isinstance(node, ast.Call)
                yield from _uses_of(node, method, module, attributes, f"{name}:{node.lineno}")


def _called(node: ast.Call) -> str:
    """Return the function of `re`, or our own `matching`, that a call is of."""
    found = node.func
    if isinstance(found, ast.Attribute) and isinstance(found.value, ast.Name) and found.value.id == "re":
        return found.attr if found.attr in (*_METHODS, "compile") else ""
    return "fullmatch" if isinstance(found, ast.Name) and found.id == "matching" else ""


def _uses_of(
    node: ast.Call, method: str, module: ModuleType, attributes: list[ast.Attribute], where: str
) -> Iterator[Use]:
    text = _text(node.args[0], module)
    if text is None:
        return
    flags = re.ASCII if isinstance(node.func, ast.Name) else 0
    for word in re.findall(r"re\.([A-Z]+)", ast.unparse(node)):
        flags |= getattr(re, word)
    pattern = re.compile(text, flags)
    methods = {method}
    if method == "compile":
        mine = {name: value for name, value in vars(module).items() if isinstance(value, re.Pattern)}
        shown = {
            name: value.pattern.decode("latin-1") if isinstance(value.pattern, bytes) else value.pattern
            for name, value in mine.items()
        }
        owners = {name for name in mine if (shown[name], mine[name].flags & ~re.UNICODE) == (text, flags & ~re.UNICODE)}
        found = {a.attr for a in attributes if isinstance(a.value, ast.Name) and a.value.id in owners}
        methods = found & set(_METHODS) or set(_METHODS)
    for kind in sorted({"anywhere" if name not in _AT_START else name for name in methods}):
        yield Use(f"{where} {kind}", pattern, kind == "anywhere")


def _text(node: ast.expr, module: ModuleType) -> str | None:
    """Return the text of an expression; parts known only at run time are taken for a letter, a variable is left out.

    The variable is the parameter of a function like `matching`, whose callers are looked at instead.
    """
    if isinstance(node, ast.Constant):
        return node.value.decode("latin-1") if isinstance(node.value, bytes) else str(node.value)
    if isinstance(node, ast.BinOp):
        parts = [_text(node.left, module), _text(node.right, module)]
        return None if None in parts else "".join(map(str, parts))
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(value.value) if isinstance(value, ast.Constant) else _evaluated(value, module) for value in node.values
        )
    if isinstance(node, ast.Name):
        value = vars(module).get(node.id)
        return value if isinstance(value, str) else None
    return _evaluated(node, module)


def _evaluated(node: ast.expr, module: ModuleType) -> str:
    inner = node.value if isinstance(node, ast.FormattedValue) else node
    try:
        value = eval(compile(ast.Expression(inner), "<pattern>", "eval"), vars(module))  # noqa: S307  # our own source
    except NameError:
        return "x"
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def hostile(pattern: re.Pattern[str], length: int) -> Iterator[str]:
    """Yield long texts that an expression nearly fits: what comes before a repetition, then its letters for ever."""
    tree = list(parser.parse(pattern.pattern, pattern.flags))
    letters = sorted(_letters(tree))[:12]
    pumps = [*letters, *("".join(pair) for pair in permutations(letters, 2))]
    for prefix in islice(dict.fromkeys(_prefixes(tree, "")), 12):
        for pump in pumps:
            for end in ("\x01", "\n"):
                yield prefix + pump * (length // len(pump)) + end


def _inner(op: Any, value: Any) -> list[list[Any]]:
    """Return what stands inside of a part of an expression."""
    if op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
        return [list(value[2])]
    if op == codes.SUBPATTERN:
        return [list(value[-1])]
    if op == codes.BRANCH:
        return [list(branch) for branch in value[1]]
    return [list(value)] if op == codes.ATOMIC_GROUP else []


def _class(value: Any) -> list[str]:
    """Return some members of a set of characters."""
    found: list[str] = []
    categories = {codes.CATEGORY_DIGIT: "0", codes.CATEGORY_SPACE: " ", codes.CATEGORY_WORD: "a"}
    for op, item in value:
        if op == codes.LITERAL:
            found.append(chr(item))
        elif op == codes.RANGE:
            found += [chr(item[0]), chr(item[1])]
        elif op == codes.CATEGORY:
            found.append(categories.get(item, "a"))
    if value[0][0] == codes.NEGATE:
        return [char for char in _POOL if char not in found] or ["é"]
    return [char for char in found if not "\ud800" <= char <= "\udfff"] or ["a"]


def _letters(tree: list[Any]) -> set[str]:
    found: set[str] = set()
    for op, value in tree:
        if op == codes.LITERAL:
            found.add(chr(value))
        elif op in (codes.ANY, codes.NOT_LITERAL):
            found.add("a")
        elif op == codes.IN:
            found.update(_class(value)[:3])
        for inner in _inner(op, value):
            found |= _letters(inner)
    return found


def _sample(tree: list[Any]) -> str:
    """Return the shortest text that fits, or nearly so."""
    found = ""
    for op, value in tree:
        if op == codes.LITERAL:
            found += chr(value)
        elif op in (codes.ANY, codes.NOT_LITERAL):
            found += "a"
        elif op == codes.IN:
            found += _class(value)[0]
        elif op in (codes.MAX_REPEAT, codes.MIN_REPEAT, codes.POSSESSIVE_REPEAT):
            found += _sample(list(value[2])) * value[0]
        else:
            found += _sample(_inner(op, value)[0]) if _inner(op, value) else ""
    return found


def _prefixes(tree: list[Any], before: str) -> Iterator[str]:
    """Yield what leads to each repetition."""
    if not before:
        yield ""
    for index, (op, value) in enumerate(tree):
        here = before + _sample(tree[:index])
        if op in (codes.MAX_REPEAT, codes.MIN_REPEAT):
            yield here
        for inner in _inner(op, value):
            yield from _prefixes(inner, here)
