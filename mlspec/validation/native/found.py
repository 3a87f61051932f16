"""What is found against one object, and how its fields are read.

A field may be missing or null; of an object that no schema has judged, such as a Pod that an operator would make, it
may hold anything. The readers then return the empty value, as Go's decoder has it.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any, Final

from mlspec.validation.declared import Release
from mlspec.validation.objection import Objection, Path, words

Body = dict[str, Any]
Form = Callable[[str], str]
"""Say why a text has not the form that it must have; empty where it has."""

INT32: Final = 2**31 - 1
INT64: Final = 2**63 - 1
SHOWN: Final = 80
"""Characters of a value that a message repeats."""


class Found:
    """Collects objections to one object, for one release of Kubernetes."""

    __slots__ = ("kubernetes", "objections", "projected")

    def __init__(self, kubernetes: Release, *, projected: bool = False) -> None:
        """Begin with none; `projected`: an operator will make the object.

        Of such a one images may be missing, and too long names and values of labels are left to law 6.
        """
        self.kubernetes = kubernetes
        self.projected = projected
        self.objections: list[Objection] = []

    def add(self, code: str, path: Path, message: str, help: str = "") -> None:
        """Add an objection to a field; the message continues its name."""
        self.objections.append(Objection(code, f"{words(path)}: {message}", path, help))

    def key(self, code: str, path: Path, shown: str, reason: str) -> None:
        """Add an objection to a field's name."""
        self.objections.append(Objection(code, f"{words(path)}: `{shown}` {reason}", path, key=path))

    def form(self, code: str, path: Path, value: str, form: Form) -> None:
        """Object to a text that has not a form."""
        if reason := form(value):
            self.add(code, path, f"`{value[:SHOWN]}` {reason}")

    def needed(self, code: str, path: Path, value: str, form: Form) -> None:
        """Object to a text that is missing or has not a form."""
        if not value:
            self.add(code, path, "is missing")
        elif reason := form(value):
            self.add(code, path, f"`{value[:SHOWN]}` {reason}")

    def one_of(self, code: str, path: Path, value: Any, allowed: Collection[str], default: str | None = None) -> None:
        """Object to a value outside a list; a missing one is an objection only where there is no default."""
        chosen = value or default
        if chosen not in allowed:
            names = ", ".join(f"`{name}`" for name in sorted(allowed))
            said = f"`{str(value)[:SHOWN]}` is none of its values" if value else "is missing"
            self.add(code, path, said, f"write one of {names}")

    def between(self, code: str, path: Path, value: int | None, least: int, most: int = INT32) -> None:
        """Object to a number outside of bounds; a missing one is none. Most numbers have 32 bits."""
        if value is not None and not least <= value <= most:
            bounds = f"{least} to {most}" if most < INT32 or value > most else f"at least {least}"
            self.add(code, path, f"{value} is not {bounds}")


def text(body: Body, key: str) -> str:
    """Return a field that is text."""
    value = body.get(key)
    return value if isinstance(value, str) else ""


def number(body: Body, key: str) -> int | None:
    """Return a field that is a whole number; None where there is none."""
    value = body.get(key)
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def child(body: Body, key: str) -> Body | None:
    """Return a field that is a map; None where there is none, which an empty one is not."""
    value = body.get(key)
    return value if isinstance(value, dict) else None


def below(body: Body, key: str) -> Body:
    """Return a field that is a map, an empty one where there is none."""
    value = body.get(key)
    return value if isinstance(value, dict) else {}


def children(body: Body, key: str) -> list[Body]:
    """Return a field that is a list of maps; what is none in it counts as an empty one, so that numbers hold."""
    value = body.get(key)
    if not isinstance(value, list):
        return []
    return [item if isinstance(item, dict) else {} for item in value]


def strings(body: Body, key: str) -> list[str]:
    """Return a field that is a list of texts."""
    value = body.get(key)
    return [str(item) for item in value] if isinstance(value, list) else []
