"""Secrets in the places that a spec has: a named value, a command line, a shipped file, any other text."""

from __future__ import annotations

import re
from bisect import bisect_left
from functools import lru_cache
from pathlib import PurePosixPath
from typing import Final, NamedTuple

from mlspec.literals import assignments, values
from mlspec.literals.found import Found, apart
from mlspec.literals.keys import could_be, meaning

_FLAG: Final = re.compile(r"--?[A-Za-z][\w.-]{0,80}")
_ON_COMMAND_LINES: Final = "=-"
# In these a value needs no quotes; in programs it does.
_SETTINGS: Final = frozenset({".yaml", ".yml", ".env", ".ini", ".cfg", ".conf", ".properties", ".toml"})
_SHELL: Final = frozenset({".sh", ".bash", ".zsh", ""})


class InFile(NamedTuple):
    """A secret in a file; lines count from 1."""

    line: int
    what: str


def is_flag(word: str) -> bool:
    """Say whether a word of a command line names what the next one is the value of."""
    return _FLAG.fullmatch(word) is not None


def in_value(text: str) -> Found | None:
    """Return the first secret in a text that has no name, by what it looks like."""
    return min(values.find(text), default=None)


def in_entry(name: str, value: str) -> Found | None:
    """Return the first secret in a value by its name, or in it."""
    if is_secret(name, value):
        says = meaning(name)
        return in_value(value) or Found(0, len(value), says.what if says is not None else "a secret")
    return _in_words_of(value)


def is_secret(name: str, value: str) -> bool:
    """Say whether a name tells that its value is a secret."""
    says = meaning(name)
    return says is not None and could_be(value, says.level)


def _in_words_of(text: str) -> Found | None:
    return in_value(text) or min(assignments.find_sure(text, _ON_COMMAND_LINES), default=None)


def all_in(text: str, suffix: str) -> list[Found]:
    """Return every secret in a text, in order and apart; how a file's name ends says whether values stand in quotes."""
    kind = suffix.lower()
    bare = "=:-" if kind in _SETTINGS else _ON_COMMAND_LINES if kind in _SHELL else ""
    return apart([*values.find(text), *assignments.find_sure(text, bare)])


@lru_cache(1024)
def in_file(name: str, content: bytes) -> tuple[InFile, ...]:
    """Return the secrets in a file, the first of each line."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        text = content.decode("latin-1")  # each byte a character: what is ASCII in it is found
    found = all_in(text, ".env" if name.endswith(".env") else PurePosixPath(name).suffix)
    breaks = [at for at, character in enumerate(text) if character == "\n"] if found else []
    by_line: dict[int, InFile] = {}
    for item in found:
        line = bisect_left(breaks, item.start) + 1
        by_line.setdefault(line, InFile(line, item.what))
    return tuple(by_line.values())
