"""Quantities in Kubernetes' canonical form: text compares equal exactly where the values do.

The form is that of k8s.io/apimachinery `resource.Quantity.String()`: the largest suffix with a whole mantissa,
binary suffixes kept binary. Custom resources are compared as text by Argo CD, so `1000m` beside `1` is drift.
"""

from __future__ import annotations

import re
from fractions import Fraction
from typing import Final

from mlspec.model.base import refused

_DECIMAL: Final = {"n": -9, "u": -6, "m": -3, "": 0, "k": 3, "M": 6, "G": 9, "T": 12, "P": 15, "E": 18}
_BINARY: Final = {"Ki": 10, "Mi": 20, "Gi": 30, "Ti": 40, "Pi": 50, "Ei": 60}
_FORM = re.compile(
    r"\+?(?P<number>[0-9]{1,24}(?:\.[0-9]{0,12})?|\.[0-9]{1,12})(?P<suffix>[eE][+-]?[0-9]{1,2}|[A-Za-z]*)"
)
_MEANT: Final = {
    "gb": "G",
    "mb": "M",
    "kb": "k",
    "tb": "T",
    "gib": "Gi",
    "mib": "Mi",
    "tib": "Ti",
    "kib": "Ki",
    "g": "G",
}
_MEANT_ALSO: Final = {"gi": "Gi", "mi": "Mi", "ti": "Ti", "ki": "Ki", "K": "k", "t": "T", "p": "P", "b": ""}


def parse_quantity(written: str) -> tuple[Fraction, bool] | None:
    """Return the exact value and whether its suffix is binary, or None if `written` is no quantity."""
    found = _FORM.fullmatch(written)
    if not found:
        return None
    number, suffix = Fraction("0" + found["number"].rstrip(".")), found["suffix"]
    if suffix in _BINARY:
        return number * 2 ** _BINARY[suffix], True
    if suffix in _DECIMAL:
        return number * Fraction(10) ** _DECIMAL[suffix], False
    if suffix[:1] in ("e", "E") and len(suffix) > 1:
        return number * Fraction(10) ** int(suffix[1:]), False
    return None


def format_quantity(value: Fraction, *, binary: bool) -> str:
    """Return the canonical text of a value; anything below 1n is rounded up, as Kubernetes does."""
    if value.denominator == 1 and binary and value >= 1024:
        for suffix, exponent in reversed(_BINARY.items()):
            if value % 2**exponent == 0:
                return f"{value.numerator // 2**exponent}{suffix}"
        return str(value.numerator)
    for suffix, exponent in reversed(_DECIMAL.items()):
        scaled = value / Fraction(10) ** exponent
        if scaled.denominator == 1 and (scaled != 0 or not suffix):
            return f"{scaled.numerator}{suffix}"
    return f"{-((-value * 10**9) // 1)}n"


def canonical_quantity(written: str, kind: str) -> str:
    """Return the canonical form of a `cpu`, `memory` or `count` quantity; refuses zero and unit mistakes."""
    parsed = parse_quantity(written)
    if parsed is None:
        if written.startswith("-") and parse_quantity(written[1:]):
            raise refused(f"`{written}` must be more than 0")
        shown = f"`{written[:60]}`" if written else "an empty text"
        raise refused(f"{shown} is not a quantity", _meant(written, kind))
    value, binary = parsed
    if value <= 0:
        raise refused(f"`{written}` must be more than 0")
    if kind == "cpu" and (value * 1000).denominator != 1:
        raise refused(f"`{written}` is finer than a thousandth of a CPU", f"write `{-((-value * 1000) // 1)}m`")
    if kind == "memory" and value.denominator != 1:
        raise refused(f"`{written}` does not come to whole bytes", _bytes_help(written, value))
    if kind == "count" and value.denominator != 1:
        raise refused(f"`{written}` must be a whole number")
    if value >= 2**63:
        raise refused(f"`{written}` is more than Kubernetes can hold")
    return format_quantity(value, binary=binary)


def amount(canonical: str) -> Fraction:
    """Return the value of a canonical quantity; raises ValueError for any other text."""
    parsed = parse_quantity(canonical)
    if parsed is None:
        raise ValueError(canonical)
    return parsed[0]


def _meant(written: str, kind: str) -> str:
    found = re.fullmatch(r"\s*([0-9.]+)\s*([A-Za-z]+)\s*", written)
    suffix = found[2] if found else ""
    exact = suffix if suffix in _BINARY or suffix in _DECIMAL else None
    meant = exact or _MEANT_ALSO.get(suffix, _MEANT.get(suffix.lower())) if found else None
    if found and meant is not None and kind != "cpu":
        binary = f" or `{found[1]}{meant.upper()}i`" if len(meant) == 1 else ""
        return f"write `{found[1]}{meant}`{binary}"
    return "write a number of CPUs, `4` or `500m`" if kind == "cpu" else "write bytes with a suffix, `16Gi` or `500M`"


def _bytes_help(written: str, value: Fraction) -> str:
    if written.endswith("m"):
        return f"`m` is a thousandth; write `{written[:-1]}M` or `{written[:-1]}Mi`"
    return f"write `{-(-value // 1)}`" if written[-1:].isalpha() else f"add a suffix: `{written}Gi`"
