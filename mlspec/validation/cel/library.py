"""The library that evaluates CEL, in one place: cel-expr-python, which is Google's own in C++ and states no types."""

from __future__ import annotations

import importlib
from typing import Any, Final

LIBRARY: Final = "cel_expr_python"
cel: Final[Any] = importlib.import_module(f"{LIBRARY}.cel")


def extensions() -> list[Any]:
    """Return the extensions of CEL that Kubernetes has, too: of texts, of what may be missing, of numbers."""
    names = {"ext_strings": "ExtStrings", "ext_optional": "ExtOptional", "ext_math": "ExtMath"}
    return [getattr(importlib.import_module(f"{LIBRARY}.ext.{module}"), name)() for module, name in names.items()]
