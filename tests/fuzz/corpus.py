"""The specs that fuzzing begins with: the corpus, and what other tests know of valid and of broken ones."""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Final, Literal

Kind = Literal["project", "environment"]
FOLDER: Final = Path(__file__).parent / "corpus"
_VALID: Final = ("kinds", "concerns", "projects")
_BROKEN: Final = ("errors",)


def folder(kind: Kind) -> Path:
    """Return where the corpus of a kind of file lies."""
    return FOLDER / f"{kind}s"


def files(kind: Kind) -> list[Path]:
    """Return the files of the corpus."""
    return sorted(folder(kind).glob("*.yaml"))


@cache
def seeds(kind: Kind, *, broken: bool = False) -> tuple[bytes, ...]:
    """Return the contents of the corpus, and of the roots that other tests bring along, valid or broken, once each."""
    pattern = "mlproject.yaml" if kind == "project" else "environments/*.yaml"
    found = [path.read_bytes() for path in files(kind)]
    for name in _BROKEN if broken else _VALID:
        paths = sorted((FOLDER.parent.parent / name).rglob(pattern))
        found += [path.read_bytes() for path in paths if path.is_file()]
    return tuple(dict.fromkeys(found))


def save(kind: Kind, name: str, data: bytes) -> Path:
    """Keep an input that failed; returns the file, to be named by what it is about once that is known."""
    path = folder(kind) / f"found-{name}.yaml"
    path.write_bytes(data)
    return path
