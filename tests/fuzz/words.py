"""The words that the program itself knows: names of fields and their values, as they stand in its source.

A mutator that only changes what a spec says never writes a field that no spec of the corpus has. What the program looks
for in objects stands in its own string literals, so those lead into its rules.
"""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path
from random import Random
from typing import Any, Final

import mlspec

_WORD: Final = re.compile(r"[A-Za-z][\w./-]{1,60}")
_POINTERS: Final = (
    "/spec",
    "/spec/template/spec",
    "/spec/template/spec/containers/0",
    "/spec/template/spec/volumes",
    "/spec/template/metadata",
    "/spec/predictor",
    "/spec/predictor/model",
    "/spec/predictors/0/graph",
    "/spec/pytorchReplicaSpecs/Master/template/spec",
    "/metadata",
)


@cache
def words() -> tuple[str, ...]:
    """Return every string literal of the program that could be a key or a value, in order and once each."""
    found: dict[str, None] = {}
    for path in sorted(Path(mlspec.__file__).parent.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and _WORD.fullmatch(node.value):
                found[node.value] = None
    return tuple(found)


def value(random: Random, depth: int = 0) -> Any:
    """Return a value made of such words: a text, a number, or a map or list of more."""
    kind = random.random()
    if depth > 3 or kind < 0.4:
        return random.choice(words())
    if kind < 0.55:
        return random.choice((0, 1, -1, 65536, True, False, None, "", {}, []))
    if kind < 0.8:
        return {random.choice(words()): value(random, depth + 1) for _ in range(random.randint(1, 3))}
    return [value(random, depth + 1) for _ in range(random.randint(1, 2))]


def operation(random: Random) -> dict[str, Any]:
    """Return an operation of a `patch` on a field that some kind may have."""
    path = f"{random.choice(_POINTERS)}/{random.choice(words()).replace('/', '~1')}"
    op = random.choice(("add", "add", "add", "replace", "remove", "test"))
    return {"op": op, "path": path, **({} if op == "remove" else {"value": value(random)})}
