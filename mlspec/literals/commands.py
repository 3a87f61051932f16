"""Command lines whose options hold passwords without saying so by name, and netrc files.

A command may stand in a line, in a list of texts, or in a list of YAML with an item a line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import accumulate
from typing import Final, NamedTuple

from mlspec.literals.found import Found
from mlspec.literals.keys import Level, could_be

_GAP: Final = r"(?:[^\n|;&]|\n[ \t]*-[ \t]){0,160}?"
"""Words between a command and its option."""
_NEXT: Final = r"(?:[ \t\"',]|\n[ \t]*-[ \t]){1,40}"
"""What stands between two words."""
_BEFORE: Final = r"(?<![\w.-])"
_WORD: Final = r"[^\s\"',\]]{1,256}"


class _Command(NamedTuple):
    """A program by words that its lines hold, in lower case, and a pattern: the password is group 1."""

    triggers: tuple[str, ...]
    pattern: str


_COMMANDS: Final = (
    # curl(1): `-u user:password`, also for proxies; letters may stand together, `-sSu`.
    _Command(
        ("curl",),
        rf"{_BEFORE}curl\b{_GAP}{_NEXT}(?:-[a-zA-Z]{{0,8}}[uU]|--user|--proxy-user)(?:{_NEXT}|=)?"
        rf"[^\s\"',:]{{1,256}}:({_WORD})",
    ),
    # mysql(1): the password stands directly behind `-p`; a word apart is the database.
    _Command(("mysql", "mariadb"), rf"{_BEFORE}(?:mysql|mariadb)[\w-]{{0,20}}{_GAP}{_NEXT}-p[\"']?({_WORD})"),
    _Command(("sshpass",), rf"{_BEFORE}sshpass{_NEXT}-p(?:{_NEXT})?({_WORD})"),
    _Command(("redis-cli",), rf"{_BEFORE}redis-cli\b{_GAP}{_NEXT}(?:-a|--pass){_NEXT}({_WORD})"),
    # docker-login(1), and what has its options.
    _Command(
        ("login",),
        rf"{_BEFORE}(?:docker|podman|helm|oras|crane){_NEXT}(?:\w{{1,20}}{_NEXT})?login\b{_GAP}{_NEXT}-p{_NEXT}({_WORD})",
    ),
    # netrc(5), of curl, ftp and Git: `machine HOST login USER password WORD`, on one line or several.
    _Command(
        ("machine",),
        rf"\bmachine\s{{1,40}}\S{{1,256}}(?:\s{{1,40}}(?:login|account)\s{{1,40}}\S{{1,256}}){{0,2}}"
        rf"\s{{1,40}}password\s{{1,40}}({_WORD})",
    ),
)

# In these places they stand for what is to be written there.
_NAMES: Final = frozenset({"pass", "passwd", "password", "pw", "secret", "token"})


@cache
def _compiled(pattern: str) -> re.Pattern[str]:
    """Return a pattern, compiled when a text needs it for the first time: most never do."""
    return re.compile(pattern)


def find(text: str, lowered: str) -> Iterator[Found]:
    """Yield the passwords of command lines in a text, which is also given in lower case."""
    for command in _COMMANDS:
        if any(trigger in lowered for trigger in command.triggers):
            for match in _compiled(command.pattern).finditer(text):
                if could_be(match[1], Level.SURE) and match[1].lower() not in _NAMES:
                    yield Found(*match.span(1), "a password")


def in_words(words: Sequence[str]) -> Iterator[tuple[int, str]]:
    """Yield which words of one command line hold a password, counted from 0, and what it looks like."""
    text = " ".join(words)
    starts = list(accumulate((len(word) + 1 for word in words), initial=0))
    for found in find(text, text.lower()):
        yield next(index for index in reversed(range(len(words))) if starts[index] <= found.start), found.what
